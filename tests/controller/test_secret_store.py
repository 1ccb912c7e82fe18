"""What a write keeps, and which writer loses a race."""

import base64

import pytest

from tests.controller.fake_api_server import SECRET, FakeApiServer, fail
from webhook.cluster.api_errors import ApiError, ErrorReason
from webhook.cluster.secret_store import SecretStore, StoredSecret


@pytest.fixture
def server() -> FakeApiServer:
    return FakeApiServer()


def read(store: SecretStore) -> StoredSecret:
    stored = store.read()
    assert stored is not None
    return stored


def test_a_write_replaces_the_certificates_and_keeps_everything_else(server: FakeApiServer) -> None:
    server.make_secret({"tls.crt": b"old", "ca.key": b"old", "notes": b"mine"})
    store = server.store()
    store.write({"tls.crt": b"new"}, read(store))
    assert read(store).data == {"tls.crt": b"new", "notes": b"mine"}
    assert server.objects[SECRET]["metadata"]["labels"] == {"a": "b"}


@pytest.mark.parametrize("data", [None, {}], ids=["no data", "empty data"])
def test_an_empty_secret_exists(server: FakeApiServer, data: dict[str, bytes] | None) -> None:
    server.make_secret(data)
    assert read(server.store()).data == {}


def test_a_null_value_is_empty(server: FakeApiServer) -> None:
    server.put(SECRET, {"metadata": {}, "data": {"tls.crt": None}})
    assert read(server.store()).data == {"tls.crt": b""}


def test_a_missing_secret_is_created_once(server: FakeApiServer) -> None:
    store = server.store()
    assert store.read() is None
    store.write({"tls.crt": b"new"}, None)
    assert server.objects[SECRET]["type"] == "Opaque"
    assert server.objects[SECRET]["data"] == {"tls.crt": base64.b64encode(b"new").decode()}
    with pytest.raises(ApiError, match="Secret modelfit/tls") as error:
        store.write({"tls.crt": b"other"}, None)
    assert error.value.reason is ErrorReason.CONFLICT


def test_a_secret_that_cannot_be_created_is_reported_as_missing(server: FakeApiServer) -> None:
    server.before = fail(ErrorReason.FORBIDDEN, method="POST")
    with pytest.raises(ApiError, match="Secret modelfit/tls does not exist and cannot be created: no") as error:
        server.store().write({}, None)
    assert error.value.reason is ErrorReason.FORBIDDEN


@pytest.mark.parametrize("change", ["written", "deleted"])
def test_a_secret_that_has_changed_since_it_was_read_is_a_conflict(server: FakeApiServer, change: str) -> None:
    server.make_secret({})
    store = server.store()
    stored = read(store)
    if change == "written":
        store.write({"tls.crt": b"winner"}, stored)
    else:
        del server.objects[SECRET]
    with pytest.raises(ApiError) as error:
        store.write({"tls.crt": b"loser"}, stored)
    assert error.value.reason is ErrorReason.CONFLICT
    assert server.objects.get(SECRET, {}).get("data", {}).get("tls.crt") != base64.b64encode(b"loser").decode()


@pytest.mark.parametrize("reason", [ErrorReason.UNREACHABLE, ErrorReason.FORBIDDEN])
def test_other_errors_are_raised_unchanged(server: FakeApiServer, reason: ErrorReason) -> None:
    server.make_secret({})
    store = server.store()
    stored = read(store)
    server.before = fail(reason)
    for call in (store.read, lambda: store.write({}, stored)):
        with pytest.raises(ApiError) as error:
            call()
        assert error.value.reason is reason


def test_private_keys_are_in_no_repr(server: FakeApiServer) -> None:
    server.make_secret({"tls.key": b"secret"})
    assert base64.b64encode(b"secret").decode() not in repr(read(server.store()))
    assert "secret'" not in repr(read(server.store()))
