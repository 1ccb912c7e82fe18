"""Models on several devices: equal parts on cards of one product. Counts are never guessed."""

import pytest

from tests.core.builders import CPU_FIT, fit, mutate, pod
from tests.core.claim_specs import alternatives, counts, request, spec
from webhook.core.admission_config import AdmissionConfig
from webhook.core.claims import device_request
from webhook.core.profiles import BUILTIN
from webhook.errors import Denied
from webhook.reasons import Reason

BIG = fit(min_vram_gb=140, supports_tp=[1, 2, 4, 8])


@pytest.mark.parametrize("annotations", [{}, {"llmfit.ai/device-count": "1"}])
def test_the_default_is_one_device_with_all_the_memory(annotations: dict[str, str]) -> None:
    assert ": gpu.nvidia.com (gpu.memory 140Gi)" in mutate(pod(BIG, annotations=annotations)).warnings[0]
    built = spec(BIG)
    (device,) = alternatives(built)
    assert device.get("count", 1) == 1
    assert device["capacity"]["requests"] == {"memory": "140Gi"}
    assert "constraints" not in built["devices"]


@pytest.mark.parametrize(
    ("count", "part"),
    [("2", "70Gi"), ("3", "47787Mi"), ("7", "20Gi"), ("32", "4480Mi")],
)
def test_n_devices_have_an_equal_part_each_rounded_up(count: str, part: str) -> None:
    built = spec(BIG, count=count)
    (devices,) = alternatives(built)
    assert devices["count"] == int(count)
    assert devices["capacity"]["requests"] == {"memory": part}
    assert f'quantity("{part}")' in devices["selectors"][0]["cel"]["expression"]
    assert built["devices"]["constraints"] == [{"requests": ["gpu"], "matchAttribute": "gpu.nvidia.com/productName"}]


def test_the_parts_together_are_never_less_than_the_requirement() -> None:
    for hundredths in range(100, 2000, 37):
        for count in range(1, 33):
            (devices,) = alternatives(spec(fit(min_vram_gb=hundredths / 100), count=str(count)))
            quantity = devices["capacity"]["requests"]["memory"]
            mebibytes = int(quantity[:-2]) * (1024 if quantity.endswith("Gi") else 1)
            assert mebibytes * count * 100 >= hundredths * 1024


def test_auto_lists_the_counts_in_the_fit_fewest_first() -> None:
    built = spec(BIG, count="auto")
    assert counts(built) == [1, 2, 4, 8]
    memory = [each["capacity"]["requests"]["memory"] for each in alternatives(built)]
    assert memory == ["140Gi", "70Gi", "35Gi", "17920Mi"]


def test_auto_constrains_the_product_of_several_devices_only() -> None:
    built = spec(BIG, count="auto")
    several = [f"gpu/{each['name']}" for each in alternatives(built) if each.get("count", 1) > 1]
    (constraint,) = built["devices"]["constraints"]
    assert constraint == {"requests": several, "matchAttribute": "gpu.nvidia.com/productName"}


@pytest.mark.parametrize(
    ("supports_tp", "listed"),
    [
        ([1], [1]),
        ([2], [2]),
        ([64, 33, 32, 16, 8, 7, 6, 5, 4, 3, 2, 1], [1, 2, 3, 4, 5, 6, 7, 8]),
        ([64, 32, 1], [1, 32]),
    ],
)
def test_auto_lists_at_most_eight_counts_of_at_most_32(supports_tp: list[int], listed: list[int]) -> None:
    assert counts(spec(fit(min_vram_gb=8, supports_tp=supports_tp), count="auto")) == listed


@pytest.mark.parametrize("supports_tp", [None, [], [64], ["2"], "auto"])
def test_auto_without_a_usable_count_in_the_fit_is_denied(supports_tp: object) -> None:
    with pytest.raises(Denied) as denied:
        request(fit(min_vram_gb=8, supports_tp=supports_tp), count="auto")
    assert denied.value.reason == Reason.UNSUPPORTED_DEVICE_COUNT
    assert str(denied.value).startswith("metadata.annotations[llmfit.ai/device-count]: ")
    assert "supports_tp" in str(denied.value)


@pytest.mark.parametrize("count", ["0", "-1", "1.5", "33", "100", "10000", "", " ", "two", "2x", "+2", "٢", "²", "1e1"])
def test_a_count_other_than_1_to_32_or_auto_is_denied(count: str) -> None:
    with pytest.raises(Denied) as denied:
        request(BIG, count=count)
    assert denied.value.reason == Reason.INVALID_DEVICE_COUNT
    assert "a number from 1 to 32, or auto" in str(denied.value)
    assert str(denied.value).isascii()


def test_the_gpu_count_of_the_measured_machine_is_ignored() -> None:
    assert counts(spec(fit(min_vram_gb=140, gpu_count=4, system={"gpu_count": 4}))) == [1]


@pytest.mark.parametrize("count", ["1", "2", "auto"])
def test_a_valid_count_is_accepted_for_a_model_that_needs_no_gpu(count: str) -> None:
    assert mutate(pod(CPU_FIT, annotations={"llmfit.ai/device-count": count})).reason == Reason.CPU_ONLY


@pytest.mark.parametrize("profile", BUILTIN)
def test_every_built_in_profile_has_a_product_attribute_in_its_domain(profile: str) -> None:
    (constraint,) = spec(BIG, profile, "2")["devices"]["constraints"]
    assert constraint["matchAttribute"] == BUILTIN[profile].product
    domain, _, identifier = constraint["matchAttribute"].partition("/")
    assert domain == BUILTIN[profile].driver
    assert identifier.isidentifier()


@pytest.mark.parametrize(
    ("annotations", "summary"),
    [
        ({"llmfit.ai/device-count": "2"}, ": 2 devices of gpu.nvidia.com (gpu.memory 140Gi, 70Gi each)"),
        ({"llmfit.ai/device-count": "3"}, ": 3 devices of gpu.nvidia.com (gpu.memory 140Gi, 47787Mi each)"),
        ({"llmfit.ai/device-count": "auto"}, ": 1, 2, 4 or 8 devices of gpu.nvidia.com (gpu.memory 140Gi in all)"),
        ({"llmfit.ai/profile": "nvidia-mig"}, ": mig.nvidia.com or gpu.nvidia.com (gpu.memory 140Gi)"),
        (
            {"llmfit.ai/profile": "nvidia-mig", "llmfit.ai/device-count": "2"},
            ": 2 devices of gpu.nvidia.com (gpu.memory 140Gi, 70Gi each)",
        ),
    ],
)
def test_the_warning_contains_counts_classes_and_memory(annotations: dict[str, str], summary: str) -> None:
    assert summary in mutate(pod(BIG, annotations=annotations)).warnings[0]


def test_the_operators_maximum_limits_numbers_and_the_counts_of_auto() -> None:
    config = AdmissionConfig(max_devices_per_pod=4)
    assert mutate(pod(BIG, annotations={"llmfit.ai/device-count": "4"}), config).allowed
    refused = mutate(pod(BIG, annotations={"llmfit.ai/device-count": "5"}), config)
    assert refused.reason == Reason.INVALID_DEVICE_COUNT
    assert "want a number from 1 to 4, or auto" in refused.message
    auto = {"llmfit.ai/model-fit": BIG, "llmfit.ai/device-count": "auto"}
    assert device_request.from_annotations(auto, config).counts == (1, 2, 4)
    assert device_request.from_annotations(auto, AdmissionConfig()).counts == (1, 2, 4, 8)
