"""Parses manifests as kubectl does: JSON or YAML, several documents, Lists.

PyYAML and kubectl differ in the types of plain texts. PyYAML reads 2024-01-01 as a date and 1:30 as 90, and rejects
`=`; kubectl reads 1e3 as 1000 and y as true. This module follows kubectl (tested with 1.32), so that a preview shows
the pod that the cluster would get. It is stricter than kubectl in one point: a duplicate key is an error.
"""

import json
import math
import re
from collections.abc import Hashable, Iterator
from typing import Any, NoReturn

import yaml

from webhook import unique_keys
from webhook.cli import UsageError, inputs
from webhook.core.fits.strict_json import describe
from webhook.errors import quote

MAX_NODES = 2_000_000
"""Values in all documents after aliases are expanded. A few hundred bytes of YAML can expand to billions."""

MAX_DEPTH = 200
"""Levels of nesting. More of them could exhaust the stack when an object is copied or printed."""

MAX_BITS = 1024
"""Bits of an integer; a JSON number of more is infinite for most decoders."""

_BOOLEANS = ("true", "false", "yes", "no", "on", "off", "y", "n")
_WHITESPACE = re.compile(r"[ \t\r\n]*")

_TAG = "tag:yaml.org,2002:"


class _Loader(yaml.SafeLoader):
    """Accepts only values that JSON can represent. Keys become strings."""

    bool_values = yaml.SafeLoader.bool_values | {"y": True, "n": False}

    def compose_mapping_node(self, anchor: dict[Any, yaml.Node]) -> yaml.MappingNode:  # as types-PyYAML has it
        node = super().compose_mapping_node(anchor)
        keys = [key for key, _ in node.value]
        for key in keys:
            if not isinstance(key, yaml.ScalarNode):
                raise _error(key, "a key that is not a scalar")
        repeat = unique_keys.first_repeat(key.value for key in keys)
        if repeat is not None:
            raise _error(keys[repeat], f"duplicate key {quote(keys[repeat].value)}")
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, object]:
        self.flatten_mapping(node)
        return {self._key(key): self.construct_object(value, deep=deep) for key, value in node.value}

    def _key(self, node: yaml.Node) -> str:
        """The key in its JSON spelling. In a Python dict, 1, 1.0 and True would be the same key."""
        key = self.construct_object(node, deep=True)
        return key if isinstance(key, str) else json.dumps(key)

    def construct_json_scalar(self, node: yaml.ScalarNode) -> object:
        """A boolean or a number. The text is invalid only if it has an explicit tag: `!!int two`."""
        kind = node.tag.removeprefix(_TAG)
        try:
            if kind == "bool":
                return self.construct_yaml_bool(node)
            return (
                _integer(self.construct_yaml_int(node)) if kind == "int" else _number(self.construct_yaml_float(node))
            )
        except (ValueError, KeyError, IndexError):
            raise _error(node, f"{quote(node.value)} is not a JSON {kind}") from None


def _error(node: yaml.Node, problem: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)


def _configure(loader: type[_Loader]) -> None:
    """Gives the loader kubectl's rules for plain scalars, and removes the constructors of all other types."""
    booleans = [spelling for word in _BOOLEANS for spelling in (word, word.title(), word.upper())]
    loader.yaml_implicit_resolvers = {}
    for name, pattern in (
        ("bool", "|".join(booleans)),
        ("null", "~|null|Null|NULL|"),
        ("int", "[-+]?(0b_*[01][01_]*|0x_*[0-9a-fA-F][0-9a-fA-F_]*|0o?_*[0-7][0-7_]*|0|[1-9][0-9_]*)"),
        ("float", r"[-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"),
        ("merge", "<<"),
    ):
        loader.add_implicit_resolver(_TAG + name, re.compile(rf"(?:{pattern})\Z"), [None])
    tags = (None, *(_TAG + name for name in ("null", "str", "seq", "map")))
    loader.yaml_constructors = {tag: yaml.SafeLoader.yaml_constructors[tag] for tag in tags}
    for name in ("bool", "int", "float"):
        loader.add_constructor(_TAG + name, loader.construct_json_scalar)


_configure(_Loader)


