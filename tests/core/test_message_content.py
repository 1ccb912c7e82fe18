"""Messages and warnings contain names and invalid values of our own annotations, no other content of a pod."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.builders import CPU_FIT, FIT, Json, body, container, fit, mutate, pod, validate
from webhook.core.admission import decide, review
from webhook.core.admission.decision import Decision
from webhook.core.admission.review import Review
from webhook.core.admission_config import AdmissionConfig
from webhook.errors import MalformedCall

SECRET = "hunter2"
"""The value of all other content; no fit, name or key below contains it."""

TEXT = st.just(SECRET) | st.text(max_size=20).map(lambda text: f"{text}{SECRET}\n\x1b[31m")
MEMBERS = st.fixed_dictionaries(
    {},
    optional={
        "env": TEXT.map(lambda text: [{"name": "TOKEN", "value": text}]),
        "args": st.lists(TEXT, max_size=3),
        "image": TEXT,
        "livenessProbe": TEXT.map(lambda text: {"exec": {"command": [text]}}),
        "futureField": TEXT.map(lambda text: {"nested": [text]}),
        "resources": st.sampled_from(
            [{"limits": {"nvidia.com/gpu": SECRET}}, {"requests": {"memory": SECRET}, "limits": {"cpu": SECRET}}, {}]
        ),
    },
)
CONTAINERS = st.lists(
    st.tuples(st.sampled_from(["server", "web", "istio-proxy"]), MEMBERS).map(
        lambda pair: container(pair[0], **pair[1])
    ),
    max_size=3,
)
FITS = st.sampled_from(
    [FIT, CPU_FIT, "{}", "[]", "{", fit(models=[]), fit(memory_required_gb=38, run_mode="CPU+GPU", notes=[SECRET]),
     fit(min_vram_gb=-1, license=SECRET), fit(min_vram_gb=8, notes={"x": SECRET}), fit(run_mode="GPU", notes=SECRET),
     '{"min_vram_gb": 8, "notes": "hunter2", "notes": "hunter2"}']
)  # fmt: skip
OUR_ANNOTATIONS = st.dictionaries(
    st.sampled_from(["llmfit.ai/profile", "llmfit.ai/device-count", "llmfit.ai/containers"]),
    st.sampled_from(["nvidia", "1", "auto", "server", "unknown", ""]),
)
OTHER_ANNOTATIONS = st.dictionaries(
    st.sampled_from(["kubectl.kubernetes.io/last-applied-configuration", "vault/role", "a"]), TEXT
)
SPECS = st.fixed_dictionaries(
    {},
    optional={
        "nodeName": st.just("node-1"),
        "serviceAccountName": TEXT,
        "volumes": TEXT.map(lambda text: [{"name": text, "secret": {"secretName": text}}]),
        "resourceClaims": TEXT.map(lambda text: [{"name": text, "resourceClaimName": text}])
        | st.just([{"name": "modelfit", "resourceClaimName": SECRET}]),
        "resources": st.just({"limits": {"memory": SECRET}}),
        "initContainers": CONTAINERS,
    },
)


@given(
    FITS, OUR_ANNOTATIONS, OTHER_ANNOTATIONS, CONTAINERS, SPECS, st.dictionaries(st.sampled_from(["app", "team"]), TEXT)
)
def test_messages_repeat_no_other_value_of_a_pod(
    text: str,
    ours: dict[str, str],
    others: dict[str, str],
    containers: list[Json],
    spec: Json,
    labels: dict[str, str],
) -> None:
    target = pod(text, annotations=ours | others, metadata={"labels": labels}, containers=containers, **spec)
    for config in (AdmissionConfig(), AdmissionConfig(device_plugin_requests="warn", uninjected_pods="warn")):
        for step in (mutate, validate):
            decision = step(target, config)
            for line in (decision.message, *decision.warnings):
                assert SECRET not in line
                assert line.isprintable()
            assert len(decision.message.encode()) <= 1024
            assert all(len(warning) <= 256 for warning in decision.warnings)


@given(st.text(min_size=1, max_size=3000))
def test_an_invalid_value_is_truncated_and_escaped(value: str) -> None:
    for key in ("llmfit.ai/profile", "llmfit.ai/device-count", "llmfit.ai/containers", "llmfit.ai/model-fit"):
        decision = mutate(pod(annotations={key: value}))
        assert decision.message.isprintable()
        assert decision.message.isascii()
        assert len(decision.message) <= 1024
        assert value[:65] not in decision.message or len(value) <= 64


@pytest.mark.parametrize("hostile", ["\n", "\x1b[31m", "\r", "\u2028", "\x9b"])
def test_a_hostile_name_is_truncated_and_escaped(hostile: str) -> None:
    name = f"x{hostile}{'y' * 5000}"
    target = pod(
        containers=[container(name, resources={"limits": {f"nvidia.com/gpu{name}": "1", f"{name}/gpu": 1}})],
        initContainers=[container(name)],
        schedulerName=name,
        nodeName=name,
        annotations={"kubectl.kubernetes.io/default-container": name},
    )
    for spec in (target["spec"], {**target["spec"], "nodeName": ""}):
        decision = mutate(target | {"spec": spec}, AdmissionConfig(device_plugin_requests="warn"))
        for line in (decision.message, *decision.warnings):
            assert line.isprintable()
            assert "y" * 65 not in line


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 1 << 70) | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)


@given(st.data())
def test_a_damaged_review_gets_a_decision_or_is_a_malformed_call(data: st.DataObject) -> None:
    target = pod(
        annotations={"llmfit.ai/containers": "server", "llmfit.ai/device-count": "2", "llmfit.ai/profile": "nvidia"},
        metadata={"labels": {"app": "llama"}},
        containers=[container(resources={"requests": {"memory": "1Gi"}, "limits": {"nvidia.com/gpu": "0"}})],
        initContainers=[container("setup", resources={"claims": [{"name": "nic"}]})],
        resourceClaims=[{"name": "nic", "resourceClaimName": "nic"}],
        resources={"limits": {"cpu": "1"}},
    )
    document = body(target, old=target, operation=data.draw(st.sampled_from(["CREATE", "UPDATE"])))
    node: object = document
    while isinstance(node, (dict, list)) and node:
        key = data.draw(st.sampled_from(list(node) if isinstance(node, dict) else range(len(node))))
        child = node[key]
        if not isinstance(child, (dict, list)) or not child or data.draw(st.integers(0, 5)) == 0:
            node[key] = data.draw(JSON)
            break
        node = child
    for step in (decide.mutate, decide.validate):
        outcome = _decide(document, step)
        assert json.dumps(outcome)


def _decide(document: Json, step: Callable[[Review, AdmissionConfig], Decision]) -> str:
    try:
        return step(review.parse(document), AdmissionConfig()).message
    except MalformedCall as malformed:
        return str(malformed)
