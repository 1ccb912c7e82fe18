"""A review of 7 KB as the API server sends it, with an annotated pod of a Deployment."""

import json


def request(host: str, path: str, uid: str = "705ab4f5-6393-11e8-b7cc-42010a800002") -> bytes:
    """The review as an HTTP request."""
    body = review(uid)
    header = (
        f"POST {path}?timeout=10s HTTP/1.1\r\nHost: {host}\r\nUser-Agent: kube-apiserver-admission\r\n"
        f"Content-Length: {len(body)}\r\nAccept: application/json, */*\r\nContent-Type: application/json\r\n"
        "Accept-Encoding: gzip\r\n\r\n"
    )
    return header.encode() + body


def review(uid: str) -> bytes:
    """The review as JSON."""
    kind = {"group": "", "version": "v1", "kind": "Pod"}
    resource = {"group": "", "version": "v1", "resource": "pods"}
    document = {
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": uid,
            "kind": kind,
            "resource": resource,
            "requestKind": kind,
            "requestResource": resource,
            "namespace": "models",
            "operation": "CREATE",
            "userInfo": {
                "username": "system:serviceaccount:kube-system:replicaset-controller",
                "uid": "0f6a3a2b-1f0a-4c0e-8a34-2f5f6c7d8e9f",
                "groups": ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
            },
            "object": pod(),
            "oldObject": None,
            "dryRun": False,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        },
    }
    return json.dumps(document, separators=(",", ":")).encode()


def pod() -> dict[str, object]:
    """A model server with a sidecar, with the defaults that the API server sets before it calls webhooks."""
    fit = {"model": "meta-llama/Llama-2-7b-chat-hf", "min_ram_gb": 12, "min_vram_gb": 8}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "generateName": "llama-7b-6d5f7c9b8d-",
            "creationTimestamp": None,
            "labels": {"app": "llama-7b", "pod-template-hash": "6d5f7c9b8d"},
            "annotations": {
                "llmfit.ai/model-fit": json.dumps(fit),
                "kubectl.kubernetes.io/default-container": "server",
                "prometheus.io/scrape": "true",
            },
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": "llama-7b-6d5f7c9b8d",
                    "uid": "5b5d9a0e-3b0e-4f6f-9f39-1f2f3f4f5f6f",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
            "managedFields": [_managed_fields()],
        },
        "spec": {
            "volumes": [
                {"name": "models", "persistentVolumeClaim": {"claimName": "models"}},
                {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "2Gi"}},
                {"name": "kube-api-access-x7k2p", "projected": {"defaultMode": 420, "sources": []}},
            ],
            "containers": [_container("server", 26), _container("metrics", 6)],
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "serviceAccountName": "default",
            "serviceAccount": "default",
            "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
            "schedulerName": "default-scheduler",
            "tolerations": [
                {
                    "key": f"node.kubernetes.io/{key}",
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": 300,
                }
                for key in ("not-ready", "unreachable")
            ],
            "priority": 0,
            "enableServiceLinks": True,
            "preemptionPolicy": "PreemptLowerPriority",
        },
        "status": {},
    }


def _container(name: str, variables: int) -> dict[str, object]:
    probe = {"httpGet": {"path": "/health", "port": 8000, "scheme": "HTTPS"}, "timeoutSeconds": 1, "periodSeconds": 10}
    return {
        "name": name,
        "image": f"registry.example.com/models/{name}:v0.11.2",
        "args": ["--model", "/models/llama-2-7b-chat", "--max-model-len", "4096", "--port", "8000"],
        "ports": [{"name": "http", "containerPort": 8000, "protocol": "TCP"}],
        "env": [{"name": f"SETTING_{index}", "value": f"the value of setting {index}"} for index in range(variables)],
        "resources": {"limits": {"cpu": "4"}, "requests": {"cpu": "2"}},
        "volumeMounts": [
            {"name": "models", "readOnly": True, "mountPath": "/models"},
            {"name": "shm", "mountPath": "/dev/shm"},  # noqa: S108
            {"name": "kube-api-access-x7k2p", "readOnly": True, "mountPath": "/var/run/secrets/kubernetes.io"},
        ],
        "livenessProbe": probe,
        "readinessProbe": probe,
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }


def _managed_fields() -> dict[str, object]:
    paths = ["image", "args", "env", "ports", "resources", "volumeMounts", "livenessProbe", "readinessProbe"]
    fields: dict[str, object] = {f"f:{path}": {".": {}, "f:value": {}, "f:path": {}} for path in paths}
    return {
        "manager": "kube-controller-manager",
        "operation": "Update",
        "apiVersion": "v1",
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:containers": {f'k:{{"name":"{name}"}}': fields for name in ("server", "metrics")}}},
    }
