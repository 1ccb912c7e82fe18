"""Statistics of measured times."""

from __future__ import annotations

from collections.abc import Sequence


def percentile(seconds: Sequence[float], per_cent: float) -> float:
    """The percentile by nearest rank; 0 of an empty sequence."""
    if not seconds:
        return 0.0
    return sorted(seconds)[min(len(seconds) - 1, int(len(seconds) * per_cent / 100))]
