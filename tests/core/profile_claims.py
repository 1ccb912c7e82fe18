"""A claim's spec for a profile, by its parts."""

from __future__ import annotations

from collections.abc import Collection

from tests.core.devices import requests
from tests.core.kit import Json, fit
from webhook.core import claims
from webhook.core.admission_config import AdmissionConfig
from webhook.core.claims import device_request
from webhook.core.claims.device_request import DeviceRequest
from webhook.core.profiles import BUILTIN, Profile

OWN = Profile("own", "gpu.own.test", ("small", "large", "huge"), product="gpu.own.test/model")


def config(*profiles: Profile, **members: object) -> AdmissionConfig:
    """A policy with these profiles beside the built-in ones."""
    mine = {profile.name: profile for profile in profiles}
    return AdmissionConfig(profiles={**BUILTIN, **mine}, **members)  # type: ignore[arg-type]


def asked(profile: str, count: str = "1", chosen: AdmissionConfig | None = None, **figures: object) -> DeviceRequest:
    """The demand for a model of 16 GiB, unless `figures` say otherwise."""
    text = fit(**{"model": "m", "vram_gb": 16, "supports_tp": [1, 2, 4], **figures})
    annotations = {"llmfit.ai/model-fit": text, "llmfit.ai/profile": profile, "llmfit.ai/device-count": count}
    return device_request.from_annotations(annotations, chosen or AdmissionConfig())


def spec(
    profile: str, count: str = "1", chosen: AdmissionConfig | None = None, classes: Collection[str] | None = None
) -> Json:
    made: Json = claims.build_spec(asked(profile, count, chosen), classes)
    return made


def listed(made: Json) -> list[tuple[int, str]]:
    """Count and DeviceClass of each alternative, in order."""
    return [(each.get("count", 1), each["deviceClassName"]) for each in requests(made)]


def names(made: Json) -> list[str]:
    """The names of the alternatives of a request that has some."""
    (request,) = made["devices"]["requests"]
    return [each["name"] for each in request["firstAvailable"]]
