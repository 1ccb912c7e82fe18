"""The next step of a certificate's life: a pure state machine, one step at a time, each safe on its own.

Invariant, for servers whose leaf and API servers whose caBundle may be as old as `config.propagation`: every caBundle
in use trusts every leaf in use. Hence the overlap of a CA rotation:

    PUBLISH   issue the next CA and add it to the bundle (ca.crt); it signs nothing yet
    WAIT      every caBundle has it: the propagation time begins
    SWITCH    after the propagation time, the next CA signs a leaf and becomes the current one
    RETIRE    after the propagation time again, the old CA leaves the bundle

Each step is one write. A controller that is killed before the write has changed nothing; after it, any controller
continues. MINT and ISSUE also repair: they replace what is lost or damaged and keep what is still usable.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from certs import hostnames, issuing, pem, secret_data, verification
from certs.pem import KeyPair
from certs.rotation_config import RotationConfig
from certs.secret_data import State

MAX_ADOPTED = 8
"""CAs adopted from caBundles. A caBundle with more does not come from a rotation."""


class Action(StrEnum):
    KEEP = "keep"
    MINT = "mint"
    ISSUE = "issue"
    PUBLISH = "publish"
    WAIT = "wait"
    SWITCH = "switch"
    RETIRE = "retire"
    REPAIR = "repair"


@dataclass(frozen=True, slots=True)
class Step:
    """An action, the reason for log readers, and the state after it."""

    action: Action
    reason: str
    state: State


@dataclass(frozen=True, slots=True)
class RotationContext:
    """Everything that a step depends on. `ca_bundles`: see `next_step`."""

    state: State
    names: Collection[str]
    now: datetime
    config: RotationConfig
    ca_bundles: Sequence[bytes] | None

    @property
    def leaf_trusted(self) -> bool:
        """Whether clients that have the state's bundle accept the leaf."""
        return verification.is_trusted(self.state.leaf, self.state.cas, self.now)

    @property
    def retired_unused(self) -> bool:
        """Whether the leaf is trusted without the retired CAs."""
        return verification.is_trusted(self.state.leaf, replace(self.state, retired=()).cas, self.now)

    def usable(self, ca: KeyPair | None) -> bool:
        """Whether a CA may sign now."""
        return ca is not None and not verification.ca_problems(ca.certificate, self.now)

    def issue_leaf(self, ca: KeyPair | None) -> KeyPair | None:
        """A new leaf signed by `ca`; None if clients that trust `ca` would not accept it."""
        if ca is None or not self.usable(ca):
            return None
        leaf = issuing.issue_leaf(ca, self.names, self.now, self.config.leaf_lifetime)
        return leaf if verification.is_trusted(leaf, (ca.certificate,), self.now) else None

    def issue_ca(self) -> KeyPair:
        return issuing.issue_ca(self.now, self.config.ca_lifetime)

    def untrusted(self, ca: KeyPair) -> bool:
        """Whether a caBundle is known to lack `ca`."""
        bundles = self.ca_bundles or ()
        return not all(ca.certificate in pem.load_certificates(bundle)[0] for bundle in bundles)

    def propagated(self, since: datetime | None) -> bool:
        """Whether a change made at `since` is in use everywhere."""
        return since is not None and self.now - since >= self.config.propagation

    def needs_timestamp(self, since: datetime | None) -> bool:
        """Whether the propagation time begins now: `since` is unknown, or a wrong clock put it into the future."""
        return since is None or since - self.now > self.config.propagation

    def adopt_published_cas(self) -> "RotationContext":
        """Adds the CAs in caBundles that a damaged Secret has lost: replicas may still serve their leaves."""
        published = [each for bundle in self.ca_bundles or () for each in pem.load_certificates(bundle)[0]]
        lost = [each for each in dict.fromkeys(published) if each not in self.state.cas]
        lost = [each for each in lost if not verification.validity_problems(each, self.now)][:MAX_ADOPTED]
        if not lost:
            return self
        state = replace(self.state, retired=(*self.state.retired, *lost), switched_at=self.now)
        return replace(self, state=state)


def next_step(
    data: Mapping[str, bytes],
    names: Collection[str],
    now: datetime,
    config: RotationConfig,
    ca_bundles: Sequence[bytes] | None = None,
) -> Step:
    """The next step for the data of a Secret. The data becomes `secret_data.dump(step.state)`, unless the action is
    KEEP.

    The leaf is for `names`; `now` must be aware. `ca_bundles` are the caBundles in use, PEM; None if they are not
    known, then only time decides. They can hold a rotation back, but never advance it before its time: one moment's
    view cannot prove that every API server is up to date. Raises InvalidNames.
    """
    state, faults = secret_data.parse(data)
    step = plan(state, names, now, config, ca_bundles)
    if step.action is Action.KEEP and secret_data.dump(step.state) != secret_data.select(data):
        step = replace(step, action=Action.REPAIR)
    return replace(step, reason="; ".join([*faults, step.reason]))


def plan(
    state: State,
    names: Collection[str],
    now: datetime,
    config: RotationConfig,
    ca_bundles: Sequence[bytes] | None = None,
) -> Step:
    """The next step for a state; parameters as for `next_step`."""
    context = RotationContext(state, names, now, config, ca_bundles)
    get_steps = [*_STEPS]
    if not context.leaf_trusted:
        context = context.adopt_published_cas()
        get_steps.insert(0, _repair)
    for get_step in get_steps:
        if (step := get_step(context)) is not None:
            return step
    if context.state != state:
        return Step(Action.REPAIR, "a CA that clients still trust was missing", context.state)
    return Step(Action.KEEP, "nothing is due", state)


