"""From ModelFit JSON to a Need: recognises what llmfit prints, and applies its precedence.

    explicit figures   estimated_*_gb, then min_*_gb, then ram_gb/vram_gb, each quantity on its own
    a fit row          memory_required_gb, shared out by run_mode
    a plan             minimum.vram_gb, minimum.ram_gb
    a claim            memoryGi, minBandwidthGBs

An envelope `{"models": [row]}` with exactly one row is opened; a ModelFit with its nested `model` is read together
with it. What the measuring machine had (memory_available_gb, system, gpus, gpu_count) never sizes a claim.
Unknown keys are ignored: newer versions of llmfit add some.
"""

from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache

from webhook.core.fits import run_modes, strict_json
from webhook.core.fits.fields import Amount, Fields
from webhook.core.fits.requirements import ModelRequirements
from webhook.errors import Denied, FieldError, quote, quote_all
from webhook.reasons import Reason

MEMORY_KEYS = ("estimated_memory_gb", "min_ram_gb", "ram_gb")
GPU_MEMORY_KEYS = ("estimated_vram_gb", "min_vram_gb", "vram_gb")

_OTHER_KEYS = ("memory_required_gb", "total_memory_gb", "moe_offloaded_gb", "disk_size_gb", "memoryGi")
_NAME_KEYS = ("model", "name", "model_name")
_WAYS_OUT = (
    "set estimated_vram_gb (0 for a model that needs no GPU), "
    "or use the output of `llmfit --json plan MODEL --context N`"
)


REMEMBERED_TEXT = 4096
"""Characters of a fit that is remembered; a row as llmfit prints it has 2,000."""


def parse(text: str, where: str) -> ModelRequirements:
    """The need that `text` states. `where` is the path that faults start with. Raises Refusal with every fault.

    The pods of one workload carry the same text and come in a burst, so the needs of the last texts are remembered.
    """
    return _remembered(text, where) if len(text) <= REMEMBERED_TEXT else _read(text, where)


@lru_cache(maxsize=256)
def _remembered(text: str, where: str) -> ModelRequirements:
    return _read(text, where)


def _read(text: str, where: str) -> ModelRequirements:
    try:
        document = strict_json.read(text, where)
    except strict_json.NotJsonError as error:
        raise Denied(Reason.INVALID_MODEL_FIT, [error.fault]) from None
    impossible = list(strict_json.faults(document, where))
    try:
        fit = _one_fit(document, where)
    except Denied as refusal:
        raise Denied(Reason.INVALID_MODEL_FIT, [*impossible, *refusal.faults]) if impossible else refusal from None
    fit.faults.extend(impossible)
    requirements, reason = _need(fit)
    if requirements is None or fit.faults:
        raise Denied(reason, dict.fromkeys(fit.faults))
    return requirements


def _one_fit(document: object, where: str) -> Fields:
    """The object that speaks of one model."""
    if isinstance(document, list):
        raise _ambiguous(document, where, "one object")
    if not isinstance(document, Mapping):
        encoded = isinstance(document, str) and document.lstrip().startswith(("{", "["))
        remedy = "remove the outer quotes: it is encoded twice" if encoded else _WAYS_OUT
        want = "one JSON object with a model's figures"
        raise Denied(Reason.INVALID_MODEL_FIT, [FieldError(where, strict_json.describe(document), want, remedy)])
    rows = document.get("models")
    if rows is None or any(key in document for key in (*MEMORY_KEYS, *GPU_MEMORY_KEYS)):
        return Fields(where, document)
    where = strict_json.member(where, "models")
    if not isinstance(rows, list):
        raise Denied(Reason.INVALID_MODEL_FIT, [FieldError(where, strict_json.describe(rows), "a list of one object")])
    if len(rows) != 1 or not isinstance(rows[0], Mapping):
        raise _ambiguous(rows, where, "a list of one object")
    return Fields(f"{where}[0]", rows[0])


def _ambiguous(rows: list[object], where: str, form: str) -> Denied:
    fits = [Fields(where, row) for row in rows if isinstance(row, Mapping)]
    names = [name for fit in fits if (name := _name(fit, fit.inner("model")))]
    saw = f"a list of {len(rows)}" + (f": {quote_all(names)}" if names else "")
    remedy = f"keep the one that the pod serves, as {form}"
    return Denied(Reason.AMBIGUOUS_MODEL_FIT, [FieldError(where, saw, "exactly one model", remedy)])


