"""The certificate that is served follows its files, and only whole pairs are served."""

import http.client
import os
import signal
import ssl
import threading
import warnings
from datetime import timedelta
from pathlib import Path

import pytest

from tests.wire.certificates import Authority, Mount
from tests.wire.process import Launcher, Served, review, wait_until


@pytest.mark.parametrize("workers", [1, 2])
def test_a_swapped_pair_is_served_on_the_next_connection(
    launcher: Launcher, mount: Mount, authority: Authority, workers: int
) -> None:
    with launcher.serving(f"--workers={workers}") as served:
        kept = served.client()
        review(kept)
        connection = kept.sock
        for name in ("second", "third", "fourth"):
            mount.swap(authority.issue(name))
            assert [served.served_name() for _ in range(4)] == [name] * 4
        review(kept)
        assert kept.sock is connection


def test_files_that_are_written_over_are_served_too(launcher: Launcher, mount: Mount, authority: Authority) -> None:
    with launcher.serving() as served:
        for name in ("second", "third"):
            certificate, key = authority.issue(name)
            mount.certificate.write_bytes(certificate)
            mount.key.write_bytes(key)
            assert served.served_name() == name


def test_a_pair_that_does_not_match_is_never_served(launcher: Launcher, mount: Mount, authority: Authority) -> None:
    with launcher.serving() as served:
        certificate, key = authority.issue("second")
        mount.certificate.write_bytes(certificate)
        assert [served.served_name() for _ in range(5)] == ["first"] * 5
        wait_until(lambda: bool(served.said("kept the old certificate")), "the complaint")
        assert served.metric("modelfit_unusable_certificate") == 1
        mount.key.write_bytes(key)
        assert served.served_name() == "second"
        assert len(served.said("kept the old certificate")) == 1
        assert served.metric("modelfit_unusable_certificate") == 0


@pytest.mark.parametrize("workers", [1, 2])
def test_a_pair_that_cannot_be_served_shows_for_as_long_as_it_is_there(
    launcher: Launcher, mount: Mount, authority: Authority, workers: int
) -> None:
    """Whichever worker read it first, and also if that one is no more."""
    gauge = "modelfit_unusable_certificate"
    with launcher.serving(f"--workers={workers}") as served:
        good = mount.certificate.read_bytes(), mount.key.read_bytes()
        mount.swap((good[0], authority.issue("second")[1]))
        wait_until(lambda: served.metric(gauge) == 1, "the gauge")
        os.kill(served.workers[0], signal.SIGKILL)
        wait_until(lambda: len(served.workers) == workers, "another worker")
        mount.swap(good)
        wait_until(lambda: served.metric(gauge) == 0, "its end")


@pytest.mark.parametrize(
    "broken", [b"", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", b"\0" * 99, None]
)
def test_a_broken_pair_is_never_served(
    launcher: Launcher, mount: Mount, authority: Authority, broken: bytes | None
) -> None:
    with launcher.serving() as served:
        if broken is None:
            mount.certificate.unlink()
        else:
            mount.certificate.write_bytes(broken)
        assert [served.served_name() for _ in range(5)] == ["first"] * 5
        assert len(served.said("kept the old certificate")) == 1
        certificate, key = authority.issue("second")
        mount.certificate.write_bytes(certificate)
        mount.key.write_bytes(key)
        assert served.served_name() == "second"


def test_swaps_under_load_fail_no_handshake(launcher: Launcher, mount: Mount, authority: Authority) -> None:
    """Some swaps are atomic, some write one file after the other."""
    with launcher.serving() as served:
        failures: list[BaseException] = []
        names: set[str] = set()
        done = threading.Event()

        def load() -> None:
            try:
                while not done.is_set():
                    names.add(served.served_name())
                    client = http.client.HTTPSConnection(served.host, served.port, timeout=10, context=served.context)
                    review(client)
                    client.close()
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=load) for _ in range(3)]
        for thread in threads:
            thread.start()
        for generation in range(20):
            pair = authority.issue(f"pair {generation}")
            if generation % 2:
                mount.swap(pair)
            else:
                mount.certificate.write_bytes(pair[0])
                wait_until(lambda: bool(served.served_name()), "a handshake between the two writes")
                mount.key.write_bytes(pair[1])
            wait_until(lambda name=f"pair {generation}": name in names or bool(failures), "the new pair")  # type: ignore[misc]
        done.set()
        for thread in threads:
            thread.join()
        assert not failures
        assert names >= {f"pair {generation}" for generation in range(20)}


def test_the_end_of_the_served_certificate_is_a_metric(launcher: Launcher, mount: Mount, authority: Authority) -> None:
    gauge = "modelfit_serving_certificate_expiry_timestamp_seconds"
    for workers in (1, 2):
        mount.swap(authority.issue("a day"))
        with launcher.serving(f"--workers={workers}") as served:
            day = (authority.now + timedelta(days=1)).timestamp()
            assert served.metric(gauge) == pytest.approx(day, abs=1)
            mount.swap(authority.issue("a year", timedelta(days=365)))
            year = (authority.now + timedelta(days=365)).timestamp()
            wait_until(lambda s=served, y=year: abs(s.metric(gauge) - y) <= 1, "the new end")  # type: ignore[misc]


def test_a_new_certificate_is_noticed_without_a_connection(
    launcher: Launcher, mount: Mount, authority: Authority
) -> None:
    with launcher.serving() as served:
        mount.swap(authority.issue("second"))
        wait_until(lambda: bool(served.said("serving a new certificate")), "the line")


def test_old_versions_of_tls_are_refused_and_http_1_1_is_chosen(launcher: Launcher) -> None:
    with launcher.serving() as served:
        served.context.set_alpn_protocols(["h2", "http/1.1"])
        connection = served.tls()
        assert (connection.version(), connection.selected_alpn_protocol()) == ("TLSv1.3", "http/1.1")
        _limit(served, "TLSv1_2")
        assert served.tls().version() == "TLSv1.2"
        _limit(served, "TLSv1_1")
        with pytest.raises(OSError, match=r"(?i)protocol|version|alert|cipher"):
            served.tls()
        review(_unlimited(served))


def _limit(served: Served, version: str) -> None:
    with warnings.catch_warnings():
        # The old version is what is tested.
        warnings.simplefilter("ignore", DeprecationWarning)
        served.context.minimum_version = served.context.maximum_version = ssl.TLSVersion[version]
    served.context.set_ciphers("ALL:@SECLEVEL=0")


def _unlimited(served: Served) -> http.client.HTTPSConnection:
    served.context = ssl.create_default_context(cafile=served.authority)
    return served.client()


def test_a_certificate_whose_link_is_gone_is_served_on(launcher: Launcher, mount: Mount) -> None:
    with launcher.serving() as served:
        Path(mount.folder / "..data").unlink()
        assert served.served_name() == "first"
