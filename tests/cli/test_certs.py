"""`modelfit certs` issues, renews and shows certificates in a directory; OpenSSL checks them."""

import base64
import json
import re
import ssl
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from certs import issuing, pem
from certs.secret_data import State, dump
from tests.certs.tls_clients import handshake
from tests.cli.conftest import Run

HOST = "modelfit.modelfit.svc"
DAY = timedelta(days=1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "certs"


@pytest.fixture
def issued(modelfit: Run, folder: Path) -> Path:
    """A directory with certificates."""
    assert modelfit("certs", "issue", str(folder), "--name", HOST).code == 0
    return folder


def trusted(folder: Path, bundle: bytes | None = None) -> bool:
    """Whether a client that trusts the bundle, or else ca.crt, accepts the server of the directory."""
    pair = pem.load_key_pair((folder / "tls.crt").read_bytes(), (folder / "tls.key").read_bytes())
    try:
        handshake((folder / "ca.crt").read_bytes() if bundle is None else bundle, pair, HOST)
    except ssl.SSLCertVerificationError:
        return False
    return True


def write_old(folder: Path, *, ca_age: int, leaf_age: int) -> bytes:
    """Certificates that are so many days old; returns the bundle."""
    now = datetime.now(UTC)
    ca = issuing.issue_ca(now - ca_age * DAY, 365 * DAY)
    leaf = issuing.issue_leaf(ca, [HOST], now - leaf_age * DAY, 30 * DAY)
    folder.mkdir()
    data = dump(State(leaf, ca))
    for name, content in data.items():
        (folder / name).write_bytes(content)
    return data["ca.crt"]


def test_an_empty_directory_gets_certificates_that_a_client_trusts(modelfit: Run, folder: Path) -> None:
    result = modelfit("certs", "issue", str(folder), "--name", HOST, "--name", "10.0.0.1")
    assert result.code == 0
    assert f"for 10.0.0.1, {HOST}" in result.out
    assert "no problem" in result.out
    assert result.err.startswith("mint: ")
    assert f"clients must trust {folder}/ca.crt, which has changed" in result.err
    assert trusted(folder)


def test_only_the_owner_can_read_private_keys(issued: Path) -> None:
    modes = {path.name: path.stat().st_mode & 0o777 for path in issued.iterdir()}
    assert modes == {
        "tls.crt": 0o644, "tls.key": 0o600, "ca.crt": 0o644, "ca.key": 0o600, "state.json": 0o644,
    }  # fmt: skip


def test_certificates_that_are_not_due_are_kept_with_their_names(modelfit: Run, issued: Path) -> None:
    before = {path.name: path.stat().st_ino for path in issued.iterdir()}
    result = modelfit("certs", "issue", str(issued))
    assert (result.code, result.err) == (0, "keep: nothing is due\n")
    assert {path.name: path.stat().st_ino for path in issued.iterdir()} == before


def test_other_names_make_another_certificate_of_the_same_ca(modelfit: Run, issued: Path) -> None:
    bundle = (issued / "ca.crt").read_bytes()
    (issued / "README").write_text("kept")
    result = modelfit("certs", "issue", str(issued), "--name", HOST, "--name", "other.example")
    assert result.err == "issue: the names have changed\n"
    assert (issued / "ca.crt").read_bytes() == bundle
    assert (issued / "README").read_text() == "kept"
    assert trusted(issued)


def test_a_due_certificate_is_renewed(modelfit: Run, folder: Path) -> None:
    bundle = write_old(folder, ca_age=25, leaf_age=25)
    before = (folder / "tls.crt").read_bytes()
    result = modelfit("certs", "issue", str(folder))
    assert (result.code, result.err) == (0, "issue: 2/3 of the leaf's life are over\n")
    assert trusted(folder, bundle)
    assert (folder / "tls.crt").read_bytes() != before


def test_a_due_ca_is_replaced_step_by_step_and_clients_keep_trusting_the_server(modelfit: Run, folder: Path) -> None:
    bundles = [write_old(folder, ca_age=300, leaf_age=25)]
    actions: list[str] = []
    while "retire" not in actions:
        result = modelfit("certs", "issue", str(folder), "--propagation", "0.02")
        assert result.code == 0
        actions += re.findall(r"^(\w+):", result.err, re.MULTILINE)
        bundles.append((folder / "ca.crt").read_bytes())
        assert all(trusted(folder, bundle) for bundle in bundles[-2:])
        time.sleep(0.3)
    assert [action for action in actions if action != "keep"] == ["issue", "publish", "switch", "retire"]
    assert not (folder / "next-ca.key").exists()
    assert not trusted(folder, bundles[0])


@pytest.mark.parametrize("file", ["tls.crt", "tls.key"])
def test_a_certificate_that_does_not_match_its_key_is_replaced(
    modelfit: Run, issued: Path, tmp_path: Path, file: str
) -> None:
    """As a killed `issue` leaves them."""
    bundle = (issued / "ca.crt").read_bytes()
    modelfit("certs", "issue", str(tmp_path / "other"), "--name", HOST)
    (issued / file).write_bytes((tmp_path / "other" / file).read_bytes())
    result = modelfit("certs", "issue", str(issued), "--name", HOST)
    assert result.code == 0
    assert trusted(issued, bundle)


def test_show_prints_certificates_without_keys(modelfit: Run, issued: Path) -> None:
    result = modelfit("certs", "show", str(issued))
    assert (result.code, result.err) == (0, "")
    assert "leaf: CN=modelfit.modelfit.svc, valid until" in result.out
    assert "CA (current)" in result.out
    assert "PRIVATE" not in result.out
    assert (issued / "tls.key").read_text().splitlines()[1] not in result.out


def test_show_reports_what_cannot_be_served_and_exits_with_1(modelfit: Run, issued: Path) -> None:
    (issued / "tls.key").write_text("garbage")
    result = modelfit("certs", "show", str(issued))
    assert result.code == 1
    assert "problem: there is no leaf to serve" in result.out
    assert "Warning: tls.crt and tls.key: the private key is not usable" in result.err


def test_show_reads_a_secret_as_kubectl_prints_it(modelfit: Run, issued: Path) -> None:
    data = {name: base64.b64encode((issued / name).read_bytes()).decode() for name in ("tls.crt", "tls.key", "ca.crt")}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "modelfit-tls"}, "data": data}
    result = modelfit("certs", "show", "-", stdin=json.dumps(secret))
    assert result.code == 0
    assert "no problem" in result.out
    assert "CA (retired)" in result.out


