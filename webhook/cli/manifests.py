"""Manifests as kubectl reads them: JSON or YAML, several documents, Lists.

PyYAML and kubectl disagree on plain texts, and a preview must not show another pod than the cluster would get:
PyYAML reads 2024-01-01 as a date, 1:30 as ninety and `=` not at all; kubectl reads 1e3 as a thousand and y as true.
The rules here are kubectl's (tried with 1.32). Stricter than kubectl in one thing: a key twice is an error.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Hashable, Iterator
from typing import Any, NoReturn

import yaml

from webhook.cli import UsageError, inputs
from webhook.core.fits.strict_json import describe
from webhook.errors import quote

MAX_NODES = 2_000_000
"""Values in all documents once aliases are written out; a few hundred bytes of YAML can stand for billions."""

_BOOLEANS = ("true", "false", "yes", "no", "on", "off", "y", "n")
_BLANKS = re.compile(r"[ \t\r\n]*")

_TAG = "tag:yaml.org,2002:"


class _Loader(yaml.SafeLoader):
    """YAML of what JSON can hold, with texts for keys."""

    bool_values = yaml.SafeLoader.bool_values | {"y": True, "n": False}

    def compose_mapping_node(self, anchor: dict[Any, yaml.Node]) -> yaml.MappingNode:  # as types-PyYAML has it
        node = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _broken(key, "a key that is no text")
            if key.value in seen:
                raise _broken(key, f"the key {quote(key.value)} twice")
            seen.add(key.value)
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, object]:
        self.flatten_mapping(node)
        return {self._key(key): self.construct_object(value, deep=deep) for key, value in node.value}

    def _key(self, node: yaml.Node) -> str:
        """As JSON spells it. Not left to a dict of Python's, where 1, 1.0 and True are one key."""
        key = self.construct_object(node, deep=True)
        return key if isinstance(key, str) else json.dumps(key)

    def construct_json_scalar(self, node: yaml.ScalarNode) -> object:
        """A boolean or a number. What cannot be one only comes here with its type spelled out: `!!int two`."""
        kind = node.tag.removeprefix(_TAG)
        try:
            if kind == "bool":
                return self.construct_yaml_bool(node)
            return self.construct_yaml_int(node) if kind == "int" else _number(self.construct_yaml_float(node))
        except (ValueError, KeyError, IndexError):
            raise _broken(node, f"{quote(node.value)}, which is no {kind} of JSON's") from None


def _broken(node: yaml.Node, problem: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)


def _set_up(loader: type[_Loader]) -> None:
    """Gives the loader kubectl's types of plain scalars, and constructors for no others."""
    words = [spelt for word in _BOOLEANS for spelt in (word, word.title(), word.upper())]
    loader.yaml_implicit_resolvers = {}
    for name, pattern in (
        ("bool", "|".join(words)),
        ("null", "~|null|Null|NULL|"),
        ("int", "[-+]?(0b_*[01][01_]*|0x_*[0-9a-fA-F][0-9a-fA-F_]*|0o?_*[0-7][0-7_]*|0|[1-9][0-9_]*)"),
        ("float", r"[-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"),
        ("merge", "<<"),
    ):
        loader.add_implicit_resolver(_TAG + name, re.compile(rf"(?:{pattern})\Z"), [None])
    kept = (None, *(_TAG + name for name in ("null", "str", "seq", "map")))
    loader.yaml_constructors = {tag: yaml.SafeLoader.yaml_constructors[tag] for tag in kept}
    for name in ("bool", "int", "float"):
        loader.add_constructor(_TAG + name, loader.construct_json_scalar)


_set_up(_Loader)


