"""values.schema.json: closed, so that a mistyped value stops an installation instead of doing nothing."""

import json
from collections.abc import Iterable

from tests.chart.manual import ManualError, Value
from webhook.settings import Settings

Schema = dict[str, object]

CHART_OWN = ("certificates", "excludedNamespaces", "leaderElection")
"""Settings that the chart writes itself."""

_NAME = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_WORD = "[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
_KEY = rf"^({_NAME}(\.{_NAME})*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?$"

DEFINITIONS: dict[str, Schema] = {
    "annotations": {
        "type": "object",
        "propertyNames": {"pattern": _KEY},
        "additionalProperties": {"type": "string"},
    },
    "labels": {
        "type": "object",
        "propertyNames": {"pattern": _KEY},
        "additionalProperties": {"type": "string", "pattern": f"^({_WORD})?$", "maxLength": 63},
    },
    "object": {"type": "object"},
    "objects": {"type": "array", "items": {"type": "object"}},
    "objectName": {"type": "string", "pattern": rf"^({_NAME}(\.{_NAME})*)?$", "maxLength": 253},
    "namespace": {"type": "string", "pattern": f"^{_NAME}$", "maxLength": 63},
    "port": {"type": "integer", "minimum": 1, "maximum": 65535},
    # Restricted pods may not listen below 1024.
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
    "global": {"type": "object", "description": "Values of a parent chart; Helm adds them. Nothing here reads them."},
    "enabled": {"type": "boolean", "description": "For a parent chart's `condition`. Nothing here reads it."},
}
"""What a parent chart puts into the values of a chart that it depends on."""


def render(values: Iterable[Value]) -> str:
    """The file."""
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
    """Whether null, by which Helm leaves a value out, is no way to say "none"."""
    if value.members or "minItems" in value.schema:
        return True
    nullable = isinstance(value.default, dict | list) or "null" in _listed(value.schema.get("type"))
    return bool(value.default) and not nullable


def _listed(item: object) -> list[object]:
    return item if isinstance(item, list) else [item]


def _schema(value: Value) -> Schema:
    if value.members:
        return _group(value.members)
    said: Schema = {"description": value.text}
    if "$ref" in value.schema:
        # Beside a $ref everything is ignored in this version of JSON schema.
        return {**said, "allOf": [value.schema], "default": value.default}
    # `enum` says it all.
    inferred = {} if "enum" in value.schema else {"type": _type(value)}
    return {**said, **inferred, **value.schema, "default": value.default}


def _type(value: Value) -> str:
    names = {bool: "boolean", int: "integer", str: "string", list: "array", dict: "object"}
    try:
        return names[type(value.default)]
    except KeyError:
        raise ManualError(f"{value.name}: the default shows no type; want a @schema with one") from None


def _settings() -> dict[str, Schema]:
    """The schema of modelfit's own settings as `settings`, and those that it refers to."""
    whole = Settings.model_json_schema(by_alias=True)
    named = {name: _plain(schema) for name, schema in whole.pop("$defs", {}).items()}
    settings = _plain(whole)
    members = settings["properties"]
    assert isinstance(members, dict)
    settings["properties"] = {name: schema for name, schema in members.items() if name not in CHART_OWN}
    used = json.dumps(settings)
    return {"settings": settings} | {name: schema for name, schema in named.items() if f'#/$defs/{name}"' in used}


def _plain(schema: Schema) -> Schema:
    """Without titles, which repeat the names; with one line for each description; without members whose names are
    not as they have to be."""
    kept: Schema = {"additionalProperties": False} if "patternProperties" in schema else {}
    for key, item in schema.items():
        if key == "title" and isinstance(item, str):
            continue
        if isinstance(item, dict):
            kept[key] = _plain(item)
        elif isinstance(item, list):
            kept[key] = [_plain(each) if isinstance(each, dict) else each for each in item]
        else:
            kept[key] = " ".join(item.split()) if key == "description" and isinstance(item, str) else item
    return kept
