"""`llmfit --json … | modelfit convert`."""

import json
from typing import Any

import pytest
import yaml

from tests.cli.conftest import Run, modelfit
from tests.llmfit import expected
from tests.llmfit.conftest import Llmfit
from webhook.errors import quote_all

__all__ = ["modelfit"]

MODELS = ["Qwen/Qwen3-8B", "meta-llama/Llama-3.1-70B-Instruct", "mistralai/Mixtral-8x7B-Instruct-v0.1"]


def gpu_memory(printed: str) -> str:
    """The amount in a printed claim."""
    amount: str = yaml.safe_load(printed)["metadata"]["annotations"]["llmfit.ai/gpu-memory"]
    return amount


@pytest.mark.parametrize("model", MODELS)
def test_a_plan_is_converted(model: str, llmfit: Llmfit, modelfit: Run) -> None:
    plan = llmfit("plan", model, "--context", "8192")
    result = modelfit("convert", stdin=plan)
    assert result.code == 0
    minimum = json.loads(plan)["minimum"]
    assert gpu_memory(result.out) == expected.quantity(minimum["vram_gb"])
    annotations = yaml.safe_load(result.out)["metadata"]["annotations"]
    assert annotations["llmfit.ai/memory"] == expected.quantity(minimum["ram_gb"])
    assert annotations["llmfit.ai/model"] == model


@pytest.mark.parametrize("model", MODELS)
def test_a_claim_is_converted(model: str, llmfit: Llmfit, modelfit: Run) -> None:
    claim = llmfit("claim", model, "--min-tps", "20")
    result = modelfit("convert", "-", "--profile", "llmfit", stdin=claim)
    assert result.code == 0
    fields = json.loads(claim)
    assert gpu_memory(result.out) == f"{fields['memoryGi']}Gi"
    assert f">= {fields['minBandwidthGBs']}" in result.out


@pytest.mark.parametrize("memory", ["8G", "24G", "96G"])
@pytest.mark.parametrize("model", MODELS)
def test_info_is_converted_by_the_run_mode_of_its_row(model: str, memory: str, llmfit: Llmfit, modelfit: Run) -> None:
    info = llmfit("--memory", memory, "--ram", "256G", "info", model)
    result = modelfit("convert", stdin=info)
    (row,) = json.loads(info)["models"]
    amounts = expected.from_fit_row(row)
    if amounts is None:
        assert (result.code, result.out) == (2, "")
        assert "NoGpuMemoryFigure" in result.err
    elif amounts.gpu_memory is None:
        assert (result.code, result.out) == (1, "")
        assert f"resources.requests.memory: {amounts.memory}" in result.err
    else:
        assert result.code == 0
        assert gpu_memory(result.out) == amounts.gpu_memory


def test_a_model_that_runs_on_the_cpu_needs_no_claim(fits: list[dict[str, Any]], modelfit: Run) -> None:
    row = next(row for row in fits if row["run_mode"] == "CPU")
    result = modelfit("convert", stdin=json.dumps(row))
    assert (result.code, result.out) == (1, "")
    assert f"resources.requests.memory: {expected.quantity(row['memory_required_gb'])}" in result.err


def test_one_recommendation_is_converted_and_several_are_denied(llmfit: Llmfit, modelfit: Run) -> None:
    one = llmfit("--memory", "24G", "--ram", "64G", "recommend", "-n", "1")
    (row,) = json.loads(one)["models"]
    amounts = expected.from_fit_row(row)
    assert amounts is not None
    assert gpu_memory(modelfit("convert", stdin=one).out) == amounts.gpu_memory
    several = modelfit("convert", stdin=llmfit("--memory", "24G", "--ram", "64G", "recommend", "-n", "3"))
    assert (several.code, several.out) == (2, "")
    assert "AmbiguousModelFit" in several.err


def test_the_whole_catalogue_is_denied(llmfit: Llmfit, modelfit: Run) -> None:
    result = modelfit("convert", stdin=llmfit("list"))
    assert (result.code, result.out) == (2, "")
    assert "AmbiguousModelFit" in result.err
    assert len(result.err) <= 1200


def test_a_comparison_is_denied_with_the_names_of_both_models(llmfit: Llmfit, modelfit: Run) -> None:
    printed = llmfit("diff")
    names = [row["model"]["name"] for row in json.loads(printed)["models"]]
    assert f"a list of 2: {quote_all(names)}; want exactly one model" in modelfit("convert", stdin=printed).err


def test_an_error_of_llmfit_is_repeated(llmfit: Llmfit, modelfit: Run) -> None:
    result = modelfit("convert", stdin=llmfit("info", "nosuchmodel", code=1))
    assert (result.code, result.out) == (2, "")
    assert "llmfit reported an error: \"No model found matching 'nosuchmodel'\"; want" in result.err


def test_the_error_for_an_unknown_run_mode_lists_those_of_llmfit(fits: list[dict[str, Any]], modelfit: Run) -> None:
    message = modelfit("convert", stdin='{"memory_required_gb": 8, "run_mode": "weird"}').err
    listed = message.partition("want ")[2].strip().replace(" or ", ", ").split(", ")
    # TP takes several machines.
    assert {*listed} == {row["run_mode"] for row in fits} | {"TP"}


def test_a_sample_of_rows_is_converted(
    catalogue: list[dict[str, Any]], fits: list[dict[str, Any]], modelfit: Run
) -> None:
    for row in [*catalogue[::199], *fits[::97]]:
        result = modelfit("convert", stdin=json.dumps(row))
        amounts = expected.from_fit_row(row) if "run_mode" in row else expected.from_catalogue_row(row)
        if amounts and amounts.gpu_memory:
            assert gpu_memory(result.out) == amounts.gpu_memory, row["name"]
        else:
            assert result.out == "", row["name"]
            assert result.code in (1, 2)
