"""Pods as views on decoded JSON, without models, so that fields unknown to this version stay as they are.

In JSON from an API server null and absent mean the same; both read as empty here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from webhook import constants
from webhook.core.admission import exemptions
from webhook.errors import MalformedCall
from webhook.json_tree import get_list, get_object, get_text, strict_list, strict_object, strict_texts
from webhook.reasons import Reason

USER_ANNOTATIONS = (constants.MODEL_FIT, constants.CONTAINERS, constants.PROFILE, constants.DEVICE_COUNT)
"""The annotations that users set on a pod, the fit first."""

MAX_COMMAND_LINE = 4096
"""Characters of a container's command line that are read."""

MAX_CONTAINERS = 1000
"""Containers and init containers of a pod that is decided on. Kubernetes has no limit of its own, and etcd's 1.5 MiB
hold 30,000 small ones; a kubelet runs about a hundred pods of a few containers each, so no real pod has a tenth."""

MAX_RESOURCES = 10_000
"""Resource requests and limits of all containers of a pod that is decided on: ten for each of MAX_CONTAINERS."""


@dataclass(frozen=True)
class Container:
    """One container. `path` is its JSON pointer, `field` its path in messages."""

    name: str
    path: str
    field: str
    body: Mapping[str, object]

    @cached_property
    def resources(self) -> Mapping[str, object]:
        return strict_object(self.body, "resources", self.field)

    @property
    def claims(self) -> Sequence[object]:
        return strict_list(self.resources, "claims", f"{self.field}.resources")

    @property
    def image(self) -> str:
        """Empty if absent or malformed: only hints are read from it."""
        return get_text(self.body, "image") or ""

    @property
    def command_line(self) -> str:
        """Command and arguments with one space between words, MAX_COMMAND_LINE characters of them. Malformed ones are
        left out: only hints are read from it."""
        parts = (*get_list(self.body, "command"), *get_list(self.body, "args"))
        text = " ".join([part for part in parts if isinstance(part, str)])
        return " ".join(text[:MAX_COMMAND_LINE].split())

    @property
    def environment(self) -> Sequence[object]:
        return strict_list(self.body, "env", self.field)

    @property
    def requests_devices(self) -> bool:
        """Whether it references claims, or requests extended resources."""
        if not self.resources:
            return False
        names = (name for kind in ("requests", "limits") for name in self.amounts(kind))
        return bool(self.claims) or any("/" in name for name in names)

    def amounts(self, kind: str) -> Mapping[str, object]:
        """Quantities by resource name; `kind` is `requests` or `limits`."""
        return strict_object(self.resources, kind, f"{self.field}.resources")


@dataclass(frozen=True)
class Pod:
    """`metadata` and `spec` of a Pod or of a pod template. Properties raise MalformedCall for a malformed part and are
    cached where the rules read them repeatedly."""

    metadata: Mapping[str, object]
    spec: Mapping[str, object]

    @cached_property
    def annotations(self) -> Mapping[str, str]:
        return strict_texts(self.metadata, "annotations", "metadata")

    @cached_property
    def labels(self) -> Mapping[str, str]:
        return strict_texts(self.metadata, "labels", "metadata")

    @property
    def resource_claims(self) -> Sequence[object]:
        return strict_list(self.spec, "resourceClaims", "spec")

    @property
    def container_count(self) -> int:
        """The number of containers and init containers."""
        return len(strict_list(self.spec, "containers", "spec")) + len(strict_list(self.spec, "initContainers", "spec"))

    @property
    def resource_count(self) -> int:
        """The number of resource requests and limits of all containers."""
        found = (each.body.get("resources") for each in self.containers + self.init_containers)
        return sum(len(get_object(each, kind)) for each in found if each for kind in ("requests", "limits"))

    @cached_property
    def containers(self) -> tuple[Container, ...]:
        return tuple(self._containers("containers"))

    @cached_property
    def init_containers(self) -> tuple[Container, ...]:
        """Init containers, including native sidecars."""
        return tuple(self._containers("initContainers"))

    def find_exemption(self) -> Reason | None:
        """Why the pod is exempt; None if it is not. Raises MalformedCall for malformed annotations or labels."""
        _ = self.annotations, self.labels  # exemptions.find_exemption takes malformed ones for absent
        return exemptions.find_exemption(self.metadata)

    def _containers(self, key: str) -> Iterator[Container]:
        for index, body in enumerate(strict_list(self.spec, key, "spec")):
            field = f"spec.{key}[{index}]"
            if not isinstance(body, dict):
                raise MalformedCall(f"{field}: want an object")
            name = body.get("name")
            yield Container(name if isinstance(name, str) else "", f"/spec/{key}/{index}", field, body)


def from_object(body: Mapping[str, object]) -> Pod:
    """The pod in a review's `object`. Raises MalformedCall if it cannot be one."""
    return Pod(strict_object(body, "metadata", "object"), strict_object(body, "spec", "object"))


def alias_entry(pod: Pod) -> Mapping[str, object] | None:
    """The entry of spec.resourceClaims that is named `modelfit`, by webhook or user."""
    for entry in pod.resource_claims:
        if isinstance(entry, dict) and entry.get("name") == constants.ALIAS:
            return entry
    return None
