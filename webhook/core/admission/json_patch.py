"""RFC 6902 operations: as few as do it, on our own paths only, in an order that does not depend on chance.

`add` needs the parent to exist and replaces what stands at the path, so a parent that is absent or null is added
whole, and one that exists is only added to. A pod that has it all gets no operation: twice is once.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict, cast

from webhook import constants
from webhook.core.admission import pods, target_containers
from webhook.core.admission.pods import Container, Pod


class Operation(TypedDict):
    """One operation of a JSON patch; only `add` is ever needed."""

    op: Literal["add"]
    path: str
    value: object


def inject(
    pod: Pod,
    record: Mapping[str, str],
    claim: str | None,
    containers: Sequence[Container],
    memory: str | None,
    variable: tuple[str, str] | None = None,
) -> list[Operation]:
    """Everything that an admitted pod gets. `record` are annotations; `claim` is the claim's name, None for a model
    that needs no GPU; `memory` is the first container's memory request, where it is to get one. `variable` (name and
    value) joins the environment of `containers` where the name is not taken."""
    operations = _entry(pod, claim) if claim is not None else []
    for index, container in enumerate(containers):
        operations += _container(container, claim is not None, memory if index == 0 else None)
        if variable is not None:
            operations += _environment(container, *variable)
    return operations + _metadata(pod, record, claim)


def _entry(pod: Pod, claim: str) -> list[Operation]:
    """The claim's entry; one that is there, of another claim, gets the name."""
    entry = pods.alias_entry(pod)
    if entry is None:
        made = {"name": constants.ALIAS, "resourceClaimName": claim}
        return _append(pod.spec, "resourceClaims", "/spec", made)
    path = f"/spec/resourceClaims/{pod.resource_claims.index(entry)}"
    return _set_members(entry, path, {"resourceClaimName": claim})


def _container(container: Container, claimed: bool, quantity: str | None) -> list[Operation]:
    reference = {"name": constants.ALIAS}
    refer = claimed and not target_containers.refers(container)
    if not refer and quantity is None:
        return []
    path = f"{container.path}/resources"
    if container.body.get("resources") is None:
        whole: dict[str, object] = {"claims": [reference]} if refer else {}
        if quantity is not None:
            whole["requests"] = {"memory": quantity}
        return [_add(path, whole)]
    operations = _append(container.resources, "claims", path, reference) if refer else []
    if quantity is not None:
        operations += _set(container.resources, "requests", path, {"memory": quantity})
    return operations


def _environment(container: Container, name: str, value: str) -> list[Operation]:
    if any(isinstance(entry, dict) and entry.get("name") == name for entry in container.environment):
        return []
    return _append(container.body, "env", container.path, {"name": name, "value": value})


def _metadata(pod: Pod, record: Mapping[str, str], claim: str | None) -> list[Operation]:
    if claim is None:
        return _set(pod.metadata, "annotations", "/metadata", record)
    labels = {constants.INJECTED: constants.INJECTED_TRUE}
    operations = _set(pod.metadata, "labels", "/metadata", labels)
    return operations + _set(pod.metadata, "annotations", "/metadata", {constants.CLAIM: claim, **record})


def _append(parent: Mapping[str, object], key: str, path: str, item: object) -> list[Operation]:
    if parent.get(key) is None:
        return [_add(f"{path}/{key}", [item])]
    return [_add(f"{path}/{key}/-", item)]


def _set(parent: Mapping[str, object], key: str, path: str, members: Mapping[str, str]) -> list[Operation]:
    present = parent.get(key)
    if not isinstance(present, dict):
        return [_add(f"{path}/{key}", dict(members))]
    return _set_members(present, f"{path}/{key}", members)


def _set_members(present: Mapping[str, object], path: str, members: Mapping[str, str]) -> list[Operation]:
    return [_add(f"{path}/{_pointer(name)}", text) for name, text in members.items() if present.get(name) != text]


def _add(path: str, value: object) -> Operation:
    return {"op": "add", "path": path, "value": value}


def _pointer(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def applied(document: dict[str, object], operations: Sequence[Operation]) -> dict[str, object]:
    """The document after `operations` of this module, changed in place. Their parents exist, by construction."""
    for operation in operations:
        *parents, last = (part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:])
        target: object = document
        for part in parents:
            target = target[int(part)] if isinstance(target, list) else cast(dict[str, object], target)[part]
        if isinstance(target, list):
            target.append(operation["value"])
        else:
            cast(dict[str, object], target)[last] = operation["value"]
    return document
