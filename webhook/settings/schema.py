"""Every top-level setting, with its default and documentation."""

from typing import Annotated, Literal

from pydantic import Field

from webhook.core.admission_config import AdmissionConfig
from webhook.core.profiles import BUILTIN
from webhook.settings.field_types import Namespace, ProfileName, ResourceName, Variable
from webhook.settings.groups import CertificatesSettings, Group, ProfileSettings, SystemMemorySettings


class Settings(Group):
    """The settings of the webhook, the controller and the CLI."""

    profile: str = "nvidia"
    """Device profile of pods without the annotation `llmfit.ai/profile`: a built-in profile or one of `profiles`.
    Default `nvidia`."""
    placement: Literal["any", "tightest"] = "any"
    """`any`: the scheduler takes the first device that is large enough. `tightest`: the claim asks for smaller devices
    first. A claim lists at most 8 alternatives, so `tightest` has no effect with a profile of more than 4 DeviceClasses
    (2 with `shares` or `productMemory`). Default `any`."""
    system_memory: SystemMemorySettings = SystemMemorySettings()
    """System memory from a DRA driver for memory. Default off."""
    device_count_variable: Variable | None = None
    """Name of an environment variable that is set in the target containers to the number of devices. It is not set with
    device count `auto`: the number is then unknown at admission. Default none."""
    memory_requests: Literal["fill", "ignore"] = "fill"
    """`fill`: the model's `memory` becomes the first target container's memory request if it has neither a memory
    request nor a limit. `ignore`: memory requests are not changed. Default `fill`."""
    device_plugin_requests: Literal["deny", "warn"] = "deny"
    """Whether to deny or warn if a target container also requests a device-plugin GPU such as nvidia.com/gpu. Default
    `deny`."""
    gpu_resource_names: Annotated[list[ResourceName], Field(max_length=64)] = Field(default_factory=list)
    """Further extended resources that hand out GPUs and count like nvidia.com/gpu for `devicePluginRequests`: list the
    `extendedResourceName` of your DeviceClasses, such as `example.com/gpu`. At most 64. Default none."""
    max_devices_per_pod: int = Field(default=32, ge=1, le=32)
    """Largest device count of a pod. The webhook denies a larger number and leaves larger counts out of `auto`; the
    controller creates no claim for one. Kubernetes allocates at most 32 devices to a claim. Default 32."""
    ambiguous_containers: Literal["deny", "first"] = "deny"
    """What to do with a pod of which several containers may run the model, if neither `llmfit.ai/containers` nor
    `kubectl.kubernetes.io/default-container` names one. `deny`: the pod is denied and the message names the containers.
    `first`: the first of them gets the claim, with a warning, even if another webhook inserted it. Default `deny`."""
    uninjected_pods: Literal["deny", "warn"] = "deny"
    """Whether the validating webhook denies an annotated pod that needs a claim and has none, or warns. Default
    `deny`."""
    profiles: dict[ProfileName, ProfileSettings] = Field(default_factory=dict)
    """Custom device profiles by name. A profile with the name of a built-in one replaces it. Default none."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Lowest level that is logged. Default `info`."""
    workers: int = Field(default=1, ge=1, le=64)
    """Worker processes of the webhook. One is enough for the load of an API server; replicas add capacity. Default
    1."""
    max_connections: int = Field(default=1024, ge=16, le=65536)
    """Open connections of one worker, idle ones included. Further connections wait to be accepted. Default 1024."""
    max_review_mebibytes: int = Field(default=8, ge=1, le=64)
    """Size limit of an AdmissionReview in MiB. A larger one is denied. An API server sends at most about 7 MiB. The
    reviews that a worker reads at the same time may take up to 32 times this limit in memory. Default 8."""
    keep_alive_seconds: int = Field(default=120, ge=1, le=3600)
    """Seconds until an idle connection is closed. The default is longer than the API server's own timeout (90), so that
    the API server closes first: a request that is sent while the webhook closes would fail. Default 120."""
    drain_seconds: float = Field(default=10, ge=0, le=600)
    """Seconds that the webhook still answers after SIGTERM; readiness is false meanwhile. Must be longer than the API
    server takes to notice a removed endpoint. Default 10."""

    claim_workers: int = Field(default=8, ge=1, le=64)
    """Pods that the controller reconciles concurrently. Default 8."""
    leader_election: bool = True
    """Whether the controller's replicas elect a leader with a Lease. Only the leader writes. Default true."""
    uninjected_scan_seconds: float = Field(default=300, ge=1, le=86400)
    """Seconds between the controller's scans for annotated pods that the webhook did not inject, which get an Event.
    Default 300."""

    included_namespaces: list[Namespace] = Field(default_factory=list)
    """Namespaces whose pods are injected, except excluded ones. In others the API server does not call the webhook, and
    the controller creates no claims and reports no uninjected pods. Empty means all. Default none."""
    excluded_namespaces: list[Namespace] = Field(default_factory=lambda: ["kube-system"])
    """Namespaces in which the API server does not call the webhook. The controller creates no claims and reports no
    uninjected pods there. The controller's own namespace and namespaces labelled `llmfit.ai/inject: disabled` are
    excluded in any case. Default `[kube-system]`."""

    certificates: CertificatesSettings | None = None
    """The webhook's certificate, if the controller issues it. Without this group it is issued elsewhere, for example by
    cert-manager. Default none."""

    def admission_config(self) -> AdmissionConfig:
        """The settings that the core needs."""
        custom = {name: settings.profile(name) for name, settings in self.profiles.items()}
        return AdmissionConfig(
            profile=self.profile,
            profiles=BUILTIN | custom,
            placement=self.placement,
            system_memory_class=self.system_memory.device_class,
            device_count_variable=self.device_count_variable,
            memory_requests=self.memory_requests,
            device_plugin_requests=self.device_plugin_requests,
            max_devices_per_pod=self.max_devices_per_pod,
            gpu_resource_names=tuple(self.gpu_resource_names),
            ambiguous_containers=self.ambiguous_containers,
            uninjected_pods=self.uninjected_pods,
        )
