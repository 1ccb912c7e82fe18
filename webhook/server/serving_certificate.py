"""The serving certificate, re-read when its files change.

Each new connection asks for the current context. A new pair is loaded into a new context, which replaces the old one
only if the certificate and the key belong together, so that neither a half-written pair nor a broken one is ever
served: the last good pair is, until both files agree again. A context that is in use is never changed.
"""

import logging
import os
import ssl
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

from gevent.ssl import SSLContext

from webhook.observe import admission_metrics
from webhook.server import der

_log = logging.getLogger("modelfit.tls")

MAX_FILE = 1 << 20
"""Bytes of a certificate chain or a key."""

_SETTLED_SECONDS = 2.0
"""Files that changed more recently are read again on the next look: a second write may fall into the same tick of the
file system's clock."""

Signature: TypeAlias = tuple[tuple[int, int, int, int], ...]


class UnusablePair(Exception):
    """The two files cannot be served. The message says why, without quoting them."""


class ServingCertificate:
    """A certificate chain and its key in two files (PEM), the kubelet's symlinks among them."""

    def __init__(self, certificate: Path, key: Path) -> None:
        """Loads the pair. Raises UnusablePair."""
        self._paths = (certificate, key)
        self._seen: Signature | None = None
        self._complaint = ""
        self._pair = self._read()
        self._context, self.expiry = load(*self._pair)
        admission_metrics.serving_certificate(self.expiry.timestamp())
        admission_metrics.certificate_files(usable=True)

    def context(self) -> SSLContext:
        """The context for the next connection. Two stat calls where nothing has changed."""
        try:
            seen = self._sign()
            if seen != self._seen:
                self._seen = None
                pair = self._read()
                self._seen = seen if _is_settled(seen) else None
                if pair != self._pair:
                    self._replace(pair)
                self._complaint = ""
                admission_metrics.certificate_files(usable=True)
        except UnusablePair as error:
            self._complain(str(error))
        return self._context

    def _replace(self, pair: tuple[bytes, bytes]) -> None:
        self._context, self.expiry = load(*pair)
        self._pair = pair
        admission_metrics.serving_certificate(self.expiry.timestamp())
        _log.info("serving a new certificate", extra={"fields": {"notAfter": self.expiry.isoformat()}})

    def _complain(self, cause: str) -> None:
        """Once for each fault, not once for each connection."""
        if cause != self._complaint:
            self._complaint = cause
            admission_metrics.certificate_files(usable=False)
            _log.warning("kept the old certificate", extra={"fields": {"cause": cause}})

    def _sign(self) -> Signature:
        """Changes whenever the files may have."""
        try:
            stats = [os.stat(path) for path in self._paths]
        except OSError as error:
            # When they are back, they are read.
            self._seen = None
            raise UnusablePair(_os_error(error)) from None
        return tuple((stat.st_dev, stat.st_ino, stat.st_size, stat.st_ctime_ns) for stat in stats)

    def _read(self) -> tuple[bytes, bytes]:
        certificate, key = self._paths
        return _content(certificate), _content(key)


def load(certificate: bytes, key: bytes) -> tuple[SSLContext, datetime]:
    """A context that serves this pair (PEM), and when the certificate ends. Raises UnusablePair."""
    # gevent's: the sockets that it makes wait in their own greenlet.
    context = SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # A resumed session would go on under the certificate that it began with.
    context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION
    context.num_tickets = 0
    context.set_alpn_protocols(["http/1.1"])
    try:
        expiry = der.not_after(certificate)
        with _as_file(certificate) as certificate_path, _as_file(key) as key_path:
            context.load_cert_chain(certificate_path, key_path, password=_no_password)
    except ssl.SSLError as error:
        raise UnusablePair(_tls_error(error)) from None
    except ValueError as error:
        raise UnusablePair(str(error)) from None
    return context, expiry


@contextmanager
def _as_file(data: bytes) -> Iterator[str]:
    """A path to these very bytes. OpenSSL takes only paths, and what stands at the pair's own paths may be the next
    pair by now. In memory where the system can, so that a read-only root will do."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("pem")
        try:
            os.write(descriptor, data)
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
    else:
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            yield file.name


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE + 1)
    except OSError as error:
        raise UnusablePair(_os_error(error)) from None
    if len(data) > MAX_FILE:
        raise UnusablePair(f"{path}: more than {MAX_FILE >> 20} MiB")
    return data


def _os_error(error: OSError) -> str:
    return f"{error.filename}: {error.strerror or type(error).__name__}"


def _tls_error(error: ssl.SSLError) -> str:
    if error.reason == "KEY_VALUES_MISMATCH":
        return "the key does not belong to the certificate"
    return f"no certificate chain and its private key in PEM ({error.reason or 'unreadable'})"


def _no_password() -> str:
    """Answers for OpenSSL, which would ask the terminal."""
    raise ValueError("the key is encrypted; want one without a password")


def _is_settled(signature: Signature) -> bool:
    return all(changed < time.time_ns() - _SETTLED_SECONDS * 1e9 for *_, changed in signature)
