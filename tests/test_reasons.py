"""Names and status codes of the reasons."""

import re

import pytest

from webhook.reasons import DENIAL_REASONS, Reason

FORBIDDEN = {
    Reason.NODE_NAME_SET,
    Reason.DEVICE_PLUGIN_REQUEST,
    Reason.ALIAS_TAKEN,
    Reason.NOT_INJECTED,
    Reason.INJECTION_CHANGED,
}


@pytest.mark.parametrize("reason", Reason)
def test_a_reason_is_camel_case_and_has_a_status_code(reason: Reason) -> None:
    assert re.fullmatch(r"([A-Z][a-z]*)+", reason.value)
    assert reason.value.lower() == reason.name.replace("_", "").lower()
    assert reason.code == (403 if reason in FORBIDDEN else 422)


def test_the_denial_reasons_are_those_from_invalid_model_fit_on() -> None:
    reasons = list(Reason)
    assert set(reasons[reasons.index(Reason.INVALID_MODEL_FIT) :]) == DENIAL_REASONS