UNUSABLE = {
    "no name": (["issue", "{}"], "no certificate in {} to take the names from; set --name HOST"),
    "an invalid name": (["issue", "{}", "--name", "a b"], "is not a DNS name"),
    "nothing to show": (["show", "{}"], "no certificates in {}; `modelfit certs issue {} --name HOST` creates them"),
    "a file": (["issue", "{file}", "--name", "a"], "{file}: a file; want a directory"),
    "a file to show": (["show", "{file}"], "{file}: a file; want a directory"),
    "a directory in a file": (["issue", "{file}/a", "--name", "a"], "{file}/a: Not a directory"),
    "a directory with too long a name": (["show", "x" * 5000], "File name too long"),
    "no directory": (["issue", "", "--name", "a"], '""; want a directory'),
    "standard input to write to": (["issue", "-", "--name", "a"], '"-"; want a directory'),
    "lifetimes that do not fit": (["issue", "{}", "--name", "a", "--leaf-days", "300"], "want at least 3 times"),
    "an infinite leaf": (["issue", "{}", "--name", "a", "--leaf-days", "1e300"], "and at most 36500"),
    "a CA of a century": (["issue", "{}", "--name", "a", "--ca-days", "36501"], "and at most 36500"),
    "an infinite propagation": (["issue", "{}", "--name", "a", "--propagation", "inf"], "and at most 36500"),
    "not a number": (["issue", "{}", "--leaf-days", "nan"], "want a number above 0"),
    "no action": ([], "--help"),
    "an action that is gone": (["rotate", "{}"], "rotate"),
}


@pytest.mark.parametrize(("arguments", "message"), UNUSABLE.values(), ids=UNUSABLE.keys())
def test_unusable_arguments_are_reported_in_one_line(
    modelfit: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "file"
    file.write_text("x")

    def fill_in(text: str) -> str:
        return text.replace("{}", str(folder)).replace("{file}", str(file))

    result = modelfit("certs", *map(fill_in, arguments))
    assert (result.code, result.out) == (2, "")
    assert fill_in(message) in result.err
    assert result.err.count("\n") == 1
    assert not folder.exists()


def test_an_unusable_certificate_is_replaced_if_a_name_is_given(modelfit: Run, issued: Path) -> None:
    for name in ("tls.crt", "tls.key"):
        (issued / name).write_text("garbage")
    result = modelfit("certs", "issue", str(issued))
    assert (result.code, result.out) == (2, "")
    assert f"no certificate in {issued} to take the names from; set --name HOST" in result.err
    assert modelfit("certs", "issue", str(issued), "--name", HOST).code == 0


def test_the_maximum_lifetimes_can_be_issued(modelfit: Run, folder: Path) -> None:
    arguments = ("--name", HOST, "--ca-days", "36500", "--leaf-days", "12000")
    assert modelfit("certs", "issue", str(folder), *arguments).code == 0


@pytest.mark.parametrize(
    ("stdin", "message"),
    [
        ("", "no Secret with data"),
        ("[}", "broken YAML"),
        ('{kind: Secret, data: !!int ""}', "broken YAML"),
        ("{kind: Secret, data: !!timestamp x}", "broken YAML"),
        ("{kind: ConfigMap, data: {}}", "no Secret with data"),
        ("{kind: Secret}", "no Secret with data"),
        ("{kind: Secret, data: {tls.key: hunter2!}}", "data.tls.key: not base64"),
    ],
)
def test_invalid_secrets_are_refused_without_printing_them(modelfit: Run, stdin: str, message: str) -> None:
    result = modelfit("certs", "show", "-", stdin=stdin)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert "hunter2" not in result.err


@pytest.mark.parametrize("action", ["issue", "show"])
def test_the_help_of_each_action_fits_80_columns(modelfit: Run, action: str) -> None:
    result = modelfit("certs", action, "--help")
    assert (result.code, result.err) == (0, "")
    assert max(map(len, result.out.splitlines())) <= 80


def test_it_imports_no_server_and_no_cluster(issued: Path) -> None:
    code = (
        f"import sys; from webhook.cli import main; main(['certs', 'show', {str(issued)!r}])\n"
        "print([name for name in ('kubernetes', 'flask', 'gunicorn', 'webhook.cluster') if name in sys.modules])"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert process.stdout.splitlines()[-1] == "[]"
