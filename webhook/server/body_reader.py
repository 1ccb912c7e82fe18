"""The bodies of calls, within what a worker may hold of them and what it can decode without harm to others.

Bodies arrive side by side. Where they come to more than there is room for, the one of which most has arrived is given
up: who sends much and stalls makes room for others, and an ordinary review is never the largest. Decoding is not
interrupted, so the large ones take turns, and whoever else waits is answered in between. Decoded, a body takes memory
by its values rather than by its bytes: 30 times its size where it is all brackets. So their number is bounded as well.
"""

from typing import Any

import gevent
import orjson
from gevent.lock import Semaphore

from webhook.errors import MalformedCall

ROOM = 4
"""Bodies of the largest size that a worker holds at a time."""

SMALL_BYTES = 16 << 10
"""A body of this announced length is read at once and not counted: it is little for as many as there may be
connections. Others are read in pieces of this size."""

LARGE_BYTES = 256 << 10
"""Above this a body is decoded in its turn. The worst of this size take 10 ms."""

PAUSE_SECONDS = 0.001
"""Before a large one is decoded, for what has arrived meanwhile."""

MOST_VALUES = 700_000
BYTES_PER_VALUE = 12
"""A body may have so many values, by its commas and opening brackets, or one in so many bytes of the largest body where
that is more. The densest pod that etcd stores (1.5 MiB of short variables and their managedFields) has a third of that,
and a review of its update has it twice. The worst of such bodies take 150 MB for a tenth of a second."""


class BodyReader:
    """What a worker holds of bodies, each of at most `largest` bytes."""

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self._most_values = max(MOST_VALUES, largest // BYTES_PER_VALUE)
        self._arriving: list[_Arriving] = []
        self.held = 0
        """Bytes of all that are on their way."""
        self._turn = Semaphore()

    def document(self, stream: Any, length: int | None) -> object:
        """The JSON in the body that `stream` reads, of which `length` bytes are announced. Raises MalformedCall, and
        what the stream raises."""
        if length is not None and length > self._largest:
            raise self._too_large()
        if length is not None and length <= SMALL_BYTES:
            return _decoded(stream.read(SMALL_BYTES))
        body = _Arriving()
        self._arriving.append(body)
        try:
            while piece := stream.read(SMALL_BYTES):
                self._add(body, piece)
                # A peer that sends as fast as it is read would have the worker to itself.
                gevent.sleep(0)
            if len(body.data) > LARGE_BYTES:
                self._count_values(body.data)
                with self._turn:
                    gevent.sleep(PAUSE_SECONDS)
            self._check(body)
            return _decoded(body.data)
        finally:
            self._forget(body)

    def _add(self, body: "_Arriving", piece: bytes) -> None:
        """More of a body. Where it is too much, the largest is forgotten. Raises MalformedCall where that is this one,
        now or since it was last added to."""
        self._check(body)
        body.data += piece
        self.held += len(piece)
        if len(body.data) > self._largest:
            raise self._too_large()
        while self.held > ROOM * self._largest:
            self._forget(max(self._arriving, key=lambda each: len(each.data)))
        self._check(body)

    def _check(self, body: "_Arriving") -> None:
        if body.forgotten:
            raise MalformedCall("more and larger bodies at a time than there is room for; try again", 503)

    def _forget(self, body: "_Arriving") -> None:
        if not body.forgotten:
            body.forgotten = True
            self._arriving.remove(body)
            self.held -= len(body.data)
            body.data = bytearray()

    def _count_values(self, data: bytearray) -> None:
        if data.count(b",") + data.count(b"{") + data.count(b"[") > self._most_values:
            raise MalformedCall(f"the body has more than {self._most_values} values; no pod has as many", 413)

    def _too_large(self) -> MalformedCall:
        return MalformedCall(f"the body is larger than {self._largest} bytes (setting maxReviewMebibytes)", 413)


class _Arriving:
    """A body, as far as it has come."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.forgotten = False


def _decoded(body: bytes | bytearray) -> object:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise MalformedCall(f"the body is not JSON: {error.msg} at character {error.pos}") from None
