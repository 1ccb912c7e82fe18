"""Sends an annotated Pod through the real webhook, over TLS and without a cluster.

Starts `modelfit serve` on loopback with a new certificate, sends the AdmissionReview that an API server would send, and
prints the Pod before and after admission and the ResourceClaim that the controller would create. Removes its files at
the end.

    python examples/demo.py [FILE]      FILE: llmfit's JSON for one model (default: qwen3-8b-plan.json)
"""

import base64
import difflib
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from certs import issuing, pem
from webhook.core import claims
from webhook.core.admission import json_patch
from webhook.core.admission_config import AdmissionConfig
from webhook.core.fits import model_fit
from webhook.errors import Denied

HERE = Path(__file__).parent
HOST = "127.0.0.1"
START_TIMEOUT = 20  # seconds
MAX_WIDTH = 100
USE_COLOUR = sys.stdout.isatty() and "NO_COLOR" not in os.environ

Document = dict[str, Any]


def main(path: Path) -> None:
    """Prints the steps. Exits with a message if one of them fails."""
    fit = path.read_text("utf-8")
    try:
        requirements = model_fit.parse(fit, path.name)
    except Denied as denied:
        sys.exit(f"{denied}")
    pod = annotated_pod(fit)
    print_step("1", f"llmfit computes what {requirements.model or 'the model'} needs: {path.name}")
    memory = requirements.memory_quantity or "unknown"
    print_detail(f"GPU memory: {requirements.gpu_memory_quantity}, system memory: {memory}")
    print_step("2", "A Pod has this JSON in an annotation. Its spec does not mention a GPU.")
    print_lines(yaml_lines(pod, MAX_WIDTH))
    print_step("3", "The Pod is created. The API server calls the webhook.")
    with running_webhook() as webhook:
        response, milliseconds = webhook.review(admission_review(pod))
    allowed = str(response["allowed"]).lower()
    print_detail(f"POST https://{HOST}:{webhook.port}/mutate: allowed: {allowed}, after {milliseconds:.1f} ms")
    for warning in response.get("warnings", ()):
        print_detail(f"kubectl prints: Warning: {warning}")
    if not response["allowed"]:
        sys.exit(f"denied: {response['status']['message']}")
    operations = json.loads(base64.b64decode(response["patch"]))
    admitted: Document = json_patch.apply(json.loads(json.dumps(pod)), operations)
    print_step("4", f"The response is a JSON patch of {len(operations)} operations. The admitted Pod (+ is new):")
    print_additions(yaml_lines(pod, MAX_WIDTH), yaml_lines(admitted, MAX_WIDTH))
    # The API server sets these fields when it stores the Pod.
    stored = admitted | {"metadata": admitted["metadata"] | {"uid": str(uuid.uuid4()), "namespace": "default"}}
    claim = claims.build_pod_claim(stored, AdmissionConfig())
    if claim is None:
        print_step("5", "The model needs no GPU, so there is no ResourceClaim. The Pod has a memory request.")
        return
    print_step("5", "The controller creates the ResourceClaim that the Pod references. The Pod owns it.")
    print_detail("The scheduler allocates a GPU that is large enough. Kubernetes deletes the claim with the Pod.")
    print_lines(yaml_lines(claim))


