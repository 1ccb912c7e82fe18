"""Which containers get the claim.

1. llmfit.ai/containers                       the names in it, init containers too
2. a container that refers to the claim       the pod went through here before
3. kubectl.kubernetes.io/default-container    the field's own word for "the workload"
4. the only container
5. the first that is no known injected sidecar: other webhooks put theirs at index 0
"""

from collections.abc import Sequence

from webhook import constants
from webhook.core.admission import pods
from webhook.core.admission.pods import Container, Pod
from webhook.core.claims.device_request import annotation_path
from webhook.errors import Denied, FieldError, quote, quote_all
from webhook.reasons import Reason

SIDECARS = frozenset(
    {
        "istio-proxy", "linkerd-proxy", "kuma-sidecar", "consul-dataplane", "envoy", "envoy-sidecar",
        "aws-appmesh-envoy",
        "vault-agent", "daprd", "cloud-sql-proxy", "cloudsql-proxy", "gke-gcsfuse-sidecar", "azwi-proxy",
        "otc-container", "opentelemetry-collector", "jaeger-agent", "datadog-agent", "newrelic-infrastructure-sidecar",
        "fluent-bit", "fluentd", "filebeat", "promtail", "queue-proxy", "kube-rbac-proxy", "oauth-proxy",
        "oauth2-proxy",
    }
)  # fmt: skip
"""Names that injectors give to the containers that they add."""


def choose(pod: Pod) -> Sequence[Container]:
    """At least one container, in the order of the rule. Raises Refusal where none can be told."""
    containers, init_containers = pod.containers, pod.init_containers
    everyone = containers + init_containers
    listed = pod.annotations.get(constants.CONTAINERS)
    if listed is not None:
        names = [name for part in listed.split(",") if (name := part.strip())]
        return _named(names, everyone, annotation_path(constants.CONTAINERS), quote(listed))
    if pods.alias_entry(pod) is not None and (referring := [each for each in everyone if refers(each)]):
        return referring
    default = pod.annotations.get(constants.DEFAULT_CONTAINER)
    if default is not None:
        return _named([default], everyone, annotation_path(constants.DEFAULT_CONTAINER), quote(default))
    if len(containers) == 1:
        return containers
    workloads = [container for container in containers if container.name not in SIDECARS]
    if not workloads:
        saw = f"only known sidecars: {quote_all(each.name for each in containers)}" if containers else "no container"
        remedy = f"name the container in the annotation {constants.CONTAINERS}"
        raise Denied(Reason.UNKNOWN_CONTAINER, [FieldError("spec.containers", saw, "one that runs the model", remedy)])
    return workloads[:1]


def refers(container: Container) -> bool:
    """Whether the container refers to the whole claim under our alias."""
    return any(isinstance(each, dict) and each.get("name") == constants.ALIAS for each in container.claims)


def _named(names: list[str], everyone: Sequence[Container], path: str, seen: str) -> list[Container]:
    by_name = {container.name: container for container in everyone if container.name}
    unknown = [name for name in names if name not in by_name]
    if unknown or not names:
        saw = f"no container {quote_all(unknown)}" if unknown else f"no name in {seen}"
        raise Denied(Reason.UNKNOWN_CONTAINER, [FieldError(path, saw, f"names among {quote_all(by_name, 16)}")])
    return [by_name[name] for name in dict.fromkeys(names)]
