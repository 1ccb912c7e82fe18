"""The claim of one pod, from its metadata alone: what the webhook promised, and nothing that a forger could add."""

import pytest

from tests.core.builders import CLAIM, CPU_FIT, FIT, REMOVED, Json, admitted, fit, mutate, patched, pod
from tests.core.schemas import assert_valid
from webhook.core import claims
from webhook.core.admission_config import AdmissionConfig
from webhook.core.claims import device_request
from webhook.core.profiles import BUILTIN
from webhook.errors import Denied
from webhook.reasons import Reason


def metadata(target: Json, **members: object) -> Json:
    """The pod's metadata once the API server has stored it."""
    return {"name": "llama", "namespace": "team-a", "uid": "pod-uid", **target["metadata"], **members}


def companion(target: Json, config: AdmissionConfig | None = None, **members: object) -> Json | None:
    return claims.build_pod_claim(metadata(target, **members), config or AdmissionConfig())


def test_the_companion_is_owned_by_its_pod() -> None:
    claim = companion(admitted(pod()))
    assert claim is not None
    assert claim["metadata"]["name"] == CLAIM
    assert claim["metadata"]["namespace"] == "team-a"
    assert claim["metadata"]["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Pod", "name": "llama", "uid": "pod-uid", "controller": True}
    ]
    assert_valid(claim)


@pytest.mark.parametrize("count", ["1", "2", "auto"])
@pytest.mark.parametrize("profile", BUILTIN)
def test_the_companion_is_what_the_webhook_promised(profile: str, count: str) -> None:
    annotations = {"llmfit.ai/profile": profile, "llmfit.ai/device-count": count}
    target = pod(fit(min_vram_gb=9.5, supports_tp=[1, 2, 4]), annotations=annotations)
    decision = mutate(target)
    result = patched(target, decision)
    claim = companion(result)
    assert claim is not None
    (entry,) = result["spec"]["resourceClaims"]
    assert claim["metadata"]["name"] == decision.claim == entry["resourceClaimName"]
    assert claim["spec"] == claims.build_spec(
        device_request.from_annotations(target["metadata"]["annotations"], AdmissionConfig())
    )
    assert claim["metadata"]["annotations"]["llmfit.ai/gpu-memory"] == "9728Mi"
    assert_valid(claim)


def test_a_generated_pod_name_is_the_owners() -> None:
    target = admitted(pod(metadata={"name": REMOVED, "generateName": "web-7c9f-"}))
    claim = companion(target, name="web-7c9f-x8k2p")
    assert claim is not None
    assert claim["metadata"]["ownerReferences"][0]["name"] == "web-7c9f-x8k2p"


@pytest.mark.parametrize("operator", ["nvidia", "example"])
def test_the_configured_profile_decides_where_the_pod_names_none(operator: str) -> None:
    config = AdmissionConfig(profile=operator)
    claim = companion(admitted(pod(), config), config)
    assert claim is not None
    assert f'"{BUILTIN[operator].driver}" in device.capacity' in str(claim["spec"])


def test_a_pod_that_needs_no_gpu_has_none() -> None:
    target = pod(CPU_FIT, annotations={"llmfit.ai/claim": CLAIM})
    assert companion(target) is None


@pytest.mark.parametrize(
    "forged",
    ["", "kube-root", "../../x", "someone-elses-claim", "a.b-claim-58989f2cda", "A-claim-58989f2cda", "x" * 300],
)
def test_a_claim_name_that_the_webhook_cannot_have_given_makes_no_claim(forged: str) -> None:
    assert companion(pod(annotations={"llmfit.ai/claim": forged})) is None
    assert companion(pod()) is None


def test_a_forged_annotation_asks_for_nothing_but_what_the_core_would_build() -> None:
    honest = companion(admitted(pod()))
    forged = companion(
        pod(
            annotations={
                "llmfit.ai/claim": CLAIM,
                "llmfit.ai/resources": '{"gpu.memory":"1Mi"}',
                "llmfit.ai/spec": '{"adminAccess": true}',
                "llmfit.ai/device-class": "admin.example.com",
                "resource.kubernetes.io/admin-access": "true",
            },
            metadata={"labels": {"resource.kubernetes.io/admin-access": "true"}},
        )
    )
    assert forged == honest


def test_an_annotation_that_cannot_be_used_is_refused_as_in_the_webhook() -> None:
    target = admitted(pod())
    target["metadata"]["annotations"]["llmfit.ai/model-fit"] = '{"min_vram_gb": "8"}'
    with pytest.raises(Denied) as refused:
        companion(target)
    assert refused.value.reason == Reason.INVALID_MODEL_FIT


def test_two_replicas_never_share_a_claim() -> None:
    replica = pod(FIT, metadata={"name": REMOVED, "generateName": "web-7c9f-"})
    first, second = (companion(admitted(replica, uid=uid), name=uid) for uid in ("uid-1", "uid-2"))
    assert first is not None
    assert second is not None
    assert first["metadata"]["name"] != second["metadata"]["name"]
    assert first["spec"] == second["spec"]
