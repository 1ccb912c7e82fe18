"""Devices that publish no memory are matched by product, with the memory in the profile. Taints are tolerated."""

import pytest

from tests.core.builders import fit
from tests.core.claim_specs import OWN, alternatives, config, spec
from tests.core.devices import GIB, device, matches
from webhook.core.profiles import Profile

KNOWN = Profile(
    "known",
    "gpu.own.test",
    ("small",),
    product="gpu.own.test/model",
    product_memory={"GB10": 110 << 10, 'Spark "mini"': 16 << 10},
)


@pytest.mark.parametrize("placement", ["any", "tightest"])
@pytest.mark.parametrize(
    ("gibibytes", "product", "memory", "matched"),
    [
        (110, "GB10", None, True),
        (111, "GB10", None, False),
        (8, 'Spark "mini"', None, True),
        (17, 'Spark "mini"', None, False),
        (8, "unknown", None, False),
        (8, "GB10", 80 * GIB, True),
        (100, "GB10", 80 * GIB, False),
    ],
)
def test_a_fit_is_compared_with_the_published_memory_or_else_with_the_products(
    gibibytes: int, product: str, memory: int | None, matched: bool, placement: str
) -> None:
    built = spec(fit(vram_gb=gibibytes), "known", config=config(KNOWN, placement=placement))
    card = device("gpu.own.test", {"model": product}, {} if memory is None else {"memory": memory})
    found = [each for each in alternatives(built) if matches(each, card)]
    assert bool(found) is matched
    assert all(("capacity" in each) is (memory is not None) for each in found)


def test_tightest_lists_the_smaller_product_first() -> None:
    built = spec(fit(vram_gb=8), "known", config=config(KNOWN, placement="tightest"))
    first = {
        product: next(index for index, each in enumerate(alternatives(built)) if matches(each, card))
        for product in KNOWN.product_memory
        for card in [device("gpu.own.test", {"model": product}, {})]
    }
    assert first['Spark "mini"'] < first["GB10"]
    assert len(list(alternatives(built))) <= 8


def test_every_alternative_has_the_tolerations_of_the_profile() -> None:
    toleration = {"key": "gpu.own.test/maintenance", "operator": "Exists"}
    tolerant = Profile("tolerant", OWN.driver, OWN.device_classes, tolerations=(toleration,))
    for each in alternatives(spec(fit(vram_gb=8), "tolerant", config=config(tolerant))):
        assert each["tolerations"] == [toleration]
    assert all("tolerations" not in each for each in alternatives(spec(fit(vram_gb=8), "own", config=config(OWN))))
