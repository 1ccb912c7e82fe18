"""A cluster's certificates in simulated time, at their worst.

One Secret, replicas that mount it, API servers that hold the caBundle of one configuration. A change takes up to `lag`:
until then, some replica may serve any leaf that the Secret had, and some API server may hold any caBundle that the
configuration had. A controller may be killed before it writes the Secret, or between the Secret and the configuration.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Literal

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from certs import pem, rotation, secret_data
from certs.exceptions import UnreadablePEM
from certs.rotation import Action
from certs.rotation_config import RotationConfig
from tests.certs.tls_clients import acceptance

SERVICE = "modelfit.default.svc"
Kill = Literal["", "before the write", "after the write"]


@dataclass
class History:
    """The values of something, and when each began."""

    changes: list[tuple[datetime, bytes]] = field(default_factory=list)

    def record(self, now: datetime, value: bytes) -> None:
        if not self.changes or self.changes[-1][1] != value:
            self.changes.append((now, value))

    def in_use(self, now: datetime, lag: timedelta) -> set[bytes]:
        """Every value that may be in use while a change takes up to `lag`."""
        replaced = {value for (_, value), (end, _) in pairwise(self.changes) if end + lag > now}
        return replaced | {value for _, value in self.changes[-1:]}


@dataclass
class Cluster:
    config: RotationConfig
    lag: timedelta
    now: datetime
    reads_configuration: bool = True
    data: dict[str, bytes] = field(default_factory=dict)
    leaves: History = field(default_factory=History)
    bundles: History = field(default_factory=History)
    actions: list[Action] = field(default_factory=list)
    accepted: dict[tuple[bytes, bytes], tuple[datetime, datetime]] = field(default_factory=dict)
    checked: int = 0

    def reconcile(self, skew: timedelta = timedelta(0), kill: Kill = "") -> None:
        """One reconcile of a controller whose clock is off by `skew`."""
        if kill == "before the write":
            return  # Reading and planning have no effect.
        bundles = [value for _, value in self.bundles.changes[-1:]] if self.reads_configuration else None
        step = rotation.next_step(self.data, [SERVICE], self.now + skew, self.config, bundles)
        self.actions.append(step.action)
        self.data = secret_data.dump(step.state)
        self._mount()
        # A controller that does not read the configuration cannot notice that the publication is missing.
        if kill != "after the write" or not self.reads_configuration:
            self.bundles.record(self.now, step.state.bundle)

    def damage(self, key: str, value: bytes | None) -> None:
        """Replaces or removes a key of the Secret; servers keep the last pair that they could load."""
        self.data.pop(key, None)
        if value is not None:
            self.data[key] = value
        self._mount()

    def pass_time(self, length: timedelta) -> None:
        """Checks that every caBundle in use trusts every leaf in use, at each moment at which that may change."""
        second, end = timedelta(seconds=1), self.now + length
        moments = {self.now, end - second}
        recent = [at for history in (self.leaves, self.bundles) for at, _ in history.changes[-4:]]
        moments |= {at + self.lag - second for at in recent} | {at + self.lag for at in recent}
        for moment in sorted(each for each in moments if self.now <= each < end):
            self._check(moment)
        self.now = end

    def _check(self, moment: datetime) -> None:
        for bundle in self.bundles.in_use(moment, self.lag):
            for served in self.leaves.in_use(moment, self.lag):
                start, end = self.accepted.get((bundle, served), (moment, moment - self.lag))
                if not start <= moment <= end:
                    leaf = x509.load_der_x509_certificate(served)
                    period = acceptance(bundle, leaf, SERVICE, moment)
                    assert period is not None, f"{moment}: {leaf} is refused; {self.actions[-12:]}"
                    self.accepted[bundle, served] = period
                self.checked += 1

    def _mount(self) -> None:
        try:
            pair = pem.load_key_pair(self.data.get(secret_data.LEAF, b""), self.data.get(secret_data.LEAF_KEY, b""))
        except UnreadablePEM:
            return
        self.leaves.record(self.now, pair.certificate.public_bytes(serialization.Encoding.DER))
