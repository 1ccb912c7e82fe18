"""Every setting with its default and its manual."""

from typing import Literal

from pydantic import Field

from webhook.core.admission_config import AdmissionConfig
from webhook.core.profiles import BUILTIN
from webhook.settings.field_types import Namespace, ProfileName, Variable
from webhook.settings.groups import CertificatesSettings, Group, ProfileSettings, SystemMemorySettings


class Settings(Group):
    """Every setting, with its default."""

    profile: str = "nvidia"
    """Device profile of pods that name none: a built-in one or one of `profiles`. Default `nvidia`."""
    placement: Literal["any", "tightest"] = "any"
    """`any`: the first device that is large enough, which is what the scheduler does. `tightest`: smaller ones are
    looked for first; a claim lists at most 8 alternatives, so a profile with more than 4 DeviceClasses (2 with
    `shares`) leaves no room for it. Default `any`."""
    system_memory: SystemMemorySettings = SystemMemorySettings()
    """System memory from a DRA memory driver. Default off."""
    device_count_variable: Variable | None = None
    """Name of an environment variable for the target containers with the number of devices, where a pod asks for one
    number; with `auto` it is not known when the pod is admitted. Default none."""
    memory_requests: Literal["fill", "ignore"] = "fill"
    """`fill`: the model's `memory` becomes the first target container's memory request where nobody set one.
    `ignore`: pods' memory requests are left alone. Default `fill`."""
    device_plugin_requests: Literal["deny", "warn"] = "deny"
    """A target container that also requests a device-plugin GPU such as nvidia.com/gpu. Default `deny`."""
    uninjected_pods: Literal["deny", "warn"] = "deny"
    """An annotated pod that needs a claim and reaches the validating webhook without one. Default `deny`."""
    profiles: dict[ProfileName, ProfileSettings] = Field(default_factory=dict)
    """The operator's own device profiles by name; a built-in name may be redefined. Default none."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Least severe level that is logged. Default `info`."""
    workers: int = Field(default=1, ge=1, le=64)
    """Worker processes of the webhook. One serves what an API server can ask; replicas add more. Default 1."""
    max_connections: int = Field(default=1024, ge=16, le=65536)
    """Open connections of one worker, silent ones included; more wait to be accepted. Default 1024."""
    max_review_mebibytes: int = Field(default=8, ge=1, le=64)
    """Largest review in MiB; a larger one gets HTTP 413. An API server's largest is about 7. All that peers send can
    take 32 times as much of a worker's memory. Default 8."""
    keep_alive_seconds: int = Field(default=120, ge=1, le=3600)
    """Seconds that an idle connection is kept. Longer than the API server keeps its own idle ones (90), so that the
    side that may have a request on the way is the one that closes. Default 120."""
    drain_seconds: float = Field(default=10, ge=0, le=600)
    """Seconds from SIGTERM, when readiness turns false, until the webhook stops answering. Longer than endpoints take
    to reach the API server. Default 10."""

    claim_workers: int = Field(default=8, ge=1, le=64)
    """Claims that the controller creates at the same time. Default 8."""
    leader_election: bool = True
    """Whether replicas of the controller agree, by a Lease, on the one that acts. Default true."""
    uninjected_scan_seconds: float = Field(default=300, ge=1, le=86400)
    """Seconds between the controller's scans for annotated pods that the webhook did not inject, which get an Event.
    Default 300."""

    excluded_namespaces: list[Namespace] = Field(default_factory=lambda: ["kube-system"])
    """Namespaces in which the webhook is not called: the controller does not miss its work there. Its own namespace and
    those labelled `llmfit.ai/inject: disabled` need not be named. Default `[kube-system]`."""

    certificates: CertificatesSettings | None = None
    """The webhook's certificate, where the controller is its owner. Default none.
    Without it somebody else makes the certificate."""

    def admission_config(self) -> AdmissionConfig:
        """What the core needs of it."""
        own = {name: settings.profile(name) for name, settings in self.profiles.items()}
        return AdmissionConfig(
            profile=self.profile,
            profiles=BUILTIN | own,
            placement=self.placement,
            system_memory_class=self.system_memory.device_class,
            device_count_variable=self.device_count_variable,
            memory_requests=self.memory_requests,
            device_plugin_requests=self.device_plugin_requests,
            uninjected_pods=self.uninjected_pods,
        )
