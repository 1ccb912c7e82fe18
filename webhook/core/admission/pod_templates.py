"""Workload kinds and their pod templates."""

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from webhook import constants
from webhook.core.admission import exemptions, pods
from webhook.core.admission.pods import Pod
from webhook.errors import Denied, quote
from webhook.json_tree import get_object, strict_list, strict_object

_PATHS = {
    ("apps", "Deployment"): ("spec", "template"),
    ("apps", "StatefulSet"): ("spec", "template"),
    ("apps", "DaemonSet"): ("spec", "template"),
    ("apps", "ReplicaSet"): ("spec", "template"),
    ("", "ReplicationController"): ("spec", "template"),
    ("batch", "Job"): ("spec", "template"),
    ("batch", "CronJob"): ("spec", "jobTemplate", "spec", "template"),
}

_OWNER_KINDS = frozenset({("apps", "Deployment"), ("batch", "CronJob")})
"""Kinds of _PATHS that create workloads of other kinds from their own template."""

_PLAIN_NAME = re.compile("[-.a-z0-9]{1,63}")
"""A name that messages repeat unquoted."""

_WORKLOAD_METADATA = "metadata"

COPIED_METADATA = ("labels", "annotations", "finalizers")
"""The members of a template's metadata that controllers copy to the pods."""


@dataclass(frozen=True, slots=True)
class Template:
    """The pod template of a workload at `path`."""

    path: str
    enclosing_metadata: Mapping[str, Mapping[str, object]]
    """By path: the workload's, and for a CronJob that of its Jobs."""
    pod: Pod
    """A pod that is created from the template."""

    @property
    def annotations(self) -> list[str | None]:
        """The values of the user annotations."""
        return [self.pod.annotations.get(key) for key in pods.USER_ANNOTATIONS]

    @property
    def misplaced(self) -> dict[str, object]:
        """Fits that no pod gets, by path: annotations around a template that has none itself."""
        if constants.MODEL_FIT in self.pod.annotations:
            return {}
        return {
            f"{path}.annotations[{constants.MODEL_FIT}]": annotations[constants.MODEL_FIT]
            for path, metadata in self.enclosing_metadata.items()
            if constants.MODEL_FIT in (annotations := get_object(metadata, "annotations"))
            and not exemptions.is_disabled(metadata)
        }

    def misplacement_warnings(self) -> Iterator[str]:
        """A warning for each of `misplaced`."""
        for path in self.misplaced:
            yield f"{path}: pods do not inherit it; move it to {self.path}.metadata.annotations"

    @property
    def is_managed(self) -> bool:
        """Whether another workload with a pod template owns this one."""
        owners = strict_list(self._workload, "ownerReferences", "object.metadata")
        return any(
            isinstance(owner, dict) and owner.get("controller") is True and _owns_workloads(owner) for owner in owners
        )

    @property
    def being_deleted(self) -> bool:
        """Whether the workload is being deleted."""
        return bool(self._workload.get("deletionTimestamp"))

    def qualify(self, message: str) -> str:
        """A message about the pod, with a leading path relative to the workload."""
        return f"{self.path}.{message}" if message.startswith(("metadata.", "spec.")) else message

    def qualify_errors(self, denied: Denied) -> Denied:
        """The denial of the pod, with the paths of its errors relative to the workload."""
        return Denied(
            denied.reason, [dataclasses.replace(error, field=self.qualify(error.field)) for error in denied.errors]
        )

    def prefixed(self, kind: str, warnings: Iterable[str]) -> Iterator[str]:
        """The warnings, each with kind and name of the workload: kubectl prints equal warnings only once."""
        name = self._workload.get("name")
        workload = f"{kind} {name if _PLAIN_NAME.fullmatch(str(name)) else quote(name)}" if name else kind
        return (f"modelfit: {workload}: {warning}" for warning in warnings)

    @property
    def _workload(self) -> Mapping[str, object]:
        return self.enclosing_metadata[_WORKLOAD_METADATA]


def find_path(group: str, kind: str) -> tuple[str, ...] | None:
    """The keys that lead to the pod template in an object of this kind; None if it has none. The core group is ""."""
    return _PATHS.get((group, kind))


def from_workload(path: tuple[str, ...], workload: Mapping[str, object]) -> Template:
    """The template at `path`, empty if absent. Raises MalformedCall if the object cannot be a workload."""
    parent_path, parent = "object", workload
    enclosing = {_WORKLOAD_METADATA: strict_object(workload, "metadata", parent_path)}
    for key in path:
        parent = strict_object(parent, key, parent_path)
        parent_path = f"{parent_path}.{key}"
        if key == "jobTemplate":
            enclosing["spec.jobTemplate.metadata"] = strict_object(parent, "metadata", parent_path)
    metadata = strict_object(parent, "metadata", parent_path)
    copied = {key: metadata[key] for key in COPIED_METADATA if key in metadata}
    return Template(".".join(path), enclosing, Pod(copied, strict_object(parent, "spec", parent_path)))


def _owns_workloads(owner: Mapping[str, object]) -> bool:
    version, kind = owner.get("apiVersion"), owner.get("kind")
    return isinstance(version, str) and isinstance(kind, str) and (version.rpartition("/")[0], kind) in _OWNER_KINDS
