"""Loads the settings from a file and the environment, and reports all errors together."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

from pydantic import ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from webhook import utf16
from webhook.core.profiles import BUILTIN
from webhook.errors import FieldError, InvalidSettings, quote, quote_all
from webhook.settings.field_types import PATTERNS
from webhook.settings.groups import Group
from webhook.settings.schema import Settings
from webhook.settings.strict_yaml import InvalidYaml, parse

PREFIX = "MODELFIT_"

MAX_BITS = 1024
"""Bits of an integer that a message repeats. Python does not convert very large ones to text."""

# What a message of pydantic has around the expected value.
_EXPECTED_BY_PYDANTIC = re.compile(
    "^(Value error, |Input should be |(List|Dictionary|String) should have )| after validation, not .*$"
)

# Variables that Kubernetes sets in every container for a Service named modelfit or modelfit-….
_SERVICE_LINK = re.compile(r"(_SERVICE_HOST|_SERVICE_PORT(_\w+)?|_PORT|_PORT_\d+_(TCP|UDP|SCTP)(_\w+)?)$")


def load(path: Path | None, environ: Mapping[str, str]) -> Settings:
    """The settings in the file at `path`, if any, with the overrides in `environ`. Raises InvalidSettings."""
    members = _load_file(path) if path else {}
    sources = {key: f"{path}: {key}" for key in members}
    errors = [
        FieldError(name, "a setting that does not exist", f"one of {quote_all(_variables(), 32)}")
        for name in environ
        if name.startswith(PREFIX) and name not in _variables() and not _SERVICE_LINK.search(name)
    ]
    for name, key in _variables().items():
        if environ.get(name):  # many templates render an unset value as an empty one
            try:
                members[key] = parse(environ[name])
            except InvalidYaml as error:
                errors.append(FieldError(name, f"invalid YAML{error}", "the setting's value"))
            sources[key] = name
    errors += _find_unknown_profile(members, sources)
    try:
        settings = Settings.model_validate(members)
    except ValidationError as error:
        errors += [_field_error(detail, sources) for detail in error.errors()]
    else:
        if not errors:
            return settings
    raise InvalidSettings(errors)


def _find_unknown_profile(members: Mapping[str, object], sources: Mapping[str, str]) -> list[FieldError]:
    custom = members.get("profiles")
    names = sorted({*BUILTIN, *map(str, custom if isinstance(custom, dict) else ())})
    profile = members.get("profile")
    if not isinstance(profile, str) or profile in names:
        return []
    return [FieldError(sources["profile"], quote(profile), f"one of {quote_all(names, 16)}")]


def _load_file(path: Path) -> dict[str, object]:
    try:
        data = path.read_bytes()
        if utf16.is_utf16(data):
            raise InvalidSettings([FieldError(str(path), "UTF-16 text", "a YAML file in UTF-8", utf16.HINT)])
        document = parse(data.decode("utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "text that is not UTF-8"
        raise InvalidSettings([FieldError(str(path), str(reason), "a readable YAML file of settings")]) from None
    except InvalidYaml as error:
        raise InvalidSettings([FieldError(str(path), f"invalid YAML{error}", "a YAML file of settings")]) from None
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise InvalidSettings([FieldError(str(path), _describe(document), "a YAML mapping of settings")])
    keys = [key for key in document if not isinstance(key, str)]
    if keys:
        raise InvalidSettings(
            [FieldError(str(path), f"the key {_describe(keys[0])}", "a YAML mapping of names of settings")]
        )
    return document


def _variables() -> dict[str, str]:
    """Environment variable → key in the file."""
    return {PREFIX + name.upper(): to_camel(name) for name in Settings.model_fields}


def _field_error(detail: ErrorDetails, sources: Mapping[str, str]) -> FieldError:
    key, *rest = map(str, detail["loc"])
    path = ".".join([sources.get(key, key), *rest])
    if detail["type"] == "missing":
        return FieldError(path, "missing", "a value: the setting is required")
    if detail["type"] != "extra_forbidden":
        path = path.removesuffix(".[key]")
        return FieldError(path, _describe(detail["input"]), _expected(detail))
    fields = _group(key).model_fields if rest else Settings.model_fields
    return FieldError(path, "a setting that does not exist", f"one of {quote_all(map(to_camel, fields), 32)}")


def _describe(value: object) -> str:
    """The value for a message, with its type if it is text: the text "2" is not the number 2."""
    if isinstance(value, str):
        return f"the text {quote(value)}"
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        return "a number of hundreds of digits"
    return str(value)[:64]


def _expected(detail: ErrorDetails) -> str:
    if detail["type"] == "string_pattern_mismatch":
        return PATTERNS[detail["ctx"]["pattern"]]
    if detail["type"] in ("model_type", "dict_type"):
        return "a mapping of settings"
    return _EXPECTED_BY_PYDANTIC.sub("", detail["msg"]).strip()


def _group(key: str) -> type[Group]:
    """The group under a key: the type of the field, or of its values if it is a mapping."""
    (annotation,) = (field.annotation for name, field in Settings.model_fields.items() if to_camel(name) == key)
    return next(
        each for each in (annotation, *get_args(annotation)) if isinstance(each, type) and issubclass(each, Group)
    )
