"""The ResourceClaimSpec of a demand, in the shape of resource.k8s.io/v1."""

from collections.abc import Collection

from webhook.core.claims.alternatives import Alternative, alternatives, names
from webhook.core.claims.device_request import DeviceRequest
from webhook.core.fits import quantities
from webhook.core.profiles import cel

REQUEST = "gpu"
"""Name of the request for the devices."""

MEMORY_REQUEST = "memory"
"""Name of the request for system memory, where the operator has a class for it."""

# What ffromani/dra-driver-memory publishes: one shareable device for each NUMA zone.
_MEMORY_DRIVER, _MEMORY_CAPACITY = "dra.memory", "size"


def build_spec(demand: DeviceRequest, classes: Collection[str] | None = None) -> dict[str, object]:
    """`{devices: {requests, constraints?}}`. One alternative is an exact request; several are tried in order.

    `classes` are the names of the DeviceClasses that exist, None where that is not known.
    """
    found = alternatives(demand, classes)
    bodies = [_body(demand, each) for each in found]
    labels = names(REQUEST, found)
    if len(found) == 1:
        request: dict[str, object] = {"name": REQUEST, "exactly": bodies[0]}
    else:
        named = [{"name": label, **body} for label, body in zip(labels, bodies, strict=True)]
        request = {"name": REQUEST, "firstAvailable": named}
    requests = [request]
    if demand.system_memory_class and demand.requirements.memory:
        requests.append(_system_memory(demand.system_memory_class, quantities.mebibytes(demand.requirements.memory)))
    devices: dict[str, object] = {"requests": requests}
    several = [label for label, each in zip(labels, found, strict=True) if each.count > 1]
    if several:
        # A model is split in equal parts: the slowest and the smallest card would set the pace for all. A single card
        # need not say what it is.
        whole = len(several) == len(found)
        subject = [REQUEST] if whole else [f"{REQUEST}/{label}" for label in several]
        devices["constraints"] = [{"requests": subject, "matchAttribute": demand.profile.product}]
    return {"devices": devices}


def expressions(demand: DeviceRequest, each: Alternative) -> list[str]:
    """The CEL conditions on each device of an alternative, all of which must hold."""
    profile = demand.profile
    conditions = [cel.at_least(profile.driver, profile.capacity, quantities.canonical(each.least))]
    if each.most is not None:
        conditions.append(cel.at_most(profile.driver, profile.capacity, quantities.canonical(each.most)))
    conditions += profile.selectors
    if profile.bandwidth and demand.requirements.min_bandwidth:
        conditions.append(cel.attribute_at_least(profile.driver, profile.bandwidth, demand.requirements.min_bandwidth))
    if not each.shares:
        conditions.append(cel.lacks_capacity(profile.driver, tuple(profile.shares)))
    return conditions


def _body(demand: DeviceRequest, each: Alternative) -> dict[str, object]:
    # Where consumable capacity is on, this takes a share of a shareable device; where it is off the API server drops
    # the field, and the selector still holds.
    taken = {
        demand.profile.capacity: quantities.canonical(each.least),
        **(demand.profile.shares if each.shares else {}),
    }
    body: dict[str, object] = {
        "deviceClassName": each.device_class,
        "selectors": [_selector(expression) for expression in expressions(demand, each)],
        "capacity": {"requests": taken},
    }
    if each.count > 1:
        body["count"] = each.count
    return body


def _system_memory(device_class: str, mebibytes: int) -> dict[str, object]:
    amount = quantities.canonical(mebibytes)
    body = {
        "deviceClassName": device_class,
        "selectors": [_selector(cel.at_least(_MEMORY_DRIVER, _MEMORY_CAPACITY, amount))],
        "capacity": {"requests": {_MEMORY_CAPACITY: amount}},
    }
    return {"name": MEMORY_REQUEST, "exactly": body}


def _selector(expression: str) -> dict[str, object]:
    return {"cel": {"expression": expression}}
