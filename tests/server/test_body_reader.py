"""Bounds on the memory of partial bodies, and on the number of JSON values that are decoded."""

import io
import json
from collections.abc import Iterable

import gevent
import pytest
from gevent.event import Event

from tests.core import builders
from webhook.errors import MalformedCall
from webhook.server.body_reader import BYTES_PER_VALUE, MAX_BUFFERED_BODIES, MAX_VALUES, SMALL_BYTES, BodyReader

MIB = 1 << 20
DEFAULT_MAX_BYTES = 8 * MIB


class Stream:
    """A body that arrives in these pieces. After None, nothing arrives any more."""

    def __init__(self, pieces: Iterable[bytes | None]) -> None:
        self._pieces = iter(pieces)

    def read(self, size: int) -> bytes:
        piece = next(self._pieces, b"")
        if piece is None:
            gevent.sleep(3600)
        assert piece is not None
        assert len(piece) <= size
        return piece


def pieces_of_json(total: int) -> list[bytes]:
    """A JSON text of `total` bytes; the last piece alone is valid JSON too."""
    return [b" " * SMALL_BYTES] * (total // SMALL_BYTES - 1) + [b"{}".rjust(SMALL_BYTES)]


def start_stalled(reader: BodyReader, total: int) -> "gevent.Greenlet[..., object]":
    """A greenlet that reads a body that stalls after `total` bytes."""
    greenlet = gevent.spawn(reader.read_json, Stream([*pieces_of_json(total), None]), None)
    gevent.sleep(0.05)
    return greenlet


def read_status(reader: BodyReader, body: bytes) -> int:
    """200 if the body is decoded, else the HTTP status of the rejection."""
    try:
        reader.read_json(io.BytesIO(body), len(body))
    except MalformedCall as error:
        return error.status
    return 200


def test_stalled_bodies_are_evicted_at_the_memory_bound() -> None:
    reader = BodyReader(MIB)
    stalled = [start_stalled(reader, MIB - SMALL_BYTES) for _ in range(3 * MAX_BUFFERED_BODIES)]
    assert MIB < reader.buffered_bytes <= MAX_BUFFERED_BODIES * MIB
    gevent.killall(stalled)
    assert reader.buffered_bytes == 0


def test_the_largest_partial_body_is_evicted_and_smaller_ones_are_decoded() -> None:
    reader = BodyReader(MIB)
    large = [start_stalled(reader, MIB - SMALL_BYTES) for _ in range(MAX_BUFFERED_BODIES)]
    small = start_stalled(reader, 4 * SMALL_BYTES)
    assert reader.read_json(Stream(pieces_of_json(MIB // 2)), None) == {}
    assert not small.ready()
    assert reader.buffered_bytes < MAX_BUFFERED_BODIES * MIB
    gevent.killall([*large, small])


def test_a_new_body_that_becomes_the_largest_is_rejected_with_503() -> None:
    reader = BodyReader(MIB)
    stalled = [start_stalled(reader, MIB // 2) for _ in range(2 * MAX_BUFFERED_BODIES)]
    with pytest.raises(MalformedCall) as rejected:
        reader.read_json(Stream(pieces_of_json(MIB)), None)
    assert rejected.value.status == 503
    assert reader.buffered_bytes >= (2 * MAX_BUFFERED_BODIES - 1) * MIB // 2
    gevent.killall(stalled)


def test_pieces_after_an_eviction_are_not_decoded_as_a_body() -> None:
    reader = BodyReader(MIB)
    last_piece_arrives = Event()

    class SlowStream(Stream):
        def read(self, size: int) -> bytes:
            piece = super().read(size)
            if piece.endswith(b"}"):
                last_piece_arrives.wait()
            return piece

    slow = gevent.spawn(reader.read_json, SlowStream(pieces_of_json(MIB)), None)
    gevent.sleep(0.05)
    stalled = [start_stalled(reader, MIB - 2 * SMALL_BYTES) for _ in range(MAX_BUFFERED_BODIES)]
    last_piece_arrives.set()
    with pytest.raises(MalformedCall) as rejected:
        slow.get()
    assert rejected.value.status == 503
    gevent.killall(stalled)


@pytest.mark.parametrize("value", [b"{}", b"[]", b"0", b'{"a":1}', b'""', b"{}\n"])
def test_a_body_of_many_tiny_values_is_rejected_with_413(value: bytes) -> None:
    values = b",".join([value] * (DEFAULT_MAX_BYTES // (len(value) + 1) - 8))
    assert read_status(BodyReader(DEFAULT_MAX_BYTES), b'{"a":[' + values + b"]}") == 413


def test_the_maximum_number_of_values_is_decoded_and_one_more_is_rejected() -> None:
    reader = BodyReader(DEFAULT_MAX_BYTES)
    max_values = max(MAX_VALUES, DEFAULT_MAX_BYTES // BYTES_PER_VALUE)
    assert read_status(reader, b"[" + b",".join([b"0"] * max_values) + b"]") == 200
    assert read_status(reader, b"[" + b",".join([b"0"] * (max_values + 1)) + b"]") == 413


def pod_with_variables(count: int) -> builders.Json:
    """A pod of short environment variables with the managedFields that the API server writes for them."""
    names = [f"V{number}" for number in range(count)]
    fields: builders.Json = {f'k:{{"name":"{name}"}}': {".": {}, "f:name": {}, "f:value": {}} for name in names}
    managed = {
        "manager": "kubectl",
        "operation": "Update",
        "apiVersion": "v1",
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:containers": {'k:{"name":"server"}': {".": {}, "f:env": fields}}}},
    }
    server = builders.container(env=[{"name": name, "value": "1"} for name in names])
    return builders.pod(containers=[server], metadata={"managedFields": [managed]})


@pytest.mark.parametrize("max_bytes", [4 * MIB, DEFAULT_MAX_BYTES])
def test_the_densest_pod_that_etcd_can_store_is_decoded(max_bytes: int) -> None:
    """etcd stores 1.5 MiB. One of these variables takes 70 bytes, managedFields included. The review of an update
    contains the pod twice."""
    pod = pod_with_variables((3 * MIB // 2) // 70)
    body = json.dumps({"request": {"object": pod, "oldObject": pod}}, separators=(",", ":")).encode()
    assert read_status(BodyReader(max_bytes), body) == 200
