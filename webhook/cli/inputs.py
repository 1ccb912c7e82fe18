"""What commands read: a file or standard input, settings, and manifests."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

from webhook.cli import UsageError
from webhook.errors import shown
from webhook.settings import Settings, load

MAX_INPUT = 64 << 20
"""Bytes. llmfit's whole catalogue is 15 MB."""


def settings(path: str | None) -> Settings:
    """The configuration, as every command reads it. Raises InvalidSettings."""
    return load(Path(path) if path else None, os.environ)


def text(path: str) -> str:
    """The text of a file, or of standard input for `-`. Raises UsageError."""
    try:
        if path == "-":
            data = sys.stdin.buffer.read(MAX_INPUT + 1)
        else:
            with open(path, "rb") as file:
                data = file.read(MAX_INPUT + 1)
    except OSError as error:
        raise UsageError(f"{shown(path)}: {error.strerror or error}") from None
    if len(data) > MAX_INPUT:
        raise UsageError(f"{label(path)}: more than {MAX_INPUT >> 20} MiB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{label(path)}: not UTF-8 at byte {error.start}") from None


def label(path: str) -> str:
    """How messages call an input."""
    return "standard input" if path == "-" else path


class _Loader(yaml.SafeLoader):
    """YAML as Kubernetes reads it: dates stay texts, and a key twice is an error, not a choice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[object, object]:
        self.flatten_mapping(node)
        seen: set[object] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, (str, int, float, bool)) or key in seen:
                problem = (
                    f"the key {shown(key)} twice" if isinstance(key, (str, int, float)) else "a key that is no text"
                )
                raise yaml.constructor.ConstructorError(None, None, problem, key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def manifests(path: str) -> Iterator[dict[str, object]]:
    """The objects of a YAML or JSON file of manifests, those of a List one by one. Raises UsageError."""
    try:
        documents = [document for document in yaml.load_all(text(path), _Loader) if document is not None]
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "not YAML"
        raise UsageError(f"{label(path)}: {problem}{place}") from None
    except RecursionError:
        raise UsageError(f"{label(path)}: nested too deeply to be a manifest") from None
    for document in documents:
        yield from _objects(document, path)


def _objects(document: object, path: str) -> Iterator[dict[str, object]]:
    if not isinstance(document, dict) or not isinstance(document.get("kind"), str):
        raise UsageError(f"{label(path)}: a document that is no Kubernetes object; want apiVersion and kind")
    items = document.get("items")
    if document["kind"].endswith("List") and isinstance(items, list):
        for item in items:
            yield from _objects(item, path)
    else:
        yield document
