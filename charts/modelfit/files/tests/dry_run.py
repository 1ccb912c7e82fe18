"""What `helm test` runs: creates an annotated pod as a server-side dry run, and looks at what comes back.

Only the standard library, so that it runs in any image with a Python. Arguments: the namespace to create the pod in,
those that the webhook leaves alone, with commas between, and the seconds after which to give up. Right after an
installation the webhook's certificate may not be known yet, so failures are repeated until then.
"""

import json
import os
import ssl
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

ACCOUNT = Path(os.environ.get("SERVICE_ACCOUNT", "/var/run/secrets/kubernetes.io/serviceaccount"))

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "generateName": "modelfit-test-",
        "annotations": {"llmfit.ai/model-fit": '{"model": "helm-test", "min_ram_gb": 1, "min_vram_gb": 1}'},
    },
    "spec": {
        "automountServiceAccountToken": False,
        "securityContext": {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [
            {
                "name": "server",
                "image": "modelfit",
                "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
            }
        ],
    },
}


def dry_run(namespace):
    """The pod as it would be created, and the warnings."""
    server = f"{os.environ['KUBERNETES_SERVICE_HOST']}:{os.environ['KUBERNETES_SERVICE_PORT']}"
    if server.count(":") > 1:
        host, _, port = server.rpartition(":")
        server = f"[{host}]:{port}"
    request = urllib.request.Request(
        f"https://{server}/api/v1/namespaces/{namespace}/pods?dryRun=All",
        data=json.dumps(POD).encode(),
        headers={
            "Content-Type": "application/json",
            "Authorization": f"Bearer {(ACCOUNT / 'token').read_text().strip()}",
        },
    )
    trust = urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=ACCOUNT / "ca.crt"))
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), trust)
    try:
        with opener.open(request, timeout=30) as answer:
            return json.load(answer), answer.headers.get_all("Warning") or []
    except urllib.error.HTTPError as error:
        with error:
            raise Refused(json.load(error).get("message", str(error))) from None


class Refused(Exception):
    """The API server's answer was no pod."""


def look(namespace):
    """What is wrong; empty where the pod was injected."""
    try:
        pod, warnings = dry_run(namespace)
    except (Refused, OSError, ValueError) as error:
        return str(error)
    for warning in warnings:
        print(warning.partition(" - ")[2].strip('"'))
    claims = [claim for claim in pod["spec"].get("resourceClaims", []) if claim["name"] == "modelfit"]
    if claims:
        print("injected, with the claim", claims[0]["resourceClaimName"])
        return ""
    if "llmfit.ai/claim" in pod["metadata"]["annotations"]:
        return "the webhook answered, but the API server dropped the claim: Dynamic Resource Allocation is switched off"
    return f"the pod came back as it was sent: the webhook was not called, or leaves namespace {namespace} alone"


def main():
    namespace, excluded, seconds = sys.argv[1], sys.argv[2].split(","), float(sys.argv[3])
    if namespace in excluded:
        sys.exit(f"failed: the webhook leaves namespace {namespace} alone; set tests.namespace to another one")
    deadline = time.monotonic() + seconds
    wrong = look(namespace)
    while wrong and time.monotonic() < deadline:
        print("not yet:", wrong, flush=True)
        time.sleep(2)
        wrong = look(namespace)
    if wrong:
        sys.exit(f"failed: {wrong}")


main()
