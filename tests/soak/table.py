"""Prints a result as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from testbed.latency import percentile
from tests.soak.result import MIB, SoakResult


def table(result: SoakResult) -> str:
    """One line per count."""
    rows = list(_rows(result))
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:{width}}  {value}".rstrip() for name, value in rows)


def line(result: SoakResult) -> str:
    """A progress line."""
    return (
        f"{result.seconds / 60:.0f} min: {result.reviews:,} reviews ({len(result.failed)} failed), "
        f"{result.admitted:,} pods ({len(result.refused)} refused), {result.restarts} restarts, {result.kills} kills, "
        f"{result.cas} rotations, {result.hostile.total():,} hostile connections, {result.overloads} overloads"
    )


def _rows(result: SoakResult) -> Iterator[tuple[str, str]]:
    yield "time", f"{result.seconds / 60:.1f} minutes"
    yield "reviews", f"{result.reviews:,}, of them {len(result.answered_in_overload):,} while overloaded"
    yield "failed reviews", f"{len(result.failed)}"
    yield "review, p50 / p99 / slowest", _times(result.answered)
    yield "the same while overloaded", _times(result.answered_in_overload)
    yield "pods admitted / refused", f"{result.admitted:,} / {len(result.refused)}"
    yield "pods without claim", f"{result.not_injected + len(result.without_claim)}"
    yield "claim there, p50 / p99 / last", _times(result.claims_after)
    yield "claims left over", f"{len(result.claims_left)}"
    yield "webhooks restarted", f"{result.restarts}"
    yield "leading controllers killed", f"{result.kills}"
    yield "CAs / leaves replaced", f"{result.cas} / {result.leaves}"
    yield "overloads", f"{result.overloads}: {_counts(result.crowd)}"
    yield "hostile connections", f"{result.hostile.total():,}"
    for name, count in result.hostile.most_common():
        yield f"  {name}", f"{count:,}"
    yield "log lines", "reviews / others"
    for name, lines in result.lines.items():
        yield f"  {name}", f"{lines.reviews:,} / {lines.others:,}"
    yield "memory", "start / most / end, MiB"
    for name, memory in result.memory.items():
        yield f"  {name}", " / ".join(f"{each / MIB:.0f}" for each in (memory.start, memory.most, memory.end))


def _times(seconds: list[float]) -> str:
    if not seconds:
        return "none"
    shown = (percentile(seconds, 50), percentile(seconds, 99), max(seconds))
    return " / ".join(f"{each * 1000:,.0f}" for each in shown) + " ms"


def _counts(counts: Counter[str]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.most_common()) or "none"
