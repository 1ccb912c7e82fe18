"""System memory as a second request of the same claim, for clusters with a memory driver; off by default."""

from __future__ import annotations

import pytest

from tests.core.kit import CPU_FIT, Json, fit, mutate, pod
from tests.core.profile_claims import asked, config
from webhook.core import claims
from webhook.core.admission_config import AdmissionConfig
from webhook.errors import Denied
from webhook.settings import load

ON = config(system_memory_class="dra.memory")


def requests(chosen: AdmissionConfig, **figures: object) -> dict[str, Json]:
    made: Json = claims.build_spec(asked("nvidia", "1", chosen, **figures))
    return {request["name"]: request["exactly"] for request in made["devices"]["requests"]}


def test_it_is_off_by_default() -> None:
    assert set(requests(AdmissionConfig(), ram_gb=12)) == {"gpu"}


def test_the_second_request_takes_its_share_of_a_zone_that_has_it() -> None:
    found = requests(ON, ram_gb=12.5)["memory"]
    assert found["deviceClassName"] == "dra.memory"
    assert found["capacity"] == {"requests": {"size": "12800Mi"}}
    (selector,) = found["selectors"]
    assert '"size" in device.capacity["dra.memory"]' in selector["cel"]["expression"]


def test_there_is_none_for_a_fit_that_names_no_memory() -> None:
    assert set(requests(ON)) == {"gpu"}


def test_a_model_that_needs_no_gpu_gets_no_claim_for_its_memory() -> None:
    assert mutate(pod(CPU_FIT), ON).claim is None


def test_the_setting_is_the_name_of_a_class() -> None:
    chosen = load(None, {"MODELFIT_SYSTEM_MEMORY": "{deviceClass: dra.memory}"}).admission_config()
    assert chosen.system_memory_class == "dra.memory"


def test_one_device_fewer_is_left_for_the_model() -> None:
    assert asked("nvidia", "31", ON).counts == (31,)
    with pytest.raises(Denied, match="a number from 1 to 31, or auto"):
        asked("nvidia", "32", ON)
    assert asked("nvidia", "auto", ON, supports_tp=[1, 32]).counts == (1,)


def test_the_memory_request_of_the_container_stays() -> None:
    decision = mutate(pod(fit(vram_gb=8, ram_gb=12)), ON)
    assert {"memory": "12Gi"} in [
        operation["value"]["requests"]
        for operation in decision.patch
        if isinstance(operation["value"], dict) and "requests" in operation["value"]
    ]
