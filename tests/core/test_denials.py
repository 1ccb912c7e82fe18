"""Every denial: reason, status code, and a message with field, value, expected value and hint."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence

import pytest

from tests.core.builders import CLAIM, FIT, Json, admitted, container, fit, mutate, parse_review, pod
from webhook.core.admission import decide
from webhook.core.admission.decision import Decision
from webhook.core.admission.pods import MAX_CONTAINERS
from webhook.core.admission.review import Review
from webhook.core.admission_config import AdmissionConfig
from webhook.core.claims.device_request import MAX_FIT_BYTES
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
    "several containers": (
        pod(containers=[container("server"), container("web")]),
        Reason.AMBIGUOUS_CONTAINER,
        422,
        ['spec.containers: several that may run the model: "server", "web"; want one target container; name '],
    ),
    "1,001 containers": (
        pod(containers=[container(f"c{index}") for index in range(1000)], initContainers=[container("init")]),
        Reason.POD_TOO_LARGE,
        422,
        ["spec.containers: 1001 containers and init containers; want at most 1000"],
    ),
    "10,001 resources": (
        pod(
            containers=[
                container(
                    resources={kind: {f"a.b/{index}": 1 for index in range(5000)} for kind in ("requests", "limits")}
                )
            ],
            initContainers=[container("init", resources={"limits": {"cpu": 1}})],
        ),
        Reason.POD_TOO_LARGE,
        422,
        ["spec.containers: 10001 resource requests and limits; want at most 10000"],
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
    "our entry without its claim": (
        pod(resourceClaims=[{"name": "modelfit"}]),
        Reason.ALIAS_TAKEN,
        403,
        ["spec.resourceClaims[0]: an entry without a claim; ", "update the webhook that dropped resourceClaimName"],
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
    elsewhere = {Reason.NO_NAMESPACE, Reason.NOT_INJECTED, Reason.INJECTION_CHANGED}
    allowed = {Reason.INJECTED, Reason.ALREADY_INJECTED, Reason.CPU_ONLY, Reason.VALID, Reason.NOT_ANNOTATED,
               Reason.DISABLED, Reason.NOT_A_POD, Reason.OTHER_OPERATION, Reason.SUBRESOURCE, Reason.MIRROR_POD,
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


class Unread(list[Json]):
    """A list that cannot be read one by one."""

    def __iter__(self) -> Iterator[Json]:
        raise AssertionError


@pytest.mark.parametrize("decide", [decide.mutate, decide.validate])
@pytest.mark.parametrize("count", [1001, 30_000, 60_000])
def test_a_pod_of_too_many_containers_is_denied_without_reading_them(
    decide: Callable[[Review, AdmissionConfig], Decision], count: int
) -> None:
    target = pod(containers=[])
    target["spec"]["containers"] = Unread([container()] * count)
    review = dataclasses.replace(parse_review(pod()), object=target)
    decision = decide(review, AdmissionConfig())
    assert decision.reason == Reason.POD_TOO_LARGE
    assert decision.message == f"spec.containers: {count} containers and init containers; want at most 1000"


def test_a_pod_of_as_many_containers_as_allowed_is_injected() -> None:
    target = pod(
        containers=[container(f"c{index}") for index in range(MAX_CONTAINERS)],
        annotations={"llmfit.ai/containers": "c1"},
    )
    assert mutate(target).reason == Reason.INJECTED


def test_a_fit_above_the_maximum_length_is_denied() -> None:
    assert mutate(pod(FIT.ljust(MAX_FIT_BYTES))).reason == Reason.INJECTED
    decision = mutate(pod(FIT.ljust(MAX_FIT_BYTES + 1)))
    assert decision.reason == Reason.INVALID_MODEL_FIT
    assert "more than 16384 bytes; want one model's figures" in decision.message


def test_the_size_of_a_fit_is_measured_in_bytes() -> None:
    rocket = FIT.replace("llama-7b", "\N{ROCKET}" * 4000)
    assert mutate(pod(rocket)).reason == Reason.INJECTED
    assert "more than 16384 bytes" in mutate(pod(rocket.replace("\N{ROCKET}", "\N{ROCKET}" * 2))).message
