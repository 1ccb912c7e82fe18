"""What a claim's selectors say of real devices, asked of an independent CEL engine: true, then five times false, and
never an error, since one device's error stops scheduling of the pod on all nodes."""

from collections.abc import Iterator

import pytest

from tests.core.devices import GIB, accepts, bare, device, evaluate, expressions, good
from tests.core.kit import Json, fit
from webhook.core import claims
from webhook.core.admission_config import AdmissionConfig
from webhook.core.claims import device_request
from webhook.core.profiles import BUILTIN, Profile, cel

FITS = {
    "whole": (fit(min_vram_gb=8), 8 * GIB),
    "fraction": (fit(min_vram_gb=5.1), 5223 << 20),
    "bandwidth": (fit(memoryGi=5, minBandwidthGBs=161), 5 * GIB),
}


def spec(text: str, profile: str, count: str = "1", config: AdmissionConfig | None = None) -> Json:
    annotations = {"llmfit.ai/model-fit": text, "llmfit.ai/profile": profile, "llmfit.ai/device-count": count}
    made: Json = claims.build_spec(device_request.from_annotations(annotations, config or AdmissionConfig()))
    return made


def misfits(profile: str, least: int) -> Iterator[Json]:
    """Devices that must not be taken: too small by a byte, unreadable, unknown, another driver's, and one that
    publishes nothing."""
    driver = good(profile)["driver"]
    yield good(profile, least - 1)
    yield good(profile, 0)
    yield good(profile, None)
    yield device("other.example", good(profile)["attributes"][driver], {"memory": 80 * GIB})
    yield bare(driver)


@pytest.mark.parametrize("text", FITS)
@pytest.mark.parametrize("profile", BUILTIN)
def test_a_device_that_fits_is_taken_and_five_that_do_not_are_passed_over(profile: str, text: str) -> None:
    content, least = FITS[text]
    made = spec(content, profile)
    verdicts = [accepts(made, candidate) for candidate in (good(profile, least), *misfits(profile, least))]
    assert verdicts == [True, False, False, False, False, False]


@pytest.mark.parametrize("profile", BUILTIN)
def test_each_of_several_devices_holds_its_share_rounded_up(profile: str) -> None:
    made = spec(fit(min_vram_gb=140, supports_tp=[1, 2, 3]), profile, "3")
    least = 47787 << 20  # 140 GiB are 143360 MiB; a third is 47786.67
    verdicts = [accepts(made, candidate) for candidate in (good(profile, least), *misfits(profile, least))]
    assert verdicts == [True, False, False, False, False, False]


@pytest.mark.parametrize("count", ["1", "2", "auto"])
@pytest.mark.parametrize("profile", BUILTIN)
def test_no_single_expression_ever_fails_or_is_too_long(profile: str, count: str) -> None:
    made = spec(fit(memoryGi=5, minBandwidthGBs=161, supports_tp=[1, 2, 4]), profile, count)
    everything = [good(other, memory) for other in BUILTIN for memory in (80 * GIB, 0, None)]
    everything += [bare(good(other)["driver"]) for other in BUILTIN]
    everything += [device(good(other)["driver"], {}, {"memory": 80 * GIB}) for other in BUILTIN]
    for expression in expressions(made):
        assert len(expression.encode()) <= cel.MAX_EXPRESSION
        for candidate in everything:
            assert evaluate(expression, candidate) in (True, False)


@pytest.mark.parametrize(
    ("attributes", "taken"),
    [
        ({"kind": "gpu", "healthy": True}, True),
        ({"kind": "npu", "healthy": True}, True),
        ({"kind": "cpu", "healthy": True}, False),
        ({"kind": "gpu", "healthy": False}, False),
        ({"kind": "gpu"}, False),
        ({"healthy": True}, False),
    ],
)
def test_the_llmfit_profile_takes_healthy_devices_but_no_cpu(attributes: Json, taken: bool) -> None:
    candidate = device("llmfit.ai", attributes, {"memory": 8 * GIB})
    assert accepts(spec(fit(min_vram_gb=8), "llmfit"), candidate) is taken


@pytest.mark.parametrize(("bandwidth", "taken"), [(161, True), (160, False), (None, False)])
def test_the_llmfit_profile_asks_for_the_claims_bandwidth(bandwidth: int | None, taken: bool) -> None:
    attributes: Json = {"kind": "gpu", "healthy": True}
    if bandwidth is not None:
        attributes["memoryBandwidthGBs"] = bandwidth
    candidate = device("llmfit.ai", attributes, {"memory": 8 * GIB})
    assert accepts(spec(fit(memoryGi=5, minBandwidthGBs=161), "llmfit"), candidate) is taken
    assert accepts(spec(fit(memoryGi=5), "llmfit"), candidate) is True


def test_other_profiles_do_not_ask_for_bandwidth() -> None:
    assert spec(fit(memoryGi=5, minBandwidthGBs=161), "nvidia") == spec(fit(memoryGi=5), "nvidia")


def test_a_card_holds_less_than_its_label_and_no_need_is_rounded_down_to_it() -> None:
    card = good("nvidia", 81559 << 20)
    assert accepts(spec(fit(min_vram_gb=79.6), "nvidia"), card) is True
    assert accepts(spec(fit(min_vram_gb=79.9), "nvidia"), card) is False
    assert accepts(spec(fit(min_vram_gb=80), "nvidia"), card) is False


def test_a_profile_of_the_operators_own_is_guarded_like_the_built_in_ones() -> None:
    own = Profile(**_own())
    config = AdmissionConfig(profiles={"own": own})
    made = spec(fit(min_vram_gb=8), "own", config=config)
    assert accepts(made, device("npu.example.com", {"tier": "gold"}, {"hbm": 8 * GIB})) is True
    for candidate in (
        device("npu.example.com", {"tier": "gold"}, {"hbm": 8 * GIB - 1}),
        device("npu.example.com", {"tier": "gold"}, {"memory": 80 * GIB}),
        device("npu.example.com", {"tier": "tin"}, {"hbm": 8 * GIB}),
        device("npu.example.com", {}, {"hbm": 8 * GIB}),
        good("nvidia"),
        bare("npu.example.com"),
    ):
        assert accepts(made, candidate) is False


def _own() -> Json:
    classes: Json = {"device_classes": ("npu",)} if "device_classes" in Profile.__slots__ else {"device_class": "npu"}
    tier = cel.attribute_in("npu.example.com", "tier", ("gold",))
    return {"name": "own", "driver": "npu.example.com", "capacity": "hbm", "selectors": (tier,)} | classes
