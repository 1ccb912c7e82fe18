"""Which of several containers gets the claim if no annotation names it: the model server, or none."""

from typing import Any

import pytest

from tests.core.builders import CPU_FIT, Json, admitted, container, kind_of, mutate, pod, validate, workload
from tests.core.test_target_containers import DEFAULT, containers_with_claim, pod_with
from webhook.core.admission_config import AdmissionConfig
from webhook.reasons import Reason


def servers(*containers: Json, **members: Any) -> Json:
    return pod(containers=[container("web"), *containers, container("proxy")], **members)


VLLM = container("engine", image="vllm/vllm-openai:v0.9.0")


@pytest.mark.parametrize(
    "image",
    [
        "vllm/vllm-openai", "vllm/vllm-openai:latest", "registry.example:5000/mirror/vllm-openai@sha256:0123", "vllm",
        "quay.io/ascend/vllm-ascend:v0.9.1", "rocm/vllm:1", "ghcr.io/huggingface/text-generation-inference:3.3",
        "ghcr.io/huggingface/text-embeddings-inference:cpu-1.8", "lmsysorg/sglang:latest",
        "ghcr.io/ggml-org/llama.cpp:server-cuda", "ollama/ollama:0.9", "nvcr.io/nvidia/tensorrt-llm/release:1.0",
        "nvcr.io/nim/meta/llama-3.1-8b-instruct:1.8", "nvcr.io/nvidia/tritonserver:25.06-py3",
        "kserve/huggingfaceserver:v0.15.2-gpu", "openmmlab/lmdeploy:latest", "rayproject/ray-llm:2.46",
        "docker.io/rayproject/ray", "ghcr.io/llm-d/llm-d:v0.5.0", "ghcr.io/llm-d/llm-d-cuda-gb200:v0.7.0",
    ],
)  # fmt: skip
def test_a_container_with_the_image_of_a_model_server_gets_the_claim(image: str) -> None:
    assert containers_with_claim(servers(container("engine", image=image))) == ["engine"]


@pytest.mark.parametrize(
    "command",
    [
        ["vllm", "serve", "Qwen/Qwen3-8B"], ["python3", "-m", "vllm.entrypoints.openai.api_server"],
        ["sh", "-c", "sleep 1 &&\n  vllm   serve x"], ["text-generation-launcher"], ["text-embeddings-router"],
        ["python", "-m", "sglang.launch_server"], ["/app/llama-server", "-m", "x"],
        ["python", "-m", "llama_cpp.server"],
        ["ollama", "serve"], ["trtllm-serve", "x"], ["tritonserver", "--model-repository=/m"],
        ["python", "-m", "huggingfaceserver"], ["lmdeploy", "serve", "api_server"], ["ray", "start", "--head"],
        ["serve", "run", "app:main"], ["python3", "-m", "dynamo.vllm", "--model", "x"],
    ],
    ids=" ".join,
)  # fmt: skip
@pytest.mark.parametrize("split", [False, True])
def test_a_container_with_the_command_of_a_model_server_gets_the_claim(command: list[str], split: bool) -> None:
    members = {"command": command[:1], "args": command[1:]} if split else {"args": command}
    assert containers_with_claim(servers(container("engine", **members))) == ["engine"]


@pytest.mark.parametrize(
    "members",
    [
        {"image": "lmcache/vllm-router:1"},
        {"image": "vllm/vllm-openai/metrics"},
        {"image": "registry.example/xvllm"},
        {"image": "nim/server"},
        {"image": "ghcr.io/llm-d/llm-d-inference-scheduler"},
        {"image": "nvcr.io/nvidia/ai-dynamo/vllm-runtime", "args": ["python3", "-m", "dynamo.frontend"]},
        {"args": ["--upstream=vllm", "server"]},
        {"args": ["tritonserverless"]},
        {"args": [5, None], "image": 7},
    ],
)
def test_other_containers_are_not_taken_for_model_servers(members: Json) -> None:
    assert mutate(servers(container("engine", **members))).reason == Reason.AMBIGUOUS_CONTAINER


def test_the_main_container_of_kserve_gets_the_claim() -> None:
    assert containers_with_claim(pod_with("agent kserve-container queue-proxy")) == ["kserve-container"]


