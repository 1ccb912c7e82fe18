"""Every value and template is used, and an invalid value fails the rendering."""

import copy
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.chart.helm import Helm, HelmFailed
from tests.chart.matrix import CA_CERTIFICATE, MATRIX
from tests.chart.rendering import Values, render
from tools.generate import chart_values
from tools.generate.chart_values import CHART, Value

VALUES = chart_values.load()
LEAVES = [leaf for value in VALUES for leaf in value.leaves]
PATHS = {leaf.path[:length] for leaf in LEAVES for length in range(1, len(leaf.path) + 1)}
"""Paths of values and of groups."""
ACME: Values = {"driver": "gpu.acme.example", "deviceClasses": ["gpu.acme.example"]}

OTHER: dict[str, object] = {
    "nameOverride": "other",
    "fullnameOverride": "other",
    "commonLabels": {"a": "b"},
    "config": {"profile": "amd"},
    "image.digest": f"sha256:{'1' * 64}",
    "image.pullPolicy": "Always",
    "image.pullSecrets": [{"name": "other"}],
    "certificates.mode": "cert-manager",
    "certificates.certManager.issuerRef": {"name": "other"},
    "certificates.certManager.duration": "100h",
    "certificates.secret.name": "other",
    "certificates.secret.caBundle": CA_CERTIFICATE * 2,
    "certificates.controller.caLifetimeDays": 100,
    "admission.failurePolicy": "Ignore",
    "admission.workloads.failurePolicy": "Fail",
    "admission.excludedNamespaces": ["other"],
    "admission.includedNamespaces": ["other"],
    "service.ipFamilyPolicy": "SingleStack",
    "listenAddress": "::",
    "webhook.clientCA.configMap": "other",
    "webhook.clientCA.names": ["other"],
    "networkPolicy.apiServerPorts": [1234],
    "networkPolicy.apiServerCIDRs": ["192.0.2.0/24"],
    "networkPolicy.webhookSourceCIDRs": ["192.0.2.0/24"],
    "networkPolicy.metricsFrom": [{"podSelector": {}}],
    "monitoring.interval": "5s",
}
"""A value other than the default, where `_other` cannot derive one from the type."""

CONTEXT: dict[str, Values] = {
    "certificates.certManager": {"certificates": {"mode": "cert-manager"}},
    "certificates.secret": {"certificates": {"mode": "secret", "secret": {"name": "own", "caBundle": CA_CERTIFICATE}}},
    "webhook.clientCA": {"webhook": {"clientCA": {"configMap": "client-ca"}}},
    "webhook.autoscaling": {"webhook": {"autoscaling": {"enabled": True}}},
    "monitoring": {
        "monitoring": {"enabled": True, "alerts": {"enabled": True}, "dashboard": {"enabled": True}},
    },
}
"""By prefix, the values with which values of that prefix have an effect."""


@pytest.mark.chart
@pytest.mark.parametrize("leaf", LEAVES, ids=lambda leaf: leaf.name)
def test_every_value_changes_the_rendering(helm: Helm, leaf: Value) -> None:
    context = next((values for prefix, values in CONTEXT.items() if leaf.name.startswith(f"{prefix}.")), {})
    if leaf.path[-1] == "enabled":
        context = {"monitoring": {"enabled": True}} if leaf.name == "monitoring.alerts.enabled" else {}
    changed = render(helm, _with(context, leaf, _other(leaf))).text != render(helm, context).text
    assert changed, f"no template uses {leaf.name}"


@pytest.mark.chart
def test_every_template_is_rendered_for_some_values(helm: Helm) -> None:
    sources = set(
        re.findall(r"# Source: modelfit/(\S+)", "\n".join(render(helm, each).text for each in MATRIX.values()))
    )
    templates = {str(path.relative_to(CHART)) for path in (CHART / "templates").rglob("*.yaml")}
    assert sources == templates


def test_every_value_that_a_template_reads_exists() -> None:
    for place, path in _references():
        assert any(path[: len(each)] == each for each in PATHS), f"{place} reads .Values.{'.'.join(path)}"


