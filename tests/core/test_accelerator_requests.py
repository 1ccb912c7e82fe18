"""Accelerators that a container requests beside the claim: through device plugins, DeviceClasses and other systems."""

import pytest

from tests.core.builders import admitted, container, mutate, pod
from tests.core.test_denials import requesting
from webhook.core.admission.gpu_resources import DEVICE_PLUGINS, OTHER_ALLOCATORS
from webhook.core.admission_config import AdmissionConfig
from webhook.core.profiles import BUILTIN, Profile
from webhook.reasons import Reason

SERVER = container("server", image="vllm/vllm-openai")


def test_a_device_plugin_request_is_reported_with_the_errors_of_the_fit() -> None:
    decision = mutate(pod("{", containers=[requesting("nvidia.com/gpu")]))
    assert decision.reason == Reason.INVALID_MODEL_FIT
    assert "spec.containers[0].resources.limits[nvidia.com/gpu]" in decision.message


def test_one_container_with_a_device_plugin_request_denies_the_pod() -> None:
    target = pod(
        containers=[container("a"), requesting("nvidia.com/gpu") | {"name": "b"}],
        annotations={"llmfit.ai/containers": "a,b"},
    )
    decision = mutate(target)
    assert (decision.allowed, decision.reason, decision.patch) == (False, Reason.DEVICE_PLUGIN_REQUEST, ())


