"""What a worker holds of bodies, and what it decodes."""

import io
import json
from collections.abc import Iterable, Iterator

import gevent
import pytest
from gevent.event import Event

from tests.core import kit
from webhook.errors import MalformedCall
from webhook.server.body_reader import BYTES_PER_VALUE, MOST_VALUES, ROOM, SMALL_BYTES, BodyReader

MIB = 1 << 20
LARGEST = 8 * MIB


class Peer:
    """A body that arrives in these pieces; where there is none, it stays away for good."""

    def __init__(self, pieces: Iterable[bytes | None]) -> None:
        self._pieces: Iterator[bytes | None] = iter(pieces)

    def read(self, size: int) -> bytes:
        piece = next(self._pieces, b"")
        if piece is None:
            gevent.sleep(3600)
        assert piece is not None
        assert len(piece) <= size
        return piece


def pieces(total: int) -> list[bytes]:
    """So many bytes, the last of a JSON text."""
    return [b" " * SMALL_BYTES] * (total // SMALL_BYTES - 1) + [b"{}".rjust(SMALL_BYTES)]


def stalled(bodies: BodyReader, total: int) -> "gevent.Greenlet[..., object]":
    """A peer that stops after so many bytes of a body."""
    greenlet = gevent.spawn(bodies.document, Peer([*pieces(total), None]), None)
    gevent.sleep(0.05)
    return greenlet


def status(bodies: BodyReader, body: bytes) -> int:
    """200 where it is decoded; else the HTTP status of the refusal."""
    try:
        bodies.document(io.BytesIO(body), len(body))
    except MalformedCall as error:
        return error.status
    return 200


def test_peers_that_stall_hold_no_more_than_there_is_room_for() -> None:
    bodies = BodyReader(MIB)
    peers = [stalled(bodies, MIB - SMALL_BYTES) for _ in range(3 * ROOM)]
    assert MIB < bodies.held <= ROOM * MIB
    for peer in peers:
        peer.kill()
    assert bodies.held == 0


def test_the_largest_makes_room_and_the_smaller_are_answered() -> None:
    bodies = BodyReader(MIB)
    peers = [stalled(bodies, MIB - SMALL_BYTES) for _ in range(ROOM)]
    small = stalled(bodies, 4 * SMALL_BYTES)
    assert bodies.document(Peer(pieces(MIB // 2)), None) == {}
    assert not small.ready()
    assert bodies.held < ROOM * MIB
    for peer in [*peers, small]:
        peer.kill()


def test_who_is_the_largest_itself_is_refused() -> None:
    bodies = BodyReader(MIB)
    peers = [stalled(bodies, MIB // 2) for _ in range(2 * ROOM)]
    with pytest.raises(MalformedCall) as refused:
        bodies.document(Peer(pieces(MIB)), None)
    assert refused.value.status == 503
    assert bodies.held >= (2 * ROOM - 1) * MIB // 2
    for peer in peers:
        peer.kill()


def test_what_has_been_forgotten_is_not_decoded_from_what_came_after() -> None:
    """Its last piece would be a body of its own."""
    bodies = BodyReader(MIB)
    arrives = Event()

    class Slow(Peer):
        def read(self, size: int) -> bytes:
            piece = super().read(size)
            if piece.endswith(b"}"):
                arrives.wait()
            return piece

    slow = gevent.spawn(bodies.document, Slow(pieces(MIB)), None)
    gevent.sleep(0.05)
    peers = [stalled(bodies, MIB - 2 * SMALL_BYTES) for _ in range(ROOM)]
    arrives.set()
    with pytest.raises(MalformedCall) as refused:
        slow.get()
    assert refused.value.status == 503
    for peer in peers:
        peer.kill()


def test_a_body_of_nothing_but_brackets_is_not_decoded() -> None:
    bodies = BodyReader(LARGEST)
    for unit in (b"{}", b"[]", b"0", b'{"a":1}', b'""', b"{},\n"):
        body = b'{"a":[' + b",".join([unit.rstrip(b",\n")] * (LARGEST // (len(unit) + 1) - 8)) + b"]}"
        assert status(bodies, body) == 413, unit


def test_a_body_has_as_many_values_as_are_allowed() -> None:
    bodies = BodyReader(LARGEST)
    most = max(MOST_VALUES, LARGEST // BYTES_PER_VALUE)
    assert status(bodies, b"[" + b",".join([b"0"] * most) + b"]") == 200
    assert status(bodies, b"[" + b",".join([b"0"] * (most + 1)) + b"]") == 413


def densest(values: int) -> kit.Json:
    """A pod of short variables with the managedFields that the API server writes for them."""
    names = [f"V{number}" for number in range(values)]
    fields: kit.Json = {f'k:{{"name":"{name}"}}': {".": {}, "f:name": {}, "f:value": {}} for name in names}
    managed = {
        "manager": "kubectl",
        "operation": "Update",
        "apiVersion": "v1",
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:containers": {'k:{"name":"server"}': {".": {}, "f:env": fields}}}},
    }
    server = kit.container(env=[{"name": name, "value": "1"} for name in names])
    return kit.pod(containers=[server], metadata={"managedFields": [managed]})


@pytest.mark.parametrize("largest", [4 * MIB, LARGEST])
def test_the_densest_pod_that_etcd_stores_is_decoded(largest: int) -> None:
    """It takes 1.5 MiB; a variable like these is 70 bytes there, its managedFields included. A review of an update has
    the pod twice."""
    one = densest((3 * MIB // 2) // 70)
    body = json.dumps({"request": {"object": one, "oldObject": one}}, separators=(",", ":")).encode()
    assert status(BodyReader(largest), body) == 200
