"""`modelfit certs`: certificates in a directory, from the first to a change of the authority; judged by OpenSSL."""

import base64
import json
import re
import ssl
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from certs.mint import authority, leaf
from certs.pem import text
from tests.cli.conftest import Run

HOST = "modelfit.modelfit.svc"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "certs"


@pytest.fixture
def issued(modelfit: Run, folder: Path) -> Path:
    """A directory with certificates."""
    assert modelfit("certs", "issue", str(folder), "--name", HOST).code == 0
    return folder


def trusted(folder: Path, bundle: bytes) -> bool:
    """Whether a client that trusts the bundle accepts what the directory serves, by a real handshake over memory."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.load_verify_locations(cadata=bundle.decode())
    near, far = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(near, far, server_hostname=HOST),
        server.wrap_bio(far, near, server_side=True),
    ]
    for _ in range(6):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLCertVerificationError:
                return False
    return ends[0].version() is not None


def test_an_empty_directory_gets_certificates_that_a_client_trusts(modelfit: Run, folder: Path) -> None:
    result = modelfit("certs", "issue", str(folder), "--name", HOST, "--name", "10.0.0.1")
    assert result.code == 0
    assert f"for 10.0.0.1, {HOST}" in result.out
    assert "no problem" in result.out
    assert result.err.startswith("mint: ")
    assert f"have clients trust {folder}/ca.crt" in result.err
    assert trusted(folder, (folder / "ca.crt").read_bytes())
    assert (folder / "tls.key").resolve().stat().st_mode & 0o777 == 0o600


def test_what_is_good_is_kept_under_its_names(modelfit: Run, issued: Path) -> None:
    before = (issued / "tls.crt").read_bytes()
    result = modelfit("certs", "issue", str(issued))
    assert (result.code, result.err) == (0, "keep: nothing is due\n")
    assert (issued / "tls.crt").read_bytes() == before


def test_other_names_make_another_certificate_of_the_same_authority(modelfit: Run, issued: Path) -> None:
    bundle = (issued / "ca.crt").read_bytes()
    result = modelfit("certs", "issue", str(issued), "--name", HOST, "--name", "other.example")
    assert result.err.startswith("issue: the leaf is for other names than are wanted\n")
    assert (issued / "ca.crt").read_bytes() == bundle
    assert trusted(issued, bundle)


def test_a_certificate_that_is_due_is_renewed(modelfit: Run, folder: Path) -> None:
    now = datetime.now(UTC)
    signer = authority(now - timedelta(days=25), timedelta(days=365))
    old = leaf(signer, [HOST], now - timedelta(days=25), timedelta(days=30))
    folder.mkdir()
    for name, content in {
        "tls.crt": text((old.certificate,)), "tls.key": old.key, "ca.crt": text((signer.certificate,)),
        "ca.key": signer.key,
    }.items():  # fmt: skip
        (folder / name).write_bytes(content)
    result = modelfit("certs", "issue", str(folder))
    assert (result.code, result.err) == (0, "issue: 2/3 of the leaf's life are over\n")
    assert trusted(folder, text((signer.certificate,)))
    assert (folder / "tls.crt").read_bytes() != text((old.certificate,))


def test_a_change_of_the_authority_keeps_every_client_at_every_step(modelfit: Run, issued: Path) -> None:
    bundles = [(issued / "ca.crt").read_bytes()]

    def step(*more: str) -> str:
        result = modelfit("certs", "rotate", str(issued), *more)
        assert result.code == 0
        bundles.append((issued / "ca.crt").read_bytes())
        # Clients have this bundle or the one before.
        assert all(trusted(issued, bundle) for bundle in bundles[-2:])
        return result.err.partition(":")[0]

    assert step() == "publish"
    # Nobody has said that clients have it, and the time is not over.
    assert step() == "keep"
    assert step("--settled") == "switch"
    assert step() == "keep"
    assert step("--settled") == "retire"
    assert not trusted(issued, bundles[0])
    # The next one is another change.
    assert step() == "publish"


def test_without_a_word_the_time_of_propagation_is_waited_for(modelfit: Run, issued: Path) -> None:
    short = ("--propagation", "0.02")
    modelfit("certs", "rotate", str(issued), *short)
    seen: list[str] = []
    while "retire" not in seen:
        seen += re.findall(r"^(\w+):", modelfit("certs", "issue", str(issued), *short).err, re.MULTILINE)
    assert [action for action in seen if action != "keep"] == ["switch", "retire"]


def test_what_is_there_is_shown_without_a_key(modelfit: Run, issued: Path) -> None:
    result = modelfit("certs", "show", str(issued))
    assert (result.code, result.err) == (0, "")
    assert "leaf: CN=modelfit.modelfit.svc, valid until" in result.out
    assert "authority (current)" in result.out
    assert "PRIVATE" not in result.out
    key = (issued / "tls.key").read_text().splitlines()[1]
    assert key not in result.out


def test_what_cannot_be_served_is_shown_and_told_by_the_exit_code(modelfit: Run, issued: Path) -> None:
    (issued / "tls.key").resolve().write_text("garbage")
    result = modelfit("certs", "show", str(issued))
    assert result.code == 1
    assert "problem: there is no leaf to serve" in result.out
    assert "Warning: tls.crt and tls.key: the private key is not usable" in result.err


def test_a_secret_is_shown_as_kubectl_prints_it(modelfit: Run, issued: Path) -> None:
    data = {name: base64.b64encode((issued / name).read_bytes()).decode() for name in ("tls.crt", "tls.key", "ca.crt")}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "modelfit-tls"}, "data": data}
    result = modelfit("certs", "show", "-", stdin=json.dumps(secret))
    assert result.code == 0
    assert "no problem" in result.out
    assert "authority (retired)" in result.out


UNUSABLE = {
    "no name": (["issue", "{}"], "no certificate in {} to take the names from; give --name HOST"),
    "a name that is none": (["issue", "{}", "--name", "a b"], "is no DNS name"),
    "nothing to show": (["show", "{}"], "no certificates in {}; `modelfit certs issue {} --name HOST` makes them"),
    "nothing to rotate": (["rotate", "{}"], "no certificates in {}; `modelfit certs issue {} --name HOST` makes them"),
    "nothing to rotate, with a name": (["rotate", "{}", "--name", "a"], "no certificates in {}; "),
    "a file": (["issue", "{file}", "--name", "a"], "{file}: a file; want a directory"),
    "a file to rotate": (["rotate", "{file}"], "{file}: a file; want a directory"),
    "a file to show": (["show", "{file}"], "{file}: a file; want a directory"),
    "a directory in a file": (["issue", "{file}/a", "--name", "a"], "{file}/a: Not a directory"),
    "the name of a directory that is too long": (["show", "x" * 5000], "File name too long"),
    "no directory": (["issue", "", "--name", "a"], '""; want a directory'),
    "standard input to write to": (["issue", "-", "--name", "a"], '"-"; want a directory'),
    "lifetimes that do not go together": (
        ["issue", "{}", "--name", "a", "--leaf-days", "300"],
        "want at least 3 times",
    ),
    "a lifetime without end": (["issue", "{}", "--name", "a", "--leaf-days", "1e300"], "and at most 36500"),
    "an authority without end": (["issue", "{}", "--name", "a", "--authority-days", "36501"], "and at most 36500"),
    "a wait without end": (["issue", "{}", "--name", "a", "--propagation", "inf"], "and at most 36500"),
    "no number": (["issue", "{}", "--leaf-days", "nan"], "want a number above 0"),
    "no action": ([], "--help"),
}


@pytest.mark.parametrize(("arguments", "said"), UNUSABLE.values(), ids=UNUSABLE.keys())
def test_what_cannot_be_used_is_said_in_one_line(
    modelfit: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "file"
    file.write_text("x")

    def placed(text: str) -> str:
        return text.replace("{}", str(folder)).replace("{file}", str(file))

    result = modelfit("certs", *map(placed, arguments))
    assert (result.code, result.out) == (2, "")
    assert placed(said) in result.err
    assert result.err.count("\n") == 1
    assert not folder.exists() or not list(folder.glob("tls.*"))


def test_a_leaf_that_is_unusable_leaves_no_names_and_is_made_again_with_one(modelfit: Run, issued: Path) -> None:
    for name in ("tls.crt", "tls.key"):
        (issued / name).resolve().write_text("garbage")
    result = modelfit("certs", "issue", str(issued))
    assert (result.code, result.out) == (2, "")
    assert f"no certificate in {issued} to take the names from; give --name HOST" in result.err
    assert modelfit("certs", "issue", str(issued), "--name", HOST).code == 0


def test_the_longest_lifetimes_can_be_issued(modelfit: Run, folder: Path) -> None:
    arguments = ("--name", HOST, "--authority-days", "36500", "--leaf-days", "12000")
    assert modelfit("certs", "issue", str(folder), *arguments).code == 0


@pytest.mark.parametrize(
    ("stdin", "said"),
    [
        ("", "no Secret with data"),
        ("[}", "broken YAML"),
        ("{kind: ConfigMap, data: {}}", "no Secret with data"),
        ("{kind: Secret}", "no Secret with data"),
        ("{kind: Secret, data: {tls.key: hunter2!}}", "data.tls.key: no base64"),
    ],
)
def test_what_is_no_secret_is_refused_without_showing_it(modelfit: Run, stdin: str, said: str) -> None:
    result = modelfit("certs", "show", "-", stdin=stdin)
    assert (result.code, result.out) == (2, "")
    assert said in result.err
    assert "hunter2" not in result.err


def test_each_action_has_help_that_fits_80_columns(modelfit: Run) -> None:
    for action in ("issue", "show", "rotate"):
        result = modelfit("certs", action, "--help")
        assert (result.code, result.err) == (0, "")
        assert max(map(len, result.out.splitlines())) <= 80


def test_it_needs_no_server_and_no_cluster(issued: Path) -> None:
    code = (
        f"import sys; from webhook.cli import main; main(['certs', 'show', {str(issued)!r}])\n"
        "print([name for name in ('kubernetes', 'flask', 'gunicorn', 'webhook.cluster') if name in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert said.stdout.splitlines()[-1] == "[]"
