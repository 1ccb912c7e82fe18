import pytest

from certs import hostnames, issuing
from certs.exceptions import InvalidNames
from tests.certs.foreign_certificates import NOON, YEAR, Shape, make

MAX_LABEL = "a" * 63


@pytest.mark.parametrize(
    "name",
    ["modelfit.default.svc", f"{MAX_LABEL}.{'b' * 63}.svc", "localhost", "1.2.3.4", "::1", "x", "1.2.3.4.example"],
)
def test_service_names_and_addresses_are_accepted(name: str) -> None:
    assert len(hostnames.general_names([name])) == 1


@pytest.mark.parametrize(
    "name",
    ["", ".", "a..b", "-a.svc", "a-.svc", "a_b.svc", "*.svc", "ä.svc", f"{MAX_LABEL}a.svc", "10.0.0.256",
     "a b", "[::1]", "svc:443", f"{'a.' * 127}a", "a.svc.", "a.svc\n"],
)  # fmt: skip
def test_invalid_names_are_refused(name: str) -> None:
    with pytest.raises(InvalidNames, match="is not a DNS name"):
        hostnames.general_names([name])


def test_every_invalid_name_is_reported() -> None:
    with pytest.raises(InvalidNames) as error:
        hostnames.general_names(["a_b", "good", "-c"])
    assert len(error.value.faults) == 2
    assert "'a_b'" in str(error.value)
    assert "'-c'" in str(error.value)


def test_at_least_one_name_is_required() -> None:
    with pytest.raises(InvalidNames, match="names: none; want at least one"):
        hostnames.general_names([])


def test_a_name_in_two_spellings_is_one_name() -> None:
    assert len(hostnames.general_names(["Web.SVC", "web.svc", "::1", "0:0:0:0:0:0:0:1"])) == 2


def test_a_wildcard_covers_exactly_one_label() -> None:
    certificate = make(Shape(names=["*.default.svc"])).certificate
    names = ["web.default.svc", "default.svc", "a.web.default.svc", "10.0.0.1"]
    assert hostnames.missing(certificate, names) == ["default.svc", "a.web.default.svc", "10.0.0.1"]


def test_a_certificate_without_alternative_names_covers_no_name() -> None:
    ca = issuing.issue_ca(NOON, YEAR).certificate
    assert hostnames.on_certificate(ca) == frozenset()
    assert hostnames.missing(ca, ["web.svc"]) == ["web.svc"]
