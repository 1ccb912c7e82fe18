"""values.yaml read with its comments: what a value is called, what it is by default, and what is said about it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import yaml

CHART = Path(__file__).resolve().parents[2] / "charts" / "modelfit"
VALUES = CHART / "values.yaml"

_MARK = "@schema "


class ManualError(Exception):
    """values.yaml is not written as it has to be; the message names the key."""


@dataclass(frozen=True, slots=True)
class Value:
    """One key. A group has `members` and neither a type nor a default; comments on groups are optional."""

    path: tuple[str, ...]
    text: str
    default: object = None
    schema: dict[str, object] = field(default_factory=dict)
    members: tuple["Value", ...] = ()

    @property
    def name(self) -> str:
        """`webhook.replicas`, as `--set` takes it."""
        return ".".join(self.path)

    @property
    def leaves(self) -> Iterator["Value"]:
        """The values below, this one where it has no members."""
        if not self.members:
            yield self
        for member in self.members:
            yield from member.leaves


def read(path: Path = VALUES) -> tuple[Value, ...]:
    """The values at the top of the file. Raises ManualError for a value without a comment."""
    text = path.read_text("utf-8")
    document = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(document, yaml.MappingNode):
        raise ManualError(f"{path}: want a mapping")
    return _members(document, (), text.splitlines())


def _members(node: yaml.MappingNode, path: tuple[str, ...], lines: list[str]) -> tuple[Value, ...]:
    return tuple(_value(key, value, path, lines) for key, value in node.value)


def _value(key: yaml.Node, node: yaml.Node, path: tuple[str, ...], lines: list[str]) -> Value:
    path = (*path, str(key.value))
    said, schema = _comment(lines, key.start_mark.line, ".".join(path))
    # A mapping in block style is a group; `{}` and `{a: b}` are values of their own.
    if isinstance(node, yaml.MappingNode) and not node.flow_style and not schema:
        return Value(path, said, members=_members(node, path, lines))
    if not said:
        raise ManualError(f"{'.'.join(path)}: no comment above it says what it is for")
    loader = yaml.SafeLoader("")
    default = loader.construct_object(node, deep=True)
    return Value(path, said, default, schema)


def _comment(lines: list[str], line: int, name: str) -> tuple[str, dict[str, object]]:
    """The comment block that ends above a line, and its `@schema`."""
    block: list[str] = []
    while line and lines[line - 1].lstrip().startswith("#"):
        line -= 1
        block.insert(0, lines[line].lstrip().removeprefix("#").strip())
    schema: dict[str, object] = {}
    for text in block:
        if text.startswith(_MARK):
            try:
                schema |= json.loads(text.removeprefix(_MARK))
            except ValueError as error:
                raise ManualError(f"{name}: {_MARK}is not JSON: {error}") from None
    return " ".join(text for text in block if text and not text.startswith(_MARK)), schema
