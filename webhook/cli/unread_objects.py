"""Objects of a manifest whose pods cannot be previewed: kinds other than pods and built-in workloads."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from webhook.cli import inputs
from webhook.core.admission import pods
from webhook.json_tree import get_text


@dataclass(frozen=True, slots=True)
class UnreadObject:
    """What messages tell about the object."""

    kind: str
    """API version and kind."""
    origin: str
    """Kind and name, for labels."""
    annotation_paths: tuple[str, ...]
    """Where annotations of pods are, at any depth: custom resources contain pod templates at paths of their own."""

    @classmethod
    def from_object(cls, document: Mapping[str, object]) -> "UnreadObject":
        kind, name = str(document["kind"]), get_text(document, "metadata", "name")
        origin = f"{kind} {name}" if name else f"{kind} without a name"
        return cls(
            f"{document['apiVersion']} {kind}", inputs.quote_unprintable(origin), tuple(_find_annotations(document))
        )


def _find_annotations(document: Mapping[str, object]) -> Iterator[str]:
    """The paths of the keys that are annotations of pods."""
    remaining: list[tuple[str, object]] = [("", document)]
    while remaining:
        path, value = remaining.pop()
        if isinstance(value, list):
            remaining += [(f"{path}[{index}]", item) for index, item in reversed([*enumerate(value)])]
        elif isinstance(value, dict):
            for key in value:
                if key in pods.USER_ANNOTATIONS:
                    yield inputs.quote_unprintable(f"{path}[{key}]")
            remaining += [(f"{path}.{key}" if path else key, item) for key, item in reversed(value.items())]
