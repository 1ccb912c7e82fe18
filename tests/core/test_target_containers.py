"""Which containers get the claim."""

from collections.abc import Mapping

import pytest

from tests.core.builders import CLAIM, REMOVED, Json, admitted, container, mutate, pod
from webhook.core.admission.known_sidecars import SIDECARS, Sidecar
from webhook.core.admission_config import AdmissionConfig
from webhook.reasons import Reason

DEFAULT = "kubectl.kubernetes.io/default-container"
LISTED = "llmfit.ai/containers"


def containers_with_claim(target: Json) -> list[str]:
    """The containers of the admitted pod that reference the claim; init containers with a prefix."""
    after = admitted(target)["spec"]
    return [
        f"{prefix}{each['name']}"
        for prefix, key in (("init:", "initContainers"), ("", "containers"))
        for each in after.get(key) or []
        if {"name": "modelfit"} in each.get("resources", {}).get("claims", [])
    ]


def pod_with(names: str, init: str = "", annotations: Mapping[str, object] | None = None) -> Json:
    return pod(
        containers=[container(name) for name in names.split()],
        annotations=annotations,
        initContainers=[container(name) for name in init.split()] if init else REMOVED,
    )


@pytest.mark.parametrize(
    ("target", "chosen"),
    [
        (pod_with("server"), ["server"]),
        (pod_with("istio-proxy"), ["istio-proxy"]),
        (pod_with("istio-proxy server"), ["server"]),
        (pod_with("linkerd-proxy istio-proxy vault-agent server"), ["server"]),
        (pod_with("web server", annotations={DEFAULT: "server"}), ["server"]),
        (pod_with("web istio-proxy", annotations={DEFAULT: "istio-proxy"}), ["istio-proxy"]),
        (pod_with("istio-proxy server", annotations={DEFAULT: ""}), ["server"]),
        (pod_with("web server", annotations={LISTED: "server"}), ["server"]),
        (pod_with("web server", annotations={LISTED: "server", DEFAULT: "web"}), ["server"]),
        (pod_with("web server", annotations={LISTED: " server , web ,"}), ["web", "server"]),
        (pod_with("web server", annotations={LISTED: "server,server"}), ["server"]),
        (pod_with("server", "load", {LISTED: "load"}), ["init:load"]),
        (pod_with("server", "load", {LISTED: "server,load"}), ["init:load", "server"]),
        (pod_with("server", "load", {DEFAULT: "load"}), ["init:load"]),
        (pod_with("server", "load"), ["server"]),
    ],
)
def test_the_first_rule_that_applies_chooses_the_containers(target: Json, chosen: list[str]) -> None:
    assert containers_with_claim(target) == chosen


@pytest.mark.parametrize("sidecar", SIDECARS, ids=lambda sidecar: sidecar.name)
@pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
def test_a_known_sidecar_gets_no_claim(sidecar: Sidecar, first: bool) -> None:
    injected = container(sidecar.name.replace("*", "0"), image=f"registry.example/{sidecar.image or 'sidecar'}:1")
    pair = [injected, container("server")]
    assert containers_with_claim(pod(containers=pair if first else pair[::-1])) == ["server"]


def test_every_sidecar_has_a_public_source() -> None:
    assert all(sidecar.source.startswith("https://") for sidecar in SIDECARS)
    assert len({sidecar.name for sidecar in SIDECARS}) == len(SIDECARS)


@pytest.mark.parametrize("name", ["fluid-fusion", "istio-proxy-2", "agent", "wait", "my-envoy"])
def test_a_name_that_only_resembles_a_sidecar_may_run_the_model(name: str) -> None:
    assert mutate(pod_with(f"{name} server")).reason == Reason.AMBIGUOUS_CONTAINER


