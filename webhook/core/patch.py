"""RFC 6902 operations: as few as do it, on our own paths only, in an order that does not depend on chance.

`add` needs the parent to exist and replaces what stands at the path, so a parent that is absent or null is added
whole, and one that exists is only added to. A pod that has it all gets no operation: twice is once.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict, cast

from webhook import vocabulary
from webhook.core import pods, targets
from webhook.core.need import Need
from webhook.core.pods import Container, Pod

_JSON = json.JSONEncoder(separators=(",", ":"))


class Operation(TypedDict):
    """One operation of a JSON patch; only `add` is ever needed."""

    op: Literal["add"]
    path: str
    value: object


def inject(
    pod: Pod,
    need: Need,
    claim: str | None,
    containers: Sequence[Container],
    fill_memory: bool,
    variable: tuple[str, str] | None = None,
) -> list[Operation]:
    """Everything that an admitted pod gets. `claim` is the claim's name, None for a model that needs no GPU.
    `fill_memory` says that the first container may get a memory request. `variable` (name and value) joins the
    environment of `containers` where the name is not taken."""
    operations: list[Operation] = []
    quantity = need.memory_quantity
    resources = _JSON.encode(_figures(need))
    # With the annotation there the pod went through here before. Another webhook may have put a container first since,
    # which is not the one that was chosen then.
    fills = fill_memory and quantity and pod.annotations.get(vocabulary.RESOURCES) != resources
    filled = containers[0] if fills else None
    if claim is not None and pods.alias_entry(pod) is None:
        operations += _append(
            pod.spec, "resourceClaims", "/spec", {"name": vocabulary.ALIAS, "resourceClaimName": claim}
        )
    for container in containers:
        operations += _container(container, claim is not None, quantity if container is filled else None)
        if variable is not None:
            operations += _environment(container, *variable)
    return operations + _metadata(pod, resources, claim)


def _figures(need: Need) -> dict[str, str]:
    figures = {"gpu.memory": need.gpu_memory_quantity}
    return figures | {"memory": need.memory_quantity} if need.memory_quantity else figures


def _container(container: Container, claimed: bool, quantity: str | None) -> list[Operation]:
    reference = {"name": vocabulary.ALIAS}
    refer = claimed and not targets.refers(container)
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


def _metadata(pod: Pod, resources: str, claim: str | None) -> list[Operation]:
    annotations = {vocabulary.RESOURCES: resources}
    operations: list[Operation] = []
    if claim is not None:
        annotations = {vocabulary.CLAIM: claim} | annotations
        operations += _set(pod.metadata, "labels", "/metadata", {vocabulary.INJECTED: vocabulary.INJECTED_TRUE})
    return operations + _set(pod.metadata, "annotations", "/metadata", annotations)


def _append(parent: Mapping[str, object], key: str, path: str, item: object) -> list[Operation]:
    if parent.get(key) is None:
        return [_add(f"{path}/{key}", [item])]
    return [_add(f"{path}/{key}/-", item)]


def _set(parent: Mapping[str, object], key: str, path: str, members: Mapping[str, str]) -> list[Operation]:
    present = parent.get(key)
    if not isinstance(present, dict):
        return [_add(f"{path}/{key}", dict(members))]
    return [_add(f"{path}/{key}/{_pointer(name)}", text) for name, text in members.items() if present.get(name) != text]


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
