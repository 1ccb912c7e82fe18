"""Which containers get the claim, by the first rule that says one."""

from collections.abc import Mapping

import pytest

from tests.core.builders import CLAIM, REMOVED, Json, admitted, container, mutate, pod
from webhook.core.admission.target_containers import SIDECARS
from webhook.reasons import Reason

DEFAULT = "kubectl.kubernetes.io/default-container"
LISTED = "llmfit.ai/containers"


def with_claim(target: Json) -> list[str]:
    """The containers of an admitted pod that refer to the claim, init containers with their list's name."""
    after = admitted(target)["spec"]
    return [
        f"{prefix}{each['name']}"
        for prefix, key in (("init:", "initContainers"), ("", "containers"))
        for each in after.get(key) or []
        if {"name": "modelfit"} in each.get("resources", {}).get("claims", [])
    ]


def many(names: str, init: str = "", annotations: Mapping[str, object] | None = None) -> Json:
    return pod(
        containers=[container(name) for name in names.split()],
        annotations=annotations,
        initContainers=[container(name) for name in init.split()] if init else REMOVED,
    )


@pytest.mark.parametrize(
    ("target", "chosen"),
    [
        (many("server"), ["server"]),
        (many("istio-proxy"), ["istio-proxy"]),
        (many("server metrics"), ["server"]),
        (many("istio-proxy server"), ["server"]),
        (many("linkerd-proxy istio-proxy vault-agent server web"), ["server"]),
        (many("web server", annotations={DEFAULT: "server"}), ["server"]),
        (many("web istio-proxy", annotations={DEFAULT: "istio-proxy"}), ["istio-proxy"]),
        (many("web server", annotations={LISTED: "server"}), ["server"]),
        (many("web server", annotations={LISTED: "server", DEFAULT: "web"}), ["server"]),
        (many("web server", annotations={LISTED: " server , web ,"}), ["web", "server"]),
        (many("web server", annotations={LISTED: "server,server"}), ["server"]),
        (many("server", "load", {LISTED: "load"}), ["init:load"]),
        (many("server", "load", {LISTED: "server,load"}), ["init:load", "server"]),
        (many("server", "load", {DEFAULT: "load"}), ["init:load"]),
        (many("server", "load"), ["server"]),
    ],
)
def test_the_first_rule_that_names_containers_decides(target: Json, chosen: list[str]) -> None:
    assert with_claim(target) == chosen


@pytest.mark.parametrize("sidecar", sorted(SIDECARS))
def test_a_known_sidecar_in_first_place_is_not_the_workload(sidecar: str) -> None:
    assert with_claim(many(f"{sidecar} server web")) == ["server"]


def test_a_native_sidecar_can_be_named() -> None:
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


def test_a_users_own_claims_stay_on_every_container() -> None:
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
            many("web server", annotations={LISTED: "sever"}),
            ["metadata.annotations[llmfit.ai/containers]: ", '"sever"', '"web", "server"'],
        ),
        (
            many("web", "load", {LISTED: "web,x,y"}),
            ['no container "x", "y"', '"web", "load"'],
        ),
        (
            many("web server", annotations={DEFAULT: "gone"}),
            [f"metadata.annotations[{DEFAULT}]: ", '"gone"', '"web", "server"'],
        ),
        (many("web", annotations={LISTED: ""}), ["no name in", '"web"']),
        (many("web", annotations={LISTED: " , "}), ["no name in", '"web"']),
        (
            many("istio-proxy vault-agent"),
            ["spec.containers: ", '"istio-proxy", "vault-agent"', "llmfit.ai/containers"],
        ),
        (pod(containers=[]), ["spec.containers: ", "no container"]),
        (many("web", annotations={LISTED: "modelfit\x1b[31m"}), [r'"modelfit\u001b[31m"']),
    ],
)
def test_containers_that_cannot_be_told_are_refused_with_the_names_there_are(target: Json, parts: list[str]) -> None:
    decision = mutate(target)
    assert (decision.allowed, decision.reason) == (False, Reason.UNKNOWN_CONTAINER)
    for part in parts:
        assert part in decision.message
    assert decision.patch == ()


def test_a_container_that_is_listed_twice_gets_one_reference() -> None:
    resources = {"claims": [{"name": "nic"}], "requests": {"cpu": "1"}}
    after = admitted(pod(containers=[container(resources=resources)], annotations={LISTED: "server,server"}))
    assert after["spec"]["containers"][0]["resources"]["claims"] == [{"name": "nic"}, {"name": "modelfit"}]


def test_a_name_in_both_lists_is_no_crash() -> None:
    target = many("twin", "twin", {LISTED: "twin"})
    assert mutate(target).allowed


def test_an_ephemeral_container_is_no_target() -> None:
    target = pod(annotations={LISTED: "debugger"}, ephemeralContainers=[container("debugger")])
    assert mutate(target).reason == Reason.UNKNOWN_CONTAINER
