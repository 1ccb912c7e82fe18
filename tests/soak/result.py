"""What was counted during a run, and the requirements that are violated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from testbed.latency import percentile
from testbed.review_clients import AnsweredReview
from tests.soak.hostile_peers import ACCEPTED_OLD_TLS, RESET
from tests.soak.plan import Plan

MIB = 1 << 20
AFTERMATH_SECONDS = 2.0
"""For so long after an overload reviews may still be queued."""
GROWTH, SPARE = 1.25, 8 * MIB
"""A program's memory at the end may be GROWTH times its memory at the start, plus SPARE bytes."""
LINES_PER_EVENT = 12
"""Log lines of a webhook beside reviews, per start and per certificate, whatever its peers send."""
SHOWN = 5


@dataclass
class Lines:
    """Lines of a program's log."""

    reviews: int = 0
    others: int = 0


@dataclass
class Memory:
    """Resident bytes of a program under load: at the start, at most, and at the end."""

    start: int
    most: int
    end: int


@dataclass
class SoakResult:
    """Lists of strings hold errors and should be empty."""

    seconds: float = 0.0
    answered: list[float] = field(default_factory=list)
    """Seconds per review without overload."""
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
    cas: int = 0
    """CAs that were replaced and are no longer trusted."""
    leaves: int = 0
    """Serving certificates that were replaced."""
    hostile: Counter[str] = field(default_factory=Counter)
    overloads: int = 0
    crowd: Counter[str] = field(default_factory=Counter)
    lines: dict[str, Lines] = field(default_factory=dict)
    memory: dict[str, Memory] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    """Programs that exited unexpectedly, lost workers, disturbances that failed."""

    @property
    def reviews(self) -> int:
        return len(self.answered) + len(self.answered_in_overload) + len(self.failed)

    def sort(self, answered: Sequence[AnsweredReview], overloads: Sequence[tuple[float, float]]) -> None:
        """Stores the answered reviews, separated into those during an overload (start, end) and the others."""
        self.answered, self.answered_in_overload = [], []
        for each in answered:
            crowded = any(
                each.at < ended + AFTERMATH_SECONDS and each.at + each.seconds > began for began, ended in overloads
            )
            (self.answered_in_overload if crowded else self.answered).append(each.seconds)

    def violations(self, plan: Plan) -> list[str]:
        """The violated requirements as sentences."""
        return [
            *_listed("failed reviews", self.failed),
            *_listed("pods refused", self.refused),
            *_listed("pods that never got their claim", self.without_claim),
            *_listed("claims that outlived their pods", self.claims_left),
            *self.problems,
            *([f"{self.not_injected} pods admitted without a claim in them"] if self.not_injected else []),
            *self._slow(plan),
            *self._too_few(plan),
            *self._excessive_logs(),
            *self._memory_growth(),
        ]

    def _slow(self, plan: Plan) -> list[str]:
        slowest = percentile(self.answered, 99)
        return [f"p99 of the reviews {slowest:.2f} s without overload"] if slowest >= plan.slowest else []

    def _too_few(self, plan: Plan) -> list[str]:
        """What happened too seldom for the run to prove anything."""
        required = {
            "reviews": (self.reviews, int(plan.reviews_per_second * plan.seconds * 0.5)),
            "pods": (self.admitted, int(plan.pods_per_second * plan.seconds * 0.5)),
            "restarts": (self.restarts, 2),
            "controllers killed": (self.kills, 1),
            "CAs replaced": (self.cas, plan.rotations),
            "certificates replaced": (self.leaves, plan.rotations),
            "overloads": (self.overloads, 1),
            "connections reset": (self.hostile[RESET], 1000),
        }
        found = [f"only {count} {what}, want {least}" for what, (count, least) in required.items() if count < least]
        accepted = self.hostile[ACCEPTED_OLD_TLS]
        return found + ([f"{accepted} peers with an old TLS version were accepted"] if accepted else [])

    def _excessive_logs(self) -> list[str]:
        webhooks = {name: lines for name, lines in self.lines.items() if lines.reviews}
        most = LINES_PER_EVENT * (self.restarts + self.leaves + 1)
        return [
            f"{name} logged {lines.others} lines beside reviews, want at most {most}"
            for name, lines in webhooks.items()
            if lines.others > most
        ]

    def _memory_growth(self) -> list[str]:
        return [
            f"{name} has {memory.end / MIB:.0f} MiB at the end, and had {memory.start / MIB:.0f}"
            for name, memory in self.memory.items()
            if name.startswith(("webhook", "controller")) and memory.end > memory.start * GROWTH + SPARE
        ]


def _listed(what: str, found: list[str]) -> list[str]:
    if not found:
        return []
    more = [f"  … and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
    return [f"{len(found)} {what}:", *(f"  {each}" for each in found[:SHOWN]), *more]
