"""What was counted while it all ran, and what of it must hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from testbed.latency import percentile
from testbed.review_clients import AnsweredReview
from tests.soak.peers import ACCEPTED_OLD_TLS, RESET
from tests.soak.plan import Plan

MIB = 1 << 20
AFTERMATH_SECONDS = 2.0
"""In which reviews after an overload still wait for their turn."""
GROWTH, SPARE = 1.25, 8 * MIB
"""What a program may have at the end: so many times what it began with, and so many bytes."""
LINES_PER_EVENT = 12
"""Log lines of a webhook that are no review, for each start and each certificate: whatever peers do, no more."""
SHOWN = 5


@dataclass
class Lines:
    """Of a program's log."""

    reviews: int = 0
    others: int = 0


@dataclass
class Memory:
    """Resident bytes of a program: under load at the start, at most, and at the end."""

    start: int
    most: int
    end: int


@dataclass
class Record:
    """Texts are of what went wrong; there should be none."""

    seconds: float = 0.0
    answered: list[float] = field(default_factory=list)
    """Seconds that each review took while there was no overload."""
    answered_in_overload: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    admitted: int = 0
    refused: list[str] = field(default_factory=list)
    not_injected: int = 0
    without_claim: list[str] = field(default_factory=list)
    claims_after: list[float] = field(default_factory=list)
    """Seconds until each pod had its claim."""
    claims_left: list[str] = field(default_factory=list)
    restarts: int = 0
    kills: int = 0
    authorities: int = 0
    """How many were replaced, up to the end of trust in them."""
    leaves: int = 0
    """How many of the certificates that webhooks serve were."""
    hostile: Counter[str] = field(default_factory=Counter)
    overloads: int = 0
    crowd: Counter[str] = field(default_factory=Counter)
    lines: dict[str, Lines] = field(default_factory=dict)
    memory: dict[str, Memory] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    """A program that ended by itself or not well, a worker that was lost, a disturbance that could not be made."""

    @property
    def reviews(self) -> int:
        return len(self.answered) + len(self.answered_in_overload) + len(self.failed)

    def sort(self, answered: Sequence[AnsweredReview], overloads: Sequence[tuple[float, float]]) -> None:
        """Takes the answered reviews, those during an overload (from when to when) apart from the others."""
        self.answered, self.answered_in_overload = [], []
        for each in answered:
            crowded = any(
                each.at < ended + AFTERMATH_SECONDS and each.at + each.seconds > began for began, ended in overloads
            )
            (self.answered_in_overload if crowded else self.answered).append(each.seconds)

    def broken(self, plan: Plan) -> list[str]:
        """What did not hold, as sentences; empty where all did."""
        return [
            *_some("failed reviews", self.failed),
            *_some("pods refused", self.refused),
            *_some("pods that never got their claim", self.without_claim),
            *_some("claims that outlived their pods", self.claims_left),
            *self.problems,
            *([f"{self.not_injected} pods admitted without a claim in them"] if self.not_injected else []),
            *self._slow(plan),
            *self._absent(plan),
            *self._talkative(),
            *self._grown(),
        ]

    def _slow(self, plan: Plan) -> list[str]:
        slowest = percentile(self.answered, 99)
        return [f"p99 of the reviews {slowest:.2f} s without overload"] if slowest >= plan.slowest else []

    def _absent(self, plan: Plan) -> list[str]:
        """What did not happen often enough to have shown anything."""
        wanted = {
            "reviews": (self.reviews, int(plan.reviews_per_second * plan.seconds * 0.5)),
            "pods": (self.admitted, int(plan.pods_per_second * plan.seconds * 0.5)),
            "restarts": (self.restarts, 2),
            "controllers killed": (self.kills, 1),
            "authorities replaced": (self.authorities, plan.rotations),
            "certificates replaced": (self.leaves, plan.rotations),
            "overloads": (self.overloads, 1),
            "connections reset": (self.hostile[RESET], 1000),
        }
        found = [f"only {count} {what}, want {least}" for what, (count, least) in wanted.items() if count < least]
        accepted = self.hostile[ACCEPTED_OLD_TLS]
        return found + ([f"{accepted} peers with an old TLS version were accepted"] if accepted else [])

    def _talkative(self) -> list[str]:
        webhooks = {name: lines for name, lines in self.lines.items() if lines.reviews}
        most = LINES_PER_EVENT * (self.restarts + self.leaves + 1)
        return [
            f"{name} logged {lines.others} lines that are no review, want at most {most}"
            for name, lines in webhooks.items()
            if lines.others > most
        ]

    def _grown(self) -> list[str]:
        return [
            f"{name} has {memory.end / MIB:.0f} MiB at the end, and had {memory.start / MIB:.0f}"
            for name, memory in self.memory.items()
            if name.startswith(("webhook", "controller")) and memory.end > memory.start * GROWTH + SPARE
        ]


def _some(what: str, found: list[str]) -> list[str]:
    if not found:
        return []
    more = [f"  … and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
    return [f"{len(found)} {what}:", *(f"  {each}" for each in found[:SHOWN]), *more]
