"""With --client-ca-file, reviews need a client certificate; probes and metrics do not."""

import json
import ssl
from pathlib import Path

import pytest

from tests.wire.certificates import CertificateAuthority, SecretMount
from tests.wire.peers import post_request, read_response
from tests.wire.server_process import Launcher, RunningServer, post_review


@pytest.fixture
def client_ca(tmp_path: Path) -> CertificateAuthority:
    """A CA of its own, whose bundle is `client-ca.crt`."""
    ca = CertificateAuthority()
    (tmp_path / "client-ca.crt").write_bytes(ca.certificate())
    return ca


def present(server: RunningServer, pair: tuple[bytes, bytes], folder: Path) -> None:
    """The server's clients present this certificate from now on."""
    (folder / "client.crt").write_bytes(pair[0])
    (folder / "client.key").write_bytes(pair[1])
    server.context = ssl.create_default_context(cafile=server.ca_file)
    server.context.load_cert_chain(folder / "client.crt", folder / "client.key")


def refusal(server: RunningServer) -> str:
    """The error of a review that is answered with 403."""
    peer = server.tls()
    peer.sendall(post_request())
    status, _, body = read_response(peer)
    assert status == 403
    return str(json.loads(body)["error"])


def test_a_review_needs_a_certificate_of_the_client_ca(
    launcher: Launcher, tmp_path: Path, client_ca: CertificateAuthority
) -> None:
    with launcher.serving(f"--client-ca-file={tmp_path / 'client-ca.crt'}") as server:
        assert refusal(server).startswith("client certificate: none")
        assert [server.get(path)[0] for path in ("/healthz", "/readyz", "/metrics")] == [200, 200, 200]
        present(server, client_ca.issue("kube-apiserver"), tmp_path)
        post_review(server.client())


def test_a_certificate_of_another_ca_fails_the_handshake(
    launcher: Launcher, tmp_path: Path, client_ca: CertificateAuthority
) -> None:
    with launcher.serving(f"--client-ca-file={tmp_path / 'client-ca.crt'}") as server:
        present(server, CertificateAuthority().issue("kube-apiserver"), tmp_path)
        with pytest.raises((ssl.SSLError, ConnectionError, EOFError)):
            refusal(server)


def test_only_allowed_names_may_send_reviews(
    launcher: Launcher, tmp_path: Path, client_ca: CertificateAuthority
) -> None:
    flags = (f"--client-ca-file={tmp_path / 'client-ca.crt'}", "--client-name=kube-apiserver", "--client-name=other")
    with launcher.serving(*flags) as server:
        present(server, client_ca.issue("kube-apiserver"), tmp_path)
        post_review(server.client())
        present(server, client_ca.issue("another"), tmp_path)
        assert "names are not allowed" in refusal(server)


def test_a_replaced_client_ca_is_used_for_the_next_connection(
    launcher: Launcher, tmp_path: Path, client_ca: CertificateAuthority, mount: SecretMount
) -> None:
    bundle = tmp_path / "client-ca.crt"
    with launcher.serving(f"--client-ca-file={bundle}") as server:
        successor = CertificateAuthority()
        bundle.write_bytes(client_ca.certificate() + successor.certificate())
        present(server, successor.issue("kube-apiserver"), tmp_path)
        post_review(server.client())
