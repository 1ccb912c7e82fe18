"""The ResourceClaimSpecs that the product builds."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import cast

from testbed.api import JsonObject
from webhook.core import claims
from webhook.core.admission_config import AdmissionConfig
from webhook.core.claims import device_request


def spec(
    gigabytes: float | str,
    profile: str,
    *,
    count: str = "1",
    config: AdmissionConfig | None = None,
    classes: Collection[str] | None = None,
    **fields: object,
) -> JsonObject:
    """The ResourceClaimSpec for a model of so many GiB.

    `fields` are further fields of the fit, `config` replaces the default one, `classes` are the existing DeviceClasses.
    """
    fit = {"model": "m", "vram_gb": float(gigabytes), "supports_tp": [1, 2], **fields}
    return spec_of_annotation(json.dumps(fit), profile, count=count, config=config, classes=classes)


def spec_of_annotation(
    fit: str,
    profile: str,
    *,
    count: str = "1",
    config: AdmissionConfig | None = None,
    classes: Collection[str] | None = None,
) -> JsonObject:
    """The ResourceClaimSpec of a pod with this annotation."""
    annotations = {"llmfit.ai/model-fit": fit, "llmfit.ai/profile": profile, "llmfit.ai/device-count": count}
    return cast(
        JsonObject,
        claims.build_spec(device_request.from_annotations(annotations, config or AdmissionConfig()), classes),
    )
