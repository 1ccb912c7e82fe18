"""Dashboard and alert rules query series that the programs expose, and the monitors select their endpoints."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import get_args

import promql_parser
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from certs.rotation import Action
from tests.chart.helm import Helm
from tests.chart.matrix import MATRIX
from tests.chart.rendering import render
from tools.generate.chart_values import CHART
from webhook.cluster.api_errors import ErrorReason
from webhook.controller import controller_metrics as controller
from webhook.controller.results import ClaimResult
from webhook.observe import admission_metrics as webhook
from webhook.reasons import Reason

Series = tuple[str, dict[str, str]]

DASHBOARD = json.loads((CHART / "files" / "dashboards" / "modelfit.json").read_text())
ALERTS = yaml.safe_load((CHART / "files" / "alerts" / "modelfit.yaml").read_text())
RULES = [rule for group in ALERTS["groups"] for rule in group["rules"]]
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
QUERIES = {f"alert {rule['alert']}": rule["expr"] for rule in RULES} | {
    f"panel {panel['title']}, {target['refId']}": target["expr"].replace("$__rate_interval", "5m")
    for panel in PANELS
    for target in panel["targets"]
}
SCRAPE_LABELS = {"le", "namespace", "pod"}
"""Labels that histograms and the scrape add."""


@pytest.fixture(scope="module")
def series() -> list[Series]:
    """All series that the two programs can expose."""
    for reason in Reason:
        webhook.count_review("mutate", "CREATE", True, reason, 0.001)
        webhook.count_review("mutate", "CREATE", False, reason, 0.001)
    webhook.count_internal_error("mutate", "CREATE")
    webhook.count_rejected_request(400)
    for cause in get_args(webhook.ConnectionFailure):
        webhook.count_connection_failure(cause)
    webhook.set_certificate_expiry(1e9)
    for result in ClaimResult:
        controller.count_reconcile(result)
        controller.count_event(result, "written")
    controller.observe_create(0.1)
    controller.count_api_failure(ErrorReason.UNREACHABLE)
    for certificate in ("leaf", "ca"):
        controller.set_certificate_expiry(certificate, None)
    controller.set_certificate_success("modelfit/modelfit-tls", datetime.now(UTC))
    controller.count_certificate_change(Action.SWITCH)
    controller.count_bundle_patch("published")
    controller.count_bundle_patch("healed")
    text = webhook.exposition([], multiprocess=False) + controller.exposition()
    families = text_string_to_metric_families(text.decode())
    return [(sample.name, sample.labels) for family in families for sample in family.samples]


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES.keys())
def test_queries_select_existing_series_and_labels(query: str, series: list[Series]) -> None:
    selected = list(_selected(query))
    assert selected
    for name, expected, grouped in selected:
        if name.startswith("apiserver_"):
            continue  # A metric of the API server; tests.cluster.test_webhooks checks it.
        found = [labels for each, labels in series if each == name and expected.items() <= labels.items()]
        assert found, f"no series {name} with {expected}"
        assert all(grouped - SCRAPE_LABELS <= set(labels) for labels in found), f"{name} has no labels {grouped}"


def test_alert_annotations_use_only_labels_of_the_alert() -> None:
    for rule in RULES:
        text = " ".join(rule["annotations"].values())
        grouped = {label for _, _, labels in _selected(rule["expr"]) for label in labels}
        assert set(re.findall(r"\$labels\.(\w+)", text)) <= grouped
        assert {"summary", "description"} == set(rule["annotations"])
        assert rule["labels"]["severity"] in ("critical", "warning")


def test_alerts_and_panels_have_unique_names() -> None:
    for names in ([rule["alert"] for rule in RULES], [panel["title"] for panel in PANELS]):
        assert len(set(names)) == len(names)


def test_panels_do_not_overlap() -> None:
    occupied: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not occupied & cells, panel["title"]
        assert at["x"] + at["w"] <= 24
        occupied |= cells


def test_every_metric_is_on_the_dashboard_or_has_an_alert(series: list[Series]) -> None:
    shown = " ".join(query for name, query in QUERIES.items() if name.startswith("panel"))
    ours = {name for name, _ in series if name.startswith("modelfit_")}
    hidden = {name for name in ours if not re.search(rf"\b{re.sub('_(bucket|sum|count)$', '', name)}", shown)}
    assert hidden == {
        "modelfit_unusable_certificate",
        "modelfit_pods_not_injected",
        "modelfit_webhook_configurations_missing",
    }


@pytest.mark.chart
def test_the_chart_ships_alerts_and_dashboard_unchanged(helm: Helm) -> None:
    rendered = render(helm, MATRIX["everything"])
    assert rendered.one("PrometheusRule")["spec"] == ALERTS
    dashboard = rendered.one("ConfigMap", "-dashboard")
    assert [json.loads(text) for text in dashboard["data"].values()] == [DASHBOARD]
    assert dashboard["metadata"]["labels"]["grafana_dashboard"] == "1"


@pytest.mark.chart
@pytest.mark.parametrize("values", [MATRIX["everything"], MATRIX["monitoring with mode secret"]])
def test_monitors_select_the_metrics_endpoints(helm: Helm, values: dict[str, object]) -> None:
    rendered = render(helm, values)
    service, monitor = rendered.one("Service"), rendered.one("ServiceMonitor")
    (endpoint,) = monitor["spec"]["endpoints"]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert endpoint["port"] in [port["name"] for port in service["spec"]["ports"]]
    assert (endpoint["scheme"], endpoint["path"]) == ("https", "/metrics")
    ca = endpoint["tlsConfig"]["ca"]
    if "configMap" in ca:
        (config,) = [each for each in rendered.of("ConfigMap") if each["metadata"]["name"] == ca["configMap"]["name"]]
        assert ca["configMap"]["key"] in config["data"]
    else:
        assert ca["secret"]["name"] == rendered.one("Secret")["metadata"]["name"]
    pods = rendered.one("Deployment", "-controller")["spec"]["template"]
    monitor = rendered.one("PodMonitor")["spec"]
    (endpoint,) = monitor["podMetricsEndpoints"]
    assert monitor["selector"]["matchLabels"].items() <= pods["metadata"]["labels"].items()
    assert endpoint["port"] in [port["name"] for port in pods["spec"]["containers"][0]["ports"]]


def _selected(query: str) -> Iterator[tuple[str, dict[str, str], set[str]]]:
    """(metric, equality matchers, grouping labels) of each selector in a query."""
    expression = promql_parser.parse(query)
    grouped: set[str] = set()
    selectors: list[promql_parser.VectorSelector] = []

    def visit(node: promql_parser.Expr) -> bool:
        if isinstance(node, promql_parser.AggregateExpr) and node.modifier is not None:
            grouped.update(node.modifier.labels)
        elif isinstance(node, promql_parser.MatrixSelector):
            selectors.append(node.vector_selector)
            return True
        elif isinstance(node, promql_parser.VectorSelector) and node not in selectors:
            selectors.append(node)
        return True

    promql_parser.walk(expression, visit)
    for selector in selectors:
        matchers = selector.matchers.matchers
        expected = {matcher.name: matcher.value for matcher in matchers if str(matcher.op) == "MatchOp.Equal"}
        yield selector.name or "", expected, grouped
