"""One vocabulary: every reason has a name that machines read, a sentence, and a code where it refuses."""

import re

import pytest

from webhook.reasons import REFUSALS, Reason

FORBIDDEN = {Reason.NODE_NAME_SET, Reason.DEVICE_PLUGIN_REQUEST, Reason.ALIAS_TAKEN, Reason.NOT_INJECTED}


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_a_name_a_sentence_and_a_code(reason: Reason) -> None:
    assert re.fullmatch(r"([A-Z][a-z]*)+", reason.value)
    assert reason.value.lower() == reason.name.replace("_", "").lower()
    assert len(reason.sentence.split()) >= 3
    assert not reason.sentence.endswith(".")
    assert reason.code == (403 if reason in FORBIDDEN else 422)


def test_no_two_reasons_say_the_same() -> None:
    assert len({reason.sentence for reason in Reason}) == len(Reason)


def test_all_from_the_first_refusal_on_are_refusals() -> None:
    reasons = list(Reason)
    assert set(reasons[reasons.index(Reason.INVALID_MODEL_FIT) :]) == REFUSALS
