"""The sum of a metric's samples: a wrong 0 would make other tests pass."""

from __future__ import annotations

from testbed.metrics import sum_samples

PAGE = """\
# HELP calls_total Calls.
# TYPE calls_total counter
calls_total{name="a",code="200"} 2
calls_total{name="a",code="500"} 3
calls_total{name="b",code="200"} 10
calls_total_created{name="a"} 7
plain 1.5
"""


def test_samples_with_the_labels_are_summed() -> None:
    assert sum_samples(PAGE, "calls_total", name="a") == 5
    assert sum_samples(PAGE, "calls_total", name="a", code="500") == 3
    assert sum_samples(PAGE, "calls_total") == 15
    assert sum_samples(PAGE, "plain") == 1.5
    assert sum_samples(PAGE, "calls_total", name="c") == sum_samples(PAGE, "calls") == 0
