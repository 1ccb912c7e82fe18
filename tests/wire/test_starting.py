"""Faults that stop a start, and restricted environments that do not."""

import os
import resource
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from tests.wire.certificates import CertificateAuthority, SecretMount
from tests.wire.server_process import Launcher, free_port, post_review, shared_metrics
from webhook.settings import Settings


def failed_start(command: list[str], environ: Mapping[str, str] | None = None, cwd: str | None = None) -> str:
    """Runs a command that must fail with exit code 2; its only line on standard error."""
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=60, env=dict(os.environ) | dict(environ or {})
    )
    assert (result.returncode, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("modelfit")
    return line


def test_a_missing_certificate_stops_the_start(launcher: Launcher, mount: SecretMount) -> None:
    mount.certificate.unlink()
    line = failed_start(launcher.command(free_port()))
    assert str(mount.certificate) in line
    assert "No such file" in line
    assert "; want a certificate chain and its private key, PEM" in line


def test_a_key_of_another_certificate_stops_the_start(
    launcher: Launcher, mount: SecretMount, ca: CertificateAuthority
) -> None:
    mount.key.write_bytes(ca.issue("another")[1])
    assert "the key does not belong to the certificate" in failed_start(launcher.command(free_port()))


@pytest.mark.parametrize(
    "content", [b"", b"not PEM", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
)
def test_an_invalid_certificate_stops_the_start(launcher: Launcher, mount: SecretMount, content: bytes) -> None:
    mount.certificate.write_bytes(content)
    assert "certificate" in failed_start(launcher.command(free_port(), "--workers=2"))


def test_an_encrypted_key_stops_the_start_without_a_prompt(launcher: Launcher, mount: SecretMount) -> None:
    key = serialization.load_pem_private_key(mount.key.read_bytes(), None)
    encryption = serialization.BestAvailableEncryption(b"secret")
    mount.key.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption))
    assert "the key is encrypted" in failed_start(launcher.command(free_port()))


def test_a_port_in_use_stops_the_start(launcher: Launcher) -> None:
    with launcher.serving() as server:
        line = failed_start(launcher.command(server.port))
        assert "Address already in use; want an address of this machine, and a port that is free" in line


def test_an_address_of_another_machine_stops_the_start(launcher: Launcher) -> None:
    assert "192.0.2.1" in failed_start(launcher.command(free_port(), host="192.0.2.1"))


def test_an_invalid_setting_stops_the_start(launcher: Launcher) -> None:
    assert "MODELFIT_DRAIN_SECONDS" in failed_start(launcher.command(free_port()), {"MODELFIT_DRAIN_SECONDS": "soon"})


def test_a_failed_start_removes_the_shared_metrics(launcher: Launcher, mount: SecretMount) -> None:
    mount.certificate.write_bytes(b"")
    with subprocess.Popen(launcher.command(free_port(), "--workers=2"), stderr=subprocess.DEVNULL) as process:
        assert process.wait(60) == 2
    assert not shared_metrics(process.pid)


def test_gunicorn_files_and_variables_are_ignored(launcher: Launcher, tmp_path: Path) -> None:
    (tmp_path / "gunicorn.conf.py").write_text("raise SystemExit(7)\n")
    environ = {"GUNICORN_CMD_ARGS": "--workers=5 --bind=127.0.0.1:1", "WEB_CONCURRENCY": "5"}
    with launcher.serving(environ=environ, cwd=tmp_path) as server:
        post_review(server.client())
        assert len(server.workers) == 1


def confined(*read_only: str) -> list[str]:
    """A command prefix: user 65534, no capabilities, the root and these other file systems read-only."""
    if os.geteuid() != 0 or not shutil.which("setpriv") or not shutil.which("unshare"):
        if os.environ.get("CI"):
            pytest.fail("CI must run this as root, with setpriv and unshare")
        pytest.skip("needs root, setpriv and unshare, to become another user")
    remount = "; ".join(f"mountpoint -q {path} && mount -o remount,bind,ro {path}" for path in ("/", *read_only))
    # The interpreter may be in another user's home, so the user may read every file.
    capabilities = [f"--{each}-caps=-all,+dac_read_search" for each in ("inh", "ambient")]
    drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs", *capabilities]
    shell = ["sh", "-c", f'{remount}; exec "$@"', "sh"]
    return ["unshare", "--mount", "--propagation=private", *shell, *drop, "--bounding-set=-all,+dac_read_search"]


NO_FOLDERS = {"HOME": "/nonexistent", "TMPDIR": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1"}


def test_any_user_can_serve_without_a_home_on_a_read_only_root(
    launcher: Launcher, mount: SecretMount, ca: CertificateAuthority
) -> None:
    with launcher.serving("--workers=2", prefix=confined(), environ=NO_FOLDERS) as server:
        process = Path(f"/proc/{server.process.pid}")
        assert process.stat().st_uid == 65534
        assert " ro," in (process / "mountinfo").read_text().splitlines()[0]
        post_review(server.client())
        mount.update(ca.issue("second"))
        assert server.served_common_name() == "second"
        assert server.get("/metrics")[0] == 200
        assert _files_in_memory(65534)
        assert server.stop() == 0
        assert {line["level"] for line in server.log_lines()} == {"info"}
    assert not _files_in_memory(65534)


def test_a_start_without_a_writable_folder_fails_with_a_hint(launcher: Launcher) -> None:
    command = [*confined("/dev/shm", "/tmp", "/var/tmp"), *launcher.command(free_port())]
    assert "want /dev/shm or TMPDIR writable" in failed_start(command, NO_FOLDERS, cwd="/")


def _files_in_memory(user: int) -> list[Path]:
    """The user's files in shared memory."""
    return [path for path in Path("/dev/shm").glob("*") if path.lstat().st_uid == user]


def test_connections_are_bounded_by_the_limit_on_open_files(launcher: Launcher) -> None:
    with launcher.serving(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))) as server:
        peers = [server.connect() for _ in range(250)]
        post_review(server.client())
        for peer in peers:
            peer.close()
        assert not [line for line in server.log_lines() if line["level"] == "error"]


def test_the_limit_on_open_files_is_raised_for_the_connections(launcher: Launcher) -> None:
    with launcher.serving(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (200, 4000))) as server:
        limits = Path(f"/proc/{server.process.pid}/limits").read_text()
        (line,) = (line for line in limits.splitlines() if line.startswith("Max open files"))
        assert int(line.split()[3]) > Settings().max_connections
