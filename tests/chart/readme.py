"""The table of values in the chart's README.md, between two marks; what stands outside them is written by hand."""

import json
from collections.abc import Iterable

from tests.chart.manual import Value

BEGIN = "<!-- values: made from values.yaml by `python -m tests.chart` -->"
END = "<!-- end of values -->"


def render(values: Iterable[Value], current: str) -> str:
    """The file, with the table made anew. Raises ValueError where the marks are missing."""
    before, _, rest = current.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise ValueError(f"README.md: want the lines {BEGIN} and {END}")
    leaves = [leaf for value in values for leaf in value.leaves]
    rows = [f"| `{leaf.name}` | {_default(leaf.default)} | {_cell(leaf.text)} |" for leaf in leaves]
    table = "\n".join(["| value | default | |", "|---|---|---|", *rows])
    return f"{before}{BEGIN}\n\n{table}\n\n{END}{after}"


def _default(default: object) -> str:
    return f"`{_cell(json.dumps(default, ensure_ascii=False))}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
