"""Chooses the containers that get the claim. The first rule that applies decides:

1. llmfit.ai/containers                       the names in it, init containers included
2. a container that references the claim      the pod was injected before
3. kubectl.kubernetes.io/default-container    kubectl's annotation for the main container
4. the only container
5. the first that is not a known sidecar      other webhooks insert theirs at index 0
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
"""Names of the containers that sidecar injectors add."""


def choose(pod: Pod) -> Sequence[Container]:
    """At least one container, in the order of the rule. Raises Denied if no rule applies."""
    containers = pod.containers
    all_containers = containers + pod.init_containers
    listed = pod.annotations.get(constants.CONTAINERS)
    if listed is not None:
        names = [name for part in listed.split(",") if (name := part.strip())]
        return _find(names, all_containers, annotation_path(constants.CONTAINERS), listed)
    if pods.alias_entry(pod) is not None:
        injected = [container for container in all_containers if references_claim(container)]
        if injected:
            return injected
    default = pod.annotations.get(constants.DEFAULT_CONTAINER)
    if default is not None:
        return _find([default], all_containers, annotation_path(constants.DEFAULT_CONTAINER), default)
    if len(containers) == 1:
        return containers
    candidates = [container for container in containers if container.name not in SIDECARS]
    if not candidates:
        value = f"only known sidecars: {quote_all(each.name for each in containers)}" if containers else "no container"
        hint = f"name the container in the annotation {constants.CONTAINERS}"
        raise Denied(Reason.UNKNOWN_CONTAINER, [FieldError("spec.containers", value, "one that runs the model", hint)])
    return candidates[:1]


def references_claim(container: Container) -> bool:
    """Whether the container references the whole claim under our alias."""
    return any(isinstance(claim, dict) and claim.get("name") == constants.ALIAS for claim in container.claims)


def _find(names: list[str], containers: Sequence[Container], field: str, annotation: str) -> list[Container]:
    by_name = {container.name: container for container in containers if container.name}
    unknown = [name for name in names if name not in by_name]
    if unknown or not names:
        value = f"no container {quote_all(unknown)}" if unknown else f"no name in {quote(annotation)}"
        raise Denied(Reason.UNKNOWN_CONTAINER, [FieldError(field, value, f"names among {quote_all(by_name, 16)}")])
    return [by_name[name] for name in dict.fromkeys(names)]
