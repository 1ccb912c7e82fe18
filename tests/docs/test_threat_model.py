"""docs/threat-model.md answers every threat with tests that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "threat-model.md").read_text()
SECTIONS = {
    int(number): body for number, body in re.findall(r"^## (\d+)\. .+\n((?:(?!^## ).*\n)+)", TEXT, re.MULTILINE)
}
WITHOUT_MITIGATION = {6, 17}
"""Cluster-admin and root on a node."""


def test_all_threats_of_the_paper_are_answered() -> None:
    assert list(SECTIONS) == list(range(1, 19))
    for number in SECTIONS.keys() - WITHOUT_MITIGATION:
        assert re.findall(r"^- \*\*(\w+)\*\*", SECTIONS[number], re.MULTILINE) == ["Here", "Limits", "Remains", "Tests"]
        assert "`tests/" in SECTIONS[number]


@pytest.mark.parametrize("reference", sorted(set(re.findall(r"`(tests/[^`]+)`", TEXT))))
def test_a_test_that_the_page_names_exists(reference: str) -> None:
    path, _, name = reference.partition("::")
    assert re.search(rf"^def {name}\b" if name else r"^def test_", (ROOT / path).read_text(), re.MULTILINE)


@pytest.mark.parametrize("alert", sorted(set(re.findall(r"\bModelfit[A-Z]\w+", TEXT))))
def test_an_alert_that_the_page_names_exists(alert: str) -> None:
    assert f"alert: {alert}\n" in (ROOT / "charts/modelfit/files/alerts/modelfit.yaml").read_text()
