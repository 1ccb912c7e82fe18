"""The fuzzer reaches every part of the decision, and sees what is broken on purpose."""

from collections.abc import Callable

import pytest

from tests.fuzz import run
from webhook.core import claims
from webhook.core.admission import decide, injection_record, memory_requests, pod_rules, target_containers
from webhook.core.admission.decide import Decision
from webhook.core.fits import quantities
from webhook.errors import FieldError
from webhook.reasons import Reason

SEED, MOST = 2, 3000


def few(most: int) -> Callable[[int], bool]:
    return lambda count: count < most


def test_a_short_run_finds_nothing_and_reaches_every_reason() -> None:
    reasons, finding = run.run(SEED, few(MOST))
    assert finding is None, finding
    assert set(Reason) - reasons.keys() == set()
    assert reasons["HTTP 400"] < reasons.total() / 3


def test_a_run_is_repeated_by_its_seed() -> None:
    assert run.run(7, few(200))[0] == run.run(7, few(200))[0]
    assert run.run(7, few(200))[0] != run.run(8, few(200))[0]


def overflow(_: object) -> None:
    raise OverflowError


BREAKAGES: dict[str, tuple[object, str, object]] = {
    "an exception": (quantities, "parse", overflow),
    "a request that is replaced": (memory_requests, "stated", lambda *_: []),
    "a patch each time": (target_containers, "refers", lambda _: False),
    "a patch elsewhere": (decide, "inject", lambda *_: [{"op": "add", "path": "/spec/hostNetwork", "value": True}]),
    "a patch that removes": (decide, "inject", lambda *_: [{"op": "remove", "path": "/spec/containers"}]),
    "a claim that a copy keeps": (injection_record, "met_before", lambda *_: True),
    "a copy that is renamed each time": (injection_record, "met_before", lambda *_: False),
    "a companion that is missing": (claims, "companion", lambda *_: None),
    "a secret in a warning": (decide, "_summary", lambda *_: "hunter2"),
    "a warning of two lines": (decide, "_summary", lambda *_: "a\nb"),
    "a refusal without a message": (decide, "_deny", lambda refusal: Decision(False, refusal.reason)),
    "a validating webhook that disagrees": (pod_rules, "missing_parts", lambda *_: [FieldError("a", "b", "c")]),
}


@pytest.mark.parametrize("name", BREAKAGES)
def test_what_is_broken_on_purpose_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, attribute, broken = BREAKAGES[name]
    monkeypatch.setattr(module, attribute, broken)
    _, finding = run.run(SEED, few(MOST))
    assert finding is not None
