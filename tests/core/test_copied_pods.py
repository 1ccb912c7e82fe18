"""A copy of an admitted pod gets its own claim; the same pod in a second call keeps its claim."""

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
from tests.core.test_reinvocation import PODS
from webhook.core.admission_config import AdmissionConfig
from webhook.reasons import Reason

INJECTED_INTO = "llmfit.ai/injected-into"


def owned(uid: str, controller: object = True) -> list[Json]:
    return [{"uid": "x", "kind": "ConfigMap"}, {"uid": uid, "kind": "ReplicaSet", "controller": controller}]


@dataclasses.dataclass(frozen=True)
class Identity:
    """What identifies a pod at admission."""

    namespace: str = "team-a"
    name: str | None = None
    prefix: str | None = None
    owner: str | None = None

    def apply(self, target: Json) -> Json:
        """The pod with this identity."""
        result = copy.deepcopy(target)
        metadata = result["metadata"]
        owners = owned(self.owner) if self.owner else None
        for key, value in (("name", self.name), ("generateName", self.prefix), ("ownerReferences", owners)):
            metadata.pop(key, None)
            if value is not None:
                metadata[key] = value
        return result

    @property
    def key(self) -> tuple[object, ...]:
        """Distinguishes pods. The owner counts only without a name."""
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
def test_only_the_pod_that_a_claim_was_made_for_keeps_it(name: str, first: Identity, other: Identity) -> None:
    before = admitted(first.apply(PODS[name]), namespace=first.namespace)
    copied = other.apply(before)
    decision = mutate(copied, uid="another-uid", namespace=other.namespace)
    assert decision.allowed
    claims = before["spec"]["resourceClaims"]
    if first.key == other.key:
        assert (decision.patch, decision.reason) == ((), Reason.ALREADY_INJECTED)
        assert claims == [{"name": "modelfit", "resourceClaimName": decision.claim}]
        return
    assert decision.reason == Reason.INJECTED
    after = patched(copied, decision)
    assert after["spec"]["resourceClaims"] == [{"name": "modelfit", "resourceClaimName": decision.claim}] != claims
    # The rest is as on a pod that is not a copy.
    fresh = other.apply(PODS[name])
    assert after == patched(fresh, mutate(fresh, uid="another-uid", namespace=other.namespace))
    assert mutate(after, uid="a-third", namespace=other.namespace).patch == ()


@pytest.mark.parametrize(
    ("identity", "expected"),
    [
        (Identity(name="llama"), "team-a/llama"),
        (Identity(name="llama", prefix="llama-", owner="u"), "team-a/llama"),
        (Identity(prefix="llama-"), "team-a/llama-*"),
        (Identity(prefix="web-7c9f-", owner="u-1"), "team-a/web-7c9f-* of u-1"),
        (Identity(), "team-a/*"),
    ],
)
def test_injected_into_names_the_pod(identity: Identity, expected: str) -> None:
    for text in (None, CPU_FIT):
        after = admitted(identity.apply(pod() if text is None else pod(text)))
        assert after["metadata"]["annotations"][INJECTED_INTO] == expected


def test_only_the_controller_counts_as_owner() -> None:
    for controller in (False, None, "true"):
        unnamed = pod(metadata={"name": REMOVED, "generateName": "a-", "ownerReferences": owned("u", controller)})
        assert admitted(unnamed)["metadata"]["annotations"][INJECTED_INTO] == "team-a/a-*"


def copy_of(target: Json, **changes: object) -> Json:
    """A copy of the admitted pod under another name."""
    copied = admitted(target)
    copied["metadata"] |= {"name": "other"}
    copied["metadata"]["annotations"] |= changes
    return copied


def test_the_warning_for_a_copy_names_the_original_claim() -> None:
    decision = mutate(copy_of(pod()), uid="another-uid")
    summary, warning = decision.warnings
    assert summary.startswith(f"modelfit: claim {decision.claim} for ")
    assert warning == (
        f"spec.resourceClaims named claim {CLAIM}, which is for another pod or another fit; this pod gets its own"
    )


def test_only_the_claim_and_its_record_change_on_a_copy() -> None:
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
def test_a_copy_with_a_changed_fit_gets_its_own_claim(changes: Mapping[str, object]) -> None:
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


