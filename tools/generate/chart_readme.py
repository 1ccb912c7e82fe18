"""Generates the table of values in the chart's README.md. The text outside the two markers is written by hand."""

import json
from collections.abc import Iterable

from tools.generate.chart_values import CHART, Value

PATH = CHART / "README.md"
BEGIN = "<!-- values: generated from values.yaml by `make generate` -->"
END = "<!-- end of values -->"


def render(values: Iterable[Value], current: str) -> str:
    """The file, with a new table between the markers. Raises ValueError if a marker is missing."""
    before, _, rest = current.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"README.md: want the lines {BEGIN} and {END}")
    leaves = [leaf for value in values for leaf in value.leaves]
    rows = [f"| `{leaf.name}` | `{_default(leaf.default)}` | {_escape(leaf.description)} |" for leaf in leaves]
    table = "\n".join(["| value | default | |", "|---|---|---|", *rows])
    return f"{before}{BEGIN}\n\n{table}\n\n{END}{after}"


def _default(default: object) -> str:
    return _escape(json.dumps(default, ensure_ascii=False))


def _escape(text: str) -> str:
    return text.replace("|", "\\|")
