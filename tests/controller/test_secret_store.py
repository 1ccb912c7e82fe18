"""A Secret as a store: what it keeps of others', and who loses a race."""

import base64

import pytest

from certs.errors import Conflict, Exists
from tests.controller.objects import SECRET, Objects
from webhook.cluster.api_errors import ApiError, ErrorReason


@pytest.fixture
def objects() -> Objects:
    return Objects()


def test_what_is_written_is_read_and_what_is_others_stays(objects: Objects) -> None:
    objects.make_secret({"tls.crt": b"old", "ca.key": b"old", "notes": b"mine"})
    store = objects.store()
    stored = store.read()
    assert stored is not None
    store.write({"tls.crt": b"new"}, stored.version)
    after = objects.store().read()
    assert after is not None
    assert after.data == {"tls.crt": b"new", "notes": b"mine"}
    assert after.version != stored.version
    assert objects.there[SECRET]["metadata"]["labels"] == {"a": "b"}


@pytest.mark.parametrize("data", [None, {}], ids=["no data", "empty data"])
def test_an_empty_secret_is_something(objects: Objects, data: dict[str, bytes] | None) -> None:
    objects.make_secret(data)
    stored = objects.store().read()
    assert stored is not None
    assert stored.data == {}


def test_a_null_entry_is_empty(objects: Objects) -> None:
    objects.put(SECRET, {"metadata": {}, "data": {"tls.crt": None}})
    stored = objects.store().read()
    assert stored is not None
    assert stored.data == {"tls.crt": b""}


def test_a_secret_that_is_not_there_is_none_and_can_be_created_once(objects: Objects) -> None:
    store = objects.store()
    assert store.read() is None
    store.create({"tls.crt": b"new"})
    assert objects.there[SECRET]["type"] == "Opaque"
    assert objects.there[SECRET]["data"] == {"tls.crt": base64.b64encode(b"new").decode()}
    with pytest.raises(Exists, match="Secret modelfit/tls"):
        store.create({"tls.crt": b"other"})


def test_who_may_not_create_it_is_told_that_it_is_missing(objects: Objects) -> None:
    def forbid(method: str, path: str) -> None:
        if method == "POST":
            raise ApiError(ErrorReason.FORBIDDEN, "cannot create", 403)

    objects.before = forbid
    with pytest.raises(
        ApiError, match="Secret modelfit/tls does not exist and cannot be created: cannot create"
    ) as told:
        objects.store().create({})
    assert (told.value.reason, told.value.status) == (ErrorReason.FORBIDDEN, 403)


def test_a_version_that_is_not_the_stored_one_any_more_is_a_conflict(objects: Objects) -> None:
    objects.make_secret({})
    first, second = objects.store(), objects.store()
    versions = [stored.version for store in (first, second) if (stored := store.read())]
    second.write({"tls.crt": b"winner"}, versions[1])
    with pytest.raises(Conflict):
        first.write({"tls.crt": b"loser"}, versions[0])
    # One that was read before the last one is none either.
    first.read()
    with pytest.raises(Conflict):
        first.write({"tls.crt": b"loser"}, versions[0])
    # What was written is not what was read: it has to be read again.
    with pytest.raises(Conflict):
        second.write({"tls.crt": b"again"}, str(objects.version))
    assert objects.data() == {"tls.crt": b"winner"}


def test_a_secret_that_went_away_is_a_conflict(objects: Objects) -> None:
    objects.make_secret({})
    store = objects.store()
    stored = store.read()
    del objects.there[SECRET]
    assert stored is not None
    with pytest.raises(Conflict):
        store.write({}, stored.version)


@pytest.mark.parametrize("kind", [ErrorReason.UNREACHABLE, ErrorReason.FORBIDDEN])
def test_other_failures_pass_through(objects: Objects, kind: ErrorReason) -> None:
    objects.make_secret({})
    store = objects.store()
    stored = store.read()
    assert stored is not None

    def fail(method: str, path: str) -> None:
        raise ApiError(kind, "no")

    objects.before = fail
    for action in (store.read, lambda: store.write({}, stored.version)):
        with pytest.raises(ApiError) as told:
            action()
        assert told.value.reason is kind
