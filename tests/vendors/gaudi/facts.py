"""Gaudi's facts: no memory is published, so there is no profile."""

from __future__ import annotations

from tests.vendors.facts import Vendor
from tests.vendors.gaudi import CLASSES, DRIVER, accelerator

VENDOR = Vendor(
    driver=DRIVER,
    classes=CLASSES,
    devices=(accelerator("gaudi"),),
    matched={"gaudi.intel.com": {"gaudi"}},
    large=accelerator("x-gaudi"),
)
