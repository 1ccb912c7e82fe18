"""Builds the ResourceClaimSpec of a device request, in the shape of resource.k8s.io/v1."""

from collections.abc import Collection

from webhook.core.claims.alternatives import Alternative, Published, alternative_names, list_alternatives
from webhook.core.claims.device_request import DeviceRequest
from webhook.core.fits import quantities
from webhook.core.profiles import cel

DEVICE_REQUEST = "gpu"
"""Name of the request for the devices."""

MEMORY_REQUEST = "memory"
"""Name of the request for system memory, if the operator has configured a class for it."""

# ffromani/dra-driver-memory publishes one shareable device per NUMA zone.
_MEMORY_DRIVER, _MEMORY_CAPACITY = "dra.memory", "size"


def build_spec(request: DeviceRequest, classes: Collection[str] | None = None) -> dict[str, object]:
    """`{devices: {requests, constraints?}}`. A single alternative is an `exactly` request; several are listed in
    `firstAvailable`. `classes` are the names of the existing DeviceClasses, None if unknown."""
    alternatives = list_alternatives(request, classes)
    bodies = [_exact_request(request, each) for each in alternatives]
    names = alternative_names(DEVICE_REQUEST, alternatives)
    if len(bodies) == 1:
        requests: list[dict[str, object]] = [{"name": DEVICE_REQUEST, "exactly": bodies[0]}]
    else:
        named = [{"name": name, **body} for name, body in zip(names, bodies, strict=True)]
        requests = [{"name": DEVICE_REQUEST, "firstAvailable": named}]
    if request.system_memory_class and request.requirements.memory:
        mebibytes = quantities.mebibytes(request.requirements.memory)
        requests.append(_system_memory_request(request.system_memory_class, mebibytes))
    devices: dict[str, object] = {"requests": requests}
    several = [name for name, each in zip(names, alternatives, strict=True) if each.count > 1]
    if several:
        # A model is split in equal parts, so the slowest and smallest card would limit all. A single card needs no
        # product attribute.
        constrained = [DEVICE_REQUEST] if len(several) == len(names) else [f"{DEVICE_REQUEST}/{n}" for n in several]
        devices["constraints"] = [{"requests": constrained, "matchAttribute": request.profile.product}]
    return {"devices": devices}


def _conditions(request: DeviceRequest, alternative: Alternative) -> list[str]:
    """The CEL expressions that a device must satisfy, all of them."""
    profile = request.profile
    minimum, maximum = alternative.min_mebibytes, alternative.max_mebibytes
    if alternative.published is Published.NOTHING and profile.product:
        conditions = [cel.is_product_without(profile.driver, profile.capacity, profile.product, alternative.products)]
    else:
        conditions = [cel.at_least(profile.driver, profile.capacity, quantities.canonical(minimum))]
        if maximum is not None:
            conditions.append(cel.at_most(profile.driver, profile.capacity, quantities.canonical(maximum)))
    conditions += profile.selectors
    bandwidth = request.requirements.min_bandwidth
    if profile.bandwidth and bandwidth:
        conditions.append(cel.attribute_at_least(profile.driver, profile.bandwidth, bandwidth))
    if alternative.published is Published.MEMORY:
        conditions.append(cel.lacks_capacity(profile.driver, tuple(profile.shares)))
    return conditions


def _exact_request(request: DeviceRequest, alternative: Alternative) -> dict[str, object]:
    body: dict[str, object] = {
        "deviceClassName": alternative.device_class,
        "selectors": [_selector(condition) for condition in _conditions(request, alternative)],
    }
    if alternative.published is not Published.NOTHING:
        # With the feature gate for consumable capacity, `capacity` consumes a share of a shareable device. Without it
        # the API server drops the field, and the selectors still apply.
        capacity = {request.profile.capacity: quantities.canonical(alternative.min_mebibytes)}
        if alternative.published is Published.ALL:
            capacity |= request.profile.shares
        body["capacity"] = {"requests": capacity}
    if request.profile.tolerations:
        body["tolerations"] = [dict(each) for each in request.profile.tolerations]
    if alternative.count > 1:
        body["count"] = alternative.count
    return body


def _system_memory_request(device_class: str, mebibytes: int) -> dict[str, object]:
    quantity = quantities.canonical(mebibytes)
    body = {
        "deviceClassName": device_class,
        "selectors": [_selector(cel.at_least(_MEMORY_DRIVER, _MEMORY_CAPACITY, quantity))],
        "capacity": {"requests": {_MEMORY_CAPACITY: quantity}},
    }
    return {"name": MEMORY_REQUEST, "exactly": body}


def _selector(expression: str) -> dict[str, object]:
    return {"cel": {"expression": expression}}
