"""The page of settings is what the settings say."""

import re

import pytest
from pydantic.fields import FieldInfo

from tests.docs import configuration
from webhook.settings import CertificatesSettings, ProfileSettings, Settings


def test_the_page_is_generated_from_the_settings() -> None:
    assert configuration.PAGE.read_text("utf-8") == configuration.render(), "run `python -m tests.docs`"


@pytest.mark.parametrize(
    ("name", "field"),
    [
        *Settings.model_fields.items(),
        *ProfileSettings.model_fields.items(),
        *CertificatesSettings.model_fields.items(),
    ],
)
def test_every_setting_says_what_it_is_without_which_value(name: str, field: FieldInfo) -> None:
    assert field.description, f"{name} has no docstring"
    assert re.search(r"Default `?[\w.\[\]-]+`?\.|Required\.", field.description), f"{name} does not say its default"
