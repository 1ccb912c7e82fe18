"""The target containers get the device count in the configured variable, if the count is known at admission."""

from __future__ import annotations

from tests.core.builders import CPU_FIT, Json, admitted, container, fit, mutate, patched, pod
from webhook.core.admission_config import AdmissionConfig
from webhook.settings import load

WITH_VARIABLE = AdmissionConfig(device_count_variable="TENSOR_PARALLEL_SIZE")


def variables(made: Json, index: int = 0) -> list[Json] | None:
    found: list[Json] | None = made["spec"]["containers"][index].get("env")
    return found


def split(count: str, env: list[Json] | None = None) -> Json:
    text = fit(vram_gb=140, supports_tp=[1, 2, 4])
    its = container() if env is None else container(env=env)
    return pod(text, annotations={"llmfit.ai/device-count": count}, containers=[its])


def test_nothing_is_told_unless_it_is_asked_for() -> None:
    assert variables(admitted(split("2"))) is None


def test_the_number_is_told() -> None:
    assert variables(admitted(split("2"), WITH_VARIABLE)) == [{"name": "TENSOR_PARALLEL_SIZE", "value": "2"}]
    assert variables(admitted(pod(), WITH_VARIABLE)) == [{"name": "TENSOR_PARALLEL_SIZE", "value": "1"}]


def test_it_joins_the_other_variables_of_the_containers_that_get_the_claim() -> None:
    others = [container(env=[{"name": "HOME", "value": "/"}]), container("proxy")]
    made = admitted(pod(annotations={"llmfit.ai/containers": "server"}, containers=others), WITH_VARIABLE)
    assert variables(made) == [{"name": "HOME", "value": "/"}, {"name": "TENSOR_PARALLEL_SIZE", "value": "1"}]
    assert variables(made, 1) is None


def test_a_variable_that_the_pod_sets_itself_is_kept() -> None:
    mine = [{"name": "TENSOR_PARALLEL_SIZE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]
    assert variables(admitted(split("2", env=mine), WITH_VARIABLE)) == mine


def test_another_number_that_the_pod_sets_is_kept_with_a_warning() -> None:
    once = admitted(split("2"), WITH_VARIABLE)
    assert mutate(once, WITH_VARIABLE).warnings == ()
    once["metadata"]["annotations"]["llmfit.ai/device-count"] = "4"
    once["metadata"]["name"] = "copy"
    decision = mutate(once, WITH_VARIABLE)
    assert variables(patched(once, decision)) == [{"name": "TENSOR_PARALLEL_SIZE", "value": "2"}]
    expected = 'spec.containers[0].env[0]: TENSOR_PARALLEL_SIZE is "2", but the number of devices is 4; it is kept'
    assert expected in decision.warnings


def test_with_auto_nothing_is_told_but_that() -> None:
    decision = mutate(split("auto"), WITH_VARIABLE)
    assert variables(patched(split("auto"), decision)) is None
    assert "TENSOR_PARALLEL_SIZE is not set" in " ".join(decision.warnings)


def test_auto_with_one_count_is_a_number_that_is_known() -> None:
    target = pod(fit(vram_gb=140, supports_tp=[4]), annotations={"llmfit.ai/device-count": "auto"})
    decision = mutate(target, WITH_VARIABLE)
    assert variables(patched(target, decision)) == [{"name": "TENSOR_PARALLEL_SIZE", "value": "4"}]
    assert "is not set" not in " ".join(decision.warnings)


def test_a_model_without_a_gpu_is_told_nothing() -> None:
    assert variables(admitted(pod(CPU_FIT), WITH_VARIABLE)) is None


def test_twice_is_once() -> None:
    once = admitted(split("2"), WITH_VARIABLE)
    assert mutate(once, WITH_VARIABLE).patch == ()


def test_the_setting_is_the_variables_name() -> None:
    assert load(None, {"MODELFIT_DEVICE_COUNT_VARIABLE": "GPUS"}).admission_config().device_count_variable == "GPUS"
