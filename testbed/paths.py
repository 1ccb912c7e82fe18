"""The API resource of each kind, and its URL paths."""

from __future__ import annotations

from typing import NamedTuple


class Resource(NamedTuple):
    """A kind's default API version, its plural and its scope."""

    api_version: str
    plural: str
    namespaced: bool = True


KINDS = {
    "Pod": Resource("v1", "pods"),
    "Event": Resource("v1", "events"),
    "Secret": Resource("v1", "secrets"),
    "ConfigMap": Resource("v1", "configmaps"),
    "Service": Resource("v1", "services"),
    "ServiceAccount": Resource("v1", "serviceaccounts"),
    "ResourceQuota": Resource("v1", "resourcequotas"),
    "LimitRange": Resource("v1", "limitranges"),
    "Node": Resource("v1", "nodes", namespaced=False),
    "Namespace": Resource("v1", "namespaces", namespaced=False),
    "Deployment": Resource("apps/v1", "deployments"),
    "ReplicaSet": Resource("apps/v1", "replicasets"),
    "StatefulSet": Resource("apps/v1", "statefulsets"),
    "DaemonSet": Resource("apps/v1", "daemonsets"),
    "Job": Resource("batch/v1", "jobs"),
    "CronJob": Resource("batch/v1", "cronjobs"),
    "Lease": Resource("coordination.k8s.io/v1", "leases"),
    "ResourceClaim": Resource("resource.k8s.io/v1", "resourceclaims"),
    "ResourceClaimTemplate": Resource("resource.k8s.io/v1", "resourceclaimtemplates"),
    "ResourceSlice": Resource("resource.k8s.io/v1", "resourceslices", namespaced=False),
    "DeviceClass": Resource("resource.k8s.io/v1", "deviceclasses", namespaced=False),
    "Role": Resource("rbac.authorization.k8s.io/v1", "roles"),
    "RoleBinding": Resource("rbac.authorization.k8s.io/v1", "rolebindings"),
    "ClusterRole": Resource("rbac.authorization.k8s.io/v1", "clusterroles", namespaced=False),
    "ClusterRoleBinding": Resource("rbac.authorization.k8s.io/v1", "clusterrolebindings", namespaced=False),
    "MutatingWebhookConfiguration": Resource(
        "admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations", namespaced=False
    ),
    "MutatingAdmissionPolicy": Resource(
        "admissionregistration.k8s.io/v1", "mutatingadmissionpolicies", namespaced=False
    ),
    "MutatingAdmissionPolicyBinding": Resource(
        "admissionregistration.k8s.io/v1", "mutatingadmissionpolicybindings", namespaced=False
    ),
    "ValidatingWebhookConfiguration": Resource(
        "admissionregistration.k8s.io/v1", "validatingwebhookconfigurations", namespaced=False
    ),
}


def path(
    kind: str,
    namespace: str | None = None,
    name: str | None = None,
    subresource: str | None = None,
    *,
    api_version: str | None = None,
) -> str:
    """The URL path of a collection, an object or a subresource; without `namespace` the one of all namespaces.

    `path("Pod", "a", "web", "status")` is `/api/v1/namespaces/a/pods/web/status`. Raises KeyError for an unknown kind.
    """
    resource = KINDS[kind]
    version = api_version or resource.api_version
    parts = ["/apis" if "/" in version else "/api", version]
    if resource.namespaced and namespace is not None:
        parts += ["namespaces", namespace]
    parts.append(resource.plural)
    parts += [part for part in (name, subresource) if part is not None]
    return "/".join(parts)
