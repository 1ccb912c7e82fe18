"""Writes charts/modelfit/README.md and charts/modelfit/values.schema.json."""

from tests.chart import manual, readme, schema

values = manual.read()
README = manual.CHART / "README.md"
README.write_text(readme.render(values, README.read_text("utf-8")), "utf-8")
(manual.CHART / "values.schema.json").write_text(schema.render(values), "utf-8")