def load_objects(path: str) -> Iterator[dict[str, object]]:
    """The objects in a file of manifests (`-` is standard input), and in its Lists. They share no values, so
    that a change to one changes no other. Raises UsageError."""
    text, name = inputs.read_text(path), inputs.display_name(path)
    try:
        documents = _parse_json(text) if text.lstrip().startswith(("{", "[")) else None
        documents = list(yaml.load_all(text, _Loader)) if documents is None else documents
        copier = _Copier()
        documents = [copier.copy(document) for document in documents if document is not None]
    except yaml.YAMLError as error:
        raise UsageError(f"{name}: {_describe_yaml_error(error)}; want manifests in YAML or JSON") from None
    except RecursionError:
        raise UsageError(f"{name}: nested too deeply; want manifests in YAML or JSON") from None
    except _InvalidDocument as error:
        raise UsageError(f"{name}: {error}; want manifests in YAML or JSON") from None
    if not documents:
        raise UsageError(f"{name}: empty; want manifests in YAML or JSON")
    for number, document in enumerate(documents, 1):
        yield from _unpack(document, name if len(documents) == 1 else f"{name}: document {number}")


class _InvalidDocument(Exception):
    """A document that cannot be a manifest."""


class _Copier:
    """Copies documents so that they share no values. A YAML alias puts one object into several places, where a change
    to one would change the others."""

    def __init__(self) -> None:
        self._remaining = MAX_NODES

    def copy(self, value: object, depth: int = 1) -> object:
        if depth > MAX_DEPTH:
            raise _InvalidDocument("nested too deeply")
        self._remaining -= 1
        if self._remaining < 0:
            raise _InvalidDocument(f"more than {MAX_NODES} values after expanding aliases")
        if isinstance(value, dict):
            return {key: self.copy(child, depth + 1) for key, child in value.items()}
        return [self.copy(child, depth + 1) for child in value] if isinstance(value, list) else value


def _parse_json(text: str) -> list[object] | None:
    """The values of a sequence of JSON texts; None if the text is not JSON, since YAML in flow style begins in the same
    way. A YAML parser would lose surrogate pairs in JSON, and fails on tabs."""
    decoder = json.JSONDecoder(object_pairs_hook=_json_object, parse_constant=_json_constant, parse_float=_json_float)
    documents: list[object] = []
    position = _skip_whitespace(text, 0)
    while position < len(text):
        try:
            document, position = decoder.raw_decode(text, position)
        except ValueError:
            return None
        documents.append(document)
        position = _skip_whitespace(text, position)
    return documents


def _skip_whitespace(text: str, position: int) -> int:
    whitespace = _WHITESPACE.match(text, position)
    return whitespace.end() if whitespace else position


def _json_object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    for key in unique_keys.repeated(key for key, _ in pairs):
        raise _InvalidDocument(f"duplicate key {quote(key)}")
    return dict(pairs)


def _json_constant(text: str) -> NoReturn:
    raise _InvalidDocument(f"the number {text}, which is not JSON")


def _json_float(text: str) -> int | float:
    try:
        return _number(float(text))
    except ValueError:
        raise _InvalidDocument(f"the number {quote(text)}, which is out of range") from None


def _number(value: float) -> int | float:
    """The number with whole values as int, which JSON prints without a decimal point. Raises ValueError if it is
    infinite or NaN."""
    if not math.isfinite(value):
        raise ValueError
    return int(value) if value.is_integer() and abs(value) < 1 << 53 else value


def _integer(value: int) -> int:
    """The integer. Raises ValueError if it is so large that Python does not convert it to text."""
    if value.bit_length() > MAX_BITS:
        raise ValueError
    return value


def _describe_yaml_error(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    position = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    return f"{getattr(error, 'problem', None) or 'not YAML'}{position}"


def _unpack(document: object, path: str) -> Iterator[dict[str, object]]:
    """The object, or those of a List. `path` is the document's, for messages."""
    if not isinstance(document, dict):
        raise UsageError(f"{path}: {describe(document)}; want a Kubernetes object")
    for key in ("apiVersion", "kind"):
        value = document.get(key)
        if not isinstance(value, str) or not value:
            found = describe(value) if key in document else "missing"
            raise UsageError(f"{path}: {key}: {found}; want a Kubernetes object with apiVersion and kind")
    kind, items = str(document["kind"]), document.get("items")
    if kind == "List" or (kind.endswith("List") and isinstance(items, list)):
        if not isinstance(items, list | None):
            raise UsageError(f"{path}: items: {describe(items)}; want a list of Kubernetes objects")
        # Items of a typed list, such as a PodList from an API server, have neither apiVersion nor kind.
        item_type = {"apiVersion": document["apiVersion"], "kind": kind.removesuffix("List")}
        defaults = {} if kind == "List" else item_type
        for index, item in enumerate(items or ()):
            yield from _unpack(defaults | item if isinstance(item, dict) else item, f"{path}: items[{index}]")
    else:
        yield document