def test_a_pod_without_injected_into_gets_its_own_claim() -> None:
    target = admitted(pod())
    del target["metadata"]["annotations"][INJECTED_INTO]
    assert mutate(target, uid="another-uid").claim not in (None, CLAIM)


def test_a_copy_gets_back_what_was_removed_from_it() -> None:
    """Including the memory request, although the annotation that records it was copied."""
    target = copy_of(pod())
    del target["spec"]["containers"][0]["resources"]
    (server,) = patched(target, mutate(target, uid="another-uid"))["spec"]["containers"]
    assert server["resources"] == {"claims": [{"name": "modelfit"}], "requests": {"memory": "12Gi"}}
    cpu_only = copy_of(pod(CPU_FIT))
    del cpu_only["spec"]["containers"][0]["resources"]
    assert patched(cpu_only, mutate(cpu_only))["spec"]["containers"][0]["resources"] == {"requests": {"memory": "4Gi"}}


def test_a_copy_may_name_more_containers() -> None:
    target = copy_of(pod(containers=[container("a", image="ollama"), container("b")]), **{"llmfit.ai/containers": "b"})
    after = patched(target, mutate(target, uid="another-uid"))
    assert [each["resources"]["claims"] for each in after["spec"]["containers"]] == [[{"name": "modelfit"}]] * 2


@pytest.mark.parametrize("name", PODS)
def test_a_copy_whose_model_needs_no_gpu_is_denied(name: str) -> None:
    """Its containers would use the device of the original."""
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


def without_annotations(target: Json) -> Json:
    """As `kubectl debug --copy-to` writes it."""
    return target | {"metadata": {"name": "llama-debug"}}


def test_a_copy_without_annotations_draws_a_warning() -> None:
    target = without_annotations(admitted(pod(resourceClaims=[{"name": "nic", "resourceClaimName": "nic"}])))
    decision = mutate(target)
    assert (decision.allowed, decision.reason, decision.patch) == (True, Reason.NOT_ANNOTATED, ())
    (warning,) = decision.warnings
    assert warning == (
        f"modelfit: spec.resourceClaims[1] names claim {CLAIM} of another pod, whose device it shares or waits for; "
        "to get its own it needs llmfit.ai/model-fit: copy with kubectl debug --keep-annotations"
    )
    longest = {"name": "modelfit", "resourceClaimName": f"{'m' * 46}-claim-0123456789"}
    assert mutate(without_annotations(pod(resourceClaims=[longest]))).warnings[0].endswith("--keep-annotations")


@pytest.mark.parametrize(
    "claims",
    [
        [{"name": "modelfit", "resourceClaimName": "mine"}],
        [{"name": "modelfit", "resourceClaimTemplateName": CLAIM}],
        [{"name": "gpu", "resourceClaimName": CLAIM}],
        [{"name": "modelfit"}],
        [],
    ],
)
def test_a_pod_with_claims_of_its_own_and_without_the_annotation_draws_no_warning(claims: list[Json]) -> None:
    assert mutate(without_annotations(pod(resourceClaims=claims))).warnings == ()


def test_a_template_copied_from_an_admitted_pod_follows_the_rules_for_templates() -> None:
    template = admitted(pod())
    target = workload("Deployment", template)
    (warning,) = validate(target, kind=kind_of(target)).warnings
    assert "each pod gets a claim" in warning
    template["metadata"]["annotations"]["llmfit.ai/model-fit"] = CPU_FIT
    denied = validate(workload("Deployment", template), kind=kind_of(target))
    assert denied.message.startswith(f"spec.template.spec.resourceClaims[0]: claim {CLAIM} ")


def test_each_pod_of_a_copied_template_gets_its_own_claim() -> None:
    replica = Identity(prefix="web-7c9f-", owner="u").apply(admitted(pod()))
    named = {admitted(replica, uid=uid)["spec"]["resourceClaims"][0]["resourceClaimName"] for uid in "abc"}
    assert len(named) == 3
    assert CLAIM not in named


def test_validate_does_not_compare_injected_into() -> None:
    """A generated name exists by then."""
    target = admitted(pod(metadata={"name": REMOVED, "generateName": "llama-"}))
    target["metadata"]["name"] = "llama-x8k2p"
    assert validate(target).reason == Reason.VALID
    assert validate(target, AdmissionConfig(uninjected_pods="warn")).warnings == ()
