from dataclasses import replace
from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given, settings
from hypothesis import strategies as st

from certs import entries, mint, pem
from certs.policy import Policy
from certs.rotation import plan
from certs.state import State, bundle
from tests.certs.foreign_certificates import AUTHORITY, NOON, YEAR, Shape, make

SERVICE = "modelfit.default.svc"
POLICY = Policy()
MINTED = plan(State(), [SERVICE], NOON, POLICY).state
PUBLISHED = plan(MINTED, [SERVICE], NOON, POLICY, rotate=True).state
SWITCHED = plan(PUBLISHED, [SERVICE], NOON + POLICY.propagation, POLICY).state
LOST_KEY = replace(MINTED, current=None, retired=MINTED.authorities())
COURSE = {"empty": State(), "minted": MINTED, "published": PUBLISHED, "switched": SWITCHED, "lost key": LOST_KEY}


@pytest.mark.parametrize("state", COURSE.values(), ids=COURSE.keys())
def test_every_state_comes_back_from_its_entries(state: State) -> None:
    data = entries.dump(state)
    assert entries.parse(data) == entries.Parsed(state, ())
    assert entries.dump(entries.parse(data).state) == data


def test_the_entries_are_those_of_a_tls_secret() -> None:
    data = entries.dump(PUBLISHED)
    assert set(data) == set(entries.ALL)
    assert data["ca.crt"] == bundle(PUBLISHED)
    assert data["tls.crt"].count(b"BEGIN CERTIFICATE") == 1
    private = {name for name, content in data.items() if b"PRIVATE KEY" in content}
    assert private == entries.PRIVATE


def test_times_survive_to_the_microsecond_and_in_any_time_zone() -> None:
    odd = NOON + timedelta(microseconds=1)
    state = replace(SWITCHED, switched_at=odd)
    assert entries.parse(entries.dump(state)).state.switched_at == odd
    data = {**entries.dump(SWITCHED), "state.json": b'{"switchedAt": "2026-03-01T21:00:00+09:00"}'}
    assert entries.parse(data).state.switched_at == NOON


@pytest.mark.parametrize(
    "text",
    [b"garbage", b"[]", b"\xff", b'{"switchedAt": 5}', b'{"switchedAt": "yesterday"}', b'{"switchedAt": "2026-03-01"}',
     b"[" * 100_000],
    ids=["garbage", "list", "no UTF-8", "number", "no time", "no zone", "deep"],
)  # fmt: skip
def test_unreadable_times_are_unknown_times(text: bytes) -> None:
    found = entries.parse({**entries.dump(SWITCHED), "state.json": text})
    assert found.state == replace(SWITCHED, switched_at=None)
    assert len(found.faults) == 1


def test_a_pair_that_does_not_belong_together_is_left_out_and_named() -> None:
    data = {**entries.dump(MINTED), "tls.key": entries.dump(SWITCHED)["tls.key"]}
    found = entries.parse(data)
    assert found.state == replace(MINTED, leaf=None)
    assert found.faults == (
        "tls.crt and tls.key: the private key belongs to another certificate; want the one that the certificate names",
    )


def test_an_authority_without_its_key_counts_as_retired() -> None:
    for key in (None, b"", b"garbage", entries.dump(SWITCHED)["ca.key"]):
        data = {**entries.dump(MINTED), "ca.key": key or b""}
        if key is None:
            del data["ca.key"]
        assert entries.parse(data).state == LOST_KEY


def test_a_successor_that_is_not_in_the_bundle_counts_as_not_published() -> None:
    data = {**entries.dump(PUBLISHED), "ca.crt": bundle(MINTED)}
    found = entries.parse(data)
    assert found.state == replace(PUBLISHED, trusted_since=None)
    assert "not published" in found.faults[0]


def test_a_certificate_renewed_for_the_same_key_wins_over_the_old_one() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    old = make(AUTHORITY, key=key)
    new = make(replace(AUTHORITY, end=NOON + 2 * YEAR), key=key)
    found = entries.parse({"ca.crt": pem.text((old.certificate, new.certificate)), "ca.key": new.key})
    assert found.state.current == new
    assert found.state.retired == (old.certificate,)


def test_an_operators_chain_is_kept() -> None:
    root = make(AUTHORITY)
    middle = make(Shape(subject="middle", ca=True), root)
    leaf = mint.leaf(middle, [SERVICE], NOON, YEAR)
    chain = pem.text((leaf.certificate, middle.certificate))
    data = {"tls.crt": chain, "tls.key": leaf.key, "ca.crt": pem.text((root.certificate,))}
    state = entries.parse(data).state
    assert entries.dump(state)["tls.crt"] == chain
    assert plan(state, [SERVICE], NOON, POLICY).state.leaf == state.leaf


def test_entries_of_other_names_do_not_matter() -> None:
    data = entries.dump(MINTED)
    assert entries.parse({**data, "keystore.jks": b"x"}) == entries.parse(data)
    assert entries.ours({**data, "keystore.jks": b"x"}) == data


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from(entries.ALL), st.one_of(st.none(), st.binary(max_size=80), st.integers(1, 300))))
def test_no_damage_makes_parsing_raise_and_what_comes_out_is_stable(damage: dict[str, bytes | int | None]) -> None:
    data = entries.dump(PUBLISHED)
    for name, change in damage.items():
        if change is None:
            data.pop(name)
        else:
            data[name] = data[name][:change] if isinstance(change, int) else change
    state = entries.parse(data).state
    assert entries.parse(entries.dump(state)).state == state
