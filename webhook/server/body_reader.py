"""Reads and decodes request bodies within a bound on a worker's memory.

Bodies arrive concurrently. If their total exceeds the bound, the largest partial body is evicted: a peer that sends
much and stalls makes room for others, and an ordinary review is never the largest.

Decoding is not interruptible, so large bodies are decoded one at a time and other requests are served between them.
Decoded memory depends on the number of JSON values rather than on bytes (up to 30 times the size of the text), so the
number of values is bounded too.
"""

from typing import Any

import gevent
import orjson
from gevent.lock import Semaphore

from webhook.errors import MalformedCall

MAX_BUFFERED_BODIES = 4
"""Bound on the bytes of all partial bodies of a worker, in bodies of the maximum size."""

SMALL_BYTES = 16 << 10
"""A body with a Content-Length up to this is read in one step and does not count against the bound. Larger bodies are
read in pieces of this size."""

LARGE_BYTES = 256 << 10
"""Bodies above this are decoded one at a time. The slowest body of this size takes 10 ms."""

YIELD_SECONDS = 0.001
"""Pause before a large body is decoded, in which requests that have arrived are served."""

MAX_VALUES = 700_000
BYTES_PER_VALUE = 12
"""Limit on the JSON values of a body, counted as commas and opening brackets: MAX_VALUES, or the maximum body size
divided by BYTES_PER_VALUE if that is more. The densest pod that fits into etcd (1.5 MiB of short variables and their
managedFields) has a third of MAX_VALUES; a review of its update contains it twice. Decoding the worst body within the
limit takes 150 MB for a tenth of a second."""


HEAD_BYTES = 512
"""Bytes of a body that is too large that are kept: an API server's review has its uid there."""


class BodyTooLarge(MalformedCall):
    """The body exceeds a limit. `head` is its beginning."""

    def __init__(self, message: str, head: bytes) -> None:
        self.head = head
        super().__init__(message, 413)


class BodyReader:
    """Reads the bodies of one worker, each of at most `max_bytes`."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._max_values = max(MAX_VALUES, max_bytes // BYTES_PER_VALUE)
        self._partial_bodies: list[_PartialBody] = []
        self._decoding = Semaphore()
        self.buffered_bytes = 0
        """Total size of all partial bodies."""

    def read_json(self, stream: Any, content_length: int | None) -> object:
        """The decoded body read from `stream`. `content_length` is None for a chunked body. Raises MalformedCall, and
        any error of the stream."""
        if content_length is not None and content_length > self._max_bytes:
            raise self._too_large(stream.read(HEAD_BYTES))
        if content_length is not None and content_length <= SMALL_BYTES:
            return _decode(stream.read(SMALL_BYTES))
        body = _PartialBody()
        self._partial_bodies.append(body)
        try:
            while piece := stream.read(SMALL_BYTES):
                self._append(body, piece)
                # Without this, a peer that sends as fast as the worker reads would block all others.
                gevent.sleep(0)
            if len(body.data) > LARGE_BYTES:
                self._check_value_count(body.data)
                with self._decoding:
                    gevent.sleep(YIELD_SECONDS)
            _raise_if_evicted(body)
            return _decode(body.data)
        finally:
            self._remove(body)

    def _append(self, body: "_PartialBody", piece: bytes) -> None:
        """Adds a piece and evicts the largest bodies while the total exceeds the bound. Raises MalformedCall if `body`
        is too large or evicted."""
        _raise_if_evicted(body)
        body.data += piece
        self.buffered_bytes += len(piece)
        if len(body.data) > self._max_bytes:
            raise self._too_large(body.data)
        while self.buffered_bytes > MAX_BUFFERED_BODIES * self._max_bytes:
            self._remove(max(self._partial_bodies, key=lambda each: len(each.data)))
        _raise_if_evicted(body)

    def _remove(self, body: "_PartialBody") -> None:
        """Frees a body's memory; does nothing the second time."""
        if not body.evicted:
            body.evicted = True
            self._partial_bodies.remove(body)
            self.buffered_bytes -= len(body.data)
            body.data = bytearray()

    def _check_value_count(self, data: bytearray) -> None:
        if data.count(b",") + data.count(b"{") + data.count(b"[") > self._max_values:
            message = f"the body has more than {self._max_values} JSON values, more than any pod has"
            raise BodyTooLarge(message, bytes(data[:HEAD_BYTES]))

    def _too_large(self, data: bytes | bytearray) -> BodyTooLarge:
        message = f"the body is larger than {self._max_bytes} bytes (setting maxReviewMebibytes)"
        return BodyTooLarge(message, bytes(data[:HEAD_BYTES]))


class _PartialBody:
    """The part of a body that has arrived."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.evicted = False


def _raise_if_evicted(body: _PartialBody) -> None:
    if body.evicted:
        raise MalformedCall("too many large bodies at the same time; try again", 503)


def _decode(body: bytes | bytearray) -> object:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise MalformedCall(f"the body is not JSON: {error.msg} at character {error.pos}") from None
