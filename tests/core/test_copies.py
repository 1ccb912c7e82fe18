"""A pod that was made out of an admitted one gets a claim of its own; one that is only seen again keeps its claim."""

import copy
import dataclasses
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.builders import (
    CLAIM,
    CPU_FIT,
    REMOVED,
    Json,
    admitted,
    container,
    fit,
    kind_of,
    mutate,
    patched,
    pod,
    validate,
    workload,
)
from tests.core.test_patch_twice import PODS
from webhook.core.admission_config import AdmissionConfig
from webhook.reasons import Reason

INTO = "llmfit.ai/injected-into"


def owned(uid: str, controller: object = True) -> list[Json]:
    return [{"uid": "x", "kind": "ConfigMap"}, {"uid": uid, "kind": "ReplicaSet", "controller": controller}]


@dataclasses.dataclass(frozen=True)
class Identity:
    """What a review says of whose pod it is about."""

    namespace: str = "team-a"
    name: str | None = None
    prefix: str | None = None
    owner: str | None = None

    def on(self, target: Json) -> Json:
        """The pod as this one."""
        made = copy.deepcopy(target)
        metadata = made["metadata"]
        owners = owned(self.owner) if self.owner else None
        for key, value in (("name", self.name), ("generateName", self.prefix), ("ownerReferences", owners)):
            metadata.pop(key, None)
            if value is not None:
                metadata[key] = value
        return made

    @property
    def seen(self) -> tuple[object, ...]:
        """What tells it from others. An owner does nothing where there is a name."""
        return (self.namespace, self.name) if self.name else (self.namespace, None, self.prefix or "", self.owner)


NAMES = st.sampled_from([None, "llama", "llama-0"])
IDENTITIES = st.builds(
    Identity,
    st.sampled_from(["team-a", "team-b"]),
    NAMES,
    st.sampled_from([None, "llama", "llama-", "llama-7c9f-"]),
    st.sampled_from([None, "uid-1", "uid-2"]),
)


@given(st.sampled_from(sorted(PODS)), IDENTITIES, IDENTITIES)
def test_a_claim_is_kept_by_the_pod_that_it_was_named_for_and_by_no_other(
    name: str, first: Identity, other: Identity
) -> None:
    before = admitted(first.on(PODS[name]), namespace=first.namespace)
    copied = other.on(before)
    decision = mutate(copied, uid="another-uid", namespace=other.namespace)
    assert decision.allowed
    claims = before["spec"]["resourceClaims"]
    if first.seen == other.seen:
        assert (decision.patch, decision.reason) == ((), Reason.ALREADY_INJECTED)
        assert claims == [{"name": "modelfit", "resourceClaimName": decision.claim}]
        return
    assert decision.reason == Reason.INJECTED
    after = patched(copied, decision)
    assert after["spec"]["resourceClaims"] == [{"name": "modelfit", "resourceClaimName": decision.claim}] != claims
    # The rest is as on a pod that never was another.
    fresh = other.on(PODS[name])
    assert after == patched(fresh, mutate(fresh, uid="another-uid", namespace=other.namespace))
    assert mutate(after, uid="a-third", namespace=other.namespace).patch == ()


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (Identity(name="llama"), "team-a/llama"),
        (Identity(name="llama", prefix="llama-", owner="u"), "team-a/llama"),
        (Identity(prefix="llama-"), "team-a/llama-*"),
        (Identity(prefix="web-7c9f-", owner="u-1"), "team-a/web-7c9f-* of u-1"),
        (Identity(), "team-a/*"),
    ],
)
def test_what_was_written_says_for_whom(made: Identity, said: str) -> None:
    for text in (None, CPU_FIT):
        after = admitted(made.on(pod() if text is None else pod(text)))
        assert after["metadata"]["annotations"][INTO] == said


def test_an_owner_that_is_no_controller_is_not_whose_pod_it_is() -> None:
    for controller in (False, None, "true"):
        made = pod(metadata={"name": REMOVED, "generateName": "a-", "ownerReferences": owned("u", controller)})
        assert admitted(made)["metadata"]["annotations"][INTO] == "team-a/a-*"


def copy_of(target: Json, **changes: object) -> Json:
    """The admitted pod, under another name."""
    made = admitted(target)
    made["metadata"] |= {"name": "other"}
    made["metadata"]["annotations"] |= changes
    return made


def test_the_warning_names_the_claim_that_the_copy_came_with() -> None:
    decision = mutate(copy_of(pod()), uid="another-uid")
    summary, warning = decision.warnings
    assert summary.startswith(f"modelfit: claim {decision.claim} for ")
    assert warning == (
        f"spec.resourceClaims named claim {CLAIM}, which is for another pod or another fit; this pod gets its own"
    )


