"""Keys and signatures that the API server or the webhook's OpenSSL refuses are problems; a rotation replaces them."""

from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from certs import issuing, pem, rotation, verification
from certs.pem import KeyPair
from certs.rotation import Action
from certs.rotation_config import RotationConfig
from certs.secret_data import State
from tests.certs import foreign_certificates as foreign
from tests.certs.foreign_certificates import NOON, YEAR, Shape, make
from tests.certs.key_kinds import CASES, make_case

SERVICE = "modelfit.default.svc"
SERVER = Shape(subject="server", names=[SERVICE])
ED25519_CA = make(foreign.CA, key=ed25519.Ed25519PrivateKey.generate())


def find(ca: KeyPair, leaf: KeyPair) -> list[str]:
    bundle, chain = pem.dump_certificates((ca.certificate,)), pem.dump_certificates((leaf.certificate, *leaf.chain))
    return verification.find_problems(bundle, chain, leaf.key, [SERVICE], NOON)


@pytest.mark.parametrize("case_id", CASES)
def test_each_kind_of_key_and_signature_is_accepted_or_reported(case_id: str) -> None:
    case = make_case(case_id, SERVER)
    problems = [each for each in find(case.ca, case.leaf) if not each.startswith("private key: ")]
    assert len(problems) == bool(case.fault), problems
    assert all(case.fault in problem and problem.isprintable() for problem in problems)
    assert verification.is_trusted(case.leaf, (case.ca.certificate,), NOON) is not bool(case.fault)


@pytest.mark.parametrize("case_id", [each for each in CASES if each.endswith("as CA")])
def test_a_ca_with_a_refused_key_is_replaced(case_id: str) -> None:
    case = make_case(case_id, SERVER)
    state = State(case.leaf, case.ca)
    step = rotation.plan(state, [SERVICE], NOON, RotationConfig())
    assert step.action is (Action.MINT if case.fault else Action.KEEP)
    assert verification.is_trusted(step.state.leaf, step.state.cas, NOON)


def test_a_leaf_with_a_refused_key_is_replaced_by_the_same_ca() -> None:
    ca = issuing.issue_ca(NOON, YEAR)
    leaf = make(SERVER, ca, key=ec.generate_private_key(ec.SECP256K1()))
    step = rotation.plan(State(leaf, ca), [SERVICE], NOON, RotationConfig())
    assert (step.action, step.state.current) == (Action.ISSUE, ca)


def test_an_rsa_key_above_the_limit_of_go_is_reported() -> None:
    ca = make(foreign.CA)
    leaf = make(SERVER, ca, public_key=rsa.RSAPublicNumbers(65537, (1 << 8192) + 1).public_key())
    (problem,) = verification.key_pair_problems(leaf, (ca.certificate,), NOON)
    assert "its key is RSA with 8193 bits" in problem


def test_an_ed25519_ca_issues_leaves_that_clients_accept() -> None:
    leaf = issuing.issue_leaf(ED25519_CA, [SERVICE], NOON, timedelta(days=30))
    assert find(ED25519_CA, leaf) == []
    nameless = make(Shape(subject=SERVICE), ED25519_CA)
    assert not verification.is_trusted(nameless, (ED25519_CA.certificate,), NOON)
