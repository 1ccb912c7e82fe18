"""Values and names that tests iterate over. Each switch of the chart is on and off at least once."""

from tests.chart.rendering import Values

CA_CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"

SCHEDULING: Values = {
    "priorityClassName": "system-cluster-critical",
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "tolerations": [{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists"}],
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}]}
                ]
            }
        }
    },
    "topologySpreadConstraints": [
        {"maxSkew": 2, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule"}
    ],
    "maxUnavailable": "50%",
    "podLabels": {"team": "platform"},
    "podAnnotations": {"example.com/note": "x"},
}

MATRIX: dict[str, Values] = {
    "defaults": {},
    "cert-manager": {"certificates": {"mode": "cert-manager"}},
    "cert-manager with an issuer": {
        "certificates": {
            "mode": "cert-manager",
            "certManager": {"issuerRef": {"name": "ca", "kind": "ClusterIssuer"}, "duration": "2160h"},
        }
    },
    "secret": {"certificates": {"mode": "secret", "secret": {"name": "own", "caBundle": CA_CERTIFICATE}}},
    "everything": {
        "commonLabels": {"cost-centre": "7"},
        "image": {"repository": "registry.example/modelfit", "digest": f"sha256:{'0' * 64}",
                  "pullSecrets": [{"name": "registry"}]},
        "config": {"profile": "amd", "drainSeconds": 20, "logLevel": "debug"},
        "admission": {
            "failurePolicy": "Ignore", "timeoutSeconds": 2, "excludedNamespaces": ["monitoring"],
            "annotations": {"example.com/note": "x"}, "workloads": {"failurePolicy": "Fail"},
        },
        "webhook": {**SCHEDULING, "autoscaling": {"enabled": True}, "preStopSeconds": 7,
                    "clientCA": {"configMap": "client-ca", "names": ["kube-apiserver", "other"]}},
        "controller": SCHEDULING,
        "service": {"port": 8443, "ipFamilyPolicy": "PreferDualStack", "annotations": {"example.com/note": "x"}},
        "monitoring": {
            "enabled": True, "labels": {"release": "prometheus"},
            "alerts": {"enabled": True}, "dashboard": {"enabled": True},
        },
        "networkPolicy": {
            "apiServerCIDRs": ["192.0.2.10/32"], "webhookSourceCIDRs": ["192.0.2.0/24", "2001:db8::/64"],
            "metricsFrom": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}],
        },
    },
    "monitoring with mode secret": {
        "certificates": {"mode": "secret", "secret": {"name": "own", "caBundle": CA_CERTIFICATE}},
        "monitoring": {"enabled": True},
    },
    "host network": {"webhook": {"hostNetwork": True, "port": 10250, "replicas": 3}},
    "minimal": {
        "admission": {"workloads": {"enabled": False}},
        "runAsUser": None, "networkPolicy": {"enabled": False}, "listenAddress": "::",
        "webhook": {"replicas": 1, "preStopSeconds": 0, "resources": None, "topologySpreadConstraints": []},
        "controller": {"replicas": 1, "resources": None, "topologySpreadConstraints": []},
    },
}  # fmt: skip

MAX_RELEASE = "r" + "0123456789-" * 4 + "01234567"
MAX_NAMESPACE = "n" + "0123456789-" * 5 + "0123456"

NAMES: dict[str, tuple[str, str, Values]] = {
    "plain": ("modelfit", "modelfit", {}),
    "one letter": ("m", "d", {}),
    "in default": ("gpu", "default", {}),
    "contains the chart's name": ("prod-modelfit-eu", "modelfit", {}),
    "begins with a digit": ("7b", "models", {}),
    "with dots": ("a.b.c", "models", {}),
    "longest": (MAX_RELEASE, MAX_NAMESPACE, {}),
    "longest, with nameOverride": (MAX_RELEASE, MAX_NAMESPACE, {"nameOverride": "x" * 40}),
    "nameOverride": ("gpu", "modelfit", {"nameOverride": "claims"}),
    "fullnameOverride": ("gpu", "modelfit", {"fullnameOverride": "claims"}),
    "numbers in YAML": ("1e3", "123", {"tests": {"namespace": "456"}}),
    "booleans in YAML": ("y", "true", {"fullnameOverride": "no"}),
    "longest fullnameOverride": ("gpu", MAX_NAMESPACE, {"fullnameOverride": "c" * 50}),
}
"""(release, namespace, values)"""
