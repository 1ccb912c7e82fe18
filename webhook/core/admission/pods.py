"""A pod as the rules look at it: a view on the decoded JSON, which is never copied into models, so that fields that
this version does not know stay as they are.

In JSON that comes from an API server null and absent mean the same; both read as empty here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from webhook import constants
from webhook.errors import MalformedCall, quote

ASKING = (constants.MODEL_FIT, constants.CONTAINERS, constants.PROFILE, constants.DEVICE_COUNT)
"""The annotations by which a pod asks something of us, the fit first."""


@dataclass(frozen=True)
class Container:
    """One container. `path` is its JSON pointer, `field` its path in messages."""

    name: str
    path: str
    field: str
    body: Mapping[str, object]

    @cached_property
    def resources(self) -> Mapping[str, object]:
        return mapping(self.body, "resources", self.field)

    @property
    def claims(self) -> Sequence[object]:
        return sequence(self.resources, "claims", f"{self.field}.resources")

    @property
    def environment(self) -> Sequence[object]:
        return sequence(self.body, "env", self.field)

    def amounts(self, kind: str) -> Mapping[str, object]:
        """`requests` or `limits`."""
        return mapping(self.resources, kind, f"{self.field}.resources")


@dataclass(frozen=True)
class Pod:
    """`metadata` and `spec` of a Pod, or of a pod template. Parts are read once, when first asked for: a review is
    answered while somebody's pod waits."""

    metadata: Mapping[str, object]
    spec: Mapping[str, object]

    @cached_property
    def annotations(self) -> Mapping[str, str]:
        return texts(self.metadata, "annotations")

    @cached_property
    def labels(self) -> Mapping[str, str]:
        return texts(self.metadata, "labels")

    @property
    def being_deleted(self) -> bool:
        return bool(self.metadata.get("deletionTimestamp"))

    @property
    def resource_claims(self) -> Sequence[object]:
        return sequence(self.spec, "resourceClaims", "spec")

    @cached_property
    def containers(self) -> tuple[Container, ...]:
        """The ordinary containers, in their order."""
        return tuple(self._containers("containers"))

    @cached_property
    def init_containers(self) -> tuple[Container, ...]:
        """The init containers, native sidecars among them."""
        return tuple(self._containers("initContainers"))

    def _containers(self, field: str) -> Iterator[Container]:
        for index, body in enumerate(sequence(self.spec, field, "spec")):
            where = f"spec.{field}[{index}]"
            if not isinstance(body, dict):
                raise MalformedCall(f"{where}: want an object")
            name = body.get("name")
            yield Container(name if isinstance(name, str) else "", f"/spec/{field}/{index}", where, body)


def view(body: Mapping[str, object]) -> Pod:
    """The pod in an admission request's `object`. Raises MalformedCall for a shape that no pod has."""
    return Pod(mapping(body, "metadata", "object"), mapping(body, "spec", "object"))


def alias_entry(pod: Pod) -> Mapping[str, object] | None:
    """The entry of spec.resourceClaims with our alias, whoever wrote it."""
    for entry in pod.resource_claims:
        if isinstance(entry, dict) and entry.get("name") == constants.ALIAS:
            return entry
    return None


def mapping(members: Mapping[str, object], key: str, where: str) -> Mapping[str, object]:
    """The object at `key`, empty where it is absent or null."""
    value = members.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise MalformedCall(f"{where}.{key}: want an object")
    return value


def texts(members: Mapping[str, object], key: str) -> Mapping[str, str]:
    """The map of texts at `key`: annotations or labels. A null value is the empty text, as the API server reads it."""
    value = mapping(members, key, "metadata")
    if all(isinstance(text, str) for text in value.values()):
        return value  # type: ignore[return-value]
    for name, text in value.items():
        if not isinstance(text, str) and text is not None:
            raise MalformedCall(f"metadata.{key}[{quote(name)}]: want a text; put the value in quotes")
    return {name: text if isinstance(text, str) else "" for name, text in value.items()}


def sequence(members: Mapping[str, object], key: str, where: str) -> Sequence[object]:
    """The list at `key`, empty where it is absent or null."""
    value = members.get(key)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise MalformedCall(f"{where}.{key}: want a list")
    return value
