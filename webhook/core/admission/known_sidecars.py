"""The containers that other webhooks and controllers add to a pod, as data: they never run the model.

Only names of regular containers are listed, because init containers and native sidecars are target containers only if
an annotation names them. So injectors that add nothing else are absent: Dynatrace, Datadog's libraries, Istio's ambient
mode and native sidecars.
"""

from typing import NamedTuple


class Sidecar(NamedTuple):
    """Sidecars of one injector."""

    name: str
    """The container's name. With a `*` at its end it is a prefix."""
    source: str
    """Where the injector's code or documentation has the name."""
    image: str = ""
    """A part of the image, for a name that users give to containers of their own too."""

    def matches(self, name: str, image: str) -> bool:
        """Whether a container with this name and image is one of them."""
        named = name.startswith(self.name[:-1]) if self.name.endswith("*") else name == self.name
        return named and self.image in image


_GITHUB = "https://github.com/"
_CONSUL = f"{_GITHUB}hashicorp/consul-k8s/tree/main/control-plane/connect-inject"
_APP_MESH = f"{_GITHUB}aws/aws-app-mesh-controller-for-k8s/tree/master/pkg/inject"
_CLOUD_SQL = "https://cloud.google.com/sql/docs/postgres/connect-kubernetes-engine"
_FLUID = f"{_GITHUB}fluid-cloudnative/fluid/tree/master/pkg/application/inject/fuse"
_JUICEFS = f"{_GITHUB}juicedata/juicefs-csi-driver/blob/master/pkg/common/common.go"
_GCS_FUSE = f"{_GITHUB}GoogleCloudPlatform/gcs-fuse-csi-driver/tree/main/pkg/webhook"
_DATADOG = f"{_GITHUB}DataDog/datadog-agent/tree/main/pkg/clusteragent/admission/mutate/agent_sidecar"
_LLM_D = f"{_GITHUB}llm-d-incubation/llm-d-modelservice/tree/main/charts/llm-d-modelservice"
_KSERVE = f"{_GITHUB}kserve/kserve/blob/master/pkg/constants/constants.go"
_LOGGING = "https://kubernetes.io/docs/concepts/cluster-administration/logging/#sidecar-container-with-a-logging-agent"

