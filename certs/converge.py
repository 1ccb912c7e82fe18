"""One look at a store, and at most one write. Callers bring the loop, the clock and the patience."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from certs import entries
from certs.errors import Conflict, Exists
from certs.evidence import NOTHING_KNOWN, Evidence
from certs.policy import Policy
from certs.rotation import Action, plan
from certs.state import State
from certs.store import Store


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was found and done. What clients must trust now is `state.bundle(outcome.state)`."""

    action: Action
    """What was written; KEEP where nothing was."""

    why: str
    """For people: the reason, and what was unusable in the store."""

    state: State
    """What the store holds now. After a lost race the winner's, which may be broken: the next look repairs it."""

    lost: bool = False
    """Somebody else wrote at the same time; nothing of ours was stored."""


def converge(
    store: Store,
    names: Collection[str],
    now: datetime,
    policy: Policy,
    evidence: Evidence = NOTHING_KNOWN,
    *,
    rotate: bool = False,
) -> Outcome:
    """Brings the store one step further; see `certs.rotation.plan` for the parameters. Raises InvalidNames, and
    whatever the store raises but Conflict and Exists: those are lost races, and the winner's state is the outcome."""
    stored = store.read()
    found = entries.parse(stored.data if stored else {})
    step = plan(found.state, names, now, policy, evidence, rotate=rotate)
    data = entries.dump(step.state)
    if stored is not None and data == entries.ours(stored.data):
        return Outcome(step.action, step.why, step.state)
    # What is stored may hold rubbish beside a state that needs nothing; then the state is written as it should be.
    action = Action.REPAIR if step.action is Action.KEEP else step.action
    why = "; ".join([*found.faults, step.why])
    try:
        if stored is None:
            store.create(data)
        else:
            store.write(data, stored.version)
    except (Conflict, Exists) as race:
        winner = store.read()
        return Outcome(Action.KEEP, str(race), entries.parse(winner.data if winner else {}).state, lost=True)
    return Outcome(action, why, step.state)
