"""How a fit row's `memory_required_gb` divides between VRAM and RAM.

    run mode          gpu.memory           memory
    gpu               memory_required_gb   not said
    tensor_parallel   memory_required_gb   not said
    moe_offload       memory_required_gb   moe_offloaded_gb
    cpu_only          0                    memory_required_gb
    cpu_offload       not in the row       memory_required_gb

llmfit spells the mode in three ways: `CPU+GPU` (`fit`, `recommend`, `info`), `cpu_offload` (the REST API), `CpuOffload`
(`diff`, and the rest of what is serialised); case, `_`, `-` and blanks are passed over.
"""

from dataclasses import dataclass
from decimal import Decimal

from webhook.core.fits.fields import Amount, Fields
from webhook.core.fits.strict_json import member
from webhook.errors import FieldError, quote

_SPELLINGS = {
    "gpu": "gpu",
    "tp": "tensor_parallel",
    "tensorparallel": "tensor_parallel",
    "moe": "moe_offload",
    "moeoffload": "moe_offload",
    "cpu+gpu": "cpu_offload",
    "cpuoffload": "cpu_offload",
    "cpu": "cpu_only",
    "cpuonly": "cpu_only",
}

_PRINTED = "GPU, TP, MoE, CPU+GPU or CPU"
"""As llmfit prints them in a row."""


@dataclass(frozen=True, slots=True)
class Share:
    """A row's memory by kind; None is "the row does not say". `name` is this module's spelling, `stated` the row's, as
    messages show it."""

    name: str
    stated: str
    memory_required: Decimal
    gpu_memory: Amount | None
    memory: Amount | None


def name(fit: Fields) -> str | None:
    """The row's run mode in this module's spelling; None where it has none that is known."""
    text = fit.text("run_mode")
    return _SPELLINGS.get(_folded(text)) if text else None


def read(fit: Fields, warnings: list[str]) -> Share | None:
    """The share, or None where the object is no fit row. A mode that is not known is a fault where memory is to be
    shared out by it, and passed over with a warning where it is not."""
    fit.must_be("run_mode", str, _PRINTED)
    required = fit.gigabytes("memory_required_gb")
    text = fit.members.get("run_mode")
    if not isinstance(text, str):
        return None
    mode, stated = name(fit), quote(text)
    if mode is None:
        if fit.members.get("memory_required_gb") is None:
            warnings.append(f"run_mode {stated} was passed over: it is not one of {_PRINTED}")
        else:
            fit.faults.append(FieldError(member(fit.where, "run_mode"), stated, _PRINTED))
        return None
    if required is None:
        return None
    if mode in ("gpu", "tensor_parallel"):
        return Share(mode, stated, required.value, _whole_model(fit, required, warnings), None)
    if mode == "moe_offload":
        return Share(mode, stated, required.value, required, _offloaded(fit, warnings))
    nothing = Amount(required.where, Decimal(0))
    return Share(mode, stated, required.value, nothing if mode == "cpu_only" else None, required)


def _whole_model(fit: Fields, required: Amount, warnings: list[str]) -> Amount:
    """On a GPU run all weights are resident: where the row's total is larger, the smaller number is that of the
    active experts, which measures speed, not space."""
    total = fit.gigabytes("total_memory_gb")
    if total and total.value > required.value:
        warnings.append(
            f"total_memory_gb {total.value} was used, not memory_required_gb {required.value}: "
            "on a GPU run the whole model is resident"
        )
        return total
    return required


def _offloaded(fit: Fields, warnings: list[str]) -> Amount | None:
    """The experts in system RAM. 0 is a statement; null and an absent key (llmfit before it printed one) are not."""
    offloaded = fit.gigabytes("moe_offloaded_gb")
    if offloaded is None:
        state = "null" if "moe_offloaded_gb" in fit.members else "absent"
        warnings.append(f"moe_offloaded_gb is {state}, so no system memory is requested for the offloaded experts")
    return offloaded


def _folded(text: str) -> str:
    return text.lower().translate({ord(mark): None for mark in "_- "})
