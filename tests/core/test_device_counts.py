"""Several devices: an equal share each, on cards of one model; never split by guess."""

import pytest

from tests.core.devices import requests
from tests.core.kit import CPU_FIT, Json, fit, mutate, pod
from webhook.core import claims
from webhook.core.admission_config import AdmissionConfig
from webhook.core.claims import device_request
from webhook.core.claims.device_request import DeviceRequest
from webhook.core.profiles import BUILTIN
from webhook.errors import Denied
from webhook.reasons import Reason

BIG = fit(min_vram_gb=140, supports_tp=[1, 2, 4, 8])


def asked(text: str, count: str | None = None, profile: str = "nvidia") -> DeviceRequest:
    annotations = {"llmfit.ai/model-fit": text, "llmfit.ai/profile": profile}
    return device_request.from_annotations(
        annotations | ({} if count is None else {"llmfit.ai/device-count": count}), AdmissionConfig()
    )


def spec(text: str, count: str | None = None) -> Json:
    made: Json = claims.build_spec(asked(text, count))
    return made


def test_without_a_count_one_device_holds_it_all() -> None:
    for made in (spec(BIG), spec(BIG, "1")):
        (request,) = requests(made)
        assert request.get("count", 1) == 1
        assert request["capacity"]["requests"] == {"memory": "140Gi"}
        assert "constraints" not in made["devices"]


@pytest.mark.parametrize(
    ("count", "share"),
    [("2", "70Gi"), ("3", "47787Mi"), ("7", "20Gi"), ("32", "4480Mi")],
)
def test_n_devices_hold_an_equal_share_each_rounded_up(count: str, share: str) -> None:
    made = spec(BIG, count)
    (request,) = requests(made)
    assert request["count"] == int(count)
    assert request["capacity"]["requests"] == {"memory": share}
    assert f'quantity("{share}")' in request["selectors"][0]["cel"]["expression"]
    assert made["devices"]["constraints"] == [{"requests": ["gpu"], "matchAttribute": "gpu.nvidia.com/productName"}]


def test_the_shares_together_are_never_less_than_the_need() -> None:
    for hundredths in range(100, 2000, 37):
        for count in range(1, 33):
            wanted = asked(fit(min_vram_gb=hundredths / 100), str(count))
            (request,) = requests(dict(claims.build_spec(wanted)))
            quantity = request["capacity"]["requests"]["memory"]
            mebibytes = int(quantity[:-2]) * (1024 if quantity.endswith("Gi") else 1)
            assert mebibytes * count * 100 >= hundredths * 1024


def test_auto_lists_the_fits_own_counts_fewest_first() -> None:
    made = spec(BIG, "auto")
    alternatives = list(requests(made))
    assert [each.get("count", 1) for each in alternatives] == [1, 2, 4, 8]
    assert [each["capacity"]["requests"]["memory"] for each in alternatives] == ["140Gi", "70Gi", "35Gi", "17920Mi"]


def test_auto_asks_for_cards_of_one_model_only_where_there_are_several() -> None:
    made = spec(BIG, "auto")
    several = [f"gpu/{each['name']}" for each in requests(made) if each.get("count", 1) > 1]
    (constraint,) = made["devices"]["constraints"]
    assert constraint == {"requests": several, "matchAttribute": "gpu.nvidia.com/productName"}


def test_auto_with_one_count_is_that_count() -> None:
    (request,) = requests(spec(fit(min_vram_gb=8, supports_tp=[1]), "auto"))
    assert request.get("count", 1) == 1
    (request,) = requests(spec(fit(min_vram_gb=8, supports_tp=[2]), "auto"))
    assert request["count"] == 2


def test_auto_lists_eight_alternatives_at_most_and_no_count_that_a_claim_cannot_have() -> None:
    made = spec(fit(min_vram_gb=8, supports_tp=[64, 33, 32, 16, 8, 7, 6, 5, 4, 3, 2, 1]), "auto")
    assert [each.get("count", 1) for each in requests(made)] == [1, 2, 3, 4, 5, 6, 7, 8]
    made = spec(fit(min_vram_gb=8, supports_tp=[64, 32, 1]), "auto")
    assert [each.get("count", 1) for each in requests(made)] == [1, 32]


@pytest.mark.parametrize("supports_tp", [None, [], [64], ["2"], "auto"])
def test_auto_never_guesses(supports_tp: object) -> None:
    with pytest.raises(Denied) as refused:
        asked(fit(min_vram_gb=8, supports_tp=supports_tp), "auto")
    assert refused.value.reason == Reason.UNSUPPORTED_DEVICE_COUNT
    assert str(refused.value).startswith("metadata.annotations[llmfit.ai/device-count]: ")
    assert "supports_tp" in str(refused.value)


@pytest.mark.parametrize("count", ["0", "-1", "1.5", "33", "100", "10000", "", " ", "two", "2x", "+2", "٢", "²", "1e1"])
def test_a_count_that_no_claim_can_have_is_refused(count: str) -> None:
    with pytest.raises(Denied) as refused:
        asked(BIG, count)
    assert refused.value.reason == Reason.INVALID_DEVICE_COUNT
    assert "a number from 1 to 32, or auto" in str(refused.value)
    assert str(refused.value).isascii()


def test_the_measuring_machines_gpu_count_splits_nothing() -> None:
    (request,) = requests(spec(fit(min_vram_gb=140, gpu_count=4, system={"gpu_count": 4})))
    assert request.get("count", 1) == 1


def test_a_model_that_needs_no_gpu_has_no_count_to_be_wrong_about() -> None:
    for count in ("1", "2", "auto"):
        assert mutate(pod(CPU_FIT, annotations={"llmfit.ai/device-count": count})).reason == Reason.CPU_ONLY


@pytest.mark.parametrize("profile", BUILTIN)
def test_every_built_in_profile_says_which_cards_are_alike(profile: str) -> None:
    made: Json = claims.build_spec(asked(BIG, "2", profile))
    (constraint,) = made["devices"]["constraints"]
    assert constraint["matchAttribute"] == BUILTIN[profile].product
    domain, _, identifier = constraint["matchAttribute"].partition("/")
    assert domain == BUILTIN[profile].driver
    assert identifier.isidentifier()


@pytest.mark.parametrize(
    ("annotations", "said"),
    [
        ({}, ": gpu.nvidia.com (gpu.memory 140Gi)"),
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
def test_the_warning_says_how_many_devices_of_which_classes(annotations: dict[str, str], said: str) -> None:
    assert said in mutate(pod(BIG, annotations=annotations)).warnings[0]
