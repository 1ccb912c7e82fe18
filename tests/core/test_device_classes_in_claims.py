"""Profiles with several DeviceClasses: tried in order; a claim lists only classes that exist."""

import dataclasses

import pytest

from tests.core.builders import Json, fit
from tests.core.claim_specs import OWN, SIXTEEN, config, counts_and_classes, request, spec
from webhook.core import claims
from webhook.errors import Denied
from webhook.reasons import Reason


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        ("1", [(1, "mig.nvidia.com"), (1, "gpu.nvidia.com")]),
        ("2", [(2, "gpu.nvidia.com")]),
        ("32", [(32, "gpu.nvidia.com")]),
        ("auto", [(1, "mig.nvidia.com"), (1, "gpu.nvidia.com"), (2, "gpu.nvidia.com"), (4, "gpu.nvidia.com")]),
    ],
)
def test_mig_slices_come_before_whole_cards_and_serve_single_devices_only(
    count: str, expected: list[tuple[int, str]]
) -> None:
    assert counts_and_classes(spec(profile="nvidia-mig", count=count)) == expected


@pytest.mark.parametrize(
    ("classes", "listed"),
    [
        (None, ["small", "large", "huge"]),
        ({"small", "large", "huge", "other"}, ["small", "large", "huge"]),
        ({"huge", "small"}, ["small", "huge"]),
        ({"large"}, ["large"]),
    ],
)
def test_existing_classes_are_listed_in_the_order_of_the_profile(classes: set[str] | None, listed: list[str]) -> None:
    built = spec(profile="own", config=config(OWN), classes=classes)
    assert counts_and_classes(built) == [(1, name) for name in listed]
    assert ("exactly" in built["devices"]["requests"][0]) is (len(listed) == 1)


def test_if_no_class_exists_the_first_is_listed() -> None:
    assert counts_and_classes(spec(profile="own", config=config(OWN), classes=set())) == [(1, "small")]
    # The class of slices exists, but two devices must be whole cards.
    two = spec(profile="nvidia-mig", count="2", classes={"mig.nvidia.com"})
    assert counts_and_classes(two) == [(2, "gpu.nvidia.com")]


def test_the_claim_of_a_pod_lists_existing_classes_only() -> None:
    annotations = {
        "llmfit.ai/model-fit": fit(vram_gb=8),
        "llmfit.ai/profile": "nvidia-mig",
    }
    metadata = {"name": "llama", "namespace": "team-a", "uid": "1-2-3", "annotations": annotations}
    entries = [{"name": "modelfit", "resourceClaimName": "model-claim-0123456789"}]
    pod = {"metadata": metadata, "spec": {"resourceClaims": entries}}
    claim: Json | None = claims.build_pod_claim(pod, config(), classes={"gpu.nvidia.com"})
    assert claim is not None
    assert counts_and_classes(claim["spec"]) == [(1, "gpu.nvidia.com")]


def test_a_profile_with_partitions_only_serves_one_device() -> None:
    partitions = config(dataclasses.replace(OWN, partition_classes=OWN.device_classes))
    assert counts_and_classes(spec(profile="own", config=partitions))
    with pytest.raises(Denied, match="only partitions") as denied:
        request(SIXTEEN, "own", "2", partitions)
    assert denied.value.reason is Reason.UNSUPPORTED_DEVICE_COUNT


def test_counts_that_exceed_eight_alternatives_are_left_out_with_a_warning() -> None:
    limited = request(fit(vram_gb=16, supports_tp=[1, 2, 4, 8]), "own", "auto", config(OWN))
    assert limited.counts == (1, 2)
    (warning,) = limited.requirements.warnings
    assert "device counts 4, 8 are not tried" in warning


def test_eight_counts_of_one_class_are_all_listed() -> None:
    eight = request(fit(vram_gb=16, supports_tp=[1, 2, 3, 4, 5, 6, 7, 8]), "nvidia", "auto")
    assert (eight.counts, eight.requirements.warnings) == ((1, 2, 3, 4, 5, 6, 7, 8), ())
