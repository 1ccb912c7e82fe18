"""Annotations of our domain that do nothing are told of: misspelt ones, and those that have nothing to act on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.builders import CPU_FIT, Json, admitted, kind_of, mutate, pod, validate, workload
from webhook import constants
from webhook.core.admission import pods
from webhook.reasons import Reason

KNOWN = "known are llmfit.ai/model-fit, llmfit.ai/containers, llmfit.ai/profile, llmfit.ai/device-count"
UNKNOWN = "not known and does nothing"
OURS = {value for value in vars(constants).values() if str(value).startswith("llmfit.ai/")}
ON_CLAIMS = {constants.CLAIM_MODEL, constants.CLAIM_MEMORY, constants.CLAIM_GPU_MEMORY}


def annotated(**annotations: object) -> Json:
    return pod(annotations={f"llmfit.ai/{key}": value for key, value in annotations.items()})


def told(target: Json) -> list[str]:
    """The warnings of keys that are not known, which the template of a workload draws too, with the path."""
    warnings = [each for each in mutate(target).warnings if UNKNOWN in each]
    of_template = validate(workload("Deployment", target), kind=kind_of(workload("Deployment"))).warnings
    located = [f"modelfit: Deployment llama: spec.template.{each}" for each in warnings]
    assert [each[:200] for each in of_template if UNKNOWN in each] == [each[:200] for each in located]
    return warnings


@pytest.mark.parametrize("key", ["device_count", "container", "Profile", "modelfit", "", "a\x1b[31m", "model-fit "])
def test_a_key_that_is_not_known_is_named_with_those_that_are(key: str) -> None:
    (warning,) = told(annotated(**{key: "2"}))
    seen = f"llmfit.ai/{key}".replace("\x1b", "\\u001b")
    assert warning == f'metadata.annotations: "{seen}" is not known and does nothing; {KNOWN}'


@pytest.mark.parametrize("key", sorted(ON_CLAIMS))
def test_a_key_that_is_only_for_claims_is_not_known_on_a_pod(key: str) -> None:
    assert key in told(pod(annotations={key: "8Gi"}))[0]


def test_several_are_told_of_in_one_line() -> None:
    (warning,) = told(annotated(**{f"key-{number:02}": "x" for number in range(40)}))
    assert '"llmfit.ai/key-00", "llmfit.ai/key-01" and 38 more is not known' in warning
    assert warning.endswith(KNOWN)
    assert len(told(annotated(**{"x" * 300: "", "y" * 300: ""}))[0]) <= 256


@pytest.mark.parametrize("key", sorted(OURS - ON_CLAIMS - {constants.DEVICE_COUNT, constants.PROFILE}))
def test_our_own_keys_are_known(key: str) -> None:
    given = {} if key == constants.MODEL_FIT else {key: "server"}
    assert told(pod(annotations=given)) == []
    assert told(admitted(pod(annotations=given))) == []


@pytest.mark.parametrize("key", ["llmfit.io/profile", "llmfit.ai", "xllmfit.ai/profile", "LLMFIT.ai/x", "profile"])
def test_keys_of_others_are_none_of_our_business(key: str) -> None:
    assert told(pod(annotations={key: "x"})) == []


@given(st.dictionaries(st.text(max_size=8).map("llmfit.ai/{}".format) | st.text(max_size=30), st.text(max_size=8)))
def test_there_is_a_warning_just_where_a_key_is_not_known(annotations: dict[str, str]) -> None:
    unknown = {key for key in annotations if key.startswith("llmfit.ai/")} - OURS | annotations.keys() & ON_CLAIMS
    chosen = {key: annotations[key] for key in annotations if key not in pods.USER_ANNOTATIONS}
    assert bool(told(pod(annotations=chosen))) is bool(unknown)


@pytest.mark.parametrize("count", ["2", "32", "auto"])
def test_a_device_count_for_a_model_without_gpu_does_nothing(count: str) -> None:
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
def test_a_device_count_that_says_nothing_wrong_is_not_told_of(text: Json) -> None:
    assert not [warning for warning in mutate(text).warnings if "does nothing" in warning]


def test_without_a_fit_nothing_else_does_anything() -> None:
    """The API server asks nobody about such a pod; a preview does."""
    idle = pod(None, annotations={"llmfit.ai/profile": "amd", "llmfit.ai/device-count": "2", "llmfit.ai/modelfit": "x"})
    decision = mutate(idle)
    assert (decision.allowed, decision.reason, decision.patch) == (True, Reason.NOT_ANNOTATED, ())
    first, second = decision.warnings
    assert first == (
        "metadata.annotations: llmfit.ai/profile, llmfit.ai/device-count does nothing without llmfit.ai/model-fit"
    )
    assert second == f'metadata.annotations: "llmfit.ai/modelfit" is not known and does nothing; {KNOWN}'
    (warning,) = mutate(pod(None, annotations={"llmfit.ai/containers": "server"})).warnings
    assert "llmfit.ai/containers does nothing without" in warning
    assert mutate(pod(None, annotations={"llmfit.ai/claim": "x", "other": "y"})).warnings == ()