def _need(fit: Fields) -> tuple[ModelRequirements | None, Reason]:
    """The need, or None with the reason; faults are left on `fit`."""
    warnings: list[str] = []
    model, plan = fit.inner("model"), fit.inner("minimum")
    _check_members(fit, model, plan)
    mode = run_modes.read(fit, warnings)
    explicit = _explicit(fit, model, GPU_MEMORY_KEYS)
    gpu = explicit or _gpu_memory(fit, model, mode, plan, warnings)
    memory = _explicit(fit, model, MEMORY_KEYS) or (mode.memory if mode else plan.gigabytes("ram_gb") if plan else None)
    fit.sized(gpu)
    fit.sized(memory)
    if gpu is None:
        if fit.faults:
            return None, Reason.INVALID_MODEL_FIT
        fit.faults.append(_no_figure(fit, mode))
        return None, Reason.NO_GPU_MEMORY_FIGURE
    if explicit and mode and mode.memory_required and mode.gpu_memory and mode.gpu_memory.value > gpu.value:
        warnings.append(
            f"{_last(gpu)} {gpu.value} was used although the fit's memory_required_gb is {mode.memory_required}"
        )
    if mode and not explicit and gpu.value == 0 and mode.name != "cpu_only":
        # Read as "no GPU", it would let a pod that runs on one go without.
        fit.faults.append(
            FieldError(gpu.where, f"0 with run_mode {mode.stated}", "what the model needs", "check the unit")
        )
    _doubts(fit, gpu.value, warnings)
    bandwidth = fit.ceiling("minBandwidthGBs")
    requirements = ModelRequirements(
        gpu_memory=gpu.value,
        memory=memory.value if memory else None,
        model=_name(fit, model),
        min_bandwidth=bandwidth,
        tensor_parallel=fit.wholes("supports_tp") or (model.wholes("supports_tp") if model else ()),
        context=fit.whole("effective_context_length") or fit.whole("context"),
        warnings=tuple(warnings),
    )
    return requirements, Reason.INVALID_MODEL_FIT


def _check_members(fit: Fields, model: Fields | None, plan: Fields | None) -> None:
    """Reads all that has a meaning, so that the faults of what is not chosen show as well."""
    fit.first(*_OTHER_KEYS)
    fit.must_be("minimum", dict, "an object")
    fit.must_be("model", (str, dict), "the model's name, or an object that describes it")
    for place in (fit, model):
        if place:
            place.must_be("name", str, "the model's name")
            place.must_be("model_name", str, "the model's name")
    if plan:
        plan.first("vram_gb", "ram_gb")


def _explicit(fit: Fields, model: Fields | None, keys: tuple[str, ...]) -> Amount | None:
    """The first present key, looked for at the top and in the nested model; every present one is checked."""
    places = [fit, model] if model else [fit]
    found = [figure for key in keys for place in places if (figure := place.gigabytes(key)) is not None]
    return found[0] if found else None


def _gpu_memory(
    fit: Fields, model: Fields | None, mode: run_modes.Share | None, plan: Fields | None, warnings: list[str]
) -> Amount | None:
    """The figure where no explicit one is present, in the order of the table above."""
    if mode:
        return mode.gpu_memory
    figure = (plan and plan.gigabytes("vram_gb")) or fit.gigabytes("memoryGi")
    if figure:
        return figure
    for place in (fit, model):
        # llmfit's own rule, `min_vram_gb.unwrap_or(min_ram_gb)`: a null is a statement, an absent key is none.
        if place and "min_vram_gb" in place.members and place.members["min_vram_gb"] is None:
            stand_in = _explicit(fit, model, ("min_ram_gb",))
            if stand_in:
                warnings.append(f"min_vram_gb is null, so min_ram_gb {stand_in.value} stands in for it, as in llmfit")
            return stand_in
    return None


def _no_figure(fit: Fields, mode: run_modes.Share | None) -> FieldError:
    if mode and mode.name == "cpu_offload":
        saw = f"run_mode {mode.stated}, whose row does not say how much of the model is in VRAM"
        return FieldError(fit.where, saw, "estimated_vram_gb or min_vram_gb beside it", _WAYS_OUT)
    error = fit.members.get("error")
    message = error.get("message") if isinstance(error, dict) else error
    if isinstance(message, str):
        saw = f"llmfit reported an error: {quote(message)}"
        return FieldError(
            fit.where, saw, "a model's figures", "correct the llmfit command, and take what it prints then"
        )
    saw = f"no usable figure for GPU memory among the keys {quote_all(sorted(fit.members))}" if fit.members else "{}"
    want = (
        "estimated_vram_gb, min_vram_gb or vram_gb, or memory_required_gb with run_mode, or what `llmfit plan` prints"
    )
    return FieldError(fit.where, saw, want, _WAYS_OUT)


def _doubts(fit: Fields, gpu_memory: Decimal, warnings: list[str]) -> None:
    """Warns of figures that contradict each other but may still be meant."""
    disk = fit.gigabytes("disk_size_gb")
    mode = run_modes.name(fit)
    if disk and mode in ("gpu", "tensor_parallel") and gpu_memory < disk.value:
        warnings.append(f"the GPU memory {gpu_memory} GB is less than the weights on disk, disk_size_gb {disk.value}")
    if mode == "cpu_only" and gpu_memory:
        stated = quote(fit.members["run_mode"])
        warnings.append(
            f"run_mode {stated} uses no GPU, yet the fit names {gpu_memory} GB of GPU memory; a GPU is claimed"
        )
    level = fit.text("fit_level")
    if level and level.lower().replace(" ", "").replace("_", "") == "tootight":
        warnings.append("fit_level is too tight: llmfit expects the model not to fit the machine it was measured on")


def _name(fit: Fields, model: Fields | None) -> str | None:
    for place in (fit, model):
        if place:
            for key in _NAME_KEYS:
                if name := place.text(key):
                    # "\ud800" is JSON, but no character: nothing could send it on.
                    return name.encode("utf-8", "replace").decode()
    return None


def _last(figure: Amount) -> str:
    return figure.where.rpartition(".")[2]
