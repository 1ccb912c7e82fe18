"""What a model requires of the pod that serves it."""

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from webhook.core.fits import quantities


@dataclass(frozen=True)
class ModelRequirements:
    """Amounts are in GiB, exactly as written in the fit."""

    gpu_memory: Decimal
    """0: the model needs no GPU."""
    memory: Decimal | None = None
    """System memory; None if unknown."""
    model: str | None = None
    min_bandwidth: int | None = None
    """Memory bandwidth in GB/s for the target speed; used by the llmfit profile."""
    tensor_parallel: tuple[int, ...] = ()
    """Device counts over which the model can be split, in ascending order (`supports_tp`)."""
    context: int | None = None
    """Tokens of context that the amounts allow for."""
    warnings: tuple[str, ...] = ()

    @property
    def cpu_only(self) -> bool:
        return self.gpu_memory == 0

    @cached_property
    def gpu_memory_quantity(self) -> str:
        """Canonical quantity; `0Gi` if no GPU is needed."""
        return quantities.canonical(quantities.mebibytes(self.gpu_memory))

    @cached_property
    def memory_quantity(self) -> str | None:
        """Canonical quantity; None if `memory` is unknown or 0."""
        return quantities.canonical(quantities.mebibytes(self.memory)) if self.memory else None
