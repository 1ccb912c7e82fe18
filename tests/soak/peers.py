"""Peers that a webhook is to survive: `hostilities` and `crowd` talk to the one at a port, and count by name what they
did. Run them `apart`, so that they do not slow down those who measure."""

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
"""What must never be counted."""
NOBODY = "nobody there"
"""The webhook was restarted just then."""

PATIENCE = 15.0
RESETS, OTHERS, SILENT, SLOW = 1000, 10, 64, 10
"""Those that are silent and slow stay, and are half as many as a webhook lets in here."""
SLOW_SECONDS = 4.0


def apart(act: Callable[..., Mapping[str, int]], *arguments: object) -> Mapping[str, int]:
    """What `act` counts, in a process of its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        return process.submit(act, *arguments).result()


def hostilities(port: int) -> Mapping[str, int]:
    """One round of everything that is no review."""
    done: Counter[str] = Counter()
    slow = [threading.Thread(target=_drip, args=(port,)) for _ in range(SLOW)]
    for thread in slow:
        thread.start()
    done["a byte now and then"] += SLOW
    with ExitStack() as silent:
        for number in range(SILENT):
            done[_attempt("silent, or half a ClientHello", lambda: _stay(port, silent, number % 2))] += 1  # noqa: B023
        for name, times, act in _kinds():
            for _ in range(times):
                done[_attempt(name, lambda: act(port))] += 1  # noqa: B023
        for thread in slow:
            thread.join()
    return done


def _kinds() -> list[tuple[str, int, Callable[[int], str | None]]]:
    """What each sends that does not stay: its name, how many there are, and the deed, which may give another name."""
    return [
        (RESET, RESETS, lambda port: reset(_connect(port))),
        ("plain HTTP", OTHERS, _plain_http),
        ("old TLS, refused", OTHERS, _old_tls),
        ("random bytes", OTHERS, lambda port: send_and_close(_connect(port), os.urandom(500))),
        ("random bytes over TLS", OTHERS, lambda port: send_and_close(_tls(port), os.urandom(500))),
        ("half a request", OTHERS, lambda port: send_and_close(_tls(port), post_request()[:-10])),
        ("gone before the answer", OTHERS, lambda port: send_and_close(_tls(port), post_request())),
        ("3 MB of no JSON", OTHERS, _three_megabytes),
    ]


def _attempt(name: str, act: Callable[[], str | None]) -> str:
    try:
        return act() or name
    except (OSError, EOFError):
        return NOBODY


def crowd(port: int, clients: int, seconds: float) -> Mapping[str, int]:
    """So many clients that review without a pause, each time over a new connection, which it keeps for a moment."""
    done: Counter[str] = Counter()
    ends = time.monotonic() + seconds

    def review() -> None:
        while time.monotonic() < ends:
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
    return socket.create_connection((LOOPBACK, port), timeout=PATIENCE)


def _tls(port: int) -> ssl.SSLSocket:
    return unverified_tls_context().wrap_socket(_connect(port))


def _stay(port: int, silent: ExitStack, begins: int) -> None:
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


def _drip(port: int) -> None:
    """Stops by itself before the server's patience ends, so that the two take turns at ending it."""
    with contextlib.suppress(OSError), _tls(port) as peer:
        pieces = [bytes([byte]) for byte in post_request()]
        count_accepted(peer, pieces[: int(SLOW_SECONDS / 0.2)], pause=0.2)
