"""Builds device requests and claim specs as the product does, and reads their alternatives."""

from collections.abc import Collection, Iterator

from tests.core.builders import Json, fit
from webhook.core import claims
from webhook.core.admission_config import AdmissionConfig
from webhook.core.claims import device_request
from webhook.core.claims.device_request import DeviceRequest
from webhook.core.profiles import BUILTIN, Profile

OWN = Profile("own", "gpu.own.test", ("small", "large", "huge"), product="gpu.own.test/model")

SIXTEEN = fit(model="m", vram_gb=16, supports_tp=[1, 2, 4])


def config(*profiles: Profile, **members: object) -> AdmissionConfig:
    """A configuration with these profiles in addition to the built-in ones."""
    added = {profile.name: profile for profile in profiles}
    return AdmissionConfig(profiles={**BUILTIN, **added}, **members)  # type: ignore[arg-type]


def request(
    text: str = SIXTEEN, profile: str = "nvidia", count: str = "1", config: AdmissionConfig | None = None
) -> DeviceRequest:
    annotations = {"llmfit.ai/model-fit": text, "llmfit.ai/profile": profile, "llmfit.ai/device-count": count}
    return device_request.from_annotations(annotations, config or AdmissionConfig())


def spec(
    text: str = SIXTEEN,
    profile: str = "nvidia",
    count: str = "1",
    config: AdmissionConfig | None = None,
    classes: Collection[str] | None = None,
) -> Json:
    built: Json = claims.build_spec(request(text, profile, count, config), classes)
    return built


def alternatives(spec: Json) -> Iterator[Json]:
    """The alternatives of the spec's only request, in order, each with class, selectors and capacity."""
    (request,) = spec["devices"]["requests"]
    if "exactly" in request:
        yield request["exactly"]
    else:
        yield from request["firstAvailable"]


def counts_and_classes(spec: Json) -> list[tuple[int, str]]:
    return [(each.get("count", 1), each["deviceClassName"]) for each in alternatives(spec)]


def counts(spec: Json) -> list[int]:
    return [count for count, _ in counts_and_classes(spec)]
