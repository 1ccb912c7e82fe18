"""A cluster as far as certificates go, in simulated time and at its worst.

One Secret, replicas that mount it, API servers that hold the caBundle of one configuration. News takes up to `lag`:
until then some replica still serves any leaf that the Secret had, and some API server still holds any bundle that
the configuration had. A renewer's round may be cut off before its write, or between its write and the configuration.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Literal

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from certs import entries
from certs.converge import converge
from certs.errors import Unreadable
from certs.evidence import Evidence
from certs.pairs import load
from certs.policy import Policy
from certs.rotation import Action
from certs.state import bundle
from tests.certs.memory_store import MemoryStore
from tests.certs.tls_clients import acceptance

SERVICE = "modelfit.default.svc"
Cut = Literal["", "before the write", "after the write"]


@dataclass
class Record:
    """What something was, since when."""

    changes: list[tuple[datetime, bytes]] = field(default_factory=list)

    def note(self, now: datetime, value: bytes) -> None:
        if not self.changes or self.changes[-1][1] != value:
            self.changes.append((now, value))

    def possible(self, now: datetime, lag: timedelta) -> set[bytes]:
        """Every value that somebody whose news is up to `lag` old may have."""
        replaced = {value for (_, value), (end, _) in pairwise(self.changes) if end + lag > now}
        return replaced | {value for _, value in self.changes[-1:]}


@dataclass
class Cluster:
    policy: Policy
    lag: timedelta
    now: datetime
    sees_configuration: bool = True
    sees_replicas: bool = True
    store: MemoryStore = field(default_factory=MemoryStore)
    leaves: Record = field(default_factory=Record)
    bundles: Record = field(default_factory=Record)
    actions: list[Action] = field(default_factory=list)
    accepted: dict[tuple[bytes, bytes], tuple[datetime, datetime]] = field(default_factory=dict)
    checked: int = 0

    def round(self, skew: timedelta = timedelta(0), cut: Cut = "", *, rotate: bool = False) -> None:
        """One look of a renewer whose clock is off by `skew`, perhaps cut off by SIGKILL."""
        if cut == "before the write":
            return  # reading and planning leave no trace
        names, when = [SERVICE], self.now + skew
        outcome = converge(self.store, names, when, self.policy, self.evidence(), rotate=rotate)
        self.actions.append(outcome.action)
        self._mount()
        # Without a look at the configuration nobody could tell that the publication is missing, so it is not cut off.
        if cut != "after the write" or not self.sees_configuration:
            self.bundles.note(self.now, bundle(outcome.state))

    def evidence(self) -> Evidence:
        held = [value for _, value in self.bundles.changes[-1:]]
        served = sorted(self.leaves.possible(self.now, self.lag))
        return Evidence(
            bundles=held if self.sees_configuration else None, serving=served if self.sees_replicas else None
        )

    def damage(self, entry: str, value: bytes | None) -> None:
        """Somebody breaks an entry of the Secret; servers go on with the last pair that they could load."""
        self.store.damage(**{entry: value})
        self._mount()

    def pass_time(self, length: timedelta) -> None:
        """Checks the promise at every moment at which something may turn: a second before, at, and after."""
        second, end = timedelta(seconds=1), self.now + length
        turns = {self.now, end - second}
        turns |= {at + self.lag - second for record in (self.leaves, self.bundles) for at, _ in record.changes[-4:]}
        turns |= {at + self.lag for record in (self.leaves, self.bundles) for at, _ in record.changes[-4:]}
        for moment in sorted(turn for turn in turns if self.now <= turn < end):
            self._check(moment)
        self.now = end

    def _check(self, moment: datetime) -> None:
        for held in self.bundles.possible(moment, self.lag):
            for served in self.leaves.possible(moment, self.lag):
                start, end = self.accepted.get((held, served), (moment, moment - self.lag))
                if not start <= moment <= end:
                    leaf = x509.load_der_x509_certificate(served)
                    found = acceptance(held, leaf, SERVICE, moment)
                    assert found is not None, f"{moment}: {leaf} is refused; {self.actions[-12:]}"
                    self.accepted[held, served] = found
                self.checked += 1

    def _mount(self) -> None:
        assert self.store.stored is not None
        data = self.store.stored.data
        try:
            pair = load(data.get(entries.LEAF, b""), data.get(entries.LEAF_KEY, b""))
        except Unreadable:
            return
        self.leaves.note(self.now, pair.certificate.public_bytes(serialization.Encoding.DER))
