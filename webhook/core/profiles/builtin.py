"""The profiles that come with the product."""

from webhook.core import cel
from webhook.core.profiles.profile import Profile

# Classes and capacity of kubernetes-sigs/dra-driver-nvidia-gpu: the class pins type == 'gpu', so MIG slices and
# vfio devices (which publish no `memory`) are out.
_NVIDIA = Profile(
    name="nvidia",
    driver="gpu.nvidia.com",
    device_class="gpu.nvidia.com",
    product="gpu.nvidia.com/productName",
)

# kubernetes-sigs/dra-example-driver, for trying things out.
_EXAMPLE = Profile(
    name="example",
    driver="gpu.example.com",
    device_class="gpu.example.com",
    product="gpu.example.com/model",
)

# sympozium-ai/llmfit-dra. The class of `llmfit claim` spans all kinds of device; a CPU device publishes the system's
# RAM as `memory`, which is no GPU memory.
_LLMFIT = Profile(
    name="llmfit",
    driver="llmfit.ai",
    device_class="llmfit.ai",
    selectors=(cel.attribute_true("llmfit.ai", "healthy"), cel.attribute_not("llmfit.ai", "kind", "cpu")),
    product="llmfit.ai/model",
    bandwidth="memoryBandwidthGBs",
)

BUILTIN = {profile.name: profile for profile in (_NVIDIA, _EXAMPLE, _LLMFIT)}
"""Profiles by name."""