SIDECARS = (
    # Service meshes.
    Sidecar(
        "istio-proxy",
        f"{_GITHUB}istio/istio/blob/master/manifests/charts/istio-control/istio-discovery/files/injection-template.yaml",
    ),
    Sidecar("linkerd-proxy", f"{_GITHUB}linkerd/linkerd2/blob/main/charts/partials/templates/_proxy.tpl"),
    Sidecar("linkerd-debug", "https://linkerd.io/2/tasks/using-the-debug-container/"),
    Sidecar("kuma-sidecar", f"{_GITHUB}kumahq/kuma/tree/master/pkg/plugins/runtime/k8s/util"),
    Sidecar("consul-dataplane", _CONSUL),
    Sidecar("consul-dataplane-*", _CONSUL),
    Sidecar("consul-sidecar", _CONSUL),
    Sidecar("envoy-sidecar", _CONSUL),
    Sidecar("envoy", _APP_MESH),
    Sidecar("aws-appmesh-envoy", _APP_MESH),
    Sidecar("xray-daemon", _APP_MESH),
    Sidecar("nginx-mesh-sidecar", "https://docs.nginx.com/nginx-service-mesh/"),
    # Secrets, identities and connections.
    Sidecar("vault-agent", "https://developer.hashicorp.com/vault/docs/platform/k8s/injector"),
    Sidecar("daprd", "https://docs.dapr.io/concepts/dapr-services/sidecar/"),
    Sidecar("cloud-sql-proxy", _CLOUD_SQL),
    Sidecar("cloudsql-proxy", _CLOUD_SQL),
    Sidecar("csql-*", f"{_GITHUB}GoogleCloudPlatform/cloud-sql-proxy-operator/tree/main/internal/workload"),
    Sidecar("alloydb-auth-proxy", "https://cloud.google.com/alloydb/docs/auth-proxy/connect"),
    Sidecar("azwi-proxy", f"{_GITHUB}Azure/azure-workload-identity/blob/main/pkg/webhook/consts.go"),
    Sidecar("sidecar-aws-sigv4-proxy", f"{_GITHUB}aws-observability/aws-sigv4-proxy-admission-controller"),
    Sidecar("ts-sidecar", f"{_GITHUB}tailscale/tailscale/blob/main/docs/k8s/sidecar.yaml"),
    Sidecar("kube-rbac-proxy", f"{_GITHUB}brancz/kube-rbac-proxy/tree/master/examples"),
    Sidecar("oauth-proxy", f"{_GITHUB}openshift/oauth-proxy/tree/master/contrib"),
    Sidecar("oauth2-proxy", "https://oauth2-proxy.github.io/oauth2-proxy/"),
    # File systems.
    Sidecar("fluid-fuse", _FLUID),
    Sidecar("fluid-fuse-*", _FLUID),
    Sidecar("jfs-mount", _JUICEFS),
    Sidecar("jfs-mount-*", _JUICEFS),
    Sidecar("gke-gcsfuse-sidecar", _GCS_FUSE),
    Sidecar("gke-gcsfuse-metadata-prefetch", _GCS_FUSE),
    # Metrics, traces and logs.
    Sidecar("otc-container", f"{_GITHUB}open-telemetry/opentelemetry-operator/tree/main/internal/naming"),
    Sidecar("opentelemetry-collector", "https://opentelemetry.io/docs/collector/deploy/agent/"),
    Sidecar("jaeger-agent", f"{_GITHUB}jaegertracing/jaeger-operator/tree/main/pkg/inject"),
    Sidecar("datadog-agent-injected", _DATADOG),
    Sidecar("datadog-agent", "https://docs.datadoghq.com/integrations/eks_fargate/"),
    Sidecar("newrelic-infrastructure-sidecar", f"{_GITHUB}newrelic/newrelic-infra-operator"),
    Sidecar("telegraf", f"{_GITHUB}influxdata/telegraf-operator"),
    Sidecar("config-reloader", f"{_GITHUB}prometheus-operator/prometheus-operator/tree/main/pkg/operator"),
    Sidecar("fluent-bit", _LOGGING),
    Sidecar("fluentbit", _LOGGING),
    Sidecar("fluentd", _LOGGING),
    Sidecar("filebeat", _LOGGING),
    Sidecar("promtail", _LOGGING),
    # Serving and workflow systems.
    Sidecar("queue-proxy", f"{_GITHUB}knative/serving/blob/main/pkg/reconciler/revision/resources/queue.go"),
    Sidecar("agent", _KSERVE, image="kserve"),
    Sidecar("modelcar", _KSERVE),
    Sidecar("modelcar-*", _KSERVE),
    Sidecar("transformer-container", _KSERVE),
    Sidecar("routing-proxy", _LLM_D),
    Sidecar("llm-d-routing-sidecar", f"{_GITHUB}kserve/kserve/tree/master/config/llmisvcconfig"),
    Sidecar("vllm-render", f"{_GITHUB}llm-d/llm-d-inference-sim"),
    Sidecar("aibrix-runtime", f"{_GITHUB}vllm-project/aibrix/tree/main/pkg/webhook"),
    Sidecar("seldon-container-engine", f"{_GITHUB}SeldonIO/seldon-core/tree/v1.18.2/operator"),
    Sidecar("autoscaler", f"{_GITHUB}ray-project/kuberay/tree/master/ray-operator/controllers/ray/common", image="ray"),
    Sidecar("wait", f"{_GITHUB}argoproj/argo-workflows/tree/main/workflow/common", image="argoexec"),
)


def is_sidecar(name: str, image: str) -> bool:
    """Whether a container with this name and image is a known sidecar."""
    return any(sidecar.matches(name, image) for sidecar in SIDECARS)
