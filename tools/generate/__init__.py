"""Generates the committed files that repeat information from other files. `make generate` writes them.

webhook/settings          ─► docs/configuration.md
webhook/settings ─┐
values.yaml      ─┴─► charts/modelfit/values.schema.json
values.yaml          ─► charts/modelfit/README.md, its table of values
"""

from collections.abc import Callable
from pathlib import Path

from tools.generate import chart_readme, chart_schema, chart_values, configuration_page

FILES: dict[Path, Callable[[], str]] = {
    configuration_page.PATH: configuration_page.render,
    chart_schema.PATH: lambda: chart_schema.render(chart_values.load()),
    chart_readme.PATH: lambda: chart_readme.render(chart_values.load(), chart_readme.PATH.read_text("utf-8")),
}
"""Path → what the file has to contain."""