def test_a_native_sidecar_can_be_listed() -> None:
    target = pod(
        initContainers=[container("setup"), container("engine", restartPolicy="Always")],
        annotations={LISTED: "engine"},
    )
    after = admitted(target)["spec"]
    assert after["initContainers"][1]["resources"] == {
        "claims": [{"name": "modelfit"}],
        "requests": {"memory": "12Gi"},
    }
    assert "resources" not in after["initContainers"][0]
    assert "resources" not in after["containers"][0]


def test_claims_of_the_user_are_kept_on_every_container() -> None:
    nic = {"name": "nic"}
    target = pod(
        containers=[
            container("a", resources={"claims": [nic]}),
            container("b"),
            container("c", resources={"claims": [nic]}),
        ],
        annotations={LISTED: "a,b"},
        resourceClaims=[{"name": "nic", "resourceClaimName": "nic-1"}],
    )
    after = admitted(target)["spec"]
    assert after["resourceClaims"] == [
        {"name": "nic", "resourceClaimName": "nic-1"},
        {"name": "modelfit", "resourceClaimName": CLAIM},
    ]
    assert after["containers"][0]["resources"]["claims"] == [nic, {"name": "modelfit"}]
    assert after["containers"][1]["resources"]["claims"] == [{"name": "modelfit"}]
    assert after["containers"][2] == target["spec"]["containers"][2]


@pytest.mark.parametrize(
    ("target", "parts"),
    [
        (
            pod_with("web server", annotations={LISTED: "sever"}),
            ["metadata.annotations[llmfit.ai/containers]: ", '"sever"', '"web", "server"'],
        ),
        (
            pod_with("web", "load", {LISTED: "web,x,y"}),
            ['no container "x", "y"', '"web", "load"'],
        ),
        (
            pod_with("web server", annotations={DEFAULT: "gone"}),
            [f"metadata.annotations[{DEFAULT}]: ", '"gone"', '"web", "server"'],
        ),
        (pod_with("web", annotations={LISTED: ""}), ["no name in", '"web"']),
        (pod_with("web", annotations={LISTED: " , "}), ["no name in", '"web"']),
        (
            pod_with("istio-proxy vault-agent"),
            ["spec.containers: ", '"istio-proxy", "vault-agent"', "llmfit.ai/containers"],
        ),
        (pod(containers=[]), ["spec.containers: ", "no container"]),
        (pod_with("web", annotations={LISTED: "modelfit\x1b[31m"}), [r'"modelfit\u001b[31m"']),
    ],
)
def test_an_unknown_container_is_denied_with_the_existing_names(target: Json, parts: list[str]) -> None:
    decision = mutate(target)
    assert (decision.allowed, decision.reason) == (False, Reason.UNKNOWN_CONTAINER)
    for part in parts:
        assert part in decision.message
    assert decision.patch == ()


def test_a_container_listed_twice_gets_one_reference() -> None:
    resources = {"claims": [{"name": "nic"}], "requests": {"cpu": "1"}}
    after = admitted(pod(containers=[container(resources=resources)], annotations={LISTED: "server,server"}))
    assert after["spec"]["containers"][0]["resources"]["claims"] == [{"name": "nic"}, {"name": "modelfit"}]


def test_a_container_and_an_init_container_may_share_a_name() -> None:
    target = pod_with("twin", "twin", {LISTED: "twin"})
    assert mutate(target).allowed


def test_a_reference_of_the_user_chooses_its_container_and_the_second_call_agrees() -> None:
    config = AdmissionConfig(device_count_variable="GPUS")
    referencing = container("other", resources={"claims": [{"name": "modelfit"}]})
    once = admitted(pod(containers=[container(image="vllm/vllm-openai"), referencing]), config)
    server, other = once["spec"]["containers"]
    assert "resources" not in server
    assert other["env"] == [{"name": "GPUS", "value": "1"}]
    assert mutate(once, config).patch == ()


def test_an_ephemeral_container_cannot_be_listed() -> None:
    target = pod(annotations={LISTED: "debugger"}, ephemeralContainers=[container("debugger")])
    assert mutate(target).reason == Reason.UNKNOWN_CONTAINER
