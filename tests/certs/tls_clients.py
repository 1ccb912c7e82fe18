"""Clients that check certificates independently of `certs.verification`.

`handshake` is OpenSSL in strict mode, in memory, at the current time. `accepts` is path validation by `cryptography`
with its default policy (the rules of the Web PKI), which is stricter than Go's, at any time.
"""

import ssl
import tempfile
from datetime import datetime
from pathlib import Path

from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from certs import pem
from certs.pem import KeyPair


def handshake(bundle: bytes, pair: KeyPair, name: str) -> None:
    """A TLS handshake with a client that trusts `bundle`. Raises ssl.SSLCertVerificationError."""
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.verify_flags |= ssl.VerifyFlags.VERIFY_X509_STRICT
    client.load_verify_locations(cadata=bundle.decode())
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = (
        client.wrap_bio(to_client, to_server, server_hostname=name),
        _server(pair).wrap_bio(to_server, to_client, server_side=True),
    )
    unfinished = list(ends)
    for _ in range(10):
        unfinished = [end for end in unfinished if not _finished(end)]
        if not unfinished:
            served = ends[0].getpeercert(binary_form=True)
            assert served == ssl.PEM_cert_to_DER_cert(pem.dump_certificates((pair.certificate,)).decode())
            return
    raise AssertionError("the handshake does not end")


def accepts(bundle: bytes, leaf: x509.Certificate, name: str, at: datetime) -> bool:
    """Whether a client that trusts `bundle` accepts `leaf` for the DNS name `name` at a time."""
    return acceptance(bundle, leaf, name, at) is not None


def acceptance(bundle: bytes, leaf: x509.Certificate, name: str, at: datetime) -> tuple[datetime, datetime] | None:
    """The period around `at` in which the client accepts the leaf by the path that it found; None if it does not."""
    anchors = Store(x509.load_pem_x509_certificates(bundle))
    verifier = PolicyBuilder().store(anchors).time(at.replace(tzinfo=None)).build_server_verifier(x509.DNSName(name))
    try:
        path = verifier.verify(leaf, [])
    except VerificationError:
        return None
    return max(each.not_valid_before_utc for each in path), min(each.not_valid_after_utc for each in path)


def _server(pair: KeyPair) -> ssl.SSLContext:
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "pair.pem")
        path.write_bytes(pem.dump_certificates((pair.certificate, *pair.chain)) + pair.key)
        server.load_cert_chain(path)
    return server


def _finished(end: ssl.SSLObject) -> bool:
    try:
        end.do_handshake()
    except ssl.SSLWantReadError:
        return False
    return True
