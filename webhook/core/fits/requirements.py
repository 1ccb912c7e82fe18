"""What a model needs, read from its ModelFit: the value that everything after it works with."""

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from webhook.core.fits import quantities


@dataclass(frozen=True)
class ModelRequirements:
    """Amounts are GiB as they were written; `None` is "not said"; a `gpu_memory` of 0 is "no GPU"."""

    gpu_memory: Decimal
    memory: Decimal | None = None
    model: str | None = None
    min_bandwidth: int | None = None
    """Memory bandwidth in GB/s that the wanted speed takes; the llmfit profile asks for it."""
    tensor_parallel: tuple[int, ...] = ()
    """Device counts over which the model can be split, fewest first (`supports_tp`)."""
    context: int | None = None
    """Tokens of context that the figures were made for."""
    warnings: tuple[str, ...] = ()

    @property
    def cpu_only(self) -> bool:
        return self.gpu_memory == 0

    @cached_property
    def gpu_memory_quantity(self) -> str:
        """Canonical quantity, `0Gi` where no GPU is needed."""
        return quantities.canonical(quantities.mebibytes(self.gpu_memory))

    @cached_property
    def memory_quantity(self) -> str | None:
        """Canonical quantity; None where there is nothing to request (not said, or 0)."""
        return quantities.canonical(quantities.mebibytes(self.memory)) if self.memory else None
