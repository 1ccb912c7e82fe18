"""Each requirement of the soak test can fail: violated alone, it is reported."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from testbed.review_clients import AnsweredReview
from tests.soak.hostile_peers import ACCEPTED_OLD_TLS, RESET
from tests.soak.plan import SHORT, for_minutes
from tests.soak.result import MIB, Lines, Memory, SoakResult

GOOD = SoakResult(
    seconds=40,
    answered=[0.005] * 990 + [0.9] * 5,
    answered_in_overload=[3.0] * 5,
    admitted=100,
    claims_after=[0.4] * 100,
    restarts=2,
    kills=1,
    cas=1,
    leaves=1,
    overloads=1,
    hostile=Counter({RESET: 1000}),
    lines={"webhook 1": Lines(1000, 10), "controller 1": Lines(0, 5000)},
    memory={"webhook 1": Memory(50 * MIB, 500 * MIB, 55 * MIB), "etcd": Memory(50 * MIB, 100 * MIB, 100 * MIB)},
)

PLAN = replace(SHORT, slowest=1.0)

VIOLATED: dict[str, dict[str, Any]] = {
    "failed reviews": {"failed": ["10:00:00 1234: reset"]},
    "pods refused": {"refused": ["10:00:00 500"]},
    "admitted without a claim": {"not_injected": 1},
    "never got their claim": {"without_claim": ["llama-x"]},
    "outlived their pods": {"claims_left": ["llama-7b-claim-1"]},
    "p99 of the reviews": {"answered": [0.005] * 980 + [1.1] * 20},
    "only 0 reviews": {"answered": [], "answered_in_overload": []},
    "only 10 pods": {"admitted": 10},
    "only 1 restarts": {"restarts": 1},
    "only 0 controllers killed": {"kills": 0},
    "only 0 CAs": {"cas": 0},
    "only 0 certificates": {"leaves": 0},
    "only 0 overloads": {"overloads": 0},
    "only 999 connections reset": {"hostile": Counter({RESET: 999})},
    "old TLS": {"hostile": Counter({RESET: 1000, ACCEPTED_OLD_TLS: 1})},
    "webhook 1 logged 2000": {"lines": {"webhook 1": Lines(1000, 2000)}},
    "webhook 1 has 80 MiB": {"memory": {"webhook 1": Memory(50 * MIB, 80 * MIB, 80 * MIB)}},
    "exited with code 1": {"problems": ["webhook 1234 exited with code 1"]},
}


def test_a_good_result_has_no_violations() -> None:
    assert GOOD.violations(SHORT) == []


@pytest.mark.parametrize("message", VIOLATED)
def test_a_violated_requirement_is_reported(message: str) -> None:
    found = replace(GOOD, **VIOLATED[message]).violations(PLAN)
    assert message in "\n".join(found)
    assert len([each for each in found if not each.startswith("  ")]) == 1


def test_the_short_form_has_no_limit_for_latency() -> None:
    assert replace(GOOD, answered=[9.0] * 1000).violations(SHORT) == []


def test_a_long_run_requires_two_rotations() -> None:
    plan = replace(for_minutes(10), seconds=SHORT.seconds)
    assert "only 1 CAs replaced, want 2" in GOOD.violations(plan)


def test_reviews_during_an_overload_are_counted_separately() -> None:
    result = SoakResult()
    times = {
        "before": (1.0, 0.5),
        "into it": (9.0, 2.0),
        "in it": (12.0, 0.1),
        "just after": (16.0, 0.1),
        "after": (18, 1),
    }
    result.sort([AnsweredReview(*each) for each in times.values()], [(10.0, 15.0)])
    assert (result.answered, result.answered_in_overload) == ([0.5, 1], [2.0, 0.1, 0.1])
