"""The summary of an injection: the first warning that kubectl shows for an admitted pod or an applied workload."""

from collections.abc import Sequence

from webhook.core.admission.pods import Container
from webhook.core.claims.device_request import DeviceRequest
from webhook.core.fits import quantities
from webhook.errors import quote_all


def summarize(devices: DeviceRequest, containers: Sequence[Container], memory_request: str | None, claim: str) -> str:
    """Claim, containers, devices and amounts in one line. `claim` names the claim, for a model that needs one."""
    request = f"; memory request {memory_request}" if memory_request else ""
    requirements = devices.requirements
    if requirements.cpu_only:
        return f"no GPU is needed, so no claim is made{request}"
    names = quote_all((container.name for container in containers), 3)
    context = f", for a context of {requirements.context} tokens" if requirements.context else ""
    return f"{claim} for {names}: {_devices(devices)} (gpu.memory {_gpu_memory(devices)}{context}){request}"


def _gpu_memory(devices: DeviceRequest) -> str:
    """`8Gi`; `8Gi, 4Gi each` on two devices; `8Gi in all` if several device counts are requested."""
    total, (count, *others) = devices.requirements.gpu_memory_quantity, devices.counts
    if others:
        return f"{total} in all"
    return total if count == 1 else f"{total}, {quantities.canonical(devices.mebibytes_per_device(count))} each"


def _devices(devices: DeviceRequest) -> str:
    """`gpu.nvidia.com`, `2 devices of gpu.nvidia.com`, `1, 2 or 4 devices of …`."""
    classes = " or ".join(
        dict.fromkeys(name for count in devices.counts for name in devices.profile.classes_for(count))
    )
    if devices.counts == (1,):
        return classes
    *fewer, most = map(str, devices.counts)
    return f"{', '.join(fewer)}{' or ' if fewer else ''}{most} devices of {classes}"