def test_every_named_template_is_included() -> None:
    text = "\n".join(path.read_text() for path in _sources())
    for name in re.findall(r'define "([^"]+)"', text):
        assert re.search(rf'include "{re.escape(name)}"', text), f"nothing includes {name}"


def test_every_shipped_file_is_used_by_a_template() -> None:
    text = "\n".join(path.read_text() for path in _sources())
    for path in (CHART / "files").rglob("*"):
        if path.is_file():
            name = str(path.relative_to(CHART))
            assert name in text or f"{path.parent.relative_to(CHART)}/*" in text, f"no template reads {name}"


@pytest.mark.parametrize("group", [None, *sorted({leaf.path[0] for leaf in LEAVES if len(leaf.path) > 1})])
@pytest.mark.chart
def test_an_unknown_value_fails(every_helm: Helm, group: str | None) -> None:
    values: Values = {"replicaz": 3} if group is None else {group: {"replicaz": 3}}
    with pytest.raises(HelmFailed, match="replicaz"):
        render(every_helm, values)


@pytest.mark.chart
@pytest.mark.parametrize("leaf", LEAVES, ids=lambda leaf: leaf.name)
def test_a_value_of_the_wrong_type_fails(every_helm: Helm, leaf: Value) -> None:
    value: object = "x" if not isinstance(leaf.default, str) else 7
    with pytest.raises(HelmFailed, match=leaf.path[-1]):
        render(every_helm, _with({}, leaf, value))


@pytest.mark.chart
@pytest.mark.parametrize(
    "config",
    [
        {"profil": "nvidia"},
        {"memoryRequests": "maybe"},
        {"drainSeconds": -1},
        {"profiles": {"acme": {"driver": "gpu.acme.com"}}},
        {"certificates": {"secret": "mine"}},
        {"profiles": {"A b": ACME}},
        {"profiles": {"acme": {**ACME, "shares": {"cores": "ten"}}}},
        {"profiles": {"acme": {**ACME, "shares": {"cores": "-1"}}}},
        {"profiles": {"acme": {**ACME, "shares": {"a b": "1"}}}},
        {"profiles": {"acme": {**ACME, "deviceClasses": ["a", "a"]}}},
        {"profiles": {"acme": {**ACME, "deviceClasses": list("abcdefghi")}}},
        {"profiles": {"acme": {**ACME, "deviceClasses": list("abcde"), "shares": {"cores": "1"}}}},
    ],
    ids=str,
)
def test_settings_that_the_program_rejects_fail(every_helm: Helm, config: Values) -> None:
    with pytest.raises(HelmFailed, match="config"):
        render(every_helm, {"config": config})


@pytest.mark.chart
def test_settings_at_their_limits_are_rendered(every_helm: Helm) -> None:
    shared = {**ACME, "deviceClasses": list("abcd"), "shares": {"cores": "25", "bandwidth": "1.5Gi", "slots": "1e2"}}
    render(every_helm, {"config": {"profiles": {"a": shared, "b": {**ACME, "deviceClasses": list("abcdefgh")}}}})


KEY = "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n"

INVALID: list[tuple[str, object]] = [
    *(("certificates.certManager.duration", text) for text in ("10s", "12h", "48h", "95h", "96", "5760m", "h", "")),
    ("certificates.controller.caLifetimeDays", 23),
    ("certificates.controller.leafLifetimeDays", 3),
    *(
        ("certificates.secret.caBundle", text)
        for text in (KEY, CA_CERTIFICATE + KEY, KEY + CA_CERTIFICATE, CA_CERTIFICATE + "rest")
    ),
    ("certificates.secret.caBundle", "-----BEGIN CERTIFICATE-----\nMIIB\n"),
    ("commonLabels", {"a b": "c"}),
    ("commonLabels", {"a/b/c": "d"}),
    ("commonLabels", {"a": "b c"}),
    ("webhook.podAnnotations", {"a b": "c"}),
    ("tests.namespace", ""),
    *(("image.repository", f"registry.example:5000/modelfit{suffix}") for suffix in (":0.1.0", "@sha256:0")),
    *(("networkPolicy.apiServerCIDRs", [text]) for text in ("192.0.2.10", "2001:db8::1", "192.0.2.0/33", "api/32")),
]


