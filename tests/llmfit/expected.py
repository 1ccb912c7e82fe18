"""The expected amounts of a row, computed from the documented rules without the project's code."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any


@dataclass(frozen=True)
class Amounts:
    """Quantities as in a claim; None if unknown."""

    gpu_memory: str | None
    memory: str | None


def from_catalogue_row(row: Mapping[str, Any]) -> Amounts:
    """`min_vram_gb`, or `min_ram_gb` if it is null; `min_ram_gb`."""
    gpu = row["min_ram_gb"] if row["min_vram_gb"] is None else row["min_vram_gb"]
    return Amounts(quantity(gpu), quantity(row["min_ram_gb"]))


def from_fit_row(row: Mapping[str, Any]) -> Amounts | None:
    """The amounts by run mode. None if the row is denied: a CPU+GPU row does not say how much is in VRAM."""
    required = row["memory_required_gb"]
    match row["run_mode"]:
        case "GPU" | "TP":
            return Amounts(quantity(max(required, row["total_memory_gb"])), None)
        case "MoE":
            return Amounts(quantity(required), quantity(row["moe_offloaded_gb"]))
        case "CPU":
            return Amounts(None, quantity(required))
        case "CPU+GPU":
            return None
        case other:
            raise AssertionError(f"run_mode {other!r} is new")


def quantity(gigabytes: float | None) -> str | None:
    """Whole Gi, else Mi rounded up, computed from the printed decimal."""
    if not gigabytes:
        return None
    mebibytes = math.ceil(Fraction(repr(gigabytes)) * 1024)
    return f"{mebibytes // 1024}Gi" if mebibytes % 1024 == 0 else f"{mebibytes}Mi"