def test_a_resource_in_requests_and_limits_is_reported_once() -> None:
    """The API server copies limits to requests."""
    both = {"requests": {"cpu": "1", "nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "1", "amd.com/gpu": "2"}}
    target = pod(
        annotations={"llmfit.ai/containers": "load,server"},
        containers=[container(resources=both)],
        initContainers=[container("load", resources=both)],
    )
    assert [error.partition(": ")[0] for error in mutate(target).message.split("; and ")] == [
        f"spec.{place}[0].resources.limits[{resource}]"
        for place in ("containers", "initContainers")
        for resource in ("nvidia.com/gpu", "amd.com/gpu")
    ]
    both_equal = {kind: {"nvidia.com/gpu": "1"} for kind in ("requests", "limits")}
    beside = pod(containers=[SERVER, container("other", resources=both_equal)])
    (warning,) = (warning for warning in mutate(beside).warnings if "device-plugin" in warning)
    assert warning.startswith("spec.containers[1].resources.limits[nvidia.com/gpu]: ")


def test_a_request_without_a_limit_is_reported() -> None:
    resources = {"requests": {"nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "0"}}
    message = mutate(pod(containers=[container(resources=resources)])).message
    assert message.startswith("spec.containers[0].resources.requests[nvidia.com/gpu]: ")
    assert "; and " not in message


PLUGINS = [
    "nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/gpumem", "nvidia.com/gpucores", "nvidia.com/mig-1g.5gb",
    "nvidia.com/mig-3g.20gb.shared", "amd.com/gpu", "amd.com/spx_nps1", "amd.com/cpx_nps4", "gpu.intel.com/i915",
    "gpu.intel.com/xe", "intel.com/gpu", "habana.ai/gaudi", "google.com/tpu",
]  # fmt: skip


@pytest.mark.parametrize("kind", ["requests", "limits"])
@pytest.mark.parametrize("resource", PLUGINS)
def test_a_device_plugin_request_is_denied(resource: str, kind: str) -> None:
    assert mutate(pod(containers=[requesting(resource, kind=kind)])).reason == Reason.DEVICE_PLUGIN_REQUEST


@pytest.mark.parametrize("resource", PLUGINS)
@pytest.mark.parametrize("zero", ["0", 0, "0Gi", "0.0", "0m", None])
def test_a_device_plugin_request_of_zero_is_allowed(resource: str, zero: object) -> None:
    assert mutate(pod(containers=[requesting(resource, zero)])).reason == Reason.INJECTED


@pytest.mark.parametrize("quantity", ["1", 1, "2", "1k", "1e999999999", "many", ""])
def test_any_other_device_plugin_quantity_is_denied(quantity: object) -> None:
    assert mutate(pod(containers=[requesting("nvidia.com/gpu", quantity)])).reason == Reason.DEVICE_PLUGIN_REQUEST


@pytest.mark.parametrize(
    "resource",
    ["nvidia.com/hostdev", "gpu.intel.com/i915_monitoring", "gpu.intel.com/xe_monitoring", "cpu", "ephemeral-storage",
     "hugepages-2Mi", "rdma/hca", "example.com/gpu", "smarter-devices/fuse", "xilinx.com/fpga-xilinx", "intel.com/qat",
     "furiosa.ai.example/npu", "xnvidia.com/gpu", "nvidia.comx/gpu", "nvidia.com/", "mynvidia.com/gpu", "amd.com/nic",
     "NVIDIA.com/GPU"],
)  # fmt: skip
def test_other_resources_are_allowed_without_a_warning(resource: str) -> None:
    decision = mutate(pod(containers=[requesting(resource)]))
    assert (decision.reason, len(decision.warnings)) == (Reason.INJECTED, 1)


def test_device_plugin_requests_can_be_allowed_with_a_warning() -> None:
    target = pod(containers=[requesting("nvidia.com/gpu")])
    decision = mutate(target, AdmissionConfig(device_plugin_requests="warn"))
    assert decision.reason == Reason.INJECTED
    assert any("spec.containers[0].resources.limits[nvidia.com/gpu]" in warning for warning in decision.warnings)
    after = admitted(target, AdmissionConfig(device_plugin_requests="warn"))
    assert after["spec"]["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "1"}


def test_a_device_plugin_request_of_another_container_is_warned_about() -> None:
    target = pod(containers=[SERVER, requesting("nvidia.com/gpu") | {"name": "other"}])
    decision = mutate(target)
    assert decision.reason == Reason.INJECTED
    assert any("spec.containers[1].resources.limits[nvidia.com/gpu]" in warning for warning in decision.warnings)


IMPLICIT = "deviceclass.resource.kubernetes.io/"
CUSTOM = Profile("custom", "gpu.nvidia.com", ("shared.example.com",))


@pytest.mark.parametrize("device_class", ["gpu.nvidia.com", "mig.nvidia.com", "shared.example.com"])
def test_an_implicit_extended_resource_of_a_class_of_the_driver_is_a_second_gpu(device_class: str) -> None:
    config = AdmissionConfig(profiles=BUILTIN | {"custom": CUSTOM})
    decision = mutate(pod(containers=[requesting(IMPLICIT + device_class)]), config)
    assert (decision.allowed, decision.reason) == (False, Reason.DEVICE_PLUGIN_REQUEST)
    assert decision.message == (
        f"spec.containers[0].resources.limits[{IMPLICIT}{device_class}]: another request for an accelerator; "
        "want none beside a claim; remove it: the claim brings the GPU"
    )
    warn = AdmissionConfig(profiles=config.profiles, device_plugin_requests="warn")
    warnings = mutate(pod(containers=[requesting(IMPLICIT + device_class)]), warn).warnings
    assert warnings[1:] == (decision.message,)


@pytest.mark.parametrize("device_class", ["net.example", "gpu.amd.com", "dra.memory", "gpu.nvidia.com.", ""])
def test_an_implicit_extended_resource_of_another_class_is_left_alone(device_class: str) -> None:
    decision = mutate(pod(containers=[requesting(IMPLICIT + device_class)]))
    assert (decision.reason, len(decision.warnings)) == (Reason.INJECTED, 1)


def test_the_classes_are_those_of_the_profile_of_the_pod() -> None:
    amd = {"llmfit.ai/profile": "amd"}
    target = [requesting(f"{IMPLICIT}gpu.amd.com")]
    assert mutate(pod(containers=target, annotations=amd)).reason == Reason.DEVICE_PLUGIN_REQUEST
    target = [requesting(f"{IMPLICIT}gpu.nvidia.com")]
    assert mutate(pod(containers=target, annotations=amd)).reason == Reason.INJECTED


def test_an_operator_can_name_further_resources() -> None:
    target = pod(containers=[requesting("example.com/gpu")])
    config = AdmissionConfig(gpu_resource_names=("example.com/gpu",))
    assert mutate(target).reason == Reason.INJECTED
    assert mutate(target, config).reason == Reason.DEVICE_PLUGIN_REQUEST
    assert mutate(pod(containers=[requesting("example.com/gpu2")]), config).reason == Reason.INJECTED
    zero = pod(containers=[requesting("example.com/gpu", "0")])
    assert mutate(zero, config).reason == Reason.INJECTED


ALLOCATED_ELSEWHERE = [
    "volcano.sh/vgpu-number", "volcano.sh/vgpu-memory", "volcano.sh/gpu-memory", "aliyun.com/gpu-mem",
    "aliyun.com/gpu-count", "4pd.io/vgpu", "nvidia.com/pgpu", "nvidia.com/GA102GL_A10", "nvidia.com/GRID_T4-1Q",
    "huawei.com/Ascend910", "huawei.com/Ascend910B4", "huawei.com/ascend-1980", "cambricon.com/mlu",
    "cambricon.com/vmlu", "hygon.com/dcunum", "metax-tech.com/gpu", "metax-tech.com/sgpu", "mthreads.com/vgpu",
    "mthreads.com/sgpu-core", "iluvatar.ai/vgpu", "iluvatar.ai/BI-V150.vCore", "enflame.com/drs-gcu",
    "kunlunxin.com/xpu", "kunlunxin.com/vxpu", "vastaitech.com/va", "birentech.com/gpu", "aws.amazon.com/neuron",
    "aws.amazon.com/neuroncore", "gpu.intel.com/millicores", "gpu.intel.com/memory.max", "tencent.com/vcuda-core",
    "tke.cloud.tencent.com/qgpu-core", "k8s.amazonaws.com/vgpu", "alpha.kubernetes.io/nvidia-gpu",
    "qualcomm.com/qaic", "run.ai/simulated-gpu", "baidu.com/v100_cgpu", "baidu.com/v100_cgpu_core", "baidu.com/xpu",
    "koordinator.sh/gpu", "koordinator.sh/gpu-memory-ratio", "elasticgpu.io/gpu-core", "furiosa.ai/rngd",
    "rebellions.ai/ATOM",
]  # fmt: skip


@pytest.mark.parametrize("resource", ALLOCATED_ELSEWHERE)
def test_an_accelerator_from_another_system_draws_a_warning(resource: str) -> None:
    decision = mutate(pod(containers=[requesting(resource)]))
    assert decision.reason == Reason.INJECTED
    (warning,) = decision.warnings[1:]
    assert warning.startswith(f"spec.containers[0].resources.limits[{resource}]: another request for an accelerator; ")
    assert mutate(pod(containers=[requesting(resource, "0")])).warnings == decision.warnings[:1]
    beside = pod(containers=[SERVER, requesting(resource) | {"name": "other"}])
    assert any(f"spec.containers[1].resources.limits[{resource}]" in each for each in mutate(beside).warnings)


def test_every_resource_has_a_public_source() -> None:
    assert all(source.startswith("https://") for source in (DEVICE_PLUGINS | OTHER_ALLOCATORS).values())


def test_a_container_with_a_claim_of_its_own_draws_a_warning() -> None:
    own = [{"name": "gpu", "resourceClaimTemplateName": "single-gpu"}]
    target = pod(containers=[container(resources={"claims": [{"name": "gpu"}]})], resourceClaims=own)
    expected = (
        'spec.containers[0].resources.claims: the container gets one more device beside "gpu"; remove a claim for a GPU'
    )
    assert mutate(target).warnings[1:] == (expected,)
    # On the second call it references our claim too, which is none of its own.
    assert mutate(admitted(target)).warnings == (expected,)
    beside = pod(containers=[SERVER, container("web", resources={"claims": [{"name": "gpu"}]})], resourceClaims=own)
    assert len(mutate(beside).warnings) == 1


def test_any_number_of_warnings_fits_in_a_response() -> None:
    """The API server drops what exceeds 4096 characters."""
    gpus = {f"volcano.sh/gpu-{index}": "1" for index in range(9000)}
    warnings = mutate(pod(containers=[container(resources={"limits": gpus})])).warnings
    assert warnings[0].startswith("modelfit: claim ")
    assert warnings[-1] == f"modelfit: {9000 - (len(warnings) - 2)} more warnings are left out"
    assert 3500 < sum(map(len, warnings)) <= 4096
