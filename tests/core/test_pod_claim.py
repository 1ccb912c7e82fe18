"""The claim of an admitted pod, built from its metadata: what the webhook announced, and nothing forged."""

import pytest

from tests.core.builders import CLAIM, CPU_FIT, FIT, REMOVED, Json, admitted, fit, mutate, patched, pod
from tests.core.schemas import assert_valid
from webhook.core import claims
from webhook.core.admission_config import AdmissionConfig
from webhook.core.claims import device_request
from webhook.core.claims.pod_claim import parse_request
from webhook.core.profiles import BUILTIN
from webhook.errors import Denied
from webhook.reasons import Reason


def stored(target: Json, **members: object) -> Json:
    """The pod once the API server has stored it, with these further members of the metadata."""
    metadata = {"name": "llama", "namespace": "team-a", "uid": "pod-uid", **target["metadata"], **members}
    return {**target, "metadata": metadata}


def entries(name: object) -> list[Json]:
    return [{"name": "modelfit", "resourceClaimName": name}]


def build(target: Json, config: AdmissionConfig | None = None, **members: object) -> Json | None:
    return claims.build_pod_claim(stored(target, **members), config or AdmissionConfig())


def test_the_claim_is_owned_by_its_pod() -> None:
    claim = build(admitted(pod()))
    assert claim is not None
    assert claim["metadata"]["name"] == CLAIM
    assert claim["metadata"]["namespace"] == "team-a"
    assert claim["metadata"]["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Pod", "name": "llama", "uid": "pod-uid", "controller": True}
    ]
    assert_valid(claim)


@pytest.mark.parametrize("count", ["1", "2", "auto"])
@pytest.mark.parametrize("profile", BUILTIN)
def test_the_claim_is_the_one_that_the_webhook_announced(profile: str, count: str) -> None:
    annotations = {"llmfit.ai/profile": profile, "llmfit.ai/device-count": count}
    target = pod(fit(min_vram_gb=9.5, supports_tp=[1, 2, 4]), annotations=annotations)
    decision = mutate(target)
    result = patched(target, decision)
    claim = build(result)
    assert claim is not None
    (entry,) = result["spec"]["resourceClaims"]
    assert claim["metadata"]["name"] == decision.claim == entry["resourceClaimName"]
    assert claim["spec"] == claims.build_spec(
        device_request.from_annotations(target["metadata"]["annotations"], AdmissionConfig())
    )
    assert claim["metadata"]["annotations"]["llmfit.ai/gpu-memory"] == "9728Mi"
    assert_valid(claim)


def test_the_owner_has_the_generated_name_of_the_pod() -> None:
    target = admitted(pod(metadata={"name": REMOVED, "generateName": "web-7c9f-"}))
    claim = build(target, name="web-7c9f-x8k2p")
    assert claim is not None
    assert claim["metadata"]["ownerReferences"][0]["name"] == "web-7c9f-x8k2p"


@pytest.mark.parametrize("operator", ["nvidia", "example"])
def test_the_configured_profile_is_the_default(operator: str) -> None:
    config = AdmissionConfig(profile=operator)
    claim = build(admitted(pod(), config), config)
    assert claim is not None
    assert f'"{BUILTIN[operator].driver}" in device.capacity' in str(claim["spec"])


def test_a_pod_that_needs_no_gpu_has_no_claim() -> None:
    assert build(pod(CPU_FIT, resourceClaims=entries(CLAIM))) is None


@pytest.mark.parametrize(
    "forged",
    [
        "",
        "kube-root",
        "../../x",
        "someone-elses-claim",
        "a.b-claim-58989f2cda",
        "A-claim-58989f2cda",
        "x" * 300,
        7,
        None,
    ],
)
def test_a_forged_claim_name_creates_no_claim(forged: object) -> None:
    assert build(pod(resourceClaims=entries(forged))) is None


@pytest.mark.parametrize("claims", [None, [], ["x"], [{"name": "gpu", "resourceClaimName": CLAIM}]], ids=str)
def test_a_pod_without_the_entry_gets_no_claim_whatever_its_annotation_says(claims: object) -> None:
    assert build(pod(annotations={"llmfit.ai/claim": CLAIM}, resourceClaims=claims)) is None


def test_the_request_that_is_kept_of_a_pod_gives_the_same_claim_and_is_small() -> None:
    target = admitted(pod(fit(model="é" * 1000, min_vram_gb=8, supports_tp=[*range(1, 999)], unknown="x" * 1000)))
    request = parse_request(stored(target), AdmissionConfig())
    assert claims.build_pod_claim(stored(target), AdmissionConfig(), request=request) == build(target)
    assert len(repr(request.requirements)) < 1000


def test_forged_annotations_and_labels_do_not_change_the_claim() -> None:
    honest = build(admitted(pod()))
    forged = build(
        pod(
            annotations={
                "llmfit.ai/claim": "other-claim-0123456789",
                "llmfit.ai/resources": '{"gpu.memory":"1Mi"}',
                "llmfit.ai/spec": '{"adminAccess": true}',
                "llmfit.ai/device-class": "admin.example.com",
                "resource.kubernetes.io/admin-access": "true",
            },
            metadata={"labels": {"resource.kubernetes.io/admin-access": "true"}},
            resourceClaims=entries(CLAIM),
        )
    )
    assert forged == honest


def test_an_invalid_annotation_is_denied() -> None:
    target = admitted(pod())
    target["metadata"]["annotations"]["llmfit.ai/model-fit"] = '{"min_vram_gb": "8"}'
    with pytest.raises(Denied) as refused:
        build(target)
    assert refused.value.reason == Reason.INVALID_MODEL_FIT


def test_replicas_never_share_a_claim() -> None:
    replica = pod(FIT, metadata={"name": REMOVED, "generateName": "web-7c9f-"})
    first, second = (build(admitted(replica, uid=uid), name=uid) for uid in ("uid-1", "uid-2"))
    assert first is not None
    assert second is not None
    assert first["metadata"]["name"] != second["metadata"]["name"]
    assert first["spec"] == second["spec"]
