"""What many measured times come to."""

from __future__ import annotations

from collections.abc import Sequence


def percentile(seconds: Sequence[float], per_cent: float) -> float:
    """That one, by the nearest rank; 0 of none."""
    if not seconds:
        return 0.0
    return sorted(seconds)[min(len(seconds) - 1, int(len(seconds) * per_cent / 100))]
