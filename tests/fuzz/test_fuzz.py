"""The fuzzer reaches every reason and finds seeded faults."""

from collections.abc import Callable

import pytest

from tests.fuzz import run
from webhook.core import claims
from webhook.core.admission import pod_decision, pod_rules, summary, target_containers
from webhook.core.admission.decision import Decision
from webhook.core.fits import quantities
from webhook.errors import FieldError
from webhook.reasons import Reason

SEED, MAX_INPUTS = 2, 3000


def at_most(inputs: int) -> Callable[[int], bool]:
    return lambda count: count < inputs


def test_a_short_run_finds_nothing_and_reaches_every_reason() -> None:
    reasons, finding = run.run(SEED, at_most(MAX_INPUTS))
    assert finding is None, finding
    assert set(Reason) - reasons.keys() == set()
    assert reasons["HTTP 400"] < reasons.total() / 3


def test_a_seed_repeats_a_run() -> None:
    assert run.run(7, at_most(200))[0] == run.run(7, at_most(200))[0]
    assert run.run(7, at_most(200))[0] != run.run(8, at_most(200))[0]


def overflow(_: object) -> None:
    raise OverflowError


FAULTS: dict[str, tuple[object, str, object]] = {
    "an exception": (quantities, "parse", overflow),
    "a request that is replaced": (pod_rules, "existing_memory_requests", lambda *_: []),
    "a patch on every call": (target_containers, "references_claim", lambda _: False),
    "a patch elsewhere": (
        pod_decision, "inject", lambda *_: [{"op": "add", "path": "/spec/hostNetwork", "value": True}]
    ),
    "a patch that removes": (pod_decision, "inject", lambda *_: [{"op": "remove", "path": "/spec/containers"}]),
    "a copy that keeps the claim": (pod_decision, "_already_injected", lambda *_: True),
    "a new claim on every call": (pod_decision, "_already_injected", lambda *_: False),
    "a claim that is not created": (claims, "build_pod_claim", lambda *_: None),
    "a secret in a warning": (summary, "summarize", lambda *_: "hunter2"),
    "a warning of two lines": (summary, "summarize", lambda *_: "a\nb"),
    "a denial without a message": (Decision, "deny", lambda denied: Decision(False, denied.reason)),
    "a validating webhook that disagrees": (pod_rules, "missing_parts", lambda *_: [FieldError("a", "b", "c")]),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_the_fuzzer_finds_a_seeded_fault(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    target, attribute, fault = FAULTS[name]
    monkeypatch.setattr(target, attribute, fault)
    _, finding = run.run(SEED, at_most(MAX_INPUTS))
    assert finding is not None