def annotated_pod(fit: str) -> Document:
    """A Pod with a fit as its annotation."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "llm", "annotations": {"llmfit.ai/model-fit": json.dumps(json.loads(fit))}},
        "spec": {"containers": [{"name": "server", "image": "ghcr.io/ggml-org/llama.cpp:server-cuda"}]},
    }


def admission_review(pod: Document) -> Document:
    """The AdmissionReview that an API server sends when the Pod is created."""
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": str(uuid.uuid4()),
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "operation": "CREATE",
            "name": "llm",
            "namespace": "default",
            "userInfo": {"username": "demo"},
            "object": pod,
            "oldObject": None,
            "dryRun": False,
        },
    }


class Webhook:
    """A client of `modelfit serve`. `ca` is the PEM text of the only trusted CA."""

    def __init__(self, port: int, ca: str) -> None:
        self.port = port
        self._context = ssl.create_default_context(cadata=ca)

    def get(self, path: str) -> int:
        """The HTTP status of a GET. Raises OSError until the server listens."""
        return self._call("GET", path, None)[0]

    def review(self, review: Document) -> tuple[Document, float]:
        """The response to an AdmissionReview, and its duration in milliseconds with the TLS handshake."""
        start = time.perf_counter()
        status, body = self._call("POST", "/mutate", json.dumps(review))
        milliseconds = (time.perf_counter() - start) * 1000
        if status != 200:
            sys.exit(f"HTTP status {status}: {body.decode(errors='replace')}")
        response: Document = json.loads(body)["response"]
        return response, milliseconds

    def _call(self, method: str, path: str, body: str | None) -> tuple[int, bytes]:
        connection = http.client.HTTPSConnection(HOST, self.port, context=self._context, timeout=10)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()


@contextmanager
def running_webhook() -> Iterator[Webhook]:
    """Runs `modelfit serve` in a process."""
    with tempfile.TemporaryDirectory(prefix="modelfit-demo-") as folder:
        certificate, key = Path(folder, "tls.crt"), Path(folder, "tls.key")
        now = datetime.now(UTC)
        ca = issuing.issue_ca(now, timedelta(hours=1))
        leaf = issuing.issue_leaf(ca, [HOST], now, timedelta(hours=1))
        certificate.write_bytes(pem.dump_certificates((leaf.certificate,)))
        key.touch(mode=0o600)
        key.write_bytes(leaf.key)
        port = free_port()
        command = [sys.executable, "-m", "webhook.cli", "serve", "--host", HOST, "--port", str(port)]
        # Settings in the user's environment do not apply to the demo. Without draining, the webhook stops at once.
        environ = {name: value for name, value in os.environ.items() if not name.startswith("MODELFIT_")}
        with Path(folder, "log").open("w+b") as log:
            process = subprocess.Popen(
                [*command, "--cert", str(certificate), "--key", str(key)],
                env=environ | {"MODELFIT_DRAIN_SECONDS": "0"},
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C ends the demo, which then stops the webhook
            )
            try:
                webhook = Webhook(port, pem.dump_certificates((ca.certificate,)).decode())
                wait_until_ready(webhook, process, log.name)
                yield webhook
            finally:
                stop(process)


def wait_until_ready(webhook: Webhook, process: "subprocess.Popen[bytes]", log: str) -> None:
    """Waits for readiness. Exits with the log if the webhook does not get ready."""
    deadline = time.monotonic() + START_TIMEOUT
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if webhook.get("/readyz") == 200:
                return
        except OSError:
            pass
        time.sleep(0.05)
    problem = "did not start in time" if process.poll() is None else f"ended with exit code {process.returncode}"
    sys.exit(f"modelfit serve {problem}:\n{Path(log).read_text('utf-8', 'replace')}")


def stop(process: "subprocess.Popen[bytes]") -> None:
    """Stops the process with SIGTERM, and after 10 s all of its workers with SIGKILL."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def free_port() -> int:
    """A TCP port that is not in use."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


class IndentingDumper(yaml.SafeDumper):
    """Indents lists inside mappings."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def yaml_lines(value: Document, width: int = 4096) -> list[str]:
    """The lines of the YAML document, truncated to `width`: a fit has thousands of characters."""
    text = yaml.dump(value, Dumper=IndentingDumper, sort_keys=False, width=4096)
    return [line if len(line) <= width else f"{line[:width]} …" for line in text.splitlines()]


def print_additions(before: list[str], after: list[str]) -> None:
    """Prints the lines of `after`, with a + in front of those that are not in `before`."""
    for line in difflib.ndiff(before, after):
        if line[0] in " +":
            print(colour("32", f"  {line}") if line[0] == "+" else f"  {line}")


def print_lines(lines: list[str]) -> None:
    """Prints the lines of a document."""
    print("\n".join(f"    {line}" for line in lines))


def print_step(number: str, title: str) -> None:
    """Prints the heading of a step."""
    print(f"\n{colour('1', f'{number}. {title}')}", flush=True)


def print_detail(text: str) -> None:
    """Prints a line below the heading."""
    print(f"   {text}")


def colour(code: str, text: str) -> str:
    """The text with a colour code if the output is a terminal."""
    return f"\033[{code}m{text}\033[0m" if USE_COLOUR else text


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "qwen3-8b-plan.json")
        sys.stdout.flush()
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # the pager was closed
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
