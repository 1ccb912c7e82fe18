"""Peers that a webhook must survive. `hostile_round` and `crowd` connect to the webhook at a port and count what they
sent. Run them with `in_own_process`, so that they do not slow down the measuring threads."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import socket
import ssl
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack

from testbed.certificates import unverified_tls_context
from testbed.servers import LOOPBACK
from tests.wire.peers import client_hello, count_accepted, post_request, read_response, receive, reset, send_and_close

RESET = "connect and reset"
ACCEPTED_OLD_TLS = "old TLS, accepted"
"""Must stay 0."""
NOT_LISTENING = "not listening"
"""The webhook was restarting."""

TIMEOUT = 15.0
RESETS, OTHERS, SILENT, SLOW = 1000, 10, 64, 10
"""Silent and slow peers stay connected; together they are half of the webhook's maxConnections."""
SLOW_SECONDS = 4.0


MAX_CROWD_SECONDS = 120.0


def in_own_process(act: Callable[..., Mapping[str, int]], *arguments: object) -> Mapping[str, int]:
    """Runs `act` in its own process and returns its counts."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        return process.submit(act, *arguments).result()


def hostile_round(port: int) -> Mapping[str, int]:
    """One round of connections without a valid review."""
    done: Counter[str] = Counter()
    slow = [threading.Thread(target=_send_slowly, args=(port,)) for _ in range(SLOW)]
    for thread in slow:
        thread.start()
    done["slow, byte by byte"] += SLOW
    with ExitStack() as silent:
        for number in range(SILENT):
            done[_attempt("silent, or half a ClientHello", lambda: _hold(port, silent, number % 2))] += 1  # noqa: B023
        for name, times, act in _kinds():
            for _ in range(times):
                done[_attempt(name, lambda: act(port))] += 1  # noqa: B023
        for thread in slow:
            thread.join()
    return done


def _kinds() -> list[tuple[str, int, Callable[[int], str | None]]]:
    """Peers that disconnect: name, number and action, which may return another name to count."""
    return [
        (RESET, RESETS, lambda port: reset(_connect(port))),
        ("plain HTTP", OTHERS, _plain_http),
        ("old TLS, refused", OTHERS, _old_tls),
        ("random bytes", OTHERS, lambda port: send_and_close(_connect(port), os.urandom(500))),
        ("random bytes over TLS", OTHERS, lambda port: send_and_close(_tls(port), os.urandom(500))),
        ("half a request", OTHERS, lambda port: send_and_close(_tls(port), post_request()[:-10])),
        ("closed before the answer", OTHERS, lambda port: send_and_close(_tls(port), post_request())),
        ("3 MB that is not JSON", OTHERS, _three_megabytes),
    ]


def _attempt(name: str, act: Callable[[], str | None]) -> str:
    try:
        return act() or name
    except (OSError, EOFError):
        return NOT_LISTENING


def crowd(port: int, clients: int, seconds: float, answers: int = 0) -> Mapping[str, int]:
    """Clients that send reviews without a pause, each over a new connection that they keep for 0.1 seconds. They go on
    after `seconds` until there are more than `answers`, for MAX_CROWD_SECONDS at most."""
    done: Counter[str] = Counter()
    started = time.monotonic()

    def review() -> None:
        while (elapsed := time.monotonic() - started) < seconds or (
            done["answered"] <= answers and elapsed < MAX_CROWD_SECONDS
        ):
            try:
                with _tls(port) as peer:
                    peer.sendall(post_request())
                    done["answered" if read_response(peer)[0] == 200 else "refused"] += 1
                    time.sleep(0.1)
            except (OSError, EOFError):
                done["given up"] += 1

    threads = [threading.Thread(target=review) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return done


def _connect(port: int) -> socket.socket:
    return socket.create_connection((LOOPBACK, port), timeout=TIMEOUT)


def _tls(port: int) -> ssl.SSLSocket:
    return unverified_tls_context().wrap_socket(_connect(port))


def _hold(port: int, silent: ExitStack, begins: int) -> None:
    peer = silent.enter_context(_connect(port))
    if begins:
        peer.sendall(client_hello()[:100])


def _plain_http(port: int) -> None:
    with _connect(port) as peer:
        peer.sendall(post_request())
        receive(peer)


def _old_tls(port: int) -> str | None:
    context = unverified_tls_context()
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    peer = _connect(port)
    try:
        with context.wrap_socket(peer):
            return ACCEPTED_OLD_TLS
    except ssl.SSLError:
        return None


def _three_megabytes(port: int) -> None:
    with _tls(port) as peer:
        peer.sendall(post_request(b"x" * (3 << 20)))
        read_response(peer)


def _send_slowly(port: int) -> None:
    """Stops shortly before the server's timeout, so that either side may close first."""
    with contextlib.suppress(OSError), _tls(port) as peer:
        pieces = [bytes([byte]) for byte in post_request()]
        count_accepted(peer, pieces[: int(SLOW_SECONDS / 0.2)], pause=0.2)
