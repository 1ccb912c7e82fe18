"""What each vendor's DRA driver publishes: one module a driver, so that tests meet devices as real drivers shape them.

A module has `DRIVER` (the driver's name), `CLASSES` (the DeviceClasses of its chart, with its very selectors) and a
function for each kind of device, which takes what tests vary (the memory, health, sharing) and fills in the rest as the
driver does. Memory is a quantity (`80Gi`); None is a device whose driver could not read it and publishes none.
"""

from __future__ import annotations

from testbed.devices import DeviceClass
from tests.cluster.drivers import amd, example, gaudi, hami, intel, llmfit, nvidia, tpu

CLASSES: dict[str, tuple[DeviceClass, ...]] = {
    "nvidia": nvidia.CLASSES,
    "amd": amd.CLASSES,
    "intel": intel.CLASSES,
    "gaudi": gaudi.CLASSES,
    "tpu": tpu.CLASSES,
    "llmfit": llmfit.CLASSES,
    "hami": hami.CLASSES,
    "example": example.CLASSES,
}
"""The DeviceClasses by the short name of their driver."""
