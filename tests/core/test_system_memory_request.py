"""System memory as a second request of the claim, for clusters with a memory driver. Off by default."""

import pytest

from tests.core.builders import CPU_FIT, Json, fit, mutate, pod
from tests.core.claim_specs import config, request, spec
from webhook.core.admission_config import AdmissionConfig
from webhook.errors import Denied
from webhook.settings import load

ON = config(system_memory_class="dra.memory")


def requests(config: AdmissionConfig, **members: object) -> dict[str, Json]:
    built = spec(fit(vram_gb=16, **members), config=config)
    return {request["name"]: request["exactly"] for request in built["devices"]["requests"]}


def test_system_memory_is_requested_if_it_is_configured_and_known() -> None:
    assert set(requests(AdmissionConfig(), ram_gb=12)) == {"gpu"}
    assert set(requests(ON)) == {"gpu"}
    assert set(requests(ON, ram_gb=12)) == {"gpu", "memory"}


def test_the_request_takes_a_share_of_a_numa_zone_with_enough_memory() -> None:
    memory = requests(ON, ram_gb=12.5)["memory"]
    assert memory["deviceClassName"] == "dra.memory"
    assert memory["capacity"] == {"requests": {"size": "12800Mi"}}
    (selector,) = memory["selectors"]
    assert '"size" in device.capacity["dra.memory"]' in selector["cel"]["expression"]


def test_a_model_that_needs_no_gpu_has_no_claim_for_system_memory() -> None:
    assert mutate(pod(CPU_FIT), ON).claim is None


def test_the_setting_is_the_name_of_a_class() -> None:
    loaded = load(None, {"MODELFIT_SYSTEM_MEMORY": "{deviceClass: dra.memory}"}).admission_config()
    assert loaded.system_memory_class == "dra.memory"


def test_system_memory_uses_one_of_the_32_devices_of_a_claim() -> None:
    assert request(count="31", config=ON).counts == (31,)
    with pytest.raises(Denied, match="a number from 1 to 31, or auto"):
        request(count="32", config=ON)
    assert request(fit(vram_gb=16, supports_tp=[1, 32]), count="auto", config=ON).counts == (1,)


def test_the_container_keeps_its_memory_request() -> None:
    decision = mutate(pod(fit(vram_gb=8, ram_gb=12)), ON)
    assert {"memory": "12Gi"} in [
        operation["value"]["requests"]
        for operation in decision.patch
        if isinstance(operation["value"], dict) and "requests" in operation["value"]
    ]
