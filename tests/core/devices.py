"""Devices as CEL sees them, and an independent CEL engine that evaluates selectors on them.

A device has `driver`, and `attributes` and `capacity` by domain, with capacities in bytes. In Kubernetes an unknown
domain is an empty map. Here it is absent, which is harder for a selector.
"""

from collections.abc import Iterator
from fractions import Fraction

import cel

from tests.core.builders import Json
from tests.core.claim_specs import alternatives
from tests.vendors.catalog import DRIVERS, PROFILES

GIB = 1 << 30
_FACTORS = {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": GIB, "Ti": 1 << 40, "Pi": 1 << 50}


def usable_device(profile: str, memory: int | None = 80 * GIB) -> Json:
    """A device that the built-in profile can use. `memory` is in bytes; with None the device publishes no memory."""
    facts = PROFILES[profile]
    capacity = dict(facts.other_capacity)
    if memory is not None:
        capacity["memory"] = memory
    return device(DRIVERS[profile], dict(facts.attributes), capacity)


def device(driver: str, attributes: Json, capacity: dict[str, int]) -> Json:
    """A device whose driver publishes everything under its own domain."""
    return {"driver": driver, "attributes": {driver: attributes}, "capacity": {driver: capacity}}


def empty_device(driver: str) -> Json:
    """A device that publishes nothing."""
    return {"driver": driver, "attributes": {}, "capacity": {}}


def expressions(spec: Json) -> Iterator[str]:
    """Every CEL expression in the spec."""
    for alternative in alternatives(spec):
        for selector in alternative["selectors"]:
            yield selector["cel"]["expression"]


def matches(alternative: Json, candidate: Json) -> bool:
    """Whether all selectors match. Evaluates every one of them, because an error in one is an error of the claim."""
    results = [evaluate(selector["cel"]["expression"], candidate) for selector in alternative["selectors"]]
    return all(results)


def matches_any(spec: Json, candidate: Json) -> bool:
    """Whether the device matches one of the alternatives."""
    results = [matches(alternative, candidate) for alternative in alternatives(spec)]
    return any(results)


def has_capacity(alternative: Json, candidate: Json) -> bool:
    """Whether the device has enough of every capacity that is requested. With consumable capacity the scheduler skips
    a device that does not."""
    published = candidate["capacity"].get(candidate["driver"], {})
    requested = alternative.get("capacity", {}).get("requests", {})
    return all(name in published and published[name] >= _bytes(amount) for name, amount in requested.items())


def evaluate(expression: str, candidate: Json) -> bool:
    """The value of the expression, which must be a boolean."""
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
