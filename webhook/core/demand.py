"""What a pod's annotations ask for: the fit's need, of devices of one profile, so many of them.

The webhook and the controller both read it from here, so a claim is always the one that the admission promised.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from webhook import vocabulary
from webhook.core import modelfit
from webhook.core.need import Need
from webhook.core.policy import Policy
from webhook.core.profiles import Profile
from webhook.errors import Fault, Refusal, shown, shown_all
from webhook.reasons import Reason

MOST_DEVICES = 32
"""Devices that one claim can be given (AllocationResultsMaxSize)."""

MOST_ALTERNATIVES = 8
"""Subrequests that one request can list (FirstAvailableDeviceRequestMaxSize)."""


@dataclass(frozen=True, slots=True)
class Demand:
    """`counts` are the numbers of devices that would do, most wanted first; one number is the usual case."""

    need: Need
    profile: Profile
    counts: tuple[int, ...] = (1,)


def read(annotations: Mapping[str, str], policy: Policy) -> Demand:
    """The demand of a pod with these annotations, `llmfit.ai/model-fit` among them. Raises Refusal with the faults of
    all of them; its reason is that of the first."""
    refusals: list[Refusal] = []
    need: Need | None = None
    profile: Profile | None = None
    try:
        need = modelfit.read(annotations[vocabulary.MODEL_FIT], where(vocabulary.MODEL_FIT))
    except Refusal as refusal:
        refusals.append(refusal)
    try:
        profile = profile_named(annotations.get(vocabulary.PROFILE, policy.profile), policy, where(vocabulary.PROFILE))
    except Refusal as refusal:
        refusals.append(refusal)
    counts: tuple[int, ...] = ()
    try:
        counts = _counts(annotations.get(vocabulary.DEVICE_COUNT, "1"), need)
    except Refusal as refusal:
        refusals.append(refusal)
    if refusals or need is None or profile is None:
        raise Refusal(refusals[0].reason, [fault for refusal in refusals for fault in refusal.faults])
    if max(counts) > 1 and profile.product is None and not need.cpu_only:
        raise _unsupported(
            f"several devices of the profile {shown(profile.name)}, which names no product attribute",
            "1, or a profile whose devices say which model they are",
        )
    return Demand(need, profile, counts)


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


def _counts(text: str, need: Need | None) -> tuple[int, ...]:
    if text == "auto":
        return _automatic(need) if need else ()
    if not (text.isascii() and text.isdigit() and len(text) <= 2 and 1 <= int(text) <= MOST_DEVICES):
        fault = Fault(where(vocabulary.DEVICE_COUNT), shown(text), f"a number from 1 to {MOST_DEVICES}, or auto")
        raise Refusal(Reason.INVALID_DEVICE_COUNT, [fault])
    return (int(text),)


def _automatic(need: Need) -> tuple[int, ...]:
    """The fit's own counts. A model is never split by guess."""
    if need.cpu_only:
        return (1,)
    counts = tuple(count for count in need.tensor_parallel if count <= MOST_DEVICES)[:MOST_ALTERNATIVES]
    if not counts:
        raise _unsupported('"auto" with a fit that has no supports_tp', "a fit with supports_tp, or a number")
    return counts


def _unsupported(saw: str, want: str) -> Refusal:
    return Refusal(Reason.UNSUPPORTED_DEVICE_COUNT, [Fault(where(vocabulary.DEVICE_COUNT), saw, want)])