def read(path: str) -> Iterator[dict[str, object]]:
    """The objects of a file of manifests (`-` is standard input), those of a List one by one. No two of them share a
    part. Raises UsageError."""
    text, label = inputs.text(path), inputs.label(path)
    try:
        documents = _json(text) if text.lstrip().startswith(("{", "[")) else None
        documents = _yaml(text) if documents is None else documents
        tree = _Tree()
        documents = [tree.copy(document) for document in documents if document is not None]
    except yaml.YAMLError as error:
        raise UsageError(f"{label}: {_problem(error)}; want the YAML or JSON of manifests") from None
    except RecursionError:
        raise UsageError(f"{label}: nested too deeply to be a manifest") from None
    except _Refused as error:
        raise UsageError(f"{label}: {error}; want manifests as kubectl reads them") from None
    if not documents:
        raise UsageError(f"{label}: nothing; want manifests")
    for number, document in enumerate(documents, 1):
        yield from _objects(document, label if len(documents) == 1 else f"{label}: document {number}")


class _Refused(Exception):
    """A document that no manifest can be; the message says why."""


class _Tree:
    """Copies values so that nothing is shared: YAML's aliases give one object to several places, and a change to one
    would show in the others."""

    def __init__(self) -> None:
        self.left = MAX_NODES

    def copy(self, value: object) -> object:
        self.left -= 1
        if self.left < 0:
            raise _Refused(f"more than {MAX_NODES} values with its aliases written out")
        if isinstance(value, dict):
            return {key: self.copy(child) for key, child in value.items()}
        return [self.copy(child) for child in value] if isinstance(value, list) else value


def _yaml(text: str) -> list[object]:
    return list(yaml.load_all(text, _Loader))


def _json(text: str) -> list[object] | None:
    """The values of a stream of JSON texts; None where it is none (YAML's flow style begins in the same way). Read as
    YAML, JSON loses what needs two escapes, and fails on tabs."""
    decoder = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_constant, parse_float=_json_float)
    documents: list[object] = []
    place = _skip_blanks(text, 0)
    while place < len(text):
        try:
            document, place = decoder.raw_decode(text, place)
        except ValueError:
            return None
        documents.append(document)
        place = _skip_blanks(text, place)
    return documents


def _skip_blanks(text: str, place: int) -> int:
    blanks = _BLANKS.match(text, place)
    return blanks.end() if blanks else place


def _pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise _Refused(f"the key {quote(twice)} twice")
    return members


def _constant(text: str) -> NoReturn:
    raise _Refused(f"the number {text}, which JSON has not")


def _json_float(text: str) -> int | float:
    try:
        return _number(float(text))
    except ValueError:
        raise _Refused(f"the number {quote(text)}, which no computer holds") from None


def _number(value: float) -> int | float:
    """A number as JSON's writers write it: whole ones without a point. Raises ValueError for one that JSON has not."""
    if not math.isfinite(value):
        raise ValueError
    return int(value) if value.is_integer() and abs(value) < 1 << 53 else value


def _problem(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    return f"{getattr(error, 'problem', None) or 'not YAML'}{place}"


def _objects(document: object, where: str) -> Iterator[dict[str, object]]:
    if not isinstance(document, dict):
        raise UsageError(f"{where}: {describe(document)}; want a Kubernetes object")
    for key in ("apiVersion", "kind"):
        value = document.get(key)
        if not isinstance(value, str) or not value:
            saw = describe(value) if key in document else "nothing"
            raise UsageError(f"{where}: {key}: {saw}; want a Kubernetes object, which says its apiVersion and kind")
    kind, items = str(document["kind"]), document.get("items")
    if kind == "List" or (kind.endswith("List") and isinstance(items, list)):
        if not isinstance(items, list | None):
            raise UsageError(f"{where}: items: {describe(items)}; want a list of Kubernetes objects")
        for index, item in enumerate(items or ()):
            # In the typed lists that an API server prints the items leave out what they are.
            known = {} if kind == "List" else {"apiVersion": document["apiVersion"], "kind": kind.removesuffix("List")}
            yield from _objects(known | item if isinstance(item, dict) else item, f"{where}: items[{index}]")
    else:
        yield document
