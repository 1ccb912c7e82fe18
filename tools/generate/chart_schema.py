"""Generates the chart's values.schema.json. It allows no unknown values, so that a misspelled one stops the
installation."""

import json
from collections.abc import Iterable

from tools.generate.chart_values import CHART, InvalidValuesFile, Value
from webhook import dns_names
from webhook.settings import Settings

Schema = dict[str, object]

PATH = CHART / "values.schema.json"

SET_BY_THE_CHART = ("certificates", "excludedNamespaces", "leaderElection")
"""Settings that the chart's templates write; `config` may not contain them."""

_LABEL_VALUE = "[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
_LABEL_KEY = rf"^({dns_names.SUBDOMAIN}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?$"

DEFINITIONS: dict[str, Schema] = {
    "annotations": {
        "type": "object",
        "propertyNames": {"pattern": _LABEL_KEY},
        "additionalProperties": {"type": "string"},
    },
    "labels": {
        "type": "object",
        "propertyNames": {"pattern": _LABEL_KEY},
        "additionalProperties": {"type": "string", "pattern": f"^({_LABEL_VALUE})?$", "maxLength": 63},
    },
    "object": {"type": "object"},
    "objects": {"type": "array", "items": {"type": "object"}},
    "objectName": {"type": "string", "pattern": f"^({dns_names.SUBDOMAIN})?$", "maxLength": dns_names.MAX_SUBDOMAIN},
    "namespace": {"type": "string", "pattern": f"^{dns_names.LABEL}$", "maxLength": dns_names.MAX_LABEL},
    "cidr": {
        "type": "string",
        "pattern": r"^([0-9]{1,3}(\.[0-9]{1,3}){3}/([0-9]|[12][0-9]|3[0-2])|[0-9a-fA-F:]+/[0-9]{1,3})$",
    },
    "port": {"type": "integer", "minimum": 1, "maximum": 65535},
    # The pods run without the capability to listen below 1024.
    "unprivilegedPort": {"type": "integer", "minimum": 1024, "maximum": 65535},
    "intOrPercent": {
        "anyOf": [
            {"type": "integer", "minimum": 1},
            {"type": "string", "pattern": "^([1-9][0-9]?|100)%$"},
        ]
    },
    "quantities": {
        "type": "object",
        "additionalProperties": {"anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "minLength": 1}]},
    },
    "resources": {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "requests": {"$ref": "#/$defs/quantities"},
            "limits": {"$ref": "#/$defs/quantities"},
        },
    },
    "issuerRef": {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "name": {"type": "string"},
            "kind": {"type": "string"},
            "group": {"type": "string"},
        },
    },
}

SUBCHART: dict[str, Schema] = {
    "global": {"type": "object", "description": "Values of a parent chart, added by Helm. No template reads them."},
    "enabled": {"type": "boolean", "description": "For a parent chart's `condition`. No template reads it."},
}
"""Values that a parent chart sets."""


def render(values: Iterable[Value]) -> str:
    """The text of the file."""
    document = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Values of the modelfit chart",
        **_group(values),
        "$defs": DEFINITIONS | _settings(),
    }
    members = document["properties"]
    assert isinstance(members, dict)
    document["properties"] = members | SUBCHART
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _group(values: Iterable[Value]) -> Schema:
    members = tuple(values)
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {value.path[-1]: _schema(value) for value in members},
        "required": [value.path[-1] for value in members if _required(value)],
    }


def _required(value: Value) -> bool:
    """Whether the templates need the value. Helm removes a value that is set to null."""
    if value.members or "minItems" in value.schema:
        return True
    nullable = isinstance(value.default, dict | list) or "null" in _as_list(value.schema.get("type"))
    return bool(value.default) and not nullable


def _as_list(item: object) -> list[object]:
    return item if isinstance(item, list) else [item]


def _schema(value: Value) -> Schema:
    if value.members:
        return _group(value.members)
    description: Schema = {"description": value.description}
    if "$ref" in value.schema:
        # JSON schema draft 7 ignores every keyword beside a $ref.
        return {**description, "allOf": [value.schema], "default": value.default}
    inferred = {} if "enum" in value.schema else {"type": _type(value)}
    return {**description, **inferred, **value.schema, "default": value.default}


def _type(value: Value) -> str:
    names = {bool: "boolean", int: "integer", str: "string", list: "array", dict: "object"}
    try:
        return names[type(value.default)]
    except KeyError:
        message = f"{value.name}: the type cannot be inferred from the default; want an @schema with a type"
        raise InvalidValuesFile(message) from None


def _settings() -> dict[str, Schema]:
    """The schema of modelfit's settings as `settings`, and the definitions that it refers to."""
    schema = Settings.model_json_schema(by_alias=True)
    definitions = {name: _plain(each) for name, each in schema.pop("$defs", {}).items()}
    settings = _plain(schema)
    members = settings["properties"]
    assert isinstance(members, dict)
    settings["properties"] = {name: schema for name, schema in members.items() if name not in SET_BY_THE_CHART}
    used: dict[str, Schema] = {"settings": settings}
    # A definition may refer to others.
    while missing := {name for name in definitions.keys() - used if f'#/$defs/{name}"' in json.dumps(used)}:
        used |= {name: definitions[name] for name in sorted(missing)}
    return used


def _plain(schema: Schema) -> Schema:
    """The schema without titles, with each description on one line, and closed where it restricts names of members by
    a pattern."""
    plain: Schema = {"additionalProperties": False} if "patternProperties" in schema else {}
    for key, item in schema.items():
        if key == "title" and isinstance(item, str):
            continue
        if isinstance(item, dict):
            plain[key] = _plain(item)
        elif isinstance(item, list):
            plain[key] = [_plain(each) if isinstance(each, dict) else each for each in item]
        else:
            plain[key] = " ".join(item.split()) if key == "description" and isinstance(item, str) else item
    return plain
