"""Normal operation: reviews, metrics, logs."""

import json
import socket
from pathlib import Path

import pytest

from tests.core import builders
from tests.wire.server_process import Launcher, post_review, shared_metrics, wait_until
from webhook.reasons import DENIAL_REASONS


def test_reviews_reuse_a_connection(launcher: Launcher) -> None:
    with launcher.serving() as server:
        client = server.client()
        post_review(client, "one")
        first = client.sock
        for uid in ("two", "three"):
            post_review(client, uid)
            assert client.sock is first


@pytest.mark.parametrize("workers", [1, 3])
def test_metrics_add_up_over_all_workers(launcher: Launcher, workers: int) -> None:
    with launcher.serving(f"--workers={workers}") as server:
        wait_until(lambda: len(server.workers) == workers, "the workers")
        for _ in range(20):
            post_review(server.client())
        labels = 'operation="CREATE",outcome="allowed",reason="Injected",webhook="mutate"'
        assert server.metric(f"modelfit_admission_reviews_total{{{labels}}}") == 20
        assert server.metric('modelfit_admission_duration_seconds_count{webhook="mutate"}') == 20


@pytest.mark.parametrize("workers", [1, 2])
def test_series_used_by_alerts_start_at_0(launcher: Launcher, workers: int) -> None:
    with launcher.serving(f"--workers={workers}") as server:
        lines = server.get("/metrics")[1].splitlines()
    for webhook, operation in (("mutate", "CREATE"), ("validate", "CREATE"), ("validate", "UPDATE")):
        for outcome, reasons in {"denied": DENIAL_REASONS, "error": ["InternalError"]}.items():
            for reason in reasons:
                labels = f'operation="{operation}",outcome="{outcome}",reason="{reason}",webhook="{webhook}"'
                assert f"modelfit_admission_reviews_total{{{labels}}} 0.0" in lines


def test_a_stop_removes_the_shared_metrics(launcher: Launcher) -> None:
    with launcher.serving("--workers=2") as server:
        (folder,) = shared_metrics(server.process.pid)
        assert list(folder.iterdir())
        server.stop()
        assert not shared_metrics(server.process.pid)


def test_ipv4_and_ipv6_are_served(launcher: Launcher) -> None:
    if not socket.has_ipv6:
        pytest.fail("this machine has no IPv6")
    with launcher.serving(host="::") as server:
        post_review(server.client())
        server.host = "::1"
        post_review(server.client())
    with launcher.serving(host="::1") as server:
        post_review(server.client())


def test_every_decision_is_one_log_line_with_its_uid(launcher: Launcher) -> None:
    with launcher.serving() as server:
        client = server.client()
        post_review(client, "first")
        post_review(client, "second", json.dumps(builders.body(builders.pod("{"), uid="second")).encode())
        first, second = server.log_lines("review")
    assert first.pop("duration_ms") >= 0
    assert str(first.pop("ts")).endswith("+00:00")
    assert str(first.pop("claim")).startswith("llama-7b-claim-")
    assert first == {
        "level": "info",
        "logger": "modelfit.admission",
        "msg": "review",
        "uid": "first",
        "webhook": "mutate",
        "operation": "CREATE",
        "kind": "Pod",
        "namespace": "team-a",
        "name": "llama",
        "allowed": True,
        "reason": "Injected",
        "dry_run": False,
    }
    assert (second["uid"], second["allowed"], second["reason"]) == ("second", False, "InvalidModelFit")


def test_the_log_has_no_content_of_a_pod_but_names(launcher: Launcher) -> None:
    secret = "hunter2"
    env = [{"name": "TOKEN", "value": secret}]
    huge = json.dumps({"notes": secret * 30_000, "min_vram_gb": 8})
    forged = f'x\n{{"level": "error", "msg": "forged"}}\x1b[31m{secret}'
    pods = [
        builders.pod(containers=[builders.container(env=env)]),
        builders.pod(huge, containers=[builders.container(env=env)]),
        builders.pod(f'{{"min_vram_gb": "{secret}"}}', containers=[builders.container(env=env)]),
        builders.pod(
            metadata={"labels": {"a": secret}, "generateName": "x"}, containers=[builders.container(args=[secret])]
        ),
        builders.pod(metadata={"name": forged[: -len(secret)]}),
    ]
    with launcher.serving(settings={"log_level": "debug"}) as server:
        client = server.client()
        for pod in pods:
            post_review(client, body=json.dumps(builders.body(pod)).encode())
        client.request("POST", "/mutate", secret, {"Content-Type": "application/json"})
        assert client.getresponse().read()
        text = server.log_file.read_text()
        assert len(server.log_lines("review")) == len(pods)
        assert not server.log_lines("forged")
    assert secret not in text
    assert text.isascii()
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 8192


def test_the_server_imports_no_kubernetes_client(launcher: Launcher, tmp_path: Path) -> None:
    """Modules of these names, first on the path, end the process that imports them."""
    for name in ("kubernetes", "urllib3", "cryptography"):
        (tmp_path / "first" / name).mkdir(parents=True)
        (tmp_path / "first" / name / "__init__.py").write_text("raise SystemExit('imported in the serving process')\n")
    with launcher.serving(environ={"PYTHONPATH": str(tmp_path / "first")}) as server:
        post_review(server.client())
        for path in ("/healthz", "/metrics", "/nowhere"):
            server.get(path)
        assert len(server.workers) == 1
        for pid in (server.process.pid, *server.workers):
            assert "kubernetes" not in Path(f"/proc/{pid}/maps").read_text()
