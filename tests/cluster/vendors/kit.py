"""The product's claim for a fit, as a test asks for it."""

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
    **figures: object,
) -> JsonObject:
    """The ResourceClaimSpec for a model of so many GiB; `figures` are further members of the fit, `policy` replaces
    the default one, `classes` are the DeviceClasses that the controller knows to exist."""
    fit = {"model": "m", "vram_gb": float(gigabytes), "supports_tp": [1, 2], **figures}
    return annotated(json.dumps(fit), profile, count=count, config=config, classes=classes)


def annotated(
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
        JsonObject, claims.build_spec(device_request.from_annotations(annotations, config or AdmissionConfig()), classes)
    )
