"""Derives a device request from a pod's annotations: the requirements of the model, a profile, and device counts.

Webhook and controller both use it, so the claim is always the one that the admission announced.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from webhook import constants
from webhook.core.admission_config import AdmissionConfig, Placement
from webhook.core.fits import hardware, model_fit, quantities
from webhook.core.fits.requirements import ModelRequirements
from webhook.core.profiles import Profile
from webhook.errors import Denied, FieldError, quote, quote_all
from webhook.reasons import Reason

MAX_DEVICES = 32
"""Devices that can be allocated to one claim (AllocationResultsMaxSize)."""

MAX_ALTERNATIVES = 8
"""Subrequests that one request can list (FirstAvailableDeviceRequestMaxSize)."""

MAX_FIT_BYTES = 16 << 10
"""Size of a fit in an annotation; llmfit's largest output for a model has 5,000."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DeviceRequest:
    """`counts` are the acceptable numbers of devices in order of preference, usually one. The last two fields are the
    operator's: see AdmissionConfig."""

    requirements: ModelRequirements
    profile: Profile
    counts: tuple[int, ...] = (1,)
    placement: Placement = "any"
    system_memory_class: str | None = None

    def mebibytes_per_device(self, count: int) -> int:
        """The memory that each of `count` devices must have: an equal part, rounded up."""
        return -(-quantities.mebibytes(self.requirements.gpu_memory) // count)


class Field(NamedTuple):
    """A text that a user has set, and where."""

    text: str
    path: str


def from_annotations(annotations: Mapping[str, str], config: AdmissionConfig) -> DeviceRequest:
    """The device request of a pod with these annotations, which include `llmfit.ai/model-fit`. Raises Denied with the
    errors of all annotations and the reason of the first."""
    return from_fields(
        lambda: _requirements(annotations[constants.MODEL_FIT]),
        Field(annotations.get(constants.PROFILE, config.profile), annotation_path(constants.PROFILE)),
        Field(annotations.get(constants.DEVICE_COUNT, "1"), annotation_path(constants.DEVICE_COUNT)),
        config,
    )


def from_fields(
    parse_fit: Callable[[], ModelRequirements], profile: Field, device_count: Field, config: AdmissionConfig
) -> DeviceRequest:
    """The device request of a fit, the name of a profile and a device count. Raises Denied with the errors of all of
    them and the reason of the first."""
    denials: list[Denied] = []
    requirements = _collect(denials, parse_fit)
    found = _collect(denials, lambda: _find_profile(profile, config))
    counts = _collect(denials, lambda: _device_counts(device_count, requirements, config))
    if requirements is None or found is None or counts is None:
        raise Denied(denials[0].reason, [error for denied in denials for error in denied.errors])
    return _for_profile(requirements, found, config, counts, device_count.path)


def _collect(denials: list[Denied], parse: Callable[[], T]) -> T | None:
    try:
        return parse()
    except Denied as denied:
        denials.append(denied)
        return None


def _for_profile(
    requirements: ModelRequirements, profile: Profile, config: AdmissionConfig, counts: tuple[int, ...], path: str
) -> DeviceRequest:
    """The request for one of `counts` devices of a profile. Raises Denied if the profile supports one device only.
    `path` is that of the device count."""
    if requirements.cpu_only:
        return DeviceRequest(_with_warnings(requirements, hardware.excess_warnings(requirements, 1)), profile)
    if max(counts) > 1:
        _check_supports_several(profile, path)
    listed = _limit_counts(counts, profile)
    warnings = [*hardware.excess_warnings(requirements, max(listed))]
    if listed != counts:
        left_out = ", ".join(map(str, counts[len(listed) :]))
        warnings.append(f"a claim lists {MAX_ALTERNATIVES} alternatives, so the device counts {left_out} are not tried")
    requirements = _with_warnings(requirements, warnings)
    return DeviceRequest(requirements, profile, listed, config.placement, config.system_memory_class)


def _with_warnings(requirements: ModelRequirements, warnings: Iterable[str]) -> ModelRequirements:
    further = tuple(warnings)
    if not further:
        return requirements
    return dataclasses.replace(requirements, warnings=requirements.warnings + further)


def _find_profile(name: Field, config: AdmissionConfig) -> Profile:
    """The profile of that name. Raises Denied, with the list of names, if there is none."""
    profile = config.profiles.get(name.text)
    if profile is None:
        error = FieldError(name.path, quote(name.text), f"one of {quote_all(sorted(config.profiles), 16)}")
        raise Denied(Reason.UNKNOWN_PROFILE, [error])
    return profile


def annotation_path(annotation: str) -> str:
    """The path of an annotation in a pod."""
    return f"metadata.annotations[{annotation}]"


def _requirements(text: str) -> ModelRequirements:
    path = annotation_path(constants.MODEL_FIT)
    if len(text.encode("utf-8", "surrogatepass")) > MAX_FIT_BYTES:
        value, hint = f"more than {MAX_FIT_BYTES} bytes", "paste llmfit's output for one model"
        raise Denied(Reason.INVALID_MODEL_FIT, [FieldError(path, value, "one model's figures", hint)])
    return model_fit.parse(text, path)


def _device_counts(field: Field, requirements: ModelRequirements | None, config: AdmissionConfig) -> tuple[int, ...]:
    text = field.text
    # A claim with system memory uses one of its devices for that.
    limit = MAX_DEVICES - 1 if config.system_memory_class else MAX_DEVICES
    maximum = min(limit, config.max_devices_per_pod)
    if text == "auto":
        return _counts_from_fit(requirements, maximum, field.path) if requirements else ()
    if not (text.isascii() and text.isdigit() and len(text) <= 2 and 1 <= int(text) <= maximum):
        expected = f"a number from 1 to {maximum}, or auto"
        error = FieldError(field.path, quote(text), expected)
        raise Denied(Reason.INVALID_DEVICE_COUNT, [error])
    return (int(text),)


def _counts_from_fit(requirements: ModelRequirements, maximum: int, path: str) -> tuple[int, ...]:
    """The counts in the fit. Other counts are not guessed: not every model can be split in N parts."""
    if requirements.cpu_only:
        return (1,)
    counts = tuple(count for count in requirements.tensor_parallel if count <= maximum)
    if not counts:
        raise _unsupported(
            path,
            f'"auto" with a fit that lists no count from 1 to {maximum} in supports_tp',
            "a fit that lists one, or a number",
        )
    return counts


def _check_supports_several(profile: Profile, path: str) -> None:
    if profile.product is None:
        raise _unsupported(
            path,
            f"several devices of the profile {quote(profile.name)}, which names no product attribute",
            "1, or a profile that names one",
        )
    if not profile.classes_for(2):
        raise _unsupported(
            path,
            f"several devices of the profile {quote(profile.name)}, which has only partitions of a card",
            "1, or a profile with a class of whole cards",
        )


def _limit_counts(counts: tuple[int, ...], profile: Profile) -> tuple[int, ...]:
    """The first counts whose alternatives, for each class and variant of the profile, fit into one request."""
    total = 0
    for index, count in enumerate(counts):
        total += len(profile.classes_for(count)) * profile.variants
        if total > MAX_ALTERNATIVES:
            return counts[: max(index, 1)]
    return counts


def _unsupported(path: str, value: str, expected: str) -> Denied:
    error = FieldError(path, value, expected)
    return Denied(Reason.UNSUPPORTED_DEVICE_COUNT, [error])
