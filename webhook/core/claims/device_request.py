"""What a pod's annotations ask for: the fit's need, of devices of one profile, so many of them.

The webhook and the controller both read it from here, so a claim is always the one that the admission promised.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from webhook import constants
from webhook.core.admission_config import AdmissionConfig
from webhook.core.fits import model_fit, quantities
from webhook.core.fits.requirements import ModelRequirements
from webhook.core.profiles import Profile
from webhook.errors import Denied, FieldError, quote, quote_all
from webhook.reasons import Reason

MAX_DEVICES = 32
"""Devices that one claim can be given (AllocationResultsMaxSize)."""

MAX_ALTERNATIVES = 8
"""Subrequests that one request can list (FirstAvailableDeviceRequestMaxSize)."""

MAX_FIT_CHARACTERS = 16 << 10
"""Of the fit in an annotation; llmfit's largest output for a model has 5,000. The controller keeps it for each pod."""


@dataclass(frozen=True, slots=True)
class DeviceRequest:
    """`counts` are the numbers of devices that would do, most wanted first; one number is the usual case. The last
    two are the operator's: see `Policy`."""

    requirements: ModelRequirements
    profile: Profile
    counts: tuple[int, ...] = (1,)
    placement: Literal["any", "tightest"] = "any"
    system_memory_class: str | None = None

    def mebibytes_per_device(self, count: int) -> int:
        """What each of `count` devices must hold, in MiB: an equal part, rounded up."""
        return -(-quantities.mebibytes(self.requirements.gpu_memory) // count)


def from_annotations(annotations: Mapping[str, str], config: AdmissionConfig) -> DeviceRequest:
    """The demand of a pod with these annotations, `llmfit.ai/model-fit` among them. Raises Refusal with the faults of
    all of them; its reason is that of the first."""
    refusals: list[Denied] = []
    requirements: ModelRequirements | None = None
    profile: Profile | None = None
    try:
        requirements = _need(annotations[constants.MODEL_FIT], annotation_path(constants.MODEL_FIT))
    except Denied as refusal:
        refusals.append(refusal)
    try:
        profile = find_profile(
            annotations.get(constants.PROFILE, config.profile), config, annotation_path(constants.PROFILE)
        )
    except Denied as refusal:
        refusals.append(refusal)
    counts: tuple[int, ...] = ()
    try:
        counts = _counts(annotations.get(constants.DEVICE_COUNT, "1"), requirements, config)
    except Denied as refusal:
        refusals.append(refusal)
    if refusals or requirements is None or profile is None:
        raise Denied(refusals[0].reason, [fault for refusal in refusals for fault in refusal.faults])
    return for_profile(requirements, profile, config, counts)


def for_profile(
    requirements: ModelRequirements, profile: Profile, config: AdmissionConfig, counts: tuple[int, ...] = (1,)
) -> DeviceRequest:
    """The demand for one of `counts` devices of a profile. Raises Refusal where the profile cannot serve several."""
    if requirements.cpu_only:
        return DeviceRequest(requirements, profile)
    if max(counts) > 1:
        _check_several(profile)
    listed = _listed(counts, profile)
    if listed != counts:
        left_out = ", ".join(map(str, counts[len(listed) :]))
        warning = f"a claim lists {MAX_ALTERNATIVES} alternatives, so the device counts {left_out} are not tried"
        requirements = dataclasses.replace(requirements, warnings=(*requirements.warnings, warning))
    return DeviceRequest(requirements, profile, listed, config.placement, config.system_memory_class)


def find_profile(name: str, config: AdmissionConfig, path: str) -> Profile:
    """The profile of that name. Raises Refusal, listing the names there are."""
    profile = config.profiles.get(name)
    if profile is None:
        fault = FieldError(path, quote(name), f"one of {quote_all(sorted(config.profiles), 16)}")
        raise Denied(Reason.UNKNOWN_PROFILE, [fault])
    return profile


def annotation_path(annotation: str) -> str:
    """The path of an annotation in a pod."""
    return f"metadata.annotations[{annotation}]"


def _need(text: str, path: str) -> ModelRequirements:
    if len(text) > MAX_FIT_CHARACTERS:
        saw, want = f"more than {MAX_FIT_CHARACTERS} characters", "one model's figures"
        raise Denied(Reason.INVALID_MODEL_FIT, [FieldError(path, saw, want, "paste llmfit's output for one model")])
    return model_fit.parse(text, path)


def _counts(text: str, requirements: ModelRequirements | None, config: AdmissionConfig) -> tuple[int, ...]:
    # The system memory of the same claim is a device too.
    most = MAX_DEVICES - 1 if config.system_memory_class else MAX_DEVICES
    if text == "auto":
        return _automatic(requirements, most) if requirements else ()
    if not (text.isascii() and text.isdigit() and len(text) <= 2 and 1 <= int(text) <= most):
        fault = FieldError(annotation_path(constants.DEVICE_COUNT), quote(text), f"a number from 1 to {most}, or auto")
        raise Denied(Reason.INVALID_DEVICE_COUNT, [fault])
    return (int(text),)


def _automatic(requirements: ModelRequirements, most: int) -> tuple[int, ...]:
    """The fit's own counts. A model is never split by guess."""
    if requirements.cpu_only:
        return (1,)
    counts = tuple(count for count in requirements.tensor_parallel if count <= most)
    if not counts:
        raise _unsupported(
            f'"auto" with a fit that lists no count from 1 to {most} in supports_tp', "a fit that does, or a number"
        )
    return counts


def _check_several(profile: Profile) -> None:
    if profile.product is None:
        raise _unsupported(
            f"several devices of the profile {quote(profile.name)}, which names no product attribute",
            "1, or a profile whose devices say which model they are",
        )
    if not profile.classes_for(2):
        raise _unsupported(
            f"several devices of the profile {quote(profile.name)}, which has only partitions of a card",
            "1, or a profile with a class of whole cards",
        )


def _listed(counts: tuple[int, ...], profile: Profile) -> tuple[int, ...]:
    """As many of the counts, fewest first, as one request can list with each class and share of the profile."""
    variants = 2 if profile.shares else 1
    total = 0
    for index, count in enumerate(counts):
        total += len(profile.classes_for(count)) * variants
        if total > MAX_ALTERNATIVES:
            return counts[: max(index, 1)]
    return counts


def _unsupported(saw: str, want: str) -> Denied:
    return Denied(Reason.UNSUPPORTED_DEVICE_COUNT, [FieldError(annotation_path(constants.DEVICE_COUNT), saw, want)])
