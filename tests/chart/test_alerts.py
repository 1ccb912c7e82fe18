"""Each alert is silent while all is well, fires in the incident that it is for, and is silent again after it.

The incident is the first of its kind in the life of the programs: their counters have not counted anything like it.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from testbed.promql import Prometheus
from tests.chart.incidents import PLAYS
from tools.generate.chart_values import CHART

ALERTS = yaml.safe_load((CHART / "files" / "alerts" / "modelfit.yaml").read_text())
RULES = {rule["alert"]: rule for group in ALERTS["groups"] for rule in group["rules"]}

LEVELS = {"ModelfitCertificateUnusable", "ModelfitPodsNotInjected", "ModelfitWebhookConfigurationMissing"}
"""They last as long as what they tell of."""


def test_every_alert_has_its_incident() -> None:
    assert RULES.keys() == PLAYS.keys()


@pytest.mark.parametrize("alert", PLAYS)
def test_an_alert_fires_in_its_incident_and_at_no_other_time(alert: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.chart.incidents", alert, str(tmp_path)]
    played = subprocess.run(command, capture_output=True, text=True, check=True)
    prometheus, phases = Prometheus(), dict[float, str]()
    for line in played.stdout.splitlines():
        phase, at, pages = json.loads(line)
        prometheus.scrape(at, pages)
        phases[at] = phase
    firing = {name: [phases[at] for at in prometheus.alert(rule)] for name, rule in RULES.items()}
    assert all("healthy" not in fired for fired in firing.values()), firing
    assert "incident" in firing[alert]
    last = max(phases)
    assert last not in prometheus.alert(RULES[alert])
    if alert in LEVELS:
        ended = max(at for at, phase in phases.items() if phase == "incident")
        assert ended in prometheus.alert(RULES[alert])


def page(*samples: str) -> Mapping[str, str]:
    return {"a": "".join(f"{sample}\n" for sample in samples)}


@pytest.mark.parametrize(
    ("counts", "fires"),
    [
        ([None, 3, 3, 3], False),
        ([0, 3, 3, 3], True),
        ([3, 3, 3, 3], False),
        ([9, 9, 0, 3], True),
    ],
    ids=["born at 3", "born at 0", "flat", "restarted"],
)
def test_increase_is_prometheus(counts: list[int | None], fires: bool) -> None:
    prometheus = Prometheus()
    for number, count in enumerate(counts):
        prometheus.scrape(60.0 * number, page(*([] if count is None else [f"x_total {count}"])))
    assert bool(prometheus.alert({"expr": "increase(x_total[10m]) > 0"})) is fires
