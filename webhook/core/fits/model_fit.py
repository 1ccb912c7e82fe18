"""Parses ModelFit JSON into ModelRequirements. Recognises every shape that llmfit prints, in this precedence:

    explicit fields    estimated_*_gb, then min_*_gb, then ram_gb/vram_gb, each quantity on its own
    a fit row          memory_required_gb, divided by run_mode
    a plan             minimum.vram_gb, minimum.ram_gb
    a claim            memoryGi, minBandwidthGBs

`{"models": [row]}` with exactly one row is unwrapped; a fit and its nested `model` are read together. What describes
the machine that llmfit ran on (memory_available_gb, system, gpus, gpu_count) never sizes a claim.
Unknown keys are ignored: newer versions of llmfit add some.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import lru_cache

from webhook.core.fits import run_modes, strict_json
from webhook.core.fits.fields import Fields, MemoryField
from webhook.core.fits.requirements import ModelRequirements
from webhook.core.fits.run_modes import RunModeMemory
from webhook.errors import Denied, FieldError, quote, quote_all
from webhook.reasons import Reason

MEMORY_KEYS = ("estimated_memory_gb", "min_ram_gb", "ram_gb")
GPU_MEMORY_KEYS = ("estimated_vram_gb", "min_vram_gb", "vram_gb")

_OTHER_KEYS = ("memory_required_gb", "total_memory_gb", "moe_offloaded_gb", "disk_size_gb", "memoryGi")
_NAME_KEYS = ("model", "name", "model_name")
_GPU_MEMORY_HINT = (
    "set estimated_vram_gb (0 for a model that needs no GPU), "
    "or use the output of `llmfit --json plan MODEL --context N`"
)

MAX_CACHED_TEXT = 4096
"""Characters of a fit whose result is cached; a row that llmfit prints has 2,000."""


def parse(text: str, path: str) -> ModelRequirements:
    """The requirements in a ModelFit. Errors start with `path`. Raises Denied with all of them.

    The pods of a workload are created in bursts and carry the same text, so results are cached.
    """
    return _parse_cached(text, path) if len(text) <= MAX_CACHED_TEXT else _parse(text, path)


@lru_cache(maxsize=256)
def _parse_cached(text: str, path: str) -> ModelRequirements:
    return _parse(text, path)


def _parse(text: str, path: str) -> ModelRequirements:
    try:
        document = strict_json.decode(text, path)
    except strict_json.NotJsonError as not_json:
        raise _invalid(not_json.error) from None
    json_errors = list(strict_json.find_errors(document, path))
    try:
        fit = _select_model(document, path)
    except Denied as denied:
        raise _invalid(*json_errors, *denied.errors) if json_errors else denied from None
    fit.errors.extend(json_errors)
    requirements = _requirements(fit)
    if fit.errors:
        raise _invalid(*fit.errors)
    return requirements


def _invalid(*errors: FieldError) -> Denied:
    return Denied(Reason.INVALID_MODEL_FIT, dict.fromkeys(errors))


def _select_model(document: object, path: str) -> Fields:
    """The object that describes the one model. Raises Denied if there is none, or more than one."""
    if isinstance(document, list):
        raise _ambiguous(document, path, "one object")
    if not isinstance(document, Mapping):
        encoded_twice = isinstance(document, str) and document.lstrip().startswith(("{", "["))
        hint = "remove the outer quotes: it is encoded twice" if encoded_twice else _GPU_MEMORY_HINT
        expected = "one JSON object with a model's figures"
        raise _invalid(FieldError(path, strict_json.describe(document), expected, hint))
    rows = document.get("models")
    if rows is None or any(key in document for key in (*MEMORY_KEYS, *GPU_MEMORY_KEYS)):
        return Fields(path, document)
    path = strict_json.member_path(path, "models")
    if not isinstance(rows, list):
        raise _invalid(FieldError(path, strict_json.describe(rows), "a list of one object"))
    if len(rows) != 1 or not isinstance(rows[0], Mapping):
        raise _ambiguous(rows, path, "a list of one object")
    return Fields(f"{path}[0]", rows[0])


def _ambiguous(rows: list[object], path: str, expected_form: str) -> Denied:
    fits = [Fields(path, row) for row in rows if isinstance(row, Mapping)]
    names = [name for fit in fits if (name := _model_name(fit, fit.get_object("model")))]
    value = f"a list of {len(rows)}" + (f": {quote_all(names)}" if names else "")
    hint = f"keep the one that the pod serves, as {expected_form}"
    return Denied(Reason.AMBIGUOUS_MODEL_FIT, [FieldError(path, value, "exactly one model", hint)])


def _requirements(fit: Fields) -> ModelRequirements:
    """The requirements; other errors are in `fit.errors`. Raises Denied if there is no figure for GPU memory."""
    warnings: list[str] = []
    model, plan = fit.get_object("model"), fit.get_object("minimum")
    _check_members(fit, model, plan)
    divided = run_modes.divide_memory(fit, warnings)
    explicit = _first_gigabytes(fit, model, GPU_MEMORY_KEYS)
    gpu = explicit or _derived_gpu_memory(fit, model, divided, plan, warnings)
    memory = _first_gigabytes(fit, model, MEMORY_KEYS) or _derived_memory(divided, plan, warnings)
    fit.check_range(gpu)
    fit.check_range(memory)
    if gpu is None:
        raise (
            _invalid(*fit.errors)
            if fit.errors
            else Denied(Reason.NO_GPU_MEMORY_FIGURE, [_no_gpu_memory_error(fit, divided)])
        )
    if explicit and divided and divided.gpu_memory and divided.gpu_memory.value > gpu.value:
        larger = divided.gpu_memory
        warnings.append(f"{gpu.key} {gpu.value} was used although the fit's {larger.key} is {larger.value}")
    if divided and not explicit and gpu.value == 0 and divided.mode != "cpu_only":
        # 0 means "no GPU", and the pod would start without one.
        fit.errors.append(
            FieldError(gpu.path, f"0 with run_mode {divided.quoted}", "a number above 0", "check the unit")
        )
    warnings += _contradictions(fit, gpu.value)
    return ModelRequirements(
        gpu_memory=gpu.value,
        memory=memory.value if memory else None,
        model=_model_name(fit, model),
        min_bandwidth=fit.rounded_up("minBandwidthGBs"),
        tensor_parallel=fit.positive_integers("supports_tp")
        or (model.positive_integers("supports_tp") if model else ()),
        context=fit.positive_integer("effective_context_length") or fit.positive_integer("context"),
        warnings=tuple(warnings),
    )


def _check_members(fit: Fields, model: Fields | None, plan: Fields | None) -> None:
    """Checks every member that has a meaning, so that errors in unused ones are reported too."""
    fit.check_gigabytes(*_OTHER_KEYS)
    fit.check_type("minimum", dict, "an object")
    fit.check_type("model", (str, dict), "the model's name, or an object that describes it")
    for fields in (fit, model):
        if fields:
            fields.check_type("name", str, "the model's name")
            fields.check_type("model_name", str, "the model's name")
    if plan:
        plan.check_gigabytes("vram_gb", "ram_gb")


def _first_gigabytes(fit: Fields, model: Fields | None, keys: tuple[str, ...]) -> MemoryField | None:
    """The first key present, at the top before the nested model. Reads all of them, so that every error is
    reported."""
    places = [fit, model] if model else [fit]
    found = [amount for key in keys for fields in places if (amount := fields.gigabytes(key)) is not None]
    return found[0] if found else None


def _derived_gpu_memory(
    fit: Fields, model: Fields | None, divided: RunModeMemory | None, plan: Fields | None, warnings: list[str]
) -> MemoryField | None:
    """The GPU memory without an explicit field, in the precedence above."""
    if divided:
        warnings += divided.gpu_memory_warnings
        return divided.gpu_memory
    amount = (plan and plan.gigabytes("vram_gb")) or fit.gigabytes("memoryGi")
    if amount:
        return amount
    for fields in (fit, model):
        # llmfit's own rule is `min_vram_gb.unwrap_or(min_ram_gb)`. It applies to a null only, not to an absent key.
        if fields and "min_vram_gb" in fields.members and fields.members["min_vram_gb"] is None:
            fallback = _first_gigabytes(fit, model, ("min_ram_gb",))
            if fallback:
                warnings.append(f"min_vram_gb is null, so min_ram_gb {fallback.value} is used instead, as in llmfit")
            return fallback
    return None


def _derived_memory(divided: RunModeMemory | None, plan: Fields | None, warnings: list[str]) -> MemoryField | None:
    """The system memory without an explicit field, in the precedence above."""
    if divided:
        warnings += divided.memory_warnings
        return divided.memory
    return plan.gigabytes("ram_gb") if plan else None


def _no_gpu_memory_error(fit: Fields, divided: RunModeMemory | None) -> FieldError:
    if divided and divided.mode == "cpu_offload":
        value = f"run_mode {divided.quoted}, whose row does not say how much of the model is in VRAM"
        return FieldError(fit.path, value, "estimated_vram_gb or min_vram_gb beside it", _GPU_MEMORY_HINT)
    error = fit.members.get("error")
    message = error.get("message") if isinstance(error, dict) else error
    if isinstance(message, str):
        value = f"llmfit reported an error: {quote(message)}"
        return FieldError(fit.path, value, "a model's figures", "correct the llmfit command and paste its output")
    value = f"no usable figure for GPU memory among the keys {quote_all(sorted(fit.members))}" if fit.members else "{}"
    expected = (
        "estimated_vram_gb, min_vram_gb or vram_gb, or memory_required_gb with run_mode, or what `llmfit plan` prints"
    )
    return FieldError(fit.path, value, expected, _GPU_MEMORY_HINT)


def _contradictions(fit: Fields, gpu_memory: Decimal) -> Iterator[str]:
    """Warnings about fields that contradict each other but may be intended."""
    disk = fit.gigabytes("disk_size_gb")
    mode = run_modes.find_mode(fit)
    if disk and mode in ("gpu", "tensor_parallel") and gpu_memory < disk.value:
        yield f"the GPU memory {gpu_memory} GB is less than the weights on disk, disk_size_gb {disk.value}"
    if mode == "cpu_only" and gpu_memory:
        quoted = quote(fit.members["run_mode"])
        yield f"run_mode {quoted} uses no GPU, but the fit names {gpu_memory} GB of GPU memory; a GPU is claimed"
    level = fit.text("fit_level")
    if level and level.lower().replace(" ", "").replace("_", "") == "tootight":
        yield "fit_level is too tight: llmfit expects the model not to fit the machine it was measured on"


def _model_name(fit: Fields, model: Fields | None) -> str | None:
    for fields in (fit, model):
        if fields:
            for key in _NAME_KEYS:
                if name := fields.text(key):
                    # JSON allows half of a surrogate pair, such as "\ud800", which UTF-8 cannot encode.
                    return name.encode("utf-8", "replace").decode()
    return None
