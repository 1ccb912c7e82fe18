"""From the data of a Secret to the data that replaces it."""

from collections.abc import Mapping
from datetime import timedelta

import pytest

from certs import pem, secret_data, verification
from certs.rotation import Action, Step, next_step
from certs.rotation_config import RotationConfig
from tests.certs.foreign_certificates import NOON
from tests.certs.tls_clients import accepts

SERVICE = "modelfit.default.svc"
NAMES = [SERVICE]
DAY = timedelta(days=1)


class Secret:
    def __init__(self, data: Mapping[str, bytes] | None = None) -> None:
        self.data = dict(data or {})

    def reconcile(self, days: float = 0, ca_bundles: list[bytes] | None = None) -> Step:
        step = next_step(self.data, NAMES, NOON + days * DAY, RotationConfig(), ca_bundles)
        if step.action is Action.KEEP:
            assert secret_data.dump(step.state) == secret_data.select(self.data)
        self.data |= secret_data.dump(step.state)
        for key in set(secret_data.KEYS) - secret_data.dump(step.state).keys():
            self.data.pop(key, None)
        return step

    def problems(self, days: float = 0) -> list[str]:
        data = self.data
        now = NOON + days * DAY
        return verification.find_problems(data["ca.crt"], data["tls.crt"], data["tls.key"], NAMES, now)


@pytest.mark.parametrize("data", [{}, {"tls.crt": b"", "tls.key": b""}], ids=["no data", "empty values"])
def test_an_empty_secret_gets_certificates_and_is_then_kept(data: Mapping[str, bytes]) -> None:
    secret = Secret(data)
    assert secret.reconcile().action is Action.MINT
    assert secret.problems() == []
    for days in (0, 1, 19.9):
        assert secret.reconcile(days).action is Action.KEEP


@pytest.mark.parametrize("value", [None, b"", b"garbage"], ids=["missing", "empty", "garbage"])
@pytest.mark.parametrize("key", secret_data.KEYS)
def test_a_damaged_secret_is_repaired_and_then_kept(key: str, value: bytes | None) -> None:
    secret = Secret()
    bundle = secret.reconcile().state.bundle
    secret.data.pop(key, None)
    if value is not None:
        secret.data[key] = value
    secret.reconcile(0, [bundle])
    for minutes in range(1, 60):
        secret.reconcile(minutes / 1440)
    assert secret.problems(1 / 24) == []
    assert secret.reconcile(1).action is Action.KEEP
    assert secret_data.parse(secret.data)[1] == []
    assert "ca.key" in secret.data


def test_a_key_of_another_leaf_is_repaired_with_the_same_ca() -> None:
    secret, other = Secret(), Secret()
    before = secret.reconcile().state
    other.reconcile()
    secret.data["tls.key"] = other.data["tls.key"]
    step = secret.reconcile()
    assert step.action is Action.ISSUE
    assert "belongs to another certificate" in step.reason
    assert step.state.bundle == before.bundle
    assert secret.problems() == []


def test_garbage_beside_good_certificates_is_removed() -> None:
    secret = Secret()
    before = secret.reconcile().state
    secret.data["ca.crt"] += b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    step = secret.reconcile()
    assert (step.action, step.state) == (Action.REPAIR, before)
    assert "1 of its certificates cannot be read" in step.reason
    assert secret.reconcile().action is Action.KEEP


def test_keys_that_are_not_ours_are_ignored() -> None:
    secret = Secret({"notes": b"keep"})
    secret.reconcile()
    assert secret.reconcile().action is Action.KEEP


def test_the_secret_of_another_issuer_is_taken_over_without_a_gap() -> None:
    foreign = Secret()
    state = foreign.reconcile().state
    secret = Secret({key: foreign.data[key] for key in ("tls.crt", "tls.key", "ca.crt")})
    step = secret.reconcile()
    assert step.action is Action.PUBLISH
    assert state.leaf is not None
    assert step.state.leaf == state.leaf
    assert accepts(step.state.bundle, state.leaf.certificate, SERVICE, NOON)


def test_expired_certificates_are_replaced() -> None:
    secret = Secret()
    secret.reconcile()
    assert secret.reconcile(days=31).action is Action.ISSUE
    assert secret.problems(days=31) == []
    assert secret.reconcile(days=400).action is Action.MINT
    assert secret.problems(days=400) == []
    assert len(pem.load_certificates(secret.data["ca.crt"])[0]) == 2
    assert secret.reconcile(days=400).action is Action.RETIRE