def test_a_copy_keeps_all_but_the_name_of_the_claim() -> None:
    others = [{"name": "a", "resourceClaimName": "a"}, {"name": "b", "resourceClaimTemplateName": "b"}]
    target = copy_of(pod(resourceClaims=[others[0]]))
    target["spec"]["resourceClaims"].append(others[1])
    target["spec"]["resourceClaims"][1]["future"] = {"of": "entries"}
    decision = mutate(target, uid="another-uid")
    assert patched(target, decision)["spec"] == target["spec"] | {
        "resourceClaims": [
            others[0],
            {"name": "modelfit", "resourceClaimName": decision.claim, "future": {"of": "entries"}},
            others[1],
        ]
    }
    assert [operation["path"] for operation in decision.patch] == [
        "/spec/resourceClaims/1/resourceClaimName",
        "/metadata/annotations/llmfit.ai~1claim",
        "/metadata/annotations/llmfit.ai~1injected-into",
    ]


CHANGED = fit(model="llama-7b", min_ram_gb=12, min_vram_gb=60)


@pytest.mark.parametrize("changes", [{}, {"name": "other"}], ids=["the same name", "another name"])
def test_a_changed_fit_gets_a_claim_of_its_own(changes: Mapping[str, object]) -> None:
    target = admitted(pod())
    target["metadata"] |= changes
    target["metadata"]["annotations"]["llmfit.ai/model-fit"] = CHANGED
    decision = mutate(target, uid="another-uid")
    assert decision.claim is not None
    assert decision.claim != CLAIM
    assert "gpu.memory 60Gi" in decision.warnings[0]
    annotations = patched(target, decision)["metadata"]["annotations"]
    assert annotations["llmfit.ai/claim"] == decision.claim
    assert annotations["llmfit.ai/resources"] == '{"gpu.memory":"60Gi","memory":"12Gi"}'


def test_a_pod_that_an_earlier_version_admitted_gets_a_claim_of_its_own() -> None:
    target = admitted(pod())
    del target["metadata"]["annotations"][INTO]
    assert mutate(target, uid="another-uid").claim not in (None, CLAIM)


def test_a_copy_gets_what_was_taken_out_of_it() -> None:
    """A memory request too, though the record of the first pod's figures came along."""
    target = copy_of(pod())
    del target["spec"]["containers"][0]["resources"]
    (server,) = patched(target, mutate(target, uid="another-uid"))["spec"]["containers"]
    assert server["resources"] == {"claims": [{"name": "modelfit"}], "requests": {"memory": "12Gi"}}
    idle = copy_of(pod(CPU_FIT))
    del idle["spec"]["containers"][0]["resources"]
    assert patched(idle, mutate(idle))["spec"]["containers"][0]["resources"] == {"requests": {"memory": "4Gi"}}


def test_a_copy_may_give_the_claim_to_more_containers() -> None:
    target = copy_of(pod(containers=[container("a"), container("b")]), **{"llmfit.ai/containers": "b"})
    after = patched(target, mutate(target, uid="another-uid"))
    assert [each["resources"]["claims"] for each in after["spec"]["containers"]] == [[{"name": "modelfit"}]] * 2


@pytest.mark.parametrize("name", PODS)
def test_a_copy_whose_model_needs_no_gpu_is_refused(name: str) -> None:
    """Its containers would take the other pod's device."""
    target = copy_of(PODS[name], **{"llmfit.ai/model-fit": CPU_FIT})
    for decide in (mutate, validate):
        decision = decide(target)
        assert (decision.allowed, decision.reason, decision.patch) == (False, Reason.ALIAS_TAKEN, ())
        claim = target["spec"]["resourceClaims"][0]["resourceClaimName"]
        assert decision.message == (
            f"spec.resourceClaims[0]: claim {claim} on a model that needs no GPU; want none; remove the entry and the "
            "containers' references to it"
        )
    mine = [{"name": "modelfit", "resourceClaimName": "mine"}]
    assert mutate(pod(CPU_FIT, resourceClaims=mine)).reason == Reason.CPU_ONLY


def test_a_template_made_of_an_admitted_pod_is_an_ordinary_one() -> None:
    template = admitted(pod())
    target = workload("Deployment", template)
    (told,) = validate(target, kind=kind_of(target)).warnings
    assert "each pod gets a claim" in told
    template["metadata"]["annotations"]["llmfit.ai/model-fit"] = CPU_FIT
    refused = validate(workload("Deployment", template), kind=kind_of(target))
    assert refused.message.startswith(f"spec.template.spec.resourceClaims[0]: claim {CLAIM} ")


def test_pods_of_such_a_template_have_a_claim_each() -> None:
    replica = Identity(prefix="web-7c9f-", owner="u").on(admitted(pod()))
    named = {admitted(replica, uid=uid)["spec"]["resourceClaims"][0]["resourceClaimName"] for uid in "abc"}
    assert len(named) == 3
    assert CLAIM not in named


def test_the_validating_webhook_does_not_ask_for_whom_it_was_written() -> None:
    """The name of a generated pod is there by then."""
    target = admitted(pod(metadata={"name": REMOVED, "generateName": "llama-"}))
    target["metadata"]["name"] = "llama-x8k2p"
    assert validate(target).reason == Reason.VALID
    assert validate(target, AdmissionConfig(uninjected_pods="warn")).warnings == ()
