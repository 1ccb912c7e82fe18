"""Workloads: which kinds make pods, and the pod template in one. The one place that says where a template stands."""

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from webhook import constants
from webhook.core.admission import pods
from webhook.core.admission.pods import Pod
from webhook.errors import Denied, quote

_PATHS = {
    ("apps", "Deployment"): ("spec", "template"),
    ("apps", "StatefulSet"): ("spec", "template"),
    ("apps", "DaemonSet"): ("spec", "template"),
    ("apps", "ReplicaSet"): ("spec", "template"),
    ("", "ReplicationController"): ("spec", "template"),
    ("batch", "Job"): ("spec", "template"),
    ("batch", "CronJob"): ("spec", "jobTemplate", "spec", "template"),
}

_MAKERS = frozenset({("apps", "Deployment"), ("batch", "CronJob")})
"""Kinds of _PATHS that make others of them, with their own template."""

_PLAIN = re.compile("[-.a-z0-9]{1,63}")
"""A name that a message can repeat as it is."""

_OWN = "metadata"

COPIED = ("labels", "annotations", "finalizers")
"""What of a template's metadata the controllers copy to the pods; a name or a namespace there means nothing."""


@dataclass(frozen=True, slots=True)
class Template:
    """The pod template of a workload. `path` is where it stands, `pod` is a pod that is made from it, `outer` is the
    metadata around it by path: the workload's, and in a CronJob that of its Jobs."""

    path: str
    outer: Mapping[str, Mapping[str, object]]
    pod: Pod

    @property
    def ours(self) -> list[str | None]:
        """What its annotations ask of us."""
        return [self.pod.annotations.get(key) for key in pods.ASKING]

    @property
    def workload(self) -> Mapping[str, object]:
        """The workload's metadata."""
        return self.outer[_OWN]

    @property
    def misplaced(self) -> dict[str, object]:
        """Fits that no pod gets, by path: they are around the template, and there is none in it."""
        if constants.MODEL_FIT in self.pod.annotations:
            return {}
        found = {}
        for where, metadata in self.outer.items():
            annotations, labels = metadata.get("annotations"), metadata.get("labels")
            disabled = isinstance(labels, dict) and labels.get(constants.INJECT) == constants.INJECT_DISABLED
            if isinstance(annotations, dict) and constants.MODEL_FIT in annotations and not disabled:
                found[f"{where}.annotations[{constants.MODEL_FIT}]"] = annotations[constants.MODEL_FIT]
        return found

    def directions(self) -> Iterator[str]:
        """A warning for each of `misplaced`."""
        for where in self.misplaced:
            yield f"{where}: no pod gets it from there; move it to {self.path}.metadata.annotations"

    @property
    def is_made(self) -> bool:
        """Whether another workload made this one."""
        owners = pods.sequence(self.workload, "ownerReferences", "object.metadata")
        return any(isinstance(owner, dict) and owner.get("controller") is True and _makes(owner) for owner in owners)

    @property
    def being_deleted(self) -> bool:
        """Whether the workload is."""
        return bool(self.workload.get("deletionTimestamp"))

    def located(self, message: str) -> str:
        """What is said of a pod, as said of the template: a path at its beginning starts at the workload."""
        return f"{self.path}.{message}" if message.startswith(("metadata.", "spec.")) else message

    def told(self, kind: str, warnings: Iterable[str]) -> Iterator[str]:
        """The warnings as those of a workload of that kind. kubectl drops what it has printed before, so every line
        names the workload."""
        name = self.workload.get("name")
        called = f"{kind} {name if _PLAIN.fullmatch(str(name)) else quote(name)}" if name else kind
        return (f"modelfit: {called}: {warning}" for warning in warnings)

    def refused(self, refusal: Denied) -> Denied:
        """The refusal of a pod, as that of the template."""
        faults = [dataclasses.replace(fault, field=self.located(fault.field)) for fault in refusal.faults]
        return Denied(refusal.reason, faults)


def path(group: str, kind: str) -> tuple[str, ...] | None:
    """Where the pod template stands in an object of that kind; None where it has none. The core group is empty."""
    return _PATHS.get((group, kind))


def view(steps: tuple[str, ...], body: Mapping[str, object]) -> Template:
    """The template at `steps`, empty where there is none. Raises MalformedCall for a shape that no workload has."""
    where, place = "object", body
    outer = {_OWN: pods.mapping(body, "metadata", where)}
    for step in steps:
        place = pods.mapping(place, step, where)
        where = f"{where}.{step}"
        if step == "jobTemplate":
            outer["spec.jobTemplate.metadata"] = pods.mapping(place, "metadata", where)
    metadata = pods.mapping(place, "metadata", where)
    copied = {key: metadata[key] for key in COPIED if key in metadata}
    return Template(".".join(steps), outer, Pod(copied, pods.mapping(place, "spec", where)))


def _makes(owner: Mapping[str, object]) -> bool:
    version, kind = owner.get("apiVersion"), owner.get("kind")
    return isinstance(version, str) and isinstance(kind, str) and (version.rpartition("/")[0], kind) in _MAKERS
