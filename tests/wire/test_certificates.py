"""The certificate that is server follows its files, and only whole pairs are server."""

import http.client
import os
import signal
import ssl
import threading
import warnings
from datetime import timedelta
from pathlib import Path

import pytest

from tests.wire.certificates import CertificateAuthority, SecretMount
from tests.wire.server_process import Launcher, RunningServer, post_review, wait_until


@pytest.mark.parametrize("workers", [1, 2])
def test_a_swapped_pair_is_served_on_the_next_connection(
    launcher: Launcher, mount: SecretMount, ca: CertificateAuthority, workers: int
) -> None:
    with launcher.serving(f"--workers={workers}") as server:
        kept = server.client()
        post_review(kept)
        connection = kept.sock
        for name in ("second", "third", "fourth"):
            mount.update(ca.issue(name))
            assert [server.served_common_name() for _ in range(4)] == [name] * 4
        post_review(kept)
        assert kept.sock is connection


def test_files_that_are_written_over_are_served_too(
    launcher: Launcher, mount: SecretMount, ca: CertificateAuthority
) -> None:
    with launcher.serving() as server:
        for name in ("second", "third"):
            certificate, key = ca.issue(name)
            mount.certificate.write_bytes(certificate)
            mount.key.write_bytes(key)
            assert server.served_common_name() == name


def test_a_pair_that_does_not_match_is_never_served(
    launcher: Launcher, mount: SecretMount, ca: CertificateAuthority
) -> None:
    with launcher.serving() as server:
        certificate, key = ca.issue("second")
        mount.certificate.write_bytes(certificate)
        assert [server.served_common_name() for _ in range(5)] == ["first"] * 5
        wait_until(lambda: bool(server.log_lines("certificate reload failed")), "the complaint")
        assert server.metric("modelfit_unusable_certificate") == 1
        mount.key.write_bytes(key)
        assert server.served_common_name() == "second"
        assert len(server.log_lines("certificate reload failed")) == 1
        assert server.metric("modelfit_unusable_certificate") == 0


@pytest.mark.parametrize("workers", [1, 2])
def test_a_pair_that_cannot_be_served_shows_for_as_long_as_it_is_there(
    launcher: Launcher, mount: SecretMount, ca: CertificateAuthority, workers: int
) -> None:
    """Whichever worker read it first, and also if that one is no more."""
    gauge = "modelfit_unusable_certificate"
    with launcher.serving(f"--workers={workers}") as server:
        good = mount.certificate.read_bytes(), mount.key.read_bytes()
        mount.update((good[0], ca.issue("second")[1]))
        wait_until(lambda: server.metric(gauge) == 1, "the gauge")
        os.kill(server.workers[0], signal.SIGKILL)
        wait_until(lambda: len(server.workers) == workers, "another worker")
        mount.update(good)
        wait_until(lambda: server.metric(gauge) == 0, "its end")


@pytest.mark.parametrize(
    "broken", [b"", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", b"\0" * 99, None]
)
def test_a_broken_pair_is_never_served(
    launcher: Launcher, mount: SecretMount, ca: CertificateAuthority, broken: bytes | None
) -> None:
    with launcher.serving() as server:
        if broken is None:
            mount.certificate.unlink()
        else:
            mount.certificate.write_bytes(broken)
        assert [server.served_common_name() for _ in range(5)] == ["first"] * 5
        assert len(server.log_lines("certificate reload failed")) == 1
        certificate, key = ca.issue("second")
        mount.certificate.write_bytes(certificate)
        mount.key.write_bytes(key)
        assert server.served_common_name() == "second"


def test_swaps_under_load_fail_no_handshake(launcher: Launcher, mount: SecretMount, ca: CertificateAuthority) -> None:
    """Some swaps are atomic, some write one file after the other."""
    with launcher.serving() as server:
        failures: list[BaseException] = []
        names: set[str] = set()
        done = threading.Event()

        def load() -> None:
            try:
                while not done.is_set():
                    names.add(server.served_common_name())
                    client = http.client.HTTPSConnection(server.host, server.port, timeout=10, context=server.context)
                    post_review(client)
                    client.close()
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=load) for _ in range(3)]
        for thread in threads:
            thread.start()
        for generation in range(20):
            pair = ca.issue(f"pair {generation}")
            if generation % 2:
                mount.update(pair)
            else:
                mount.certificate.write_bytes(pair[0])
                wait_until(lambda: bool(server.served_common_name()), "a handshake between the two writes")
                mount.key.write_bytes(pair[1])
            wait_until(lambda name=f"pair {generation}": name in names or bool(failures), "the new pair")  # type: ignore[misc]
        done.set()
        for thread in threads:
            thread.join()
        assert not failures
        assert names >= {f"pair {generation}" for generation in range(20)}


def test_the_end_of_the_served_certificate_is_a_metric(
    launcher: Launcher, mount: SecretMount, ca: CertificateAuthority
) -> None:
    gauge = "modelfit_serving_certificate_expiry_timestamp_seconds"
    for workers in (1, 2):
        mount.update(ca.issue("a day"))
        with launcher.serving(f"--workers={workers}") as server:
            day = (ca.now + timedelta(days=1)).timestamp()
            assert server.metric(gauge) == pytest.approx(day, abs=1)
            mount.update(ca.issue("a year", timedelta(days=365)))
            year = (ca.now + timedelta(days=365)).timestamp()
            wait_until(lambda s=server, y=year: abs(s.metric(gauge) - y) <= 1, "the new end")  # type: ignore[misc]


def test_a_new_certificate_is_noticed_without_a_connection(
    launcher: Launcher, mount: SecretMount, ca: CertificateAuthority
) -> None:
    with launcher.serving() as server:
        mount.update(ca.issue("second"))
        wait_until(lambda: bool(server.log_lines("certificate reloaded")), "the line")


def test_old_versions_of_tls_are_refused_and_http_1_1_is_chosen(launcher: Launcher) -> None:
    with launcher.serving() as server:
        server.context.set_alpn_protocols(["h2", "http/1.1"])
        connection = server.tls()
        assert (connection.version(), connection.selected_alpn_protocol()) == ("TLSv1.3", "http/1.1")
        _limit(server, "TLSv1_2")
        assert server.tls().version() == "TLSv1.2"
        _limit(server, "TLSv1_1")
        with pytest.raises(OSError, match=r"(?i)protocol|version|alert|cipher"):
            server.tls()
        post_review(_unlimited(server))


def _limit(server: RunningServer, version: str) -> None:
    with warnings.catch_warnings():
        # The old version is what is tested.
        warnings.simplefilter("ignore", DeprecationWarning)
        server.context.minimum_version = server.context.maximum_version = ssl.TLSVersion[version]
    server.context.set_ciphers("ALL:@SECLEVEL=0")


def _unlimited(server: RunningServer) -> http.client.HTTPSConnection:
    server.context = ssl.create_default_context(cafile=server.ca_file)
    return server.client()


def test_a_certificate_whose_link_is_gone_is_served_on(launcher: Launcher, mount: SecretMount) -> None:
    with launcher.serving() as server:
        Path(mount.folder / "..data").unlink()
        assert server.served_common_name() == "first"
