"""Names of claims: DNS labels for any model, unique per admission review, equal for equal reviews."""

import sys
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.core.builders import UID
from tests.core.schemas import assert_label
from webhook.core.claims import claim_names
from webhook.core.fits.requirements import ModelRequirements

MODELS = st.none() | st.text(max_size=300) | st.text(alphabet="aZ9-./_ ", max_size=300)
UIDS = st.uuids().map(str) | st.text(min_size=1, max_size=100)


def requirements(model: str | None) -> ModelRequirements:
    return ModelRequirements(gpu_memory=Decimal(8), model=model)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("llama-7b", "llama-7b-claim"),
        ("Qwen/Qwen2.5-7B-Instruct", "qwen-qwen2-5-7b-instruct-claim"),
        ("  --Llama__3.1--  ", "llama-3-1-claim"),
        ("7b", "7b-claim"),
        ("ラマ", "model-claim"),
        ("---", "model-claim"),
        ("", "model-claim"),
        (None, "model-claim"),
        ("None", "none-claim"),
        ("a" * 80, f"{'a' * 46}-claim"),
        ("a" * 45 + "-b", f"{'a' * 45}-claim"),
        ("x" + "/" * 2000 + "y", "x-claim"),
    ],
)
def test_a_claim_is_named_after_its_model(model: str | None, name: str) -> None:
    assert claim_names.from_model(requirements(model)) == name
    assert_label(name)


def test_a_name_from_a_review_ends_in_the_hash_of_its_uid() -> None:
    # printf UID | sha256sum | cut -c1-10
    assert claim_names.from_review(requirements("llama-7b"), UID) == "llama-7b-claim-58989f2cda"
    assert claim_names.from_review(requirements(None), UID) == "model-claim-58989f2cda"


@given(MODELS, UIDS)
@example("\ud800", "\ud800")
@example("İ" * 100, "u")
def test_a_name_is_a_dns_label_for_any_model_and_uid(model: str | None, uid: str) -> None:
    for name in (claim_names.from_model(requirements(model)), claim_names.from_review(requirements(model), uid)):
        assert_label(name)
    assert claim_names.is_from_review(claim_names.from_review(requirements(model), uid))


@given(MODELS, st.lists(UIDS, min_size=2, max_size=20, unique=True))
def test_reviews_have_different_names_and_each_review_always_the_same(model: str | None, uids: list[str]) -> None:
    names = [claim_names.from_review(requirements(model), uid) for uid in uids]
    assert len(set(names)) == len(uids)
    assert names == [claim_names.from_review(requirements(model), uid) for uid in uids]


@pytest.mark.parametrize(
    "name",
    [
        None, "", 7, "llama-7b-claim", "my-claim", "-claim-58989f2cda", "a-claim-58989f2cd", "a-claim-58989f2cdaa",
        "a-claim-58989F2CDA", "a-claim-58989f2cdg", "A-claim-58989f2cda", "a--claim-58989f2cda", "a.b-claim-58989f2cda",
        "a-claim-58989f2cda\n", "../a-claim-58989f2cda", "a" * 47 + "-claim-58989f2cda",
    ],
)  # fmt: skip
def test_a_name_that_cannot_be_from_a_review_is_detected(name: object) -> None:
    assert not claim_names.is_from_review(name)


def test_a_long_model_name_is_not_cached() -> None:
    model = "".join(["m"] * 100_000)
    before = sys.getrefcount(model)
    claim_names.from_model(requirements(model))
    claim_names.from_review(requirements(model), UID)
    after = sys.getrefcount(model)
    assert after == before