AMBIGUOUS: dict[str, tuple[Json, str]] = {
    "none is known": (pod_with("server metrics"), '"server", "metrics"'),
    "a sidecar beside them": (pod_with("fluid-fuse-0 server web"), '"server", "web"'),
    "two model servers": (servers(VLLM, VLLM | {"name": "reranker"}), '"engine", "reranker"'),
    "more than the message names": (pod_with("a b c d e f"), '"a", "b", "c", "d" and 2 more'),
    "an empty default-container": (pod_with("a b", annotations={DEFAULT: ""}), '"a", "b"'),
}


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_an_ambiguous_choice_is_denied_with_the_candidates_and_the_annotation(name: str) -> None:
    target, names = AMBIGUOUS[name]
    decision = mutate(target)
    assert (decision.allowed, decision.reason, decision.reason.code) == (False, Reason.AMBIGUOUS_CONTAINER, 422)
    assert decision.message == (
        f"spec.containers: several that may run the model: {names}; want one target container; "
        "name the container in the annotation llmfit.ai/containers"
    )


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_the_first_candidate_can_be_chosen_with_a_warning(name: str) -> None:
    target, names = AMBIGUOUS[name]
    decision = mutate(target, AdmissionConfig(ambiguous_containers="first"))
    first = names.partition(",")[0]
    assert f"for {first}: " in decision.warnings[0]
    (warning,) = (each for each in decision.warnings if each.startswith("spec.containers: "))
    start = f"spec.containers: {first} gets the claim, the first of several that may run the model: {names}; "
    assert warning.startswith(start)
    assert warning.endswith("llmfit.ai/containers")


def test_a_model_without_gpu_is_admitted_without_a_memory_request_if_the_choice_is_ambiguous() -> None:
    target = pod(CPU_FIT, containers=[container("server"), container("metrics")])
    decision = mutate(target)
    assert (decision.allowed, decision.reason) == (True, Reason.CPU_ONLY)
    assert all(operation["path"].startswith("/metadata/") for operation in decision.patch)
    assert [each for each in decision.warnings if "no memory request is set: spec.containers" in each]
    # A container that another webhook inserts after the first call.
    after = admitted(pod(CPU_FIT))
    after["spec"]["containers"].insert(0, container("unknown"))
    again = mutate(after)
    assert (again.allowed, again.patch, again.warnings) == (True, (), ())


def test_default_container_beside_a_model_server_draws_a_warning() -> None:
    (warning,) = mutate(servers(VLLM, annotations={DEFAULT: "web"})).warnings[1:]
    assert warning == (
        f'metadata.annotations[{DEFAULT}] gives the claim to "web", but a model server runs in "engine"; '
        "llmfit.ai/containers overrides it"
    )
    assert len(mutate(servers(VLLM, annotations={DEFAULT: "engine"})).warnings) == 1


@pytest.mark.parametrize(
    ("names", "default", "chosen"),
    [
        ("fluid-fuse-0 istio-proxy server", "fluid-fuse-0", "server"),
        ("istio-proxy web engine", "web", "engine"),
        ("web engine istio-proxy", "engine", "engine"),
        ("web other istio-proxy", "web", "web"),
        ("web other istio-proxy", "other", "other"),
    ],
)
def test_default_container_as_istio_sets_it_is_only_a_hint(names: str, default: str, chosen: str) -> None:
    """Istio sets it to the first container, unless it is set."""
    target = pod_with(names, annotations={DEFAULT: default, "sidecar.istio.io/status": "{}"})
    for each in target["spec"]["containers"]:
        if each["name"] == "engine":
            each["args"] = ["vllm", "serve"]
    assert containers_with_claim(target) == [chosen]


def test_a_second_call_keeps_the_container_although_another_webhook_has_set_default_container() -> None:
    after = admitted(servers(VLLM))
    after["metadata"]["annotations"][DEFAULT] = "web"
    assert mutate(after, uid="another-uid").patch == ()


@pytest.mark.parametrize(
    "injected", ["fluid-fuse-0", "jfs-mount", "gke-gcsfuse-sidecar", "datadog-agent-injected", "unknown"]
)
@pytest.mark.parametrize("index", [0, 1])
def test_a_pod_whose_container_was_inserted_gets_the_claim_where_the_template_announced_it_or_is_denied(
    injected: str, index: int
) -> None:
    target = pod_with("server")
    deployment = workload("Deployment", target)
    announced = validate(deployment, kind=kind_of(deployment)).warnings[0]
    assert 'each pod gets a claim for "server": ' in announced
    target["spec"]["containers"].insert(index, container(injected))
    if injected == "unknown":
        assert mutate(target).reason == Reason.AMBIGUOUS_CONTAINER
    else:
        assert containers_with_claim(target) == ["server"]
