"""The part of the configuration that the core reads. `webhook.settings` loads and documents it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from webhook.core.profiles import BUILTIN, Profile

Placement: TypeAlias = Literal["any", "tightest"]
"""`any`: any device that is large enough. `tightest`: smaller devices first."""


@dataclass(frozen=True, slots=True)
class AdmissionConfig:
    """The defaults are those of `webhook.settings`."""

    profile: str = "nvidia"
    """The profile of pods that name none."""
    profiles: Mapping[str, Profile] = field(default_factory=lambda: BUILTIN)
    """The profiles that a pod may name."""
    placement: Placement = "any"
    system_memory_class: str | None = None
    """The DeviceClass of a memory driver, from which claims also request the model's system memory."""
    device_count_variable: str | None = None
    """The environment variable in which target containers get the device count, if a single one is requested."""
    memory_requests: Literal["fill", "ignore"] = "fill"
    """`fill`: `memory` becomes the memory request of the first target container, unless a request or limit is set."""
    device_plugin_requests: Literal["deny", "warn"] = "deny"
    """What to do with a target container that also requests a GPU through a device plugin."""
    max_devices_per_pod: int = 32
    """The largest device count of a pod."""
    gpu_resource_names: tuple[str, ...] = ()
    """Further extended resources that count as one: those that DeviceClasses map with `extendedResourceName`."""
    ambiguous_containers: Literal["deny", "first"] = "deny"
    """What to do with a pod of which several containers may run the model: `first` gives the claim to the first."""
    uninjected_pods: Literal["deny", "warn"] = "deny"
    """What the validating webhook does with a pod that needs a claim and has none."""
