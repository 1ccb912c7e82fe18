"""The job, on this machine: an annotated Pod goes through the real webhook over TLS.

Starts `modelfit serve` on loopback with a certificate made for this run, sends it the review that an API server
would send, and prints the Pod before and after, and the ResourceClaim that the controller would create. No cluster, no
network; nothing is left behind.

    python examples/demo.py [FILE]      FILE: what llmfit printed for one model (default: qwen3-8b-plan.json)
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
SECONDS_TO_START = 20
Document = dict[str, Any]
WIDTH = 100
COLOUR = sys.stdout.isatty() and "NO_COLOR" not in os.environ


def main(path: Path) -> None:
    """Shows the job. Exits with a message where a step fails."""
    fit = path.read_text("utf-8")
    try:
        requirements = model_fit.parse(fit, path.name)
    except Denied as refusal:
        sys.exit(f"{refusal}")
    pod = annotated(fit)
    step("1", f"llmfit has printed what {requirements.model or 'the model'} needs: {path.name}.")
    say(f"GPU memory {requirements.gpu_memory_quantity}, system memory {requirements.memory_quantity or 'not said'}.")
    step("2", "That JSON goes into one annotation of a Pod. There is no word of a GPU in its spec.")
    show(document(pod, WIDTH))
    step("3", "The Pod is created: the API server asks the webhook, over TLS.")
    with webhook() as server:
        answer, milliseconds = server.ask(review(pod))
    response = answer["response"]
    say(f"POST https://{HOST}:{server.port}/mutate answered in {milliseconds:.1f} ms: allowed: {response['allowed']}")
    for warning in response.get("warnings", ()):
        say(f"kubectl shows: Warning: {warning}")
    if not response["allowed"]:
        sys.exit(f"refused: {response['status']['message']}")
    operations = json.loads(base64.b64decode(response["patch"]))
    admitted: Document = json_patch.apply(json.loads(json.dumps(pod)), operations)
    step("4", f"The answer is a JSON patch of {len(operations)} operations. The Pod as it is admitted (+ is new):")
    difference(document(pod, WIDTH), document(admitted, WIDTH))
    # From here on it has what the API server gives to an object that it stores.
    stored = admitted["metadata"] | {"uid": str(uuid.uuid4()), "namespace": "default"}
    claim = claims.build_pod_claim(stored, AdmissionConfig())
    if claim is None:
        step("5", "The model needs no GPU, so there is no ResourceClaim: the memory request is all.")
        return
    step("5", "The controller sees the Pod, and creates the ResourceClaim that it names. It belongs to the Pod:")
    say("the scheduler picks a GPU that fits, and when the Pod goes, Kubernetes takes the claim with it.")
    show(document(claim))


def annotated(fit: str) -> Document:
    """A Pod whose only special word is the annotation."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "llm", "annotations": {"llmfit.ai/model-fit": json.dumps(json.loads(fit))}},
        "spec": {"containers": [{"name": "server", "image": "ghcr.io/ggml-org/llama.cpp:server-cuda"}]},
    }


def review(pod: Document) -> Document:
    """The question as an API server puts it."""
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
    """A running `modelfit serve`. `authority` is the PEM text of the only authority that is trusted to vouch for it."""

    def __init__(self, port: int, authority: str) -> None:
        self.port = port
        self._context = ssl.create_default_context(cadata=authority)

    def get(self, path: str) -> int:
        """The HTTP status of a GET. Raises OSError while nobody listens."""
        return self._call("GET", path, None)[0]

    def ask(self, question: Document) -> tuple[Document, float]:
        """The answering AdmissionReview, and how many milliseconds it took, the TLS handshake included."""
        begin = time.perf_counter()
        status, body = self._call("POST", "/mutate", json.dumps(question))
        milliseconds = (time.perf_counter() - begin) * 1000
        if status != 200:
            sys.exit(f"the webhook answered {status}: {body.decode(errors='replace')}")
        answer: Document = json.loads(body)
        return answer, milliseconds

    def _call(self, method: str, path: str, body: str | None) -> tuple[int, bytes]:
        connection = http.client.HTTPSConnection(HOST, self.port, context=self._context, timeout=10)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()


@contextmanager
def webhook() -> Iterator[Webhook]:
    """The real program, as a process of its own, for as long as the block lasts."""
    with tempfile.TemporaryDirectory(prefix="modelfit-demo-") as folder:
        certificate, key = Path(folder, "tls.crt"), Path(folder, "tls.key")
        now = datetime.now(UTC)
        authority = issuing.issue_ca(now, timedelta(hours=1))
        leaf = issuing.issue_leaf(authority, [HOST], now, timedelta(hours=1))
        certificate.write_bytes(pem.dump_certificates((leaf.certificate,)))
        key.touch(mode=0o600)
        key.write_bytes(leaf.key)
        port = free_port()
        command = [sys.executable, "-m", "webhook.cli", "serve", "--host", HOST, "--port", str(port)]
        # The settings of whoever runs this are not the demo's; and nobody needs time to look for another replica.
        environ = {name: value for name, value in os.environ.items() if not name.startswith("MODELFIT_")}
        with Path(folder, "log").open("w+b") as log:
            process = subprocess.Popen(
                [*command, "--cert", str(certificate), "--key", str(key)],
                env=environ | {"MODELFIT_DRAIN_SECONDS": "0"},
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the demo, which then stops it
            )
            try:
                server = Webhook(port, pem.dump_certificates((authority.certificate,)).decode())
                wait(server, process, log.name)
                yield server
            finally:
                stop(process)


def wait(server: Webhook, process: "subprocess.Popen[bytes]", log: str) -> None:
    """Returns when the webhook is ready; exits with its last words where it is not."""
    deadline = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if server.get("/readyz") == 200:
                return
        except OSError:
            pass
        time.sleep(0.05)
    state = "did not start in time" if process.poll() is None else f"ended with exit code {process.returncode}"
    sys.exit(f"modelfit serve {state}:\n{Path(log).read_text('utf-8', 'replace')}")


def stop(process: "subprocess.Popen[bytes]") -> None:
    """Ends the process and its workers, with more and more force."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


class Lines(yaml.SafeDumper):
    """YAML as people write it."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def document(value: Document, width: int = 4096) -> list[str]:
    """YAML lines, cut at `width`: a whole fit would fill the screen."""
    text = yaml.dump(value, Dumper=Lines, sort_keys=False, width=4096)
    return [line if len(line) <= width else f"{line[:width]} …" for line in text.splitlines()]


def difference(before: list[str], after: list[str]) -> None:
    """The lines of `after`, those that are not in `before` marked."""
    for line in difflib.ndiff(before, after):
        if line[0] in " +":
            print(paint("32", f"  {line}") if line[0] == "+" else f"  {line}")


def show(lines: list[str]) -> None:
    """Lines of a document."""
    print("\n".join(f"    {line}" for line in lines))


def step(number: str, title: str) -> None:
    """A step's headline."""
    print(f"\n{paint('1', f'{number}. {title}')}", flush=True)


def say(text: str) -> None:
    """A line under a headline."""
    print(f"   {text}")


def paint(code: str, text: str) -> str:
    """The text in a colour, on a terminal."""
    return f"\033[{code}m{text}\033[0m" if COLOUR else text


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "qwen3-8b-plan.json")
        sys.stdout.flush()
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # a pager that was left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
