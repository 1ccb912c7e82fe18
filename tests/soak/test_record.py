"""The judgement can fail: each thing that must hold, broken alone, is found."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from testbed.latency import percentile
from testbed.review_clients import AnsweredReview
from tests.soak.peers import ACCEPTED_OLD_TLS, RESET
from tests.soak.plan import SHORT, for_minutes
from tests.soak.record import MIB, Lines, Memory, Record
from tests.soak.table import line, table

GOOD = Record(
    seconds=40,
    answered=[0.005] * 990 + [0.9] * 5,
    answered_in_overload=[3.0] * 5,
    admitted=100,
    claims_after=[0.4] * 100,
    restarts=2,
    kills=1,
    authorities=1,
    leaves=1,
    overloads=1,
    hostile=Counter({RESET: 1000}),
    lines={"webhook 1": Lines(1000, 10), "controller 1": Lines(0, 5000)},
    memory={"webhook 1": Memory(50 * MIB, 500 * MIB, 55 * MIB), "etcd": Memory(50 * MIB, 100 * MIB, 100 * MIB)},
)

PLAN = replace(SHORT, slowest=1.0)

BROKEN: dict[str, dict[str, Any]] = {
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
    "only 0 authorities": {"authorities": 0},
    "only 0 certificates": {"leaves": 0},
    "only 0 overloads": {"overloads": 0},
    "only 999 connections reset": {"hostile": Counter({RESET: 999})},
    "old TLS": {"hostile": Counter({RESET: 1000, ACCEPTED_OLD_TLS: 1})},
    "webhook 1 logged 2000": {"lines": {"webhook 1": Lines(1000, 2000)}},
    "webhook 1 has 80 MiB": {"memory": {"webhook 1": Memory(50 * MIB, 80 * MIB, 80 * MIB)}},
    "ended with code 1": {"problems": ["webhook 1234 ended with code 1"]},
}


def test_a_record_of_which_all_holds_is_not_broken() -> None:
    assert GOOD.broken(SHORT) == []


@pytest.mark.parametrize("said", BROKEN)
def test_what_does_not_hold_is_named(said: str) -> None:
    found = replace(GOOD, **BROKEN[said]).broken(PLAN)
    assert said in "\n".join(found)
    assert len([each for each in found if not each.startswith("  ")]) == 1


def test_a_busy_machine_may_be_slow_in_the_short_form() -> None:
    assert replace(GOOD, answered=[9.0] * 1000).broken(SHORT) == []


def test_a_long_run_wants_two_rotations() -> None:
    plan = replace(for_minutes(10), seconds=SHORT.seconds)
    assert "only 1 authorities replaced, want 2" in GOOD.broken(plan)


def test_of_many_failures_a_few_are_shown() -> None:
    found = replace(GOOD, failed=[f"failure {number}" for number in range(100)]).broken(SHORT)
    assert found[0] == "100 failed reviews:"
    assert found[-1] == "  … and 95 more"
    assert len(found) < 10


def test_the_table_has_what_was_counted() -> None:
    rows = dict(line.split("  ", 1) for line in table(replace(GOOD, failed=["reset"])).splitlines() if line[0] != " ")
    assert rows["reviews"].strip() == "1,001, of them 5 while overloaded"
    assert rows["failed reviews"].strip() == "1"
    assert rows["review, p50 / p99 / slowest"].strip() == "5 / 5 / 900 ms"
    assert "webhook 1" in table(GOOD)
    assert "50 / 500 / 55" in table(GOOD)


def test_a_progress_line_has_what_was_counted() -> None:
    said = line(replace(GOOD, seconds=120, failed=["reset"]))
    assert said.startswith("2 min: 1,001 reviews (1 failed), 100 pods (0 refused), 2 restarts, 1 kills, 1 rotations")


def test_reviews_that_wait_because_of_an_overload_are_counted_apart() -> None:
    record = Record()
    times = {
        "before": (1.0, 0.5),
        "into it": (9.0, 2.0),
        "in it": (12.0, 0.1),
        "just after": (16.0, 0.1),
        "after": (18, 1),
    }
    record.sort([AnsweredReview(*each) for each in times.values()], [(10.0, 15.0)])
    assert (record.answered, record.answered_in_overload) == ([0.5, 1], [2.0, 0.1, 0.1])


def test_percentiles() -> None:
    seconds = [float(number) for number in range(1, 101)]
    assert [percentile(seconds, each) for each in (50, 99, 100)] == [51, 100, 100]
    assert percentile([], 99) == 0
