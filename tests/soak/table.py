"""A record as a table for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from testbed.latency import percentile
from tests.soak.record import MIB, Record


def table(record: Record) -> str:
    """Lines of a name and what was counted."""
    rows = list(_rows(record))
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:{width}}  {value}".rstrip() for name, value in rows)


def line(record: Record) -> str:
    """The essential, while it goes on."""
    return (
        f"{record.seconds / 60:.0f} min: {record.reviews:,} reviews ({len(record.failed)} failed), "
        f"{record.admitted:,} pods ({len(record.refused)} refused), {record.restarts} restarts, {record.kills} kills, "
        f"{record.authorities} rotations, {record.hostile.total():,} hostile connections, {record.overloads} overloads"
    )


def _rows(record: Record) -> Iterator[tuple[str, str]]:
    yield "time", f"{record.seconds / 60:.1f} minutes"
    yield "reviews", f"{record.reviews:,}, of them {len(record.answered_in_overload):,} while overloaded"
    yield "failed reviews", f"{len(record.failed)}"
    yield "review, p50 / p99 / slowest", _times(record.answered)
    yield "the same while overloaded", _times(record.answered_in_overload)
    yield "pods admitted / refused", f"{record.admitted:,} / {len(record.refused)}"
    yield "pods without claim", f"{record.not_injected + len(record.without_claim)}"
    yield "claim there, p50 / p99 / last", _times(record.claims_after)
    yield "claims left over", f"{len(record.claims_left)}"
    yield "webhooks restarted", f"{record.restarts}"
    yield "leading controllers killed", f"{record.kills}"
    yield "authorities / leaves replaced", f"{record.authorities} / {record.leaves}"
    yield "overloads", f"{record.overloads}: {_counts(record.crowd)}"
    yield "hostile connections", f"{record.hostile.total():,}"
    for name, count in record.hostile.most_common():
        yield f"  {name}", f"{count:,}"
    yield "log lines", "reviews / others"
    for name, lines in record.lines.items():
        yield f"  {name}", f"{lines.reviews:,} / {lines.others:,}"
    yield "memory", "start / most / end, MiB"
    for name, memory in record.memory.items():
        yield f"  {name}", " / ".join(f"{each / MIB:.0f}" for each in (memory.start, memory.most, memory.end))


def _times(seconds: list[float]) -> str:
    if not seconds:
        return "none"
    shown = (percentile(seconds, 50), percentile(seconds, 99), max(seconds))
    return " / ".join(f"{each * 1000:,.0f}" for each in shown) + " ms"


def _counts(counts: Counter[str]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.most_common()) or "none"
