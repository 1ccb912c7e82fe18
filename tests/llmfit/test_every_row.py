"""Every row of the catalogue and of a fit table becomes the claim that the rules say, or is refused with a reason."""

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from tests.llmfit import expected
from tests.llmfit.expected import Amounts
from webhook.core import claims
from webhook.core.admission_config import AdmissionConfig
from webhook.core.claims import device_request
from webhook.errors import Denied
from webhook.reasons import Reason

POLICY = AdmissionConfig()


def outcome(row: Mapping[str, Any]) -> Amounts | Denied:
    """The amounts in the row's claim, as an annotation would give it."""
    annotations = {"llmfit.ai/model-fit": json.dumps(row)}
    try:
        asked = device_request.from_annotations(annotations, POLICY)
    except Denied as refusal:
        return refusal
    requirements = asked.requirements
    if requirements.cpu_only:
        return Amounts(None, requirements.memory_quantity)
    claim: Any = claims.build_manifest(asked, name=claims.claim_names.from_model(requirements))
    assert len(claim["metadata"]["name"]) <= 63
    (request,) = claim["spec"]["devices"]["requests"]
    gpu_memory = request["exactly"]["capacity"]["requests"]["memory"]
    assert f'quantity("{gpu_memory}")' in request["exactly"]["selectors"][0]["cel"]["expression"]
    return Amounts(gpu_memory, claim["metadata"]["annotations"].get("llmfit.ai/memory"))


def test_every_row_of_the_catalogue_becomes_its_claim(catalogue: list[dict[str, Any]]) -> None:
    assert len(catalogue) > 10_000
    wrong = [row["name"] for row in catalogue if outcome(row) != expected.of_catalogue_row(row)]
    assert wrong == []


def test_every_row_of_a_fit_table_becomes_its_claim_or_is_refused_by_design(fits: list[dict[str, Any]]) -> None:
    assert {row["run_mode"] for row in fits} >= {"GPU", "MoE", "CPU+GPU", "CPU"}
    refused: Counter[tuple[str, str]] = Counter()
    wrong = []
    for row in fits:
        found = outcome(row)
        if isinstance(found, Denied):
            refused[row["run_mode"], found.reason] += 1
        elif found != expected.of_fit_row(row):
            wrong.append((row["name"], found, expected.of_fit_row(row)))
    assert wrong == []
    offloaded = sum(row["run_mode"] == "CPU+GPU" for row in fits)
    assert refused == {("CPU+GPU", Reason.NO_GPU_MEMORY_FIGURE): offloaded}


def test_a_refused_row_is_accepted_once_it_says_the_vram(fits: list[dict[str, Any]]) -> None:
    row = next(row for row in fits if row["run_mode"] == "CPU+GPU")
    memory = expected.quantity(row["memory_required_gb"])
    assert outcome(row | {"estimated_vram_gb": 20}) == Amounts("20Gi", memory)


@pytest.mark.parametrize(
    ("count", "reason"),
    [(2, Reason.AMBIGUOUS_MODEL_FIT), (5, Reason.AMBIGUOUS_MODEL_FIT), (200, Reason.INVALID_MODEL_FIT)],
    ids=["two", "five", "more than an annotation takes"],
)
def test_no_table_of_several_models_is_taken_for_one(fits: list[dict[str, Any]], count: int, reason: Reason) -> None:
    found = outcome({"models": fits[:count]})
    assert isinstance(found, Denied)
    assert found.reason is reason
    assert len(str(found)) <= 1024
