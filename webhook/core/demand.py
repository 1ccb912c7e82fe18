"""What a pod's annotations ask for: the fit's need, of devices of one profile, so many of them.

The webhook and the controller both read it from here, so a claim is always the one that the admission promised.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from webhook import vocabulary
from webhook.core import modelfit, quantities
from webhook.core.need import Need
from webhook.core.policy import Policy
from webhook.core.profiles import Profile
from webhook.errors import Fault, Refusal, shown, shown_all
from webhook.reasons import Reason

MOST_DEVICES = 32
"""Devices that one claim can be given (AllocationResultsMaxSize)."""

MOST_ALTERNATIVES = 8
"""Subrequests that one request can list (FirstAvailableDeviceRequestMaxSize)."""

MOST_CHARACTERS = 16 << 10
"""Of the fit in an annotation; llmfit's largest output for a model has 5,000. The controller keeps it for each pod."""


@dataclass(frozen=True, slots=True)
class Demand:
    """`counts` are the numbers of devices that would do, most wanted first; one number is the usual case. The last
    two are the operator's: see `Policy`."""

    need: Need
    profile: Profile
    counts: tuple[int, ...] = (1,)
    placement: Literal["any", "tightest"] = "any"
    system_memory_class: str | None = None

    def share(self, count: int) -> int:
        """What each of `count` devices must hold, in MiB: an equal part, rounded up."""
        return -(-quantities.mebibytes(self.need.gpu_memory) // count)


def read(annotations: Mapping[str, str], policy: Policy) -> Demand:
    """The demand of a pod with these annotations, `llmfit.ai/model-fit` among them. Raises Refusal with the faults of
    all of them; its reason is that of the first."""
    refusals: list[Refusal] = []
    need: Need | None = None
    profile: Profile | None = None
    try:
        need = _need(annotations[vocabulary.MODEL_FIT], where(vocabulary.MODEL_FIT))
    except Refusal as refusal:
        refusals.append(refusal)
    try:
        profile = profile_named(annotations.get(vocabulary.PROFILE, policy.profile), policy, where(vocabulary.PROFILE))
    except Refusal as refusal:
        refusals.append(refusal)
    counts: tuple[int, ...] = ()
    try:
        counts = _counts(annotations.get(vocabulary.DEVICE_COUNT, "1"), need, policy)
    except Refusal as refusal:
        refusals.append(refusal)
    if refusals or need is None or profile is None:
        raise Refusal(refusals[0].reason, [fault for refusal in refusals for fault in refusal.faults])
    return of(need, profile, policy, counts)


def of(need: Need, profile: Profile, policy: Policy, counts: tuple[int, ...] = (1,)) -> Demand:
    """The demand for one of `counts` devices of a profile. Raises Refusal where the profile cannot serve several."""
    if need.cpu_only:
        return Demand(need, profile)
    if max(counts) > 1:
        _check_several(profile)
    listed = _listed(counts, profile)
    if listed != counts:
        left_out = ", ".join(map(str, counts[len(listed) :]))
        warning = f"a claim lists {MOST_ALTERNATIVES} alternatives, so the device counts {left_out} are not tried"
        need = dataclasses.replace(need, warnings=(*need.warnings, warning))
    return Demand(need, profile, listed, policy.placement, policy.system_memory_class)


def profile_named(name: str, policy: Policy, path: str) -> Profile:
    """The profile of that name. Raises Refusal, listing the names there are."""
    profile = policy.profiles.get(name)
    if profile is None:
        fault = Fault(path, shown(name), f"one of {shown_all(sorted(policy.profiles), 16)}")
        raise Refusal(Reason.UNKNOWN_PROFILE, [fault])
    return profile


def where(annotation: str) -> str:
    """The path of an annotation in a pod."""
    return f"metadata.annotations[{annotation}]"


def _need(text: str, path: str) -> Need:
    if len(text) > MOST_CHARACTERS:
        saw, want = f"more than {MOST_CHARACTERS} characters", "one model's figures"
        raise Refusal(Reason.INVALID_MODEL_FIT, [Fault(path, saw, want, "paste llmfit's output for one model")])
    return modelfit.read(text, path)


def _counts(text: str, need: Need | None, policy: Policy) -> tuple[int, ...]:
    # The system memory of the same claim is a device too.
    most = MOST_DEVICES - 1 if policy.system_memory_class else MOST_DEVICES
    if text == "auto":
        return _automatic(need, most) if need else ()
    if not (text.isascii() and text.isdigit() and len(text) <= 2 and 1 <= int(text) <= most):
        fault = Fault(where(vocabulary.DEVICE_COUNT), shown(text), f"a number from 1 to {most}, or auto")
        raise Refusal(Reason.INVALID_DEVICE_COUNT, [fault])
    return (int(text),)


def _automatic(need: Need, most: int) -> tuple[int, ...]:
    """The fit's own counts. A model is never split by guess."""
    if need.cpu_only:
        return (1,)
    counts = tuple(count for count in need.tensor_parallel if count <= most)
    if not counts:
        raise _unsupported(
            f'"auto" with a fit that lists no count from 1 to {most} in supports_tp', "a fit that does, or a number"
        )
    return counts


def _check_several(profile: Profile) -> None:
    if profile.product is None:
        raise _unsupported(
            f"several devices of the profile {shown(profile.name)}, which names no product attribute",
            "1, or a profile whose devices say which model they are",
        )
    if not profile.classes_for(2):
        raise _unsupported(
            f"several devices of the profile {shown(profile.name)}, which has only partitions of a card",
            "1, or a profile with a class of whole cards",
        )


def _listed(counts: tuple[int, ...], profile: Profile) -> tuple[int, ...]:
    """As many of the counts, fewest first, as one request can list with each class and share of the profile."""
    variants = 2 if profile.shares else 1
    total = 0
    for index, count in enumerate(counts):
        total += len(profile.classes_for(count)) * variants
        if total > MOST_ALTERNATIVES:
            return counts[: max(index, 1)]
    return counts


def _unsupported(saw: str, want: str) -> Refusal:
    return Refusal(Reason.UNSUPPORTED_DEVICE_COUNT, [Fault(where(vocabulary.DEVICE_COUNT), saw, want)])
