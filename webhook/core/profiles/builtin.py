"""The built-in profiles, in the terms of each driver's chart and source. To add a vendor, add a profile here."""

from webhook.core.profiles import cel
from webhook.core.profiles.profile import Profile

_PROFILES = (
    # kubernetes-sigs/dra-driver-nvidia-gpu. The class selects type == 'gpu', which excludes MIG slices, and vfio
    # devices, which publish no `memory`.
    Profile(
        name="nvidia",
        driver="gpu.nvidia.com",
        device_classes=("gpu.nvidia.com",),
        product="gpu.nvidia.com/productName",
    ),
    # The same driver with partitioned cards: a MIG slice that is large enough, else a whole card. A process sees one
    # MIG slice only, and slices have no peer-to-peer access, so a model on several devices gets whole cards.
    Profile(
        name="nvidia-mig",
        driver="gpu.nvidia.com",
        device_classes=("mig.nvidia.com", "gpu.nvidia.com"),
        partition_classes=("mig.nvidia.com",),
        product="gpu.nvidia.com/productName",
    ),
    # ROCm/k8s-gpu-dra-driver. Its one class selects every device of the driver: whole cards (`amdgpu`), partitions
    # (`amdgpu-partition`) and vfio devices, which have no memory or a memory that containers cannot use.
    Profile(
        name="amd",
        driver="gpu.amd.com",
        device_classes=("gpu.amd.com",),
        selectors=(cel.attribute_in("gpu.amd.com", "type", ("amdgpu",)),),
        product="gpu.amd.com/productName",
    ),
    # intel/intel-resource-drivers-for-kubernetes, GPUs. The class selects by driver alone. A card bound to vfio
    # publishes 0 bytes. Health is published only if the driver monitors it.
    Profile(
        name="intel",
        driver="gpu.intel.com",
        device_classes=("gpu.intel.com",),
        selectors=(cel.attribute_absent_or_not("gpu.intel.com", "health", "Unhealthy"),),
        product="gpu.intel.com/model",
    ),
    # sympozium-ai/llmfit-dra. The class of `llmfit claim` covers all kinds of device; a CPU device publishes system
    # RAM as `memory`.
    Profile(
        name="llmfit",
        driver="llmfit.ai",
        device_classes=("llmfit.ai",),
        selectors=(cel.attribute_is_true("llmfit.ai", "healthy"), cel.attribute_is_not("llmfit.ai", "kind", "cpu")),
        product="llmfit.ai/model",
        bandwidth="memoryBandwidthGBs",
    ),
    # Project-HAMi/k8s-dra-driver: cards that are always shared, by memory and cores. 0 cores reserves none, and
    # HAMi-core then sets no limit: the models on a card use its cores in turn.
    Profile(
        name="hami",
        driver="hami-core-gpu.project-hami.io",
        device_classes=("hami-core-gpu.project-hami.io",),
        product="hami-core-gpu.project-hami.io/productName",
        shares={"cores": "0"},
    ),
    # kubernetes-sigs/dra-example-driver, for trials without a GPU. `compute` exists since v0.3.0; its smallest share
    # is 1.
    Profile(
        name="example",
        driver="gpu.example.com",
        device_classes=("gpu.example.com",),
        product="gpu.example.com/model",
        shares={"compute": "0"},
    ),
)

BUILTIN = {profile.name: profile for profile in _PROFILES}
"""Profiles by name."""
