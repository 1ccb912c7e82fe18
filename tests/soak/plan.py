"""How much of everything, and how often."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

DAY = 86400


@dataclass(frozen=True)
class Plan:
    """Times are in seconds. A pause between disturbances is drawn each time, from half of what is here to all of it."""

    seconds: float
    """How long it all runs."""
    drain: float = 10
    """The webhooks' time from SIGTERM to the end."""
    propagation: float = 8
    """The certificate's: the pause between the steps of a rotation."""
    reviews_per_second: float = 30
    idle: float = 30
    """The longest pause between two reviews on a connection that is kept; others are used all the time."""
    pods_per_second: float = 3
    between_restarts: float = 24
    """With the drain, two a minute."""
    between_kills: float = 90
    between_hostilities: float = 30
    between_overloads: float = 60
    overload: float = 6
    by_hand: float = 20
    """When an operator takes the authority's key away."""
    slowest: float = 1.0
    """What a hundredth part of the reviews may take while the webhooks are not overloaded."""
    rotations: int = 1
    """Authorities that must at least have been replaced at the end."""

    def certificates(self) -> Mapping[str, float]:
        """The controllers' settings: lives as short as they can be while the leader is killed now and then, as a third
        of a leaf's has to last until another one leads."""
        leaf = max(90.0, 6 * self.propagation)
        return {
            "caLifetimeDays": 3 * leaf / DAY,
            "leafLifetimeDays": leaf / DAY,
            "propagationMinutes": self.propagation / 60,
        }


def for_minutes(minutes: float) -> Plan:
    """Two rotations in turn take four minutes."""
    return Plan(seconds=minutes * 60, rotations=2 if minutes >= 4 else 1)


SHORT = Plan(
    seconds=40,
    drain=3,
    propagation=4,
    idle=2,
    between_restarts=9,
    between_kills=20,
    between_hostilities=12,
    between_overloads=16,
    overload=3,
    by_hand=2,
    slowest=math.inf,
)
"""At least one of everything, on a machine that may be busy with other things."""
