from dataclasses import replace
from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given, settings
from hypothesis import strategies as st

from certs import issuing, pem, secret_data
from certs.secret_data import State
from tests.certs.foreign_certificates import CA, NOON, YEAR, Shape, make
from tests.certs.rotation_states import NAMES, minted, plan, published, switched

MINTED, PUBLISHED, SWITCHED = minted(), published(), switched()
LOST_KEY = replace(MINTED, current=None, retired=MINTED.cas)
STATES = {"empty": State(), "minted": MINTED, "published": PUBLISHED, "switched": SWITCHED, "lost key": LOST_KEY}


@pytest.mark.parametrize("state", STATES.values(), ids=STATES.keys())
def test_every_state_is_restored_from_its_data(state: State) -> None:
    data = secret_data.dump(state)
    assert secret_data.parse(data) == (state, [])
    assert secret_data.dump(secret_data.parse(data)[0]) == data


def test_the_data_is_that_of_a_tls_secret() -> None:
    data = secret_data.dump(PUBLISHED)
    assert set(data) == set(secret_data.KEYS)
    assert data["ca.crt"] == PUBLISHED.bundle
    assert data["tls.crt"].count(b"BEGIN CERTIFICATE") == 1
    assert {key for key, value in data.items() if b"PRIVATE KEY" in value} == secret_data.PRIVATE_KEYS


def test_times_are_kept_to_the_microsecond_and_accepted_in_any_time_zone() -> None:
    odd = NOON + timedelta(microseconds=1)
    state = replace(SWITCHED, switched_at=odd)
    assert secret_data.parse(secret_data.dump(state))[0].switched_at == odd
    data = {**secret_data.dump(SWITCHED), "state.json": b'{"switchedAt": "2026-03-01T21:00:00+09:00"}'}
    assert secret_data.parse(data)[0].switched_at == NOON


@pytest.mark.parametrize(
    "text",
    [b"garbage", b"[]", b"\xff", b'{"switchedAt": 5}', b'{"switchedAt": "yesterday"}', b'{"switchedAt": "2026-03-01"}',
     b"[" * 100_000, b'{"switchedAt": "0001-01-01T00:00:00+14:00"}', b'{"switchedAt": "9999-12-31T00:00:00Z"}'],
    ids=["garbage", "list", "not UTF-8", "number", "not a time", "no time zone", "deep", "first year", "last year"],
)  # fmt: skip
def test_unreadable_times_are_unknown_times(text: bytes) -> None:
    state, faults = secret_data.parse({**secret_data.dump(SWITCHED), "state.json": text})
    assert state == replace(SWITCHED, switched_at=None)
    assert len(faults) == 1


def test_a_key_and_a_certificate_that_do_not_match_are_left_out_and_reported() -> None:
    data = {**secret_data.dump(MINTED), "tls.key": secret_data.dump(SWITCHED)["tls.key"]}
    fault = "tls.crt and tls.key: the private key belongs to another certificate; want the key of this certificate"
    assert secret_data.parse(data) == (replace(MINTED, leaf=None), [fault])


@pytest.mark.parametrize("key", [None, b"", b"garbage", secret_data.dump(SWITCHED)["ca.key"]])
def test_a_ca_without_its_key_counts_as_retired(key: bytes | None) -> None:
    data = {**secret_data.dump(MINTED), "ca.key": key or b""}
    if key is None:
        del data["ca.key"]
    assert secret_data.parse(data)[0] == LOST_KEY


def test_a_next_ca_that_is_not_in_the_bundle_counts_as_not_published() -> None:
    assert MINTED.current is not None
    old = pem.dump_certificates((MINTED.current.certificate,))
    state, faults = secret_data.parse({**secret_data.dump(PUBLISHED), "ca.crt": old})
    assert state == replace(PUBLISHED, trusted_since=None)
    assert "not published" in faults[0]


def test_of_two_certificates_for_the_same_ca_key_the_last_to_expire_is_current() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    old = make(CA, key=key)
    new = make(replace(CA, end=NOON + 2 * YEAR), key=key)
    state, _ = secret_data.parse(
        {"ca.crt": pem.dump_certificates((old.certificate, new.certificate)), "ca.key": new.key}
    )
    assert state.current == new
    assert state.retired == (old.certificate,)


def test_the_chain_of_a_foreign_certificate_is_kept() -> None:
    root = make(CA)
    intermediate = make(Shape(subject="intermediate", ca=True), root)
    leaf = issuing.issue_leaf(intermediate, NAMES, NOON, YEAR)
    chain = pem.dump_certificates((leaf.certificate, intermediate.certificate))
    data = {"tls.crt": chain, "tls.key": leaf.key, "ca.crt": pem.dump_certificates((root.certificate,))}
    state, _ = secret_data.parse(data)
    assert secret_data.dump(state)["tls.crt"] == chain
    assert plan(state, NOON).state.leaf == state.leaf


def test_other_keys_of_the_secret_are_ignored() -> None:
    data = secret_data.dump(MINTED)
    assert secret_data.parse({**data, "keystore.jks": b"x"}) == secret_data.parse(data)
    assert secret_data.select({**data, "keystore.jks": b"x"}) == data


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(secret_data.KEYS), st.one_of(st.none(), st.binary(max_size=80), st.integers(1, 300))
    )
)
def test_damaged_data_never_raises_and_gives_a_stable_state(damage: dict[str, bytes | int | None]) -> None:
    data = secret_data.dump(PUBLISHED)
    for key, change in damage.items():
        if change is None:
            data.pop(key)
        else:
            data[key] = data[key][:change] if isinstance(change, int) else change
    state, _ = secret_data.parse(data)
    assert secret_data.parse(secret_data.dump(state))[0] == state