@pytest.mark.chart
@pytest.mark.parametrize(("name", "value"), INVALID)
def test_a_value_out_of_bounds_fails(every_helm: Helm, name: str, value: object) -> None:
    with pytest.raises(HelmFailed, match="specifications of the schema"):
        render(every_helm, _nested(name.split("."), value))


@pytest.mark.chart
def test_values_at_their_bounds_are_rendered(every_helm: Helm) -> None:
    for duration in ("96h", "100h", "720h", "2160h0m0s"):
        certificates: Values = {"mode": "cert-manager", "certManager": {"duration": duration}}
        assert f"duration: {duration}\n" in render(every_helm, {"certificates": certificates}).text
    render(every_helm, {"certificates": {"controller": {"caLifetimeDays": 24, "leafLifetimeDays": 4}}})
    render(every_helm, {"image": {"repository": "registry.example:5000/a/modelfit"}})
    render(every_helm, {"commonLabels": {"example.com/cost-centre": "R_1.a", "Team": ""}})


@pytest.mark.chart
@pytest.mark.parametrize("name", [".".join(path) for path in sorted(PATHS)])
def test_null_renders_or_fails_with_the_name_of_the_value(every_helm: Helm, name: str) -> None:
    error = ""
    try:
        render(every_helm, _nested(name.split("."), None))
    except HelmFailed as failure:
        error = str(failure)
    assert not error or re.search("specifications of the schema|cannot be installed", error)
    assert not error or name.rpartition(".")[2] in error


@pytest.mark.chart
def test_null_labels_of_monitoring_are_no_labels(every_helm: Helm) -> None:
    dashboard: Values = {"enabled": True, "labels": None}
    monitoring: Values = {"enabled": True, "alerts": {"enabled": True}, "dashboard": dashboard, "labels": None}
    render(every_helm, {"monitoring": monitoring})


@pytest.mark.chart
def test_a_user_id_of_openshift_is_a_whole_number(every_helm: Helm) -> None:
    assert "runAsUser: 1000660000\n" in render(every_helm, {"runAsUser": 1000660000}).text


def _nested(path: Sequence[str], value: object) -> dict[str, object]:
    return {path[0]: _nested(path[1:], value) if path[1:] else value}


def _references() -> Iterator[tuple[str, tuple[str, ...]]]:
    """(template, path) of each `.Values.…`."""
    for path in _sources():
        for found in re.findall(r"\.Values((?:\.[a-zA-Z]+)+)", path.read_text()):
            yield path.name, tuple(found.strip(".").split("."))


def _sources() -> Iterator[Path]:
    for pattern in ("*.yaml", "*.tpl", "*.txt"):
        yield from (CHART / "templates").rglob(pattern)


def _other(leaf: Value) -> object:
    if leaf.name in OTHER:
        return OTHER[leaf.name]
    default = leaf.default
    if isinstance(default, bool):
        return not default
    if isinstance(default, int):
        return default + 1
    if isinstance(default, str):
        return "other"
    last = leaf.path[-1]
    by_name: dict[str, object] = {
        "resources": {"requests": {"cpu": "1"}},
        "tolerations": [{"operator": "Exists"}],
        "affinity": {"podAffinity": {}},
        "topologySpreadConstraints": [],
    }
    return by_name.get(last, {"other": "other"})


def _with(values: Values, leaf: Value, value: object) -> dict[str, object]:
    """A copy of the values with one more."""
    changed: dict[str, object] = copy.deepcopy(json.loads(json.dumps(values)))
    place = changed
    for key in leaf.path[:-1]:
        inner = place.setdefault(key, {})
        assert isinstance(inner, dict)
        place = inner
    place[leaf.path[-1]] = value
    return changed
