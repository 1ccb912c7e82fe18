"""Amounts that no hardware has, which are most likely in another unit, draw a warning."""

import pytest

from tests.core.builders import fit, mutate, pod
from webhook.core.fits import hardware
from webhook.reasons import Reason

UNIT = " GB; check the unit: 1 GB is 1024 MiB"


@pytest.mark.parametrize(
    ("members", "count", "expected"),
    [
        ({"min_vram_gb": 18432}, "1", f"the GPU memory 18432 GB is more than that of the largest device, 1024{UNIT}"),
        ({"memory_required_gb": 8192, "run_mode": "GPU"}, "1", "the GPU memory 8192 GB is more than that of the larg"),
        ({"min_vram_gb": 18432}, "4", "the GPU memory 18432 GB is more than that of 4 of the largest devices, 4096 GB"),
        ({"min_vram_gb": 18432}, "18", None),
        ({"min_vram_gb": 1024}, "1", None),
        ({"min_vram_gb": 1024.5}, "1", "the GPU memory 1024.5 GB is more than"),
        ({"min_vram_gb": 8, "min_ram_gb": 18432}, "1",
         f"the memory 18432 GB is more than that of the largest node, 4096{UNIT}"),
        ({"min_vram_gb": 0, "min_ram_gb": 18432}, "1", "the memory 18432 GB is more than"),
        ({"min_vram_gb": 8, "min_ram_gb": 4096}, "1", None),
        ({"min_vram_gb": 4096, "supports_tp": [1, 2, 4]}, "auto", None),
    ],
)  # fmt: skip
def test_an_amount_above_the_largest_hardware_draws_a_warning(
    members: dict[str, object], count: str, expected: str | None
) -> None:
    decision = mutate(pod(fit(**members), annotations={"llmfit.ai/device-count": count}))
    assert decision.reason in (Reason.INJECTED, Reason.CPU_ONLY)
    found = [each for each in decision.warnings if "more than" in each]
    assert [each.startswith(expected or "") for each in found] == [True] * (expected is not None)


def test_a_model_for_many_devices_may_need_all_of_the_largest() -> None:
    text = fit(min_vram_gb=32 * hardware.MAX_DEVICE_GB)
    assert len(mutate(pod(text, annotations={"llmfit.ai/device-count": "32"})).warnings) == 1
