"""A profile may list several DeviceClasses, to be tried in order; only those that exist may be listed in a claim."""

from __future__ import annotations

import dataclasses

import pytest

from tests.core.kit import Json
from tests.core.profile_claims import OWN, asked, config, listed, spec
from webhook.core import claims
from webhook.errors import Denied
from webhook.reasons import Reason

OPERATOR = config(OWN)


def test_a_mig_slice_comes_before_a_whole_card() -> None:
    assert listed(spec("nvidia-mig")) == [(1, "mig.nvidia.com"), (1, "gpu.nvidia.com")]


@pytest.mark.parametrize("count", ["2", "4", "32"])
def test_several_devices_are_never_slices_of_cards(count: str) -> None:
    assert listed(spec("nvidia-mig", count)) == [(int(count), "gpu.nvidia.com")]


def test_auto_tries_both_for_one_device_and_whole_cards_for_more() -> None:
    assert listed(spec("nvidia-mig", "auto")) == [
        (1, "mig.nvidia.com"),
        (1, "gpu.nvidia.com"),
        (2, "gpu.nvidia.com"),
        (4, "gpu.nvidia.com"),
    ]


@pytest.mark.parametrize(
    ("classes", "kept"),
    [
        (None, ["small", "large", "huge"]),
        ({"small", "large", "huge", "other"}, ["small", "large", "huge"]),
        ({"huge", "small"}, ["small", "huge"]),
        ({"large"}, ["large"]),
    ],
)
def test_only_classes_that_exist_are_listed_in_the_profiles_order(classes: set[str] | None, kept: list[str]) -> None:
    assert listed(spec("own", chosen=OPERATOR, classes=classes)) == [(1, each) for each in kept]


def test_one_class_that_exists_is_an_exact_request() -> None:
    made = spec("own", chosen=OPERATOR, classes={"large"})
    assert list(made["devices"]["requests"][0]) == ["name", "exactly"]


def test_where_none_exists_the_first_is_named_so_that_somebody_hears_of_it() -> None:
    assert listed(spec("own", chosen=OPERATOR, classes=set())) == [(1, "small")]
    # The slices' class is there; two devices would be whole cards, whose class is not.
    assert listed(spec("nvidia-mig", "2", classes={"mig.nvidia.com"})) == [(2, "gpu.nvidia.com")]


def test_classes_reach_the_claim_of_a_pod() -> None:
    metadata: Json = {
        "name": "llama",
        "namespace": "team-a",
        "uid": "1-2-3",
        "annotations": {
            "llmfit.ai/model-fit": '{"vram_gb": 8}',
            "llmfit.ai/profile": "nvidia-mig",
            "llmfit.ai/claim": "model-claim-0123456789",
        },
    }
    made: Json | None = claims.build_pod_claim(metadata, config(), classes={"gpu.nvidia.com"})
    assert made is not None
    assert listed(made["spec"]) == [(1, "gpu.nvidia.com")]


def test_a_profile_of_partitions_alone_serves_one_device() -> None:
    parts = dataclasses.replace(OWN, partition_classes=OWN.device_classes)
    assert listed(spec("own", "1", config(parts)))
    with pytest.raises(Denied, match="only partitions") as refusal:
        asked("own", "2", config(parts))
    assert refusal.value.reason is Reason.UNSUPPORTED_DEVICE_COUNT


def test_counts_for_which_there_is_no_room_are_left_out_from_the_largest_with_a_warning() -> None:
    found = asked("own", "auto", OPERATOR, supports_tp=[1, 2, 4, 8])
    assert found.counts == (1, 2)
    (warning,) = found.requirements.warnings
    assert "device counts 4, 8 are not tried" in warning


def test_no_count_is_left_out_without_need() -> None:
    found = asked("nvidia", "auto", supports_tp=[1, 2, 3, 4, 5, 6, 7, 8])
    assert (found.counts, found.requirements.warnings) == ((1, 2, 3, 4, 5, 6, 7, 8), ())
