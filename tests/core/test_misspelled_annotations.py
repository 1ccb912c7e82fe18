"""Warnings for annotations of our domain without effect: misspelled ones, and those without a fit or a GPU."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.builders import CPU_FIT, Json, admitted, kind_of, mutate, pod, validate, workload
from webhook import constants
from webhook.core.admission import pods
from webhook.reasons import Reason

KNOWN = "known are llmfit.ai/model-fit, llmfit.ai/containers, llmfit.ai/profile, llmfit.ai/device-count"
PREFIX = "metadata.annotations: "
"""Of the warning; its end may be truncated."""
OUR_KEYS = {value for value in vars(constants).values() if str(value).startswith("llmfit.ai/")}
CLAIM_KEYS = {constants.CLAIM_MODEL, constants.CLAIM_MEMORY, constants.CLAIM_GPU_MEMORY}


def annotated(**annotations: object) -> Json:
    return pod(annotations={f"llmfit.ai/{key}": value for key, value in annotations.items()})


def unknown_keys(target: Json) -> list[str]:
    """The warnings for unknown keys of a pod, after checking that a pod template gets the same, with its path."""
    warnings = [each for each in mutate(target).warnings if each.startswith(PREFIX)]
    template_warnings = validate(workload("Deployment", target), kind=kind_of(workload("Deployment"))).warnings
    located = [f"modelfit: Deployment llama: spec.template.{each}" for each in warnings]
    assert [each[:200] for each in template_warnings if PREFIX in each] == [each[:200] for each in located]
    return warnings


@pytest.mark.parametrize("key", ["device_count", "container", "Profile", "modelfit", "", "a\x1b[31m", "model-fit "])
def test_an_unknown_key_is_reported_with_the_known_ones(key: str) -> None:
    (warning,) = unknown_keys(annotated(**{key: "2"}))
    seen = f"llmfit.ai/{key}".replace("\x1b", "\\u001b")
    assert warning == f'metadata.annotations: "{seen}" is not known and does nothing; {KNOWN}'


@pytest.mark.parametrize("key", sorted(CLAIM_KEYS))
def test_a_key_for_claims_is_unknown_on_a_pod(key: str) -> None:
    assert key in unknown_keys(pod(annotations={key: "8Gi"}))[0]


def test_several_unknown_keys_get_one_warning() -> None:
    (warning,) = unknown_keys(annotated(**{f"key-{number:02}": "x" for number in range(40)}))
    assert '"llmfit.ai/key-00", "llmfit.ai/key-01" and 38 more is not known' in warning
    assert warning.endswith(KNOWN)
    assert len(unknown_keys(annotated(**{"x" * 300: "", "y" * 300: ""}))[0]) <= 256


@pytest.mark.parametrize("key", sorted(OUR_KEYS - CLAIM_KEYS - {constants.DEVICE_COUNT, constants.PROFILE}))
def test_the_keys_that_webhook_and_users_set_are_known(key: str) -> None:
    given = {} if key == constants.MODEL_FIT else {key: "server"}
    assert unknown_keys(pod(annotations=given)) == []
    assert unknown_keys(admitted(pod(annotations=given))) == []


@pytest.mark.parametrize("key", ["llmfit.io/profile", "llmfit.ai", "xllmfit.ai/profile", "LLMFIT.ai/x", "profile"])
def test_keys_of_other_domains_are_not_reported(key: str) -> None:
    assert unknown_keys(pod(annotations={key: "x"})) == []


@given(st.dictionaries(st.text(max_size=8).map("llmfit.ai/{}".format) | st.text(max_size=30), st.text(max_size=8)))
def test_a_pod_is_warned_about_if_and_only_if_a_key_is_unknown(annotations: dict[str, str]) -> None:
    unknown = {key for key in annotations if key.startswith("llmfit.ai/")} - OUR_KEYS | annotations.keys() & CLAIM_KEYS
    chosen = {key: annotations[key] for key in annotations if key not in pods.USER_ANNOTATIONS}
    assert bool(unknown_keys(pod(annotations=chosen))) is bool(unknown)


@pytest.mark.parametrize("count", ["2", "32", "auto"])
def test_a_device_count_without_a_gpu_is_reported(count: str) -> None:
    decision = mutate(pod(CPU_FIT, annotations={"llmfit.ai/device-count": count}))
    assert decision.reason == Reason.CPU_ONLY
    assert "metadata.annotations[llmfit.ai/device-count] does nothing: the model needs no GPU" in decision.warnings
    target = workload("CronJob", pod(CPU_FIT, annotations={"llmfit.ai/device-count": count}))
    assert any(
        "template.metadata.annotations[llmfit.ai/device-count] does nothing" in warning
        for warning in validate(target, kind=kind_of(target)).warnings
    )


@pytest.mark.parametrize("text", [pod(CPU_FIT), pod(CPU_FIT, annotations={"llmfit.ai/device-count": "1"}),
                                  annotated(**{"device-count": "2"})], ids=["none", "one", "a GPU"])  # fmt: skip
def test_a_device_count_with_an_effect_is_not_reported(text: Json) -> None:
    assert not [warning for warning in mutate(text).warnings if "does nothing" in warning]


def test_annotations_without_a_fit_are_reported() -> None:
    """Only `modelfit preview` decides on such a pod; the API server does not call the webhook."""
    ignored = pod(
        None, annotations={"llmfit.ai/profile": "amd", "llmfit.ai/device-count": "2", "llmfit.ai/modelfit": "x"}
    )
    decision = mutate(ignored)
    assert (decision.allowed, decision.reason, decision.patch) == (True, Reason.NOT_ANNOTATED, ())
    first, second = decision.warnings
    assert first == (
        "metadata.annotations: llmfit.ai/profile, llmfit.ai/device-count does nothing without llmfit.ai/model-fit"
    )
    assert second == f'metadata.annotations: "llmfit.ai/modelfit" is not known and does nothing; {KNOWN}'
    (warning,) = mutate(pod(None, annotations={"llmfit.ai/containers": "server"})).warnings
    assert "llmfit.ai/containers does nothing without" in warning
    assert mutate(pod(None, annotations={"llmfit.ai/claim": "x", "other": "y"})).warnings == ()
