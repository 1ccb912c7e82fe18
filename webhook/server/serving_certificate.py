"""The serving certificate, reloaded when its files change.

Each new connection uses the current context. A changed pair is loaded into a new context, which replaces the current
one only if certificate and key match. A half-written or broken pair is therefore never served: the previous pair stays
in use until both files are valid again. A context in use is never modified.
"""

import logging
import os
import ssl
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

from gevent.ssl import SSLContext

from webhook.observe import admission_metrics
from webhook.server import der

_log = logging.getLogger("modelfit.tls")

MAX_FILE_BYTES = 1 << 20
"""Maximum size of the certificate chain and of the key."""

_SETTLE_SECONDS = 2.0
"""Files that changed more recently than this are read again at the next check, because a second write may not change
the file system's timestamp."""

_WEAK = {
    "EE_KEY_TOO_SMALL": "key is too small",
    "CA_KEY_TOO_SMALL": "key of a CA in the chain is too small",
    "CA_MD_TOO_WEAK": "signature of a certificate in the chain uses a weak hash",
}
"""What OpenSSL refuses at its default security level, by its reason."""

_WANT_KEY = "want RSA from 2048 bits, EC P-256, P-384 or P-521, or Ed25519"

FileSignature: TypeAlias = tuple[tuple[int, int, int, int], ...]


class UnusableKeyPair(Exception):
    """The certificate files cannot be served. The message gives the cause and does not quote the files."""


class ServingCertificate:
    """A certificate chain and its key in two PEM files, and optionally the CA bundle that client certificates are
    verified with. Each may be a symlink, as in a mounted Secret."""

    def __init__(self, certificate: Path, key: Path, client_ca: Path | None = None) -> None:
        """Loads the files. Raises UnusableKeyPair."""
        self._paths = (certificate, key, client_ca) if client_ca else (certificate, key)
        self._loaded_signature: FileSignature | None = None
        self._last_error = ""
        self._files = self._read_files()
        self._context, self.expiry = load_context(*self._files)
        admission_metrics.set_certificate_expiry(self.expiry.timestamp())
        admission_metrics.set_certificate_usable(True)

    def context(self) -> SSLContext:
        """The context for the next connection. Costs two stat calls if the files have not changed."""
        try:
            signature = self._file_signature()
            if signature != self._loaded_signature:
                self._loaded_signature = None
                files = self._read_files()
                self._loaded_signature = signature if _is_settled(signature) else None
                if files != self._files:
                    self._replace(files)
                self._last_error = ""
                admission_metrics.set_certificate_usable(True)
        except UnusableKeyPair as error:
            self._report_error(str(error))
        return self._context

    def _replace(self, files: Sequence[bytes]) -> None:
        self._context, self.expiry = load_context(*files)
        self._files = files
        admission_metrics.set_certificate_expiry(self.expiry.timestamp())
        _log.info("certificate reloaded", extra={"fields": {"notAfter": self.expiry.isoformat()}})

    def _report_error(self, cause: str) -> None:
        """Logs an error once, not for each connection."""
        if cause != self._last_error:
            self._last_error = cause
            admission_metrics.set_certificate_usable(False)
            _log.warning("certificate reload failed", extra={"fields": {"cause": cause}})

    def _file_signature(self) -> FileSignature:
        """A value that differs whenever the files may have changed. Raises UnusableKeyPair."""
        try:
            stats = [os.stat(path) for path in self._paths]
        except OSError as error:
            # The files that reappear may have the same signature as before.
            self._loaded_signature = None
            raise UnusableKeyPair(_describe_os_error(error)) from None
        return tuple((stat.st_dev, stat.st_ino, stat.st_size, stat.st_ctime_ns) for stat in stats)

    def _read_files(self) -> Sequence[bytes]:
        return [_read_file(path) for path in self._paths]


def load_context(certificate: bytes, key: bytes, client_ca: bytes | None = None) -> tuple[SSLContext, datetime]:
    """A server context for a PEM pair, and the certificate's notAfter time. With `client_ca` (PEM) a client may present
    a certificate, which must then be valid: probes and metrics are served without one. Raises UnusableKeyPair."""
    # The sockets of gevent's context block their greenlet only.
    context = SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # A resumed session would keep the certificate that it started with.
    context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION
    context.num_tickets = 0
    context.set_alpn_protocols(["http/1.1"])
    try:
        expiry = der.not_after(certificate)
        if not der.is_key_for_api_servers(certificate):
            raise UnusableKeyPair(f"the API server refuses the kind of key; {_WANT_KEY}")
        with _as_file(certificate) as certificate_path, _as_file(key) as key_path:
            context.load_cert_chain(certificate_path, key_path, password=_refuse_password)
    except ssl.SSLError as error:
        raise UnusableKeyPair(_describe_tls_error(error)) from None
    except ValueError as error:
        raise UnusableKeyPair(str(error)) from None
    if client_ca is not None:
        try:
            context.load_verify_locations(cadata=client_ca.decode("ascii"))
        except (ssl.SSLError, ValueError) as error:
            cause = getattr(error, "reason", None) or "unreadable"
            raise UnusableKeyPair(f"the client CA bundle contains no certificates in PEM ({cause})") from None
        context.verify_mode = ssl.CERT_OPTIONAL
    return context, expiry


@contextmanager
def _as_file(data: bytes) -> Iterator[str]:
    """The path of a file with `data`. OpenSSL accepts only paths, and the files at the pair's own paths may have
    changed since they were read. The file is in memory where possible, so a read-only root file system works."""
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


def _read_file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise UnusableKeyPair(_describe_os_error(error)) from None
    if len(data) > MAX_FILE_BYTES:
        raise UnusableKeyPair(f"{path}: larger than {MAX_FILE_BYTES >> 20} MiB")
    return data


def _describe_os_error(error: OSError) -> str:
    return f"{error.filename}: {error.strerror or type(error).__name__}"


def _describe_tls_error(error: ssl.SSLError) -> str:
    if error.reason == "KEY_VALUES_MISMATCH":
        return "the key does not belong to the certificate"
    if error.reason in _WEAK:
        return f"the {_WEAK[error.reason]}; {_WANT_KEY}, and SHA-256"
    return f"not a certificate chain and its private key in PEM ({error.reason or 'unreadable'})"


def _refuse_password() -> str:
    """Password callback. Without it OpenSSL would prompt on the terminal."""
    raise ValueError("the key is encrypted; want a key without a password")


def _is_settled(signature: FileSignature) -> bool:
    return all(changed_ns < time.time_ns() - _SETTLE_SECONDS * 1e9 for *_, changed_ns in signature)
