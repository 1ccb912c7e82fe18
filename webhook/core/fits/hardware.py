"""The largest hardware there is, as data: a larger amount in a fit is most likely in another unit, such as MiB."""

from collections.abc import Iterator

from webhook.core.fits.requirements import ModelRequirements

MAX_DEVICE_GB = 1024
"""Memory of the largest accelerator that is announced, in GB: NVIDIA's Rubin Ultra with 1 TB
(https://www.nvidia.com/gtc/keynote/). The largest on sale have less than half
(https://www.amd.com/en/products/accelerators/instinct.html)."""

MAX_NODE_GB = 4096
"""System memory of the largest node with accelerators, in GB: a DGX B200 with 4 TB
(https://docs.nvidia.com/dgx/dgxb200-user-guide/introduction-to-dgxb200.html)."""


def excess_warnings(requirements: ModelRequirements, devices: int) -> Iterator[str]:
    """A warning for each amount that is more than so many accelerators, or a node, have."""
    gpu, memory = requirements.gpu_memory, requirements.memory
    hint = "check the unit: 1 GB is 1024 MiB"
    if gpu > MAX_DEVICE_GB * devices:
        largest = "the largest device" if devices == 1 else f"{devices} of the largest devices"
        yield f"the GPU memory {gpu} GB is more than that of {largest}, {MAX_DEVICE_GB * devices} GB; {hint}"
    if memory and memory > MAX_NODE_GB:
        yield f"the memory {memory} GB is more than that of the largest node, {MAX_NODE_GB} GB; {hint}"
