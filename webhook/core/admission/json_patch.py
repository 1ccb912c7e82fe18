"""The JSON patch (RFC 6902) of an injection: minimal, idempotent, in a fixed order, on our own paths only.

`add` requires the parent to exist and replaces the value at the path. So an absent or null parent is added whole, and
an existing one gets a member. A pod that is injected already gets no operation.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict, cast

from webhook import constants
from webhook.core.admission import pods, target_containers
from webhook.core.admission.pods import Container, Pod


class Operation(TypedDict):
    """One operation of a JSON patch; an injection only needs `add`."""

    op: Literal["add"]
    path: str
    value: object


def inject(
    pod: Pod,
    record: Mapping[str, str],
    claim: str | None,
    containers: Sequence[Container],
    memory_request: str | None,
    env: tuple[str, str] | None = None,
) -> list[Operation]:
    """The patch. `record` are annotations; `claim` is the claim's name, None for a model that needs no GPU;
    `memory_request` goes to the first container; `env` is the name and value of an environment variable for all
    `containers` that do not define it."""
    operations = _resource_claim(pod, claim) if claim is not None else []
    for index, container in enumerate(containers):
        operations += _resources(container, claim is not None, memory_request if index == 0 else None)
        if env is not None:
            operations += _environment(container, *env)
    return operations + _metadata(pod, record, claim)


def _resource_claim(pod: Pod, claim: str) -> list[Operation]:
    """The entry in spec.resourceClaims; the existing entry of a copied pod gets the new name."""
    entry = pods.alias_entry(pod)
    if entry is None:
        new = {"name": constants.ALIAS, "resourceClaimName": claim}
        return _append(pod.spec, "resourceClaims", "/spec", new)
    path = f"/spec/resourceClaims/{pod.resource_claims.index(entry)}"
    return _set_members(entry, path, {"resourceClaimName": claim})


def _resources(container: Container, has_claim: bool, memory_request: str | None) -> list[Operation]:
    reference = {"name": constants.ALIAS}
    add_reference = has_claim and not target_containers.references_claim(container)
    if not add_reference and memory_request is None:
        return []
    path = f"{container.path}/resources"
    if container.body.get("resources") is None:
        resources: dict[str, object] = {"claims": [reference]} if add_reference else {}
        if memory_request is not None:
            resources["requests"] = {"memory": memory_request}
        return [_add(path, resources)]
    operations = _append(container.resources, "claims", path, reference) if add_reference else []
    if memory_request is not None:
        operations += _set(container.resources, "requests", path, {"memory": memory_request})
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
    existing = parent.get(key)
    if not isinstance(existing, dict):
        return [_add(f"{path}/{key}", dict(members))]
    return _set_members(existing, f"{path}/{key}", members)


def _set_members(existing: Mapping[str, object], path: str, members: Mapping[str, str]) -> list[Operation]:
    return [_add(f"{path}/{_escape(key)}", value) for key, value in members.items() if existing.get(key) != value]


def _add(path: str, value: object) -> Operation:
    return {"op": "add", "path": path, "value": value}


def _escape(key: str) -> str:
    """The key as a token of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def apply(document: dict[str, object], operations: Sequence[Operation]) -> dict[str, object]:
    """Applies operations of this module to the document in place. Their parents exist."""
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