def upcoming(state: State, config: RotationConfig) -> list[tuple[datetime, Action]]:
    """The actions that time alone makes due, soonest first. For a state with a usable leaf."""
    moments = []
    if state.next is not None and state.trusted_since is not None:
        moments.append((state.trusted_since + config.propagation, Action.SWITCH))
    if state.leaf is not None and _extensible(state):
        moments.append((config.leaf_due(state.leaf.certificate), Action.ISSUE))
    if state.current is not None and state.next is None:
        moments.append((config.ca_due(state.current.certificate), Action.PUBLISH))
    if state.retired and state.switched_at is not None:
        moments.append((state.switched_at + config.propagation, Action.RETIRE))
    return sorted(moments, key=lambda moment: moment[0])


def _repair(context: RotationContext) -> Step | None:
    """For a leaf that is missing or not trusted: the smallest change for clients."""
    state = context.state
    if (leaf := context.issue_leaf(state.current)) is not None:
        return Step(Action.ISSUE, "no usable leaf; the current CA signs one", replace(state, leaf=leaf))
    if context.leaf_trusted:
        return None
    if (switched := _switched(context)) is not None:
        return Step(Action.SWITCH, "no usable leaf or CA; the next CA signs a leaf", switched)
    ca = context.issue_ca()
    leaf = issuing.issue_leaf(ca, context.names, context.now, context.config.leaf_lifetime)
    minted = State(leaf, ca, retired=state.cas, switched_at=context.now if state.cas else None)
    return Step(Action.MINT, "no usable leaf and no usable CA", minted)


def _switch(context: RotationContext) -> Step | None:
    state = context.state
    if state.next is None or not context.propagated(state.trusted_since) or context.untrusted(state.next):
        return None
    if (switched := _switched(context)) is None:
        return None
    return Step(Action.SWITCH, "every client trusts the next CA; it signs the leaf now", switched)


def _renew_leaf(context: RotationContext) -> Step | None:
    state, now = context.state, context.now
    if state.current is None or state.leaf is None:
        return None
    leaf, switched_at = state.leaf.certificate, state.switched_at
    if not verification.is_signed_by(leaf, state.current.certificate):
        if context.untrusted(state.current):
            return None
        reason = "the leaf is not signed by the current CA"
        switched_at = now if state.retired else None
    elif hostnames.on_certificate(leaf) != {*map(hostnames.normalize, context.names)}:
        reason = "the names have changed"
    elif _extensible(state) and now >= context.config.leaf_due(leaf):
        reason = "2/3 of the leaf's life are over"
    else:
        return None
    if (renewed := context.issue_leaf(state.current)) is None:
        return None
    return Step(Action.ISSUE, reason, replace(state, leaf=renewed, switched_at=switched_at))


def _publish(context: RotationContext) -> Step | None:
    state = context.state
    if context.usable(state.next):
        return None
    if state.current is None:
        reason = "there is no CA with a key"
    elif not context.usable(state.current):
        reason = "the CA is not usable"
    elif context.now >= context.config.ca_due(state.current.certificate):
        reason = "the CA is due for renewal"
    elif state.next is not None:
        reason = "the next CA is not usable"
    else:
        return None
    # If the caBundles are not known, the write of ca.crt counts as its publication.
    since = context.now if context.ca_bundles is None else None
    return Step(Action.PUBLISH, reason, replace(state, next=context.issue_ca(), trusted_since=since))


def _wait(context: RotationContext) -> Step | None:
    state, now = context.state, context.now
    if state.next is not None and context.untrusted(state.next):
        reason = "a caBundle lacks the next CA; the propagation time begins when it has it"
        return None if state.trusted_since is None else Step(Action.WAIT, reason, replace(state, trusted_since=None))
    if state.next is not None and context.needs_timestamp(state.trusted_since):
        reason = "every caBundle has the next CA; the propagation time begins"
        return Step(Action.WAIT, reason, replace(state, trusted_since=now))
    if state.retired and context.retired_unused and context.needs_timestamp(state.switched_at):
        reason = "it is not known when the retired CA stopped signing; the propagation time begins"
        return Step(Action.WAIT, reason, replace(state, switched_at=now))
    return None


def _retire(context: RotationContext) -> Step | None:
    state = context.state
    valid = tuple(each for each in state.retired if each.not_valid_after_utc >= context.now)
    if len(valid) < len(state.retired):
        retired = replace(state, retired=valid, switched_at=state.switched_at if valid else None)
        return Step(Action.RETIRE, "a retired CA has expired", retired)
    if not valid or not context.retired_unused or not context.propagated(state.switched_at):
        return None
    reason = "no server has a leaf of the retired CA any more"
    return Step(Action.RETIRE, reason, replace(state, retired=(), switched_at=None))


_STEPS = (_switch, _renew_leaf, _publish, _wait, _retire)
"""The first that applies is taken. Renewal precedes waiting, so that a caBundle that changes all the time cannot keep a
leaf from being renewed."""


def _switched(context: RotationContext) -> State | None:
    """The state after the next CA has become the current one; None if it is not usable."""
    state = context.state
    leaf = context.issue_leaf(state.next)
    if state.next is None or leaf is None:
        return None
    retired = tuple(each for each in state.cas if each != state.next.certificate)
    return State(leaf, state.next, retired=retired, switched_at=context.now)


def _extensible(state: State) -> bool:
    """Whether a new leaf could live longer. One that ends with its CA cannot: without this check it would be renewed in
    ever shorter intervals."""
    if state.leaf is None or state.current is None:
        return False
    return state.leaf.certificate.not_valid_after_utc < state.current.certificate.not_valid_after_utc
