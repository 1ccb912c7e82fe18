"""From a file and an environment to settings, or to every fault that they have."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

from pydantic import ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from webhook.core.profiles import BUILTIN
from webhook.errors import FieldError, InvalidSettings, quote, quote_all
from webhook.settings.field_types import PATTERNS
from webhook.settings.groups import Group
from webhook.settings.schema import Settings
from webhook.settings.strict_yaml import BrokenYamlError, read

PREFIX = "MODELFIT_"

# What Kubernetes itself puts into a container's environment for a Service named modelfit or modelfit-….
_SERVICE_LINK = re.compile(r"(_SERVICE_HOST|_SERVICE_PORT(_\w+)?|_PORT|_PORT_\d+_(TCP|UDP|SCTP)(_\w+)?)$")


def load(path: Path | None, environ: Mapping[str, str]) -> Settings:
    """The settings of the file at `path`, if any, with the overrides in `environ`. Raises InvalidSettings."""
    members = _file(path) if path else {}
    sources = {key: f"{path}: {key}" for key in members}
    faults = [
        FieldError(name, "a setting that does not exist", f"one of {quote_all(_variables(), 32)}")
        for name in environ
        if name.startswith(PREFIX) and name not in _variables() and not _SERVICE_LINK.search(name)
    ]
    for name, key in _variables().items():
        if environ.get(name):  # empty is how many a template spells "not set"
            try:
                members[key] = read(environ[name])
            except BrokenYamlError as error:
                faults.append(FieldError(name, f"broken YAML{error}", "the setting's value"))
            sources[key] = name
    faults += _unknown_profile(members, sources)
    try:
        settings = Settings.model_validate(members)
    except ValidationError as error:
        faults += [_fault(detail, sources) for detail in error.errors()]
    else:
        if not faults:
            return settings
    raise InvalidSettings(faults)


def _unknown_profile(members: Mapping[str, object], sources: Mapping[str, str]) -> list[FieldError]:
    own = members.get("profiles")
    names = sorted({*BUILTIN, *map(str, own if isinstance(own, dict) else ())})
    chosen = members.get("profile")
    if not isinstance(chosen, str) or chosen in names:
        return []
    return [FieldError(sources["profile"], quote(chosen), f"one of {quote_all(names, 16)}")]


def _file(path: Path) -> dict[str, object]:
    try:
        document = read(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "text that is not UTF-8"
        raise InvalidSettings([FieldError(str(path), str(reason), "a readable YAML file of settings")]) from None
    except BrokenYamlError as error:
        raise InvalidSettings([FieldError(str(path), f"broken YAML{error}", "a YAML file of settings")]) from None
    if document is None:
        return {}
    if not isinstance(document, dict) or not all(isinstance(key, str) for key in document):
        raise InvalidSettings([FieldError(str(path), _seen(document), "a YAML mapping of settings")])
    return document


def _variables() -> dict[str, str]:
    """Environment variable → key in the file."""
    return {PREFIX + name.upper(): to_camel(name) for name in Settings.model_fields}


def _fault(detail: ErrorDetails, sources: Mapping[str, str]) -> FieldError:
    key, *rest = map(str, detail["loc"])
    where = ".".join([sources.get(key, key), *rest])
    if detail["type"] == "missing":
        return FieldError(where, "nothing", "a value: the setting is required")
    if detail["type"] != "extra_forbidden":
        where = where.removesuffix(".[key]")
        return FieldError(where, _seen(detail["input"]), _wanted(detail))
    fields = _group(key).model_fields if rest else Settings.model_fields
    return FieldError(where, "a setting that does not exist", f"one of {quote_all(map(to_camel, fields), 32)}")


def _seen(value: object) -> str:
    """A value as its author would call it: the text "2" is not the number 2."""
    if isinstance(value, str):
        return f"the text {quote(value)}"
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return str(value)[:64]


def _wanted(detail: ErrorDetails) -> str:
    if detail["type"] == "string_pattern_mismatch":
        return PATTERNS[detail["ctx"]["pattern"]]
    if detail["type"] in ("model_type", "dict_type"):
        return "a mapping of settings"
    return detail["msg"].removeprefix("Value error, ").replace("Input should be", "").strip()


def _group(key: str) -> type[Group]:
    """The group of settings under a key: the field's type, or that of its values."""
    (annotation,) = (field.annotation for name, field in Settings.model_fields.items() if to_camel(name) == key)
    return next(
        each for each in (annotation, *get_args(annotation)) if isinstance(each, type) and issubclass(each, Group)
    )
