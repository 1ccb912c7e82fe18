"""TPU's facts: no memory is published, so there is no profile."""

from __future__ import annotations

from tests.vendors.facts import Vendor
from tests.vendors.tpu import CLASSES, DRIVER, chip

VENDOR = Vendor(
    driver=DRIVER, classes=CLASSES, devices=(chip("tpu"),), matched={"tpu.google.com": {"tpu"}}, large=chip("x-tpu")
)
