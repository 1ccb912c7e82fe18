"""SECURITY.md lists exactly the permissions that the chart grants to the controller."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
CONFIGURATIONS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")


def test_the_permissions_of_the_controller_are_those_of_the_chart() -> None:
    """The default rendering, which a test of the chart keeps current."""
    rendered = yaml.safe_load_all((ROOT / "tests/golden/chart/defaults.yaml").read_text())
    roles = [each for each in rendered if each and each["kind"] in ("Role", "ClusterRole")]
    rules = [rule for role in roles if role["metadata"]["name"].endswith("-controller") for rule in role["rules"]]
    granted = {
        (resource, verb, "by name" if rule.get("resourceNames") else "all")
        for rule in rules
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert listed_permissions() == granted


def listed_permissions() -> set[tuple[str, str, str]]:
    table = (ROOT / "SECURITY.md").read_text().partition("| the controller's permission |")[2].partition("\n\n")[0]
    listed = set()
    for permission, scope in re.findall(r"^\| (\S.*?) \| (.*?) \|", table, re.MULTILINE):
        resources = CONFIGURATIONS if permission.startswith("webhook") else (permission.split("`")[1],)
        verbs = permission.removeprefix("webhook configurations").rpartition("`")[2].replace(",", "").split()
        named = "by name" if "by name" in scope else "all"
        listed |= {(resource, verb, named) for resource in resources for verb in verbs}
    return listed
