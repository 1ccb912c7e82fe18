"""The served certificate follows its files, and only valid pairs are served."""

import os
import signal
import ssl
import threading
import warnings
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from tests.wire.certificates import CertificateAuthority, SecretMount
from tests.wire.server_process import Launcher, RunningServer, post_review, wait_until


@pytest.mark.parametrize("workers", [1, 2])
def test_an_updated_secret_is_served_on_the_next_connection(
    launcher: Launcher, mount: SecretMount, ca: CertificateAuthority, workers: int
) -> None:
    with launcher.serving(f"--workers={workers}") as server:
        reused = server.client()
        post_review(reused)
        connection = reused.sock
        for name in ("second", "third", "fourth"):
            mount.update(ca.issue(name))
            assert [server.served_common_name() for _ in range(4)] == [name] * 4
        post_review(reused)
        assert reused.sock is connection


def test_files_overwritten_in_place_are_served(
    launcher: Launcher, mount: SecretMount, ca: CertificateAuthority
) -> None:
    with launcher.serving() as server:
        for name in ("second", "third"):
            certificate, key = ca.issue(name)
            mount.certificate.write_bytes(certificate)
            mount.key.write_bytes(key)
            assert server.served_common_name() == name


def test_a_mismatched_pair_is_never_served(launcher: Launcher, mount: SecretMount, ca: CertificateAuthority) -> None:
    with launcher.serving() as server:
        certificate, key = ca.issue("second")
        mount.certificate.write_bytes(certificate)
        assert [server.served_common_name() for _ in range(5)] == ["first"] * 5
        wait_until(lambda: bool(server.log_lines("certificate reload failed")), "the warning")
        assert server.metric("modelfit_unusable_certificate") == 1
        mount.key.write_bytes(key)
        assert server.served_common_name() == "second"
        assert len(server.log_lines("certificate reload failed")) == 1
        assert server.metric("modelfit_unusable_certificate") == 0


@pytest.mark.parametrize("workers", [1, 2])
def test_the_unusable_metric_survives_the_worker_that_set_it(
    launcher: Launcher, mount: SecretMount, ca: CertificateAuthority, workers: int
) -> None:
    gauge = "modelfit_unusable_certificate"
    with launcher.serving(f"--workers={workers}") as server:
        good = mount.certificate.read_bytes(), mount.key.read_bytes()
        mount.update((good[0], ca.issue("second")[1]))
        wait_until(lambda: server.metric(gauge) == 1, "the metric to be set")
        os.kill(server.workers[0], signal.SIGKILL)
        wait_until(lambda: len(server.workers) == workers, "a new worker")
        mount.update(good)
        wait_until(lambda: server.metric(gauge) == 0, "the metric to be reset")


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


def test_updates_under_load_fail_no_handshake(launcher: Launcher, mount: SecretMount, ca: CertificateAuthority) -> None:
    """Half of the updates are atomic, the others write one file after the other."""
    with launcher.serving() as server:
        failures: list[BaseException] = []
        names: set[str] = set()
        done = threading.Event()

        def load() -> None:
            try:
                while not done.is_set():
                    names.add(server.served_common_name())
                    with closing(server.client()) as client:
                        post_review(client)
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
            wait_until(lambda name=f"pair {generation}": name in names or bool(failures), "the new certificate")  # type: ignore[misc]
        done.set()
        for thread in threads:
            thread.join()
        assert not failures
        assert names >= {f"pair {generation}" for generation in range(20)}


def test_the_expiry_metric_follows_the_served_certificate(
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
            wait_until(lambda s=server, y=year: abs(s.metric(gauge) - y) <= 1, "the new expiry time")  # type: ignore[misc]


def test_a_new_certificate_is_loaded_without_a_connection(
    launcher: Launcher, mount: SecretMount, ca: CertificateAuthority
) -> None:
    with launcher.serving() as server:
        mount.update(ca.issue("second"))
        wait_until(lambda: bool(server.log_lines("certificate reloaded")), "the log line")


def test_tls_below_1_2_is_refused_and_alpn_selects_http_1_1(launcher: Launcher) -> None:
    with launcher.serving() as server:
        server.context.set_alpn_protocols(["h2", "http/1.1"])
        connection = server.tls()
        assert (connection.version(), connection.selected_alpn_protocol()) == ("TLSv1.3", "http/1.1")
        _offer_only(server, "TLSv1_2")
        assert server.tls().version() == "TLSv1.2"
        _offer_only(server, "TLSv1_1")
        with pytest.raises(OSError, match=r"(?i)protocol|version|alert|cipher"):
            server.tls()
        server.context = ssl.create_default_context(cafile=server.ca_file)
        post_review(server.client())


def _offer_only(server: RunningServer, version: str) -> None:
    with warnings.catch_warnings():
        # The deprecated versions are tested here.
        warnings.simplefilter("ignore", DeprecationWarning)
        server.context.minimum_version = server.context.maximum_version = ssl.TLSVersion[version]
    server.context.set_ciphers("ALL:@SECLEVEL=0")


def test_the_certificate_is_served_after_its_symlink_is_removed(launcher: Launcher, mount: SecretMount) -> None:
    with launcher.serving() as server:
        Path(mount.folder / "..data").unlink()
        assert server.served_common_name() == "first"
