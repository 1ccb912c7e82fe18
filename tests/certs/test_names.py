import pytest

from certs import mint, names
from certs.errors import InvalidNames
from tests.certs.foreign_certificates import NOON, YEAR, Shape, make

LONG_LABEL = "a" * 63
LONGEST_SERVICE = f"{LONG_LABEL}.{'b' * 63}.svc"


@pytest.mark.parametrize(
    "name",
    ["modelfit.default.svc", LONGEST_SERVICE, "localhost", "1.2.3.4", "::1", "x", "1.2.3.4.example"],
)
def test_service_names_and_addresses_can_stand_on_a_certificate(name: str) -> None:
    assert len(names.general_names([name])) == 1


@pytest.mark.parametrize(
    "name",
    ["", ".", "a..b", "-a.svc", "a-.svc", "a_b.svc", "*.svc", "ä.svc", f"{LONG_LABEL}a.svc", "10.0.0.256",
     "a b", "[::1]", "svc:443", f"{'a.' * 127}a", "a.svc."],
)  # fmt: skip
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidNames, match="is no DNS name"):
        names.general_names([name])


def test_every_wrong_name_is_named_at_once() -> None:
    with pytest.raises(InvalidNames) as refused:
        names.general_names(["a_b", "good", "-c"])
    assert len(refused.value.faults) == 2
    assert "'a_b'" in str(refused.value)
    assert "'-c'" in str(refused.value)


def test_no_name_at_all_is_refused() -> None:
    with pytest.raises(InvalidNames, match="there is none"):
        names.general_names([])


def test_the_same_name_in_another_spelling_is_there_once() -> None:
    assert len(names.general_names(["Web.SVC", "web.svc", "::1", "0:0:0:0:0:0:0:1"])) == 2


def test_a_wildcard_stands_for_exactly_one_label() -> None:
    certificate = make(Shape(names=["*.default.svc"])).certificate
    wanted = ["web.default.svc", "default.svc", "a.web.default.svc", "10.0.0.1"]
    assert names.missing(certificate, wanted) == ["default.svc", "a.web.default.svc", "10.0.0.1"]


def test_a_certificate_without_alternative_names_is_for_nobody() -> None:
    authority = mint.authority(NOON, YEAR)
    assert names.of(authority.certificate) == frozenset()
    assert names.missing(authority.certificate, ["web.svc"]) == ["web.svc"]
