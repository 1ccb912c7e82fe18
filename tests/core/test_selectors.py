"""Which devices a claim's selectors match, evaluated by an independent CEL engine. No device may cause an error: one
error aborts scheduling of the pod on all nodes."""

from collections.abc import Iterator

import pytest

from tests.core.builders import Json, fit
from tests.core.claim_specs import config, spec
from tests.core.devices import GIB, device, empty_device, evaluate, expressions, matches_any, usable_device
from tests.vendors.catalog import PROFILES, VENDORS
from webhook.core.profiles import BUILTIN, Profile, cel

FITS = {
    "whole": (fit(min_vram_gb=8), 8 * GIB),
    "fraction": (fit(min_vram_gb=5.1), 5223 << 20),
    "bandwidth": (fit(memoryGi=5, minBandwidthGBs=161), 5 * GIB),
}


def unusable_devices(profile: str, minimum: int) -> Iterator[Json]:
    """One byte too small, unreadable, without memory, of another driver, and empty."""
    driver = usable_device(profile)["driver"]
    yield usable_device(profile, minimum - 1)
    yield usable_device(profile, 0)
    yield usable_device(profile, None)
    yield device("other.example", usable_device(profile)["attributes"][driver], {"memory": 80 * GIB})
    yield empty_device(driver)


def assert_matches_exactly_from(built: Json, profile: str, minimum: int) -> None:
    assert matches_any(built, usable_device(profile, minimum))
    assert not [each for each in unusable_devices(profile, minimum) if matches_any(built, each)]


@pytest.mark.parametrize("text", FITS)
@pytest.mark.parametrize("profile", BUILTIN)
def test_a_device_matches_if_it_is_large_enough(profile: str, text: str) -> None:
    content, minimum = FITS[text]
    assert_matches_exactly_from(spec(content, profile), profile, minimum)


@pytest.mark.parametrize("profile", BUILTIN)
def test_each_of_several_devices_has_an_equal_part_rounded_up(profile: str) -> None:
    # 140 GiB are 143360 MiB; a third is 47786.67.
    assert_matches_exactly_from(spec(fit(min_vram_gb=140), profile, "3"), profile, 47787 << 20)


@pytest.mark.parametrize("count", ["1", "2", "auto"])
@pytest.mark.parametrize("profile", BUILTIN)
def test_no_expression_fails_on_any_device_or_is_too_long(profile: str, count: str) -> None:
    built = spec(fit(memoryGi=5, minBandwidthGBs=161, supports_tp=[1, 2, 4]), profile, count)
    devices = [usable_device(other, memory) for other in BUILTIN for memory in (80 * GIB, 0, None)]
    drivers = {profile.driver for profile in BUILTIN.values()}
    devices += [empty_device(driver) for driver in drivers]
    devices += [device(driver, {}, {"memory": 80 * GIB}) for driver in drivers]
    for expression in expressions(built):
        assert len(expression.encode()) <= cel.MAX_EXPRESSION
        for candidate in devices:
            assert evaluate(expression, candidate) in (True, False)


@pytest.mark.parametrize("profile", BUILTIN)
def test_a_device_matches_only_with_attributes_that_its_vendor_calls_usable(profile: str) -> None:
    facts, usable = PROFILES[profile], usable_device(profile)
    published = [
        each.attributes for vendor in VENDORS.values() for each in vendor.devices if each.driver == usable["driver"]
    ]
    built = spec(fit(min_vram_gb=8), profile)
    for name in facts.attributes:
        variants = [{key: value for key, value in facts.attributes.items() if key != name}]
        values = [attributes[name] for attributes in published if name in attributes]
        variants += [{**facts.attributes, name: value} for value in (*values, "other", 5, True, False)]
        for attributes in variants:
            candidate = usable | {"attributes": {usable["driver"]: attributes}}
            assert matches_any(built, candidate) is facts.usable(attributes), attributes


@pytest.mark.parametrize(("bandwidth", "matched"), [(161, True), (160, False), (None, False)])
def test_the_llmfit_profile_selects_on_the_bandwidth_in_the_fit(bandwidth: int | None, matched: bool) -> None:
    attributes: Json = {"kind": "gpu", "healthy": True}
    if bandwidth is not None:
        attributes["memoryBandwidthGBs"] = bandwidth
    candidate = device("llmfit.ai", attributes, {"memory": 8 * GIB})
    assert matches_any(spec(fit(memoryGi=5, minBandwidthGBs=161), "llmfit"), candidate) is matched
    assert matches_any(spec(fit(memoryGi=5), "llmfit"), candidate) is True


def test_other_profiles_do_not_select_on_bandwidth() -> None:
    assert spec(fit(memoryGi=5, minBandwidthGBs=161), "nvidia") == spec(fit(memoryGi=5), "nvidia")


@pytest.mark.parametrize(("gigabytes", "matched"), [(79.6, True), (79.9, False), (80, False)])
def test_a_requirement_is_not_rounded_down_to_the_capacity_of_an_80_gb_card(gigabytes: float, matched: bool) -> None:
    card = usable_device("nvidia", 81559 << 20)
    assert matches_any(spec(fit(min_vram_gb=gigabytes), "nvidia"), card) is matched


def test_a_profile_from_the_settings_is_guarded_like_the_built_in_ones() -> None:
    selector = cel.attribute_in("npu.example.com", "tier", ("gold",))
    own = Profile("own", "npu.example.com", ("npu",), capacity="hbm", selectors=(selector,))
    built = spec(fit(min_vram_gb=8), "own", config=config(own))
    assert matches_any(built, device("npu.example.com", {"tier": "gold"}, {"hbm": 8 * GIB})) is True
    for candidate in (
        device("npu.example.com", {"tier": "gold"}, {"hbm": 8 * GIB - 1}),
        device("npu.example.com", {"tier": "gold"}, {"memory": 80 * GIB}),
        device("npu.example.com", {"tier": "tin"}, {"hbm": 8 * GIB}),
        device("npu.example.com", {}, {"hbm": 8 * GIB}),
        usable_device("nvidia"),
        empty_device("npu.example.com"),
    ):
        assert matches_any(built, candidate) is False
