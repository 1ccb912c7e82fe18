"""The ResourceClaimSpec of a demand, in the shape of resource.k8s.io/v1."""

from webhook.core import cel, quantities
from webhook.core.demand import Demand

REQUEST = "gpu"
"""Name of the one request in a claim."""


def spec(demand: Demand) -> dict[str, object]:
    """`{devices: {requests, constraints?}}`. One count is an exact request; several are alternatives, in order."""
    if len(demand.counts) == 1:
        request: dict[str, object] = {"name": REQUEST, "exactly": _request(demand, demand.counts[0])}
    else:
        alternatives = [{"name": f"{REQUEST}-{count}", **_request(demand, count)} for count in demand.counts]
        request = {"name": REQUEST, "firstAvailable": alternatives}
    devices: dict[str, object] = {"requests": [request]}
    if max(demand.counts) > 1:
        # A model is split in equal parts: the slowest and the smallest card would set the pace for all.
        devices["constraints"] = [{"requests": [REQUEST], "matchAttribute": demand.profile.product}]
    return {"devices": devices}


def expressions(demand: Demand, count: int = 1) -> list[str]:
    """The CEL conditions on each of `count` devices, all of which must hold."""
    profile = demand.profile
    conditions = [cel.at_least(profile.driver, profile.capacity, share(demand, count)), *profile.selectors]
    if profile.bandwidth and demand.need.min_bandwidth:
        conditions.append(cel.attribute_at_least(profile.driver, profile.bandwidth, demand.need.min_bandwidth))
    return conditions


def share(demand: Demand, count: int) -> str:
    """The quantity of memory on each of `count` devices, rounded up."""
    return quantities.canonical(-(-quantities.mebibytes(demand.need.gpu_memory) // count))


def _request(demand: Demand, count: int) -> dict[str, object]:
    request: dict[str, object] = {
        "deviceClassName": demand.profile.device_class,
        "selectors": [{"cel": {"expression": expression}} for expression in expressions(demand, count)],
        # Where consumable capacity is on, this takes a share of a shareable device; where it is off the API server
        # drops the field, and the selector still holds.
        "capacity": {"requests": {demand.profile.capacity: share(demand, count)}},
    }
    if count > 1:
        request["count"] = count
    return request
