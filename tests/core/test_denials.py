"""Every denial: reason, status code, and a message with field, value, expected value and hint."""

import dataclasses
from collections.abc import Sequence

import pytest

from tests.core.builders import CLAIM, FIT, Json, admitted, container, fit, mutate, pod
from webhook.core.admission_config import AdmissionConfig
from webhook.core.claims.device_request import MAX_FIT_CHARACTERS
from webhook.core.profiles import BUILTIN
from webhook.reasons import Reason

ANNOTATION = "metadata.annotations[llmfit.ai/model-fit]"
DEVICE_COUNT = "metadata.annotations[llmfit.ai/device-count]"


def requesting(resource: str, quantity: object = "1", kind: str = "limits") -> Json:
    return container(resources={kind: {resource: quantity}})


CASES: dict[str, tuple[Json, Reason, int, Sequence[str]]] = {
    "not JSON": (
        pod("{"),
        Reason.INVALID_MODEL_FIT,
        422,
        [ANNOTATION, "want one JSON object", "paste llmfit's output"],
    ),
    "empty": (pod(""), Reason.INVALID_MODEL_FIT, 422, [f"{ANNOTATION}: nothing; want one JSON object"]),
    "null": (pod(annotations={"llmfit.ai/model-fit": None}), Reason.INVALID_MODEL_FIT, 422, [f"{ANNOTATION}: nothing"]),
    "negative": (
        pod(fit(min_vram_gb=-1)),
        Reason.INVALID_MODEL_FIT,
        422,
        [f'{ANNOTATION}.min_vram_gb: "-1", below zero'],
    ),
    "two models": (
        pod(fit(models=[{"name": "a"}, {"name": "b"}])),
        Reason.AMBIGUOUS_MODEL_FIT,
        422,
        [f'{ANNOTATION}.models: a list of 2: "a", "b"; want exactly one model'],
    ),
    "no figure": (
        pod(fit(min_ram_gb=4)),
        Reason.NO_GPU_MEMORY_FIGURE,
        422,
        [ANNOTATION, "estimated_vram_gb", "llmfit --json plan"],
    ),
    "unknown profile": (
        pod(annotations={"llmfit.ai/profile": "nvidea"}),
        Reason.UNKNOWN_PROFILE,
        422,
        ['metadata.annotations[llmfit.ai/profile]: "nvidea"; want one of', *(f'"{name}"' for name in BUILTIN)],
    ),
    "CEL for a profile": (
        pod(annotations={"llmfit.ai/profile": "nvidia' || true || '"}),
        Reason.UNKNOWN_PROFILE,
        422,
        [],
    ),
    "device count": (
        pod(annotations={"llmfit.ai/device-count": "0"}),
        Reason.INVALID_DEVICE_COUNT,
        422,
        [f'{DEVICE_COUNT}: "0"; want a number from 1 to 32, or auto'],
    ),
    "auto of nothing": (
        pod(annotations={"llmfit.ai/device-count": "auto"}),
        Reason.UNSUPPORTED_DEVICE_COUNT,
        422,
        [f"{DEVICE_COUNT}: ", "supports_tp"],
    ),
    "unknown container": (
        pod(annotations={"llmfit.ai/containers": "x"}),
        Reason.UNKNOWN_CONTAINER,
        422,
        ['metadata.annotations[llmfit.ai/containers]: no container "x"; want names among "server"'],
    ),
    "node name": (
        pod(nodeName="node-7"),
        Reason.NODE_NAME_SET,
        403,
        [
            'spec.nodeName: "node-7"; want none: the scheduler allocates the device; ',
            "use nodeSelector or node affinity",
        ],
    ),
    "own alias": (
        pod(resourceClaims=[{"name": "a"}, {"name": "modelfit", "resourceClaimName": "mine"}]),
        Reason.ALIAS_TAKEN,
        403,
        ["spec.resourceClaims[1].name: the pod's own claim named modelfit; ", "want another name; rename the entry"],
    ),
    "own alias of a template": (
        pod(resourceClaims=[{"name": "modelfit", "resourceClaimTemplateName": CLAIM}]),
        Reason.ALIAS_TAKEN,
        403,
        ["spec.resourceClaims[0].name"],
    ),
    "device plugin": (
        pod(containers=[requesting("nvidia.com/gpu")]),
        Reason.DEVICE_PLUGIN_REQUEST,
        403,
        [
            "spec.containers[0].resources.limits[nvidia.com/gpu]: a device-plugin request; ",
            "want none beside a claim; remove it",
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_denied_with_reason_code_and_message(name: str) -> None:
    target, reason, code, parts = CASES[name]
    decision = mutate(target)
    assert (decision.allowed, decision.reason, decision.reason.code) == (False, reason, code)
    assert (decision.patch, decision.warnings, decision.claim) == ((), (), None)
    for part in parts:
        assert part in decision.message
    assert len(decision.message.encode()) <= 1024


def test_every_reason_to_deny_a_new_pod_is_covered() -> None:
    denials = {reason for _, reason, _, _ in CASES.values()}
    elsewhere = {Reason.NO_NAMESPACE, Reason.NOT_INJECTED}
    allowed = {Reason.INJECTED, Reason.ALREADY_INJECTED, Reason.CPU_ONLY, Reason.VALID, Reason.NOT_ANNOTATED,
               Reason.DISABLED, Reason.NOT_A_POD, Reason.NOT_A_CREATE, Reason.SUBRESOURCE, Reason.MIRROR_POD,
               Reason.BEING_DELETED, Reason.ANNOTATION_UNCHANGED, Reason.MADE_BY_A_WORKLOAD}  # fmt: skip
    assert denials | elsewhere | allowed == set(Reason)
    assert not denials & allowed


def test_the_namespace_of_the_review_is_required() -> None:
    for inside in ({}, {"namespace": "team-b"}):
        decision = mutate(pod(metadata=inside), namespace="")
        assert (decision.allowed, decision.reason, decision.reason.code) == (False, Reason.NO_NAMESPACE, 422)
        assert decision.message.startswith("request.namespace: none; want ")
    assert mutate(pod(metadata={"namespace": "team-b"}), namespace="team-a").allowed


def test_all_errors_of_a_pod_are_in_one_message() -> None:
    target = pod(
        "{",
        annotations={
            "llmfit.ai/profile": "p",
            "llmfit.ai/device-count": "33",
            "llmfit.ai/containers": "a,b",
        },
        nodeName="n1",
        resourceClaims=[{"name": "modelfit", "resourceClaimName": "mine"}],
    )
    decision = mutate(target, namespace="")
    assert decision.reason == Reason.INVALID_MODEL_FIT
    errors = decision.message.split("; and ")
    assert [error.partition(": ")[0] for error in errors] == [
        "metadata.annotations[llmfit.ai/model-fit]",
        "metadata.annotations[llmfit.ai/profile]",
        "metadata.annotations[llmfit.ai/device-count]",
        "metadata.annotations[llmfit.ai/containers]",
        "request.namespace",
        "spec.nodeName",
        "spec.resourceClaims[0].name",
    ]


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
    beside = pod(containers=[container("server"), container("other", resources=both_equal)])
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
    "gpu.intel.com/xe", "gpu.intel.com/i915_monitoring", "intel.com/gpu", "habana.ai/gaudi", "google.com/tpu",
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
    ["nvidia.com/hostdev", "cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "rdma/hca", "example.com/gpu",
     "intel.com/qat", "xnvidia.com/gpu", "nvidia.comx/gpu", "nvidia.com/", "mynvidia.com/gpu", "amd.com/nic",
     "NVIDIA.com/GPU"],
)  # fmt: skip
def test_other_resources_are_allowed(resource: str) -> None:
    assert mutate(pod(containers=[requesting(resource)])).reason == Reason.INJECTED


def test_device_plugin_requests_can_be_allowed_with_a_warning() -> None:
    target = pod(containers=[requesting("nvidia.com/gpu")])
    decision = mutate(target, AdmissionConfig(device_plugin_requests="warn"))
    assert decision.reason == Reason.INJECTED
    assert any("spec.containers[0].resources.limits[nvidia.com/gpu]" in warning for warning in decision.warnings)
    after = admitted(target, AdmissionConfig(device_plugin_requests="warn"))
    assert after["spec"]["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "1"}


def test_a_device_plugin_request_of_another_container_is_warned_about() -> None:
    target = pod(containers=[container("server"), requesting("nvidia.com/gpu") | {"name": "other"}])
    decision = mutate(target)
    assert decision.reason == Reason.INJECTED
    assert any("spec.containers[1].resources.limits[nvidia.com/gpu]" in warning for warning in decision.warnings)


@pytest.mark.parametrize(
    ("scheduler", "warned"), [("volcano", True), ("default-scheduler", False), ("", False), (None, False)]
)
def test_a_custom_scheduler_is_warned_about(scheduler: str | None, warned: bool) -> None:
    decision = mutate(pod(schedulerName=scheduler))
    assert decision.reason == Reason.INJECTED
    assert any(warning.startswith("spec.schedulerName is ") for warning in decision.warnings) is warned


@pytest.mark.parametrize("name", [None, ""])
def test_an_empty_node_name_is_allowed(name: str | None) -> None:
    assert mutate(pod(nodeName=name)).reason == Reason.INJECTED


def test_daemon_pods_and_gated_pods_are_injected() -> None:
    affinity: Json = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}
    gated = pod(affinity=affinity, schedulingGates=[{"name": "kueue.x-k8s.io/admission"}])
    after = admitted(gated)
    assert after["spec"]["schedulingGates"] == gated["spec"]["schedulingGates"]
    assert after["spec"]["affinity"] == affinity


def test_a_profile_without_a_product_attribute_serves_one_device_only() -> None:
    config = AdmissionConfig(profiles={"nvidia": dataclasses.replace(BUILTIN["nvidia"], product=None)})
    assert mutate(pod(FIT), config).reason == Reason.INJECTED
    decision = mutate(pod(FIT, annotations={"llmfit.ai/device-count": "2"}), config)
    assert decision.reason == Reason.UNSUPPORTED_DEVICE_COUNT
    assert "names no product attribute" in decision.message


@pytest.mark.parametrize("count", [50, 500])
def test_any_number_of_errors_fits_in_a_kilobyte(count: int) -> None:
    target = pod(
        "{" + ", ".join(f'"key{index}": NaN' for index in range(count)) + "}",
        annotations={"llmfit.ai/containers": ",".join(f"container-{index}" for index in range(count))},
        containers=[requesting("nvidia.com/gpu") | {"name": f"c{index}"} for index in range(count)],
    )
    message = mutate(target).message
    assert len(message.encode()) <= 1024
    assert message.endswith("...")


def test_a_fit_above_the_maximum_length_is_denied() -> None:
    assert mutate(pod(FIT.ljust(MAX_FIT_CHARACTERS))).reason == Reason.INJECTED
    decision = mutate(pod(FIT.ljust(MAX_FIT_CHARACTERS + 1)))
    assert decision.reason == Reason.INVALID_MODEL_FIT
    assert "more than 16384 characters; want one model's figures" in decision.message
