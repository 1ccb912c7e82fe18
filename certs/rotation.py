"""What happens next to the certificates: a pure state machine. One step at a time, each safe by itself.

What must hold at every moment, for servers that serve a leaf as old as `policy.propagation` and API servers that hold
a bundle as old: every leaf that may be served is trusted by every bundle that may be held. Hence the overlap:

    PUBLISH   make the next authority, put it into the bundle; it signs nothing yet
    WAIT      the bundle is seen where clients look: the wait begins
    SWITCH    after the wait: the next authority signs a leaf, and becomes the current one
    RETIRE    after the wait again: nobody serves a leaf of the old one, which leaves the bundle

Every step is one write. A renewer that dies before it changed nothing; one that dies after it is carried on by
whoever reads the store next. `ISSUE` and `MINT` repair as well: what is lost, half or broken is made again from
whatever is left, and nothing that is still good is thrown away.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from certs import names as naming
from certs import trust
from certs.evidence import NOTHING_KNOWN, Evidence
from certs.policy import Policy
from certs.situation import Situation
from certs.state import State


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
    """What to do, the reason for people, and the state after it."""

    action: Action
    why: str
    state: State


def plan(
    state: State,
    names: Collection[str],
    now: datetime,
    policy: Policy,
    evidence: Evidence = NOTHING_KNOWN,
    *,
    rotate: bool = False,
) -> Step:
    """The next step for a leaf that answers for `names`. `rotate` begins a change of the authority before it is due,
    unless one is under way. `now` is aware. Raises InvalidNames."""
    situation = Situation(state, names, now, policy, evidence, rotate)
    broken = not situation.served
    if broken:
        situation = situation.with_published()
    for consider in (_repair, *IN_ORDER) if broken else IN_ORDER:
        if (step := consider(situation)) is not None:
            return step
    if situation.state != state:
        return Step(Action.REPAIR, "the store lost an authority that clients still trust", situation.state)
    return Step(Action.KEEP, "nothing is due", state)


def upcoming(state: State, policy: Policy) -> list[tuple[datetime, Action]]:
    """What becomes due by time alone, soonest first and in the order of `plan`; evidence may hold it back.
    For a state that is not broken."""
    moments = []
    if state.next is not None and state.trusted_since is not None:
        moments.append((state.trusted_since + policy.propagation, Action.SWITCH))
    if state.leaf is not None and _extensible(state):
        moments.append((policy.leaf_due(state.leaf.certificate), Action.ISSUE))
    if state.current is not None and state.next is None:
        moments.append((policy.authority_due(state.current.certificate), Action.PUBLISH))
    if state.retired and state.switched_at is not None:
        moments.append((state.switched_at + policy.propagation, Action.RETIRE))
    return sorted(moments, key=lambda moment: moment[0])


def _repair(situation: Situation) -> Step | None:
    """No server can serve what is stored. From what is left, with as little as possible for clients to learn."""
    state = situation.state
    if state.current is not None and situation.usable(state.current):
        leaf = situation.new_leaf(state.current)
        return Step(Action.ISSUE, "there is no usable leaf; its authority signs another", replace(state, leaf=leaf))
    if situation.served:
        return None
    if situation.usable(state.next):
        why = "neither the leaf nor its authority is usable; the next authority is"
        return Step(Action.SWITCH, why, _switched(situation))
    fresh = situation.new_authority()
    retired = state.authorities()
    minted = State(
        leaf=situation.new_leaf(fresh),
        current=fresh,
        retired=retired,
        switched_at=situation.now if retired else None,
    )
    return Step(Action.MINT, "there is no usable leaf and no usable authority", minted)


def _switch(situation: Situation) -> Step | None:
    state = situation.state
    if state.next is None or not situation.usable(state.next):
        return None
    if not situation.waited(state.trusted_since) or situation.evidence.lacking(state.next.certificate):
        return None
    return Step(Action.SWITCH, "every client trusts the next authority; it signs the leaf now", _switched(situation))


def _renew_leaf(situation: Situation) -> Step | None:
    state, policy, now = situation.state, situation.policy, situation.now
    if state.current is None or state.leaf is None or not situation.usable(state.current):
        return None
    leaf, current, switched_at = state.leaf.certificate, state.current.certificate, state.switched_at
    if not trust.signed_by(leaf, current):
        if situation.evidence.lacking(current):
            return None
        why = "the leaf is signed by an authority that is not the current one"
        switched_at = now if state.retired else None
    elif naming.of(leaf) != {naming.normal(name) for name in situation.names}:
        why = "the leaf is for other names than are wanted"
    elif _extensible(state) and now >= policy.leaf_due(leaf):
        why = "2/3 of the leaf's life are over"
    else:
        return None
    renewed = replace(state, leaf=situation.new_leaf(state.current), switched_at=switched_at)
    return Step(Action.ISSUE, why, renewed)


def _publish(situation: Situation) -> Step | None:
    state = situation.state
    if situation.usable(state.next):
        return None
    if state.current is None:
        why = "no key of an authority is left that clients trust"
    elif not situation.usable(state.current):
        why = "the authority is not usable any more"
    elif situation.now >= situation.policy.authority_due(state.current.certificate):
        why = "the authority is due"
    elif situation.rotate:
        why = "a new authority is asked for"
    elif state.next is not None:
        why = "the next authority is not usable any more"
    else:
        return None
    # With no view of the configurations, writing the bundle is all that can be known of its publication.
    since = situation.now if situation.evidence.bundles is None else None
    return Step(Action.PUBLISH, why, replace(state, next=situation.new_authority(), trusted_since=since))


def _wait(situation: Situation) -> Step | None:
    state, now = situation.state, situation.now
    if state.next is not None and situation.evidence.lacking(state.next.certificate):
        why = "a client does not trust the next authority yet; the wait begins again when it does"
        return None if state.trusted_since is None else Step(Action.WAIT, why, replace(state, trusted_since=None))
    if state.next is not None and situation.unstamped(state.trusted_since):
        why = "the next authority is where clients look; the wait begins"
        return Step(Action.WAIT, why, replace(state, trusted_since=now))
    if state.retired and situation.retired_needless and situation.unstamped(state.switched_at):
        why = "nobody knows how long the retired authority signs no more; the wait begins"
        return Step(Action.WAIT, why, replace(state, switched_at=now))
    return None


def _retire(situation: Situation) -> Step | None:
    state, now = situation.state, situation.now
    alive = tuple(each for each in state.retired if each.not_valid_after_utc >= now)
    if len(alive) < len(state.retired):
        why = "a retired authority is expired, and every leaf of it with it"
        return Step(Action.RETIRE, why, replace(state, retired=alive, switched_at=state.switched_at if alive else None))
    if (
        not alive
        or not situation.retired_needless
        or not situation.waited(state.switched_at)
        or situation.retired_served
    ):
        return None
    why = "no replica can serve a leaf of the retired authority any more"
    return Step(Action.RETIRE, why, replace(state, retired=(), switched_at=None))


IN_ORDER = (_switch, _renew_leaf, _publish, _wait, _retire)
"""The first that applies is the step. Renewing comes before waiting, so that evidence which flaps starves no leaf."""


def _switched(situation: Situation) -> State:
    state = situation.state
    if state.next is None:
        raise ValueError("there is no next authority to switch to")
    old = [each for each in state.authorities() if each != state.next.certificate]
    leaf = situation.new_leaf(state.next)
    return State(leaf=leaf, current=state.next, retired=tuple(old), switched_at=situation.now)


def _extensible(state: State) -> bool:
    """Whether another leaf could live longer: one that ends with its authority cannot, and would be renewed for ever
    in ever shorter steps."""
    if state.leaf is None or state.current is None:
        return False
    return state.leaf.certificate.not_valid_after_utc < state.current.certificate.not_valid_after_utc
