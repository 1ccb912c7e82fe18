"""Divides a fit row's `memory_required_gb` between VRAM and RAM.

    run mode          gpu.memory           memory
    gpu               memory_required_gb   unknown
    tensor_parallel   memory_required_gb   unknown
    moe_offload       memory_required_gb   moe_offloaded_gb
    cpu_only          0                    memory_required_gb
    cpu_offload       not in the row       memory_required_gb

llmfit has three spellings: `CPU+GPU` (`fit`, `recommend`, `info`), `cpu_offload` (the REST API) and `CpuOffload`
(`diff` and other serialised output). Case, `_`, `-` and spaces are ignored.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from webhook.core.fits.fields import Fields, MemoryField
from webhook.core.fits.strict_json import member_path
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

_EXPECTED = "GPU, TP, MoE, CPU+GPU or CPU"
"""The spellings in a row."""


@dataclass(frozen=True, slots=True)
class RunModeMemory:
    """The memory of a row by kind; None if the row does not contain it. `mode` is a name of the table above, `quoted`
    the row's spelling as messages repeat it. Each list of warnings is for a use of the amount of the same name."""

    mode: str
    quoted: str
    gpu_memory: MemoryField | None
    memory: MemoryField | None
    gpu_memory_warnings: Sequence[str] = ()
    memory_warnings: Sequence[str] = ()


def find_mode(fit: Fields) -> str | None:
    """The row's run mode as a name of the table above; None if it is absent or unknown."""
    text = fit.text("run_mode")
    return _SPELLINGS.get(_normalize(text)) if text else None


def divide_memory(fit: Fields, warnings: list[str]) -> RunModeMemory | None:
    """The memory of a fit row; None if the object is not one. An unknown mode is an error if the row has a
    `memory_required_gb` to divide, else a warning."""
    fit.check_type("run_mode", str, _EXPECTED)
    required = fit.gigabytes("memory_required_gb")
    text = fit.members.get("run_mode")
    if not isinstance(text, str):
        return None
    mode, quoted = find_mode(fit), quote(text)
    if mode is None:
        if fit.members.get("memory_required_gb") is None:
            warnings.append(f"run_mode {quoted} is ignored: it is not one of {_EXPECTED}")
        else:
            fit.errors.append(FieldError(member_path(fit.path, "run_mode"), quoted, _EXPECTED))
        return None
    if required is None:
        return None
    if mode in ("gpu", "tensor_parallel"):
        return _resident(fit, required, mode, quoted)
    if mode == "moe_offload":
        return _offloaded(fit, required, mode, quoted)
    gpu_memory = MemoryField(required.path, Decimal(0)) if mode == "cpu_only" else None
    return RunModeMemory(mode, quoted, gpu_memory, required)


def _resident(fit: Fields, required: MemoryField, mode: str, quoted: str) -> RunModeMemory:
    """A GPU run, where all weights are in GPU memory. If the row's total is larger, `memory_required_gb` counts the
    active experts only, which determine the speed and not the size."""
    total = fit.gigabytes("total_memory_gb")
    if total is None or total.value <= required.value:
        return RunModeMemory(mode, quoted, required, None)
    warning = (
        f"total_memory_gb {total.value} was used, not memory_required_gb {required.value}: "
        "on a GPU run the whole model is resident"
    )
    return RunModeMemory(mode, quoted, total, None, gpu_memory_warnings=[warning])


def _offloaded(fit: Fields, required: MemoryField, mode: str, quoted: str) -> RunModeMemory:
    """A run with experts in system RAM. 0 means none; null and an absent key (older llmfit) mean unknown."""
    offloaded = fit.gigabytes("moe_offloaded_gb")
    if offloaded is not None:
        return RunModeMemory(mode, quoted, required, offloaded)
    state = "null" if "moe_offloaded_gb" in fit.members else "absent"
    warning = f"moe_offloaded_gb is {state}, so no system memory is requested for the offloaded experts"
    return RunModeMemory(mode, quoted, required, None, memory_warnings=[warning])


def _normalize(text: str) -> str:
    return text.lower().translate({ord(character): None for character in "_- "})
