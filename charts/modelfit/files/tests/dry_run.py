"""The `helm test`: creates an annotated pod as a server-side dry run and checks that it comes back with a claim.

Arguments: the namespace to create the pod in, the namespaces in which the webhook is not called (comma-separated), and
the timeout in seconds. Right after an installation the API server may not trust the webhook's certificate yet, so the
test retries until the timeout. It uses only the standard library, so that it runs in any image with Python.
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
    """Returns the pod as it would be created, and the warnings. Raises Refused."""
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
    https = urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=ACCOUNT / "ca.crt"))
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), https)
    try:
        with opener.open(request, timeout=30) as response:
            return json.load(response), response.headers.get_all("Warning") or []
    except urllib.error.HTTPError as error:
        with error:
            raise Refused(json.load(error).get("message", str(error))) from None


class Refused(Exception):
    """The API server refused the pod."""


def check(namespace):
    """Returns an error message, or an empty string if the pod was injected."""
    try:
        pod, warnings = dry_run(namespace)
    except (Refused, OSError, ValueError) as error:
        return str(error)
    for warning in warnings:
        print(warning.partition(" - ")[2].strip('"'))
    claims = [claim for claim in pod["spec"].get("resourceClaims", []) if claim["name"] == "modelfit"]
    if claims:
        print("injected with claim", claims[0]["resourceClaimName"])
        return ""
    if "llmfit.ai/claim" in pod["metadata"]["annotations"]:
        return "the webhook answered, but the API server dropped the claim: Dynamic Resource Allocation is disabled"
    return f"the pod came back unchanged: the webhook was not called; is namespace {namespace} excluded?"


def main():
    namespace, excluded, seconds = sys.argv[1], sys.argv[2].split(","), float(sys.argv[3])
    if namespace in excluded:
        sys.exit(f"failed: the webhook is not called in namespace {namespace}; set tests.namespace to another one")
    deadline = time.monotonic() + seconds
    error = check(namespace)
    while error and time.monotonic() < deadline:
        print("retrying:", error, flush=True)
        time.sleep(2)
        error = check(namespace)
    if error:
        sys.exit(f"failed: {error}")


main()
