"""Devices as the vendors' drivers publish them, and the scheduler's question put to an independent CEL engine.

A device is what CEL sees: `driver`, `attributes` and `capacity` by domain, capacities in bytes. In Kubernetes an
unknown domain reads as an empty map; here it is absent, which is the harder case.
"""

from collections.abc import Iterator
from fractions import Fraction

import cel

from tests.core.kit import Json
from tests.vendors.catalog import DRIVERS, PROFILES

GIB = 1 << 30
_FACTORS = {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": GIB, "Ti": 1 << 40, "Pi": 1 << 50}


def good(profile: str, memory: int | None = 80 * GIB) -> Json:
    """A device for the built-in profile, with so many bytes; None is a device that publishes no memory."""
    facts = PROFILES[profile]
    capacity = dict(facts.other_capacity)
    if memory is not None:
        capacity["memory"] = memory
    return device(DRIVERS[profile], dict(facts.attributes), capacity)


def device(driver: str, attributes: Json, capacity: dict[str, int]) -> Json:
    """One device of a driver that publishes all of it under its own domain."""
    return {"driver": driver, "attributes": {driver: attributes}, "capacity": {driver: capacity}}


def bare(driver: str) -> Json:
    """A device that publishes nothing at all."""
    return {"driver": driver, "attributes": {}, "capacity": {}}


def requests(spec: Json) -> Iterator[Json]:
    """The alternatives of a ResourceClaimSpec's one request, in order, each with class, selectors and capacity."""
    (request,) = spec["devices"]["requests"]
    if "exactly" in request:
        yield request["exactly"]
    else:
        yield from request["firstAvailable"]


def expressions(spec: Json) -> Iterator[str]:
    """Every CEL expression in the spec."""
    for request in requests(spec):
        for selector in request["selectors"]:
            yield selector["cel"]["expression"]


def accepts(spec: Json, candidate: Json) -> bool:
    """Whether one of the alternatives' selectors all hold for the device. An error of one is an error of this."""
    verdicts = [
        [evaluate(selector["cel"]["expression"], candidate) for selector in request["selectors"]]
        for request in requests(spec)
    ]
    return any(all(verdict) for verdict in verdicts)


def publishes(request: Json, candidate: Json) -> bool:
    """Whether the device has every capacity that the request names, and enough of it: where consumable capacity is on,
    the scheduler passes over a device that has not."""
    published = candidate["capacity"].get(candidate["driver"], {})
    wanted = request.get("capacity", {}).get("requests", {})
    return all(name in published and published[name] >= _bytes(amount) for name, amount in wanted.items())


def evaluate(expression: str, candidate: Json) -> bool:
    """The expression's value for the device, which must be a truth value."""
    context = {"device": candidate, "quantity": _bytes, "compareTo": _compare}
    value = cel.compile(expression).execute(context)
    assert isinstance(value, bool), (expression, value)
    return value


def _bytes(text: str) -> int:
    number, suffix = (text[:-2], text[-2:]) if text[-2:] in _FACTORS else (text, "")
    amount = Fraction(number) * _FACTORS.get(suffix, 1)
    assert amount.denominator == 1, text
    return int(amount)


def _compare(left: int, right: int) -> int:
    return (left > right) - (left < right)
