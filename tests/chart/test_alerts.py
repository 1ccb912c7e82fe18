"""Each alert is silent before its incident, fires during it, and is silent again afterwards.

The incident is the first of its kind since the programs started, so that counters begin with it.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from testbed.promql import Prometheus
from tests.chart.incidents import SCENARIOS
from tools.generate.chart_values import CHART

ALERTS = yaml.safe_load((CHART / "files" / "alerts" / "modelfit.yaml").read_text())
RULES = {rule["alert"]: rule for group in ALERTS["groups"] for rule in group["rules"]}

STATE_ALERTS = {"ModelfitCertificateUnusable", "ModelfitPodsNotInjected", "ModelfitWebhookConfigurationMissing"}
"""They must fire until their incident ends."""


def test_every_alert_has_a_scenario() -> None:
    assert RULES.keys() == SCENARIOS.keys()


@pytest.mark.parametrize("alert", SCENARIOS)
def test_an_alert_fires_only_during_its_incident(alert: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.chart.incidents", alert, str(tmp_path)]
    simulated = subprocess.run(command, capture_output=True, text=True, check=True)
    prometheus, phases = Prometheus(), dict[float, str]()
    for line in simulated.stdout.splitlines():
        phase, at, pages = json.loads(line)
        prometheus.scrape(at, pages)
        phases[at] = phase
    times = {name: prometheus.alert(rule) for name, rule in RULES.items()}
    assert all(phases[at] != "healthy" for fired in times.values() for at in fired), times
    assert "incident" in [phases[at] for at in times[alert]]
    assert max(phases) not in times[alert]
    if alert in STATE_ALERTS:
        assert max(at for at, phase in phases.items() if phase == "incident") in times[alert]


@pytest.mark.parametrize(
    ("counts", "fires"),
    [
        pytest.param([None, 3, 3, 3], False, id="first sample is 3"),
        pytest.param([0, 3, 3, 3], True, id="first sample is 0"),
        pytest.param([3, 3, 3, 3], False, id="constant"),
        pytest.param([9, 9, 0, 3], True, id="counter reset"),
    ],
)
def test_increase_behaves_as_in_prometheus(counts: list[int | None], fires: bool) -> None:
    prometheus = Prometheus()
    for number, count in enumerate(counts):
        prometheus.scrape(60.0 * number, {"a": "" if count is None else f"x_total {count}\n"})
    assert bool(prometheus.alert({"expr": "increase(x_total[10m]) > 0"})) is fires
