"""How much of everything, and how often."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

DAY = 86400


@dataclass(frozen=True)
class Plan:
    """Times are in seconds. Each pause between disturbances is random, from half of the value here to all of it."""

    seconds: float
    """Duration of the run."""
    drain: float = 10
    """The webhooks' drainSeconds."""
    propagation: float = 8
    """The pause between the steps of a certificate rotation."""
    reviews_per_second: float = 30
    idle: float = 30
    """The longest pause between two reviews on a keep-alive connection; pooled connections are used all the time."""
    pods_per_second: float = 3
    between_restarts: float = 24
    """With the drain, two a minute."""
    between_kills: float = 90
    between_hostile_round: float = 30
    between_overloads: float = 60
    overload: float = 6
    key_deletion: float = 20
    """When an operator deletes the CA's key."""
    slowest: float = 1.0
    """The largest p99 of the reviews without overload."""
    rotations: int = 1
    """CAs that must be replaced at the end."""

    def certificates(self) -> Mapping[str, float]:
        """The controllers' settings. Lifetimes are as short as the kills allow: a third of a leaf's must last until
        another controller leads."""
        leaf = max(90.0, 6 * self.propagation)
        return {
            "caLifetimeDays": 3 * leaf / DAY,
            "leafLifetimeDays": leaf / DAY,
            "propagationMinutes": self.propagation / 60,
        }


def for_minutes(minutes: float) -> Plan:
    """Two consecutive rotations take four minutes."""
    return Plan(seconds=minutes * 60, rotations=2 if minutes >= 4 else 1)


SHORT = Plan(
    seconds=40,
    drain=3,
    propagation=4,
    idle=2,
    between_restarts=9,
    between_kills=20,
    between_hostile_round=12,
    between_overloads=16,
    overload=3,
    key_deletion=2,
    slowest=math.inf,
)
"""At least one of everything, on a machine that may be busy."""
