"""What the operator decided, as the core needs it. `webhook.settings` reads it from the configuration."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from webhook.core.profiles import BUILTIN, Profile


@dataclass(frozen=True, slots=True)
class AdmissionConfig:
    """Defaults are those of `webhook.settings`."""

    profile: str = "nvidia"
    """The profile of pods that name none."""
    profiles: Mapping[str, Profile] = field(default_factory=lambda: BUILTIN)
    """Every profile that a pod may name."""
    placement: Literal["any", "tightest"] = "any"
    """Whether the first device that is large enough will do, or a smaller one is looked for first."""
    system_memory_class: str | None = None
    """DeviceClass of a memory driver, from which a claim takes the model's system memory too."""
    device_count_variable: str | None = None
    """Environment variable that tells the target containers the number of devices, where one number is asked for."""
    memory_requests: Literal["fill", "ignore"] = "fill"
    """Whether `memory` becomes the first target container's memory request where it has none."""
    device_plugin_requests: Literal["deny", "warn"] = "deny"
    """A target container that also asks for a device-plugin GPU."""
    uninjected_pods: Literal["deny", "warn"] = "deny"
    """A pod that needs a claim and reaches the validating webhook without one."""
