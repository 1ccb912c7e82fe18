"""Writes the generated pages."""

from tests.docs import configuration

configuration.PAGE.write_text(configuration.render(), "utf-8")
