"""Reads the chart's values.yaml with its comments: the path, default, description and type of each value."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import yaml

CHART = Path(__file__).resolve().parents[2] / "charts" / "modelfit"
VALUES = CHART / "values.yaml"

_MARK = "@schema "


class InvalidValuesFile(Exception):
    """values.yaml cannot be documented; the message names the key."""


@dataclass(frozen=True, slots=True)
class Value:
    """One key. A group has `members` and neither a schema nor a default; its description may be empty."""

    path: tuple[str, ...]
    description: str
    default: object = None
    schema: dict[str, object] = field(default_factory=dict)
    members: tuple["Value", ...] = ()

    @property
    def name(self) -> str:
        """`webhook.replicas`, as `--set` takes it."""
        return ".".join(self.path)

    @property
    def leaves(self) -> Iterator["Value"]:
        """The values of a group at any depth, or the value itself."""
        if not self.members:
            yield self
        for member in self.members:
            yield from member.leaves


def load(path: Path = VALUES) -> tuple[Value, ...]:
    """The top-level values of the file. Raises InvalidValuesFile for a value without a comment."""
    text = path.read_text("utf-8")
    document = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(document, yaml.MappingNode):
        raise InvalidValuesFile(f"{path}: want a mapping")
    return _members(document, (), text.splitlines())


def _members(node: yaml.MappingNode, path: tuple[str, ...], lines: list[str]) -> tuple[Value, ...]:
    return tuple(_value(key, value, path, lines) for key, value in node.value)


def _value(key: yaml.Node, node: yaml.Node, path: tuple[str, ...], lines: list[str]) -> Value:
    path = (*path, str(key.value))
    description, schema = _comment(lines, key.start_mark.line, ".".join(path))
    # A mapping in block style is a group. `{}` and `{a: b}` are values.
    if isinstance(node, yaml.MappingNode) and not node.flow_style and not schema:
        return Value(path, description, members=_members(node, path, lines))
    if not description:
        raise InvalidValuesFile(f"{'.'.join(path)}: no comment above it; want one that describes the value")
    return Value(path, description, yaml.SafeLoader("").construct_object(node, deep=True), schema)


def _comment(lines: list[str], line: int, name: str) -> tuple[str, dict[str, object]]:
    """The text of the comment block directly above a line, and the schema of its `@schema` lines."""
    first = line
    while first and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    texts: list[str] = []
    schema: dict[str, object] = {}
    for text in (each.lstrip().removeprefix("#").strip() for each in lines[first:line]):
        if not text.startswith(_MARK):
            texts.append(text)
            continue
        try:
            schema |= json.loads(text.removeprefix(_MARK))
        except ValueError as error:
            raise InvalidValuesFile(f"{name}: {_MARK}is not JSON: {error}") from None
    return " ".join(filter(None, texts)), schema
