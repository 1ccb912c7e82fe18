"""DRA is first-fit: `tightest` asks for a snug device before any that is large enough, and misses none by it."""

import pytest

from tests.core.devices import GIB, evaluate, good, publishes, requests
from tests.core.kit import Json, fit
from webhook.core import claims
from webhook.core.admission_config import AdmissionConfig
from webhook.core.claims import device_request
from webhook.core.profiles import BUILTIN

NEED = 8
SIZES = [*range(NEED * GIB - 1, NEED * GIB + 2), *(size * GIB for size in (9, 10, 11, 12, 16, 24, 32, 48, 64, 80, 192))]


def spec(profile: str, config: AdmissionConfig, count: str = "1") -> Json:
    annotations = {
        "llmfit.ai/model-fit": fit(vram_gb=NEED, supports_tp=[1, 2, 4]),
        "llmfit.ai/profile": profile,
        "llmfit.ai/device-count": count,
    }
    made: Json = claims.build_spec(device_request.from_annotations(annotations, config))
    return made


def first_turn(made: Json, device: Json, *, sharing: bool = True) -> int | None:
    """The place of the first alternative that would take the device; `sharing` is the gate of consumable capacity."""
    for index, request in enumerate(requests(made)):
        if sharing and not publishes(request, device):
            continue
        if all(evaluate(selector["cel"]["expression"], device) for selector in request["selectors"]):
            return index
    return None


@pytest.mark.parametrize("sharing", [True, False])
@pytest.mark.parametrize("profile", BUILTIN)
def test_a_smaller_device_is_never_asked_for_after_a_larger_one(profile: str, sharing: bool) -> None:
    made = spec(profile, AdmissionConfig(placement="tightest"))
    turns = [first_turn(made, good(profile, size), sharing=sharing) for size in SIZES]
    assert turns[0] is None
    found = [turn for turn in turns[1:] if turn is not None]
    assert len(found) == len(SIZES) - 1
    assert found == sorted(found)
    assert found[0] < found[-1]
    assert len(list(requests(made))) <= 8


@pytest.mark.parametrize("count", ["1", "2", "auto"])
@pytest.mark.parametrize("profile", BUILTIN)
def test_tightest_takes_the_same_devices_as_any_and_no_other(profile: str, count: str) -> None:
    any_, tightest = (
        spec(profile, config, count) for config in (AdmissionConfig(), AdmissionConfig(placement="tightest"))
    )
    for memory in (None, 0, GIB, 2 * GIB - 1, 2 * GIB, 4 * GIB - 1, 4 * GIB, *SIZES):
        device = good(profile, memory)
        for sharing in (True, False):
            misses = [first_turn(made, device, sharing=sharing) is None for made in (any_, tightest)]
            assert misses[0] == misses[1]


def test_any_is_what_the_scheduler_does_by_itself() -> None:
    assert list(spec("nvidia", AdmissionConfig())["devices"]["requests"][0]) == ["name", "exactly"]


def test_fewer_devices_come_before_a_snugger_fit() -> None:
    made = spec("nvidia", AdmissionConfig(placement="tightest"), "auto")
    counts = [request.get("count", 1) for request in requests(made)]
    assert counts == sorted(counts)
    assert set(counts) == {1, 2, 4}


@pytest.mark.parametrize("profile", [name for name, profile in BUILTIN.items() if profile.shares])
def test_a_device_without_the_profiles_other_capacities_is_asked_for_memory_alone(profile: str) -> None:
    device = good(profile)
    driver = device["driver"]
    made = spec(profile, AdmissionConfig())
    without = device | {"capacity": {driver: {"memory": 80 * GIB}}}
    everything = first_turn(made, device)
    alone = first_turn(made, without)
    assert everything is not None
    assert alone is not None
    alternatives = list(requests(made))
    assert alternatives[everything]["capacity"]["requests"] == {"memory": "8Gi", **BUILTIN[profile].shares}
    assert alternatives[alone]["capacity"]["requests"] == {"memory": "8Gi"}
    assert first_turn(made, without, sharing=False) is not None
