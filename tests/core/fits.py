"""Parses a fit whose path is `fit`."""

import pytest

from webhook.core.fits import model_fit
from webhook.core.fits.requirements import ModelRequirements
from webhook.errors import Denied


def parse(text: str) -> ModelRequirements:
    return model_fit.parse(text, "fit")


def deny(text: str) -> Denied:
    """The denial of a fit that must not be accepted."""
    with pytest.raises(Denied) as denied:
        model_fit.parse(text, "fit")
    return denied.value
