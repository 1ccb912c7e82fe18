"""Everything that a step of a rotation depends on, and the questions that the steps ask of it."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime

from certs import mint, trust, verify
from certs.evidence import Evidence
from certs.pairs import Pair
from certs.policy import Policy
from certs.state import State

MAX_ADOPTED = 8
"""Authorities taken over from the configurations: a caBundle that somebody filled with all the web's is not ours."""


@dataclass(frozen=True, slots=True)
class Situation:
    """`state` is what is stored, `names` what the leaf shall answer for; `rotate`: change the authority now."""

    state: State
    names: Collection[str]
    now: datetime
    policy: Policy
    evidence: Evidence
    rotate: bool

    @property
    def served(self) -> bool:
        """Whether the stored leaf can be served to clients that trust the state's bundle."""
        return verify.servable(self.state.leaf, self.state.authorities(), self.now)

    def usable(self, authority: Pair | None) -> bool:
        """Whether an authority can sign a leaf that is trusted now."""
        return authority is not None and not trust.authority_problems(authority.certificate, self.now)

    def waited(self, since: datetime | None) -> bool:
        """Whether what was written at `since` has reached everyone."""
        return self.evidence.settled or (since is not None and self.now - since >= self.policy.propagation)

    def unstamped(self, since: datetime | None) -> bool:
        """Whether the wait has to begin now: its begin is not known, or a wrong clock wrote it far ahead of us."""
        return since is None or since - self.now > self.policy.propagation

    def new_leaf(self, authority: Pair) -> Pair:
        return mint.leaf(authority, self.names, self.now, self.policy.leaf_lifetime)

    def new_authority(self) -> Pair:
        return mint.authority(self.now, self.policy.authority_lifetime)

    @property
    def retired_needless(self) -> bool:
        """Whether the stored leaf is trusted without the retired authorities."""
        without = replace(self.state, retired=())
        return verify.servable(self.state.leaf, without.authorities(), self.now)

    @property
    def retired_served(self) -> bool:
        """Whether some replica is known to serve a good leaf that is trusted by the retired authorities alone."""
        everyone, without = self.state.authorities(), replace(self.state, retired=()).authorities()
        return any(
            verify.servable(Pair(leaf, b""), everyone, self.now) and not trust.trusted(leaf, without, self.now)
            for leaf in self.evidence.served()
        )

    def with_published(self) -> "Situation":
        """The same, with the authorities that clients trust and a damaged store has lost: replicas still serve their
        leaves, and will until they have the new one."""
        known = self.state.authorities()
        lost = [each for each in self.evidence.published() if each not in known]
        lost = [each for each in lost if not trust.validity_problems(each, self.now)][:MAX_ADOPTED]
        if not lost:
            return self
        retired = (*self.state.retired, *lost)
        return replace(self, state=replace(self.state, retired=retired, switched_at=self.now))
