"""Every row of the catalogue and of a fit table gives the expected claim, or is denied."""

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

CONFIG = AdmissionConfig()


def convert(row: Mapping[str, Any]) -> Amounts | Denied:
    """The amounts in the claim of a pod with the row as its annotation."""
    annotations = {"llmfit.ai/model-fit": json.dumps(row)}
    try:
        request = device_request.from_annotations(annotations, CONFIG)
    except Denied as denied:
        return denied
    requirements = request.requirements
    if requirements.cpu_only:
        return Amounts(None, requirements.memory_quantity)
    claim: Any = claims.build_manifest(request, name=claims.claim_names.from_model(requirements))
    assert len(claim["metadata"]["name"]) <= 63
    (gpu,) = claim["spec"]["devices"]["requests"]
    gpu_memory = gpu["exactly"]["capacity"]["requests"]["memory"]
    assert f'quantity("{gpu_memory}")' in gpu["exactly"]["selectors"][0]["cel"]["expression"]
    return Amounts(gpu_memory, claim["metadata"]["annotations"].get("llmfit.ai/memory"))


def test_every_row_of_the_catalogue_gives_the_expected_claim(catalogue: list[dict[str, Any]]) -> None:
    assert len(catalogue) > 10_000
    wrong = [row["name"] for row in catalogue if convert(row) != expected.from_catalogue_row(row)]
    assert wrong == []


def test_every_row_of_a_fit_table_gives_the_expected_claim_or_is_denied(fits: list[dict[str, Any]]) -> None:
    assert {row["run_mode"] for row in fits} >= {"GPU", "MoE", "CPU+GPU", "CPU"}
    denied: Counter[tuple[str, str]] = Counter()
    wrong = []
    for row in fits:
        result = convert(row)
        if isinstance(result, Denied):
            denied[row["run_mode"], result.reason] += 1
        elif result != expected.from_fit_row(row):
            wrong.append((row["name"], result, expected.from_fit_row(row)))
    assert wrong == []
    offloaded = sum(row["run_mode"] == "CPU+GPU" for row in fits)
    assert denied == {("CPU+GPU", Reason.NO_GPU_MEMORY_FIGURE): offloaded}


def test_a_denied_row_is_accepted_with_an_estimate_of_the_vram(fits: list[dict[str, Any]]) -> None:
    row = next(row for row in fits if row["run_mode"] == "CPU+GPU")
    memory = expected.quantity(row["memory_required_gb"])
    assert convert(row | {"estimated_vram_gb": 20}) == Amounts("20Gi", memory)


@pytest.mark.parametrize(
    ("count", "reason"),
    [(2, Reason.AMBIGUOUS_MODEL_FIT), (5, Reason.AMBIGUOUS_MODEL_FIT), (200, Reason.INVALID_MODEL_FIT)],
    ids=["two", "five", "more than an annotation takes"],
)
def test_a_table_of_several_models_is_denied(fits: list[dict[str, Any]], count: int, reason: Reason) -> None:
    result = convert({"models": fits[:count]})
    assert isinstance(result, Denied)
    assert result.reason is reason
    assert len(str(result)) <= 1024
