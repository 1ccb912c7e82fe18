"""The profiles that come with the product, in the words of each driver's chart and source."""

from webhook.core.profiles import cel
from webhook.core.profiles.profile import Profile

# kubernetes-sigs/dra-driver-nvidia-gpu. The class pins type == 'gpu', so MIG slices and vfio devices (which publish no
# `memory`) are out.
_NVIDIA = Profile(
    name="nvidia",
    driver="gpu.nvidia.com",
    device_classes=("gpu.nvidia.com",),
    product="gpu.nvidia.com/productName",
)

# The same driver, where cards are partitioned: a MIG slice that is large enough, else a whole card. A process sees one
# MIG slice only, and there is no peer-to-peer between slices, so a model over several devices gets whole cards.
_NVIDIA_MIG = Profile(
    name="nvidia-mig",
    driver="gpu.nvidia.com",
    device_classes=("mig.nvidia.com", "gpu.nvidia.com"),
    partition_classes=("mig.nvidia.com",),
    product="gpu.nvidia.com/productName",
)

# ROCm/k8s-gpu-dra-driver. The one class matches every device of the driver: whole cards (`amdgpu`), partitions
# (`amdgpu-partition`) and vfio devices, which have no memory or a memory that no container can use.
_AMD = Profile(
    name="amd",
    driver="gpu.amd.com",
    device_classes=("gpu.amd.com",),
    selectors=(cel.attribute_in("gpu.amd.com", "type", ("amdgpu",)),),
    product="gpu.amd.com/productName",
)

# intel/intel-resource-drivers-for-kubernetes, GPUs. The class matches by driver alone. A card bound to vfio publishes
# 0 bytes, and health is there only where the driver watches it.
_INTEL = Profile(
    name="intel",
    driver="gpu.intel.com",
    device_classes=("gpu.intel.com",),
    selectors=(cel.attribute_unless("gpu.intel.com", "health", "Unhealthy"),),
    product="gpu.intel.com/model",
)

# sympozium-ai/llmfit-dra. The class of `llmfit claim` spans all kinds of device; a CPU device publishes the system's
# RAM as `memory`, which is no GPU memory.
_LLMFIT = Profile(
    name="llmfit",
    driver="llmfit.ai",
    device_classes=("llmfit.ai",),
    selectors=(cel.attribute_true("llmfit.ai", "healthy"), cel.attribute_not("llmfit.ai", "kind", "cpu")),
    product="llmfit.ai/model",
    bandwidth="memoryBandwidthGBs",
)

# Project-HAMi/k8s-dra-driver: cards that are always shared, by memory and by cores. 0 cores reserves none and, in
# HAMi-core, limits none: the models on a card take turns.
_HAMI = Profile(
    name="hami",
    driver="hami-core-gpu.project-hami.io",
    device_classes=("hami-core-gpu.project-hami.io",),
    product="hami-core-gpu.project-hami.io/productName",
    shares={"cores": "0"},
)

# kubernetes-sigs/dra-example-driver, for trying things out. `compute` came with v0.3.0; its least share is 1.
_EXAMPLE = Profile(
    name="example",
    driver="gpu.example.com",
    device_classes=("gpu.example.com",),
    product="gpu.example.com/model",
    shares={"compute": "0"},
)

BUILTIN = {profile.name: profile for profile in (_NVIDIA, _NVIDIA_MIG, _AMD, _INTEL, _LLMFIT, _HAMI, _EXAMPLE)}
"""Profiles by name."""
