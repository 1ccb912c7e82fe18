"""One run: damage, ask, look, until the time is over."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from flask.testing import FlaskClient

from tests.fuzz import corpus, damage, oracle
from webhook.core.admission_config import AdmissionConfig
from webhook.server.app import create_app

POLICIES = (
    AdmissionConfig(),
    AdmissionConfig(profile="llmfit", memory_requests="ignore", device_plugin_requests="warn", uninjected_pods="warn"),
    AdmissionConfig(
        profile="hami", placement="tightest", system_memory_class="dra.memory", device_count_variable="GPUS"
    ),
)
PATHS = ("/mutate", "/mutate", "/validate")


@dataclass(frozen=True)
class Finding:
    """An input that broke something."""

    config: int
    path: str
    body: bytes
    error: Exception


def clients() -> list[FlaskClient]:
    """The real application for each of POLICIES."""
    return [create_app(config, 8 << 20, lambda: True).test_client() for config in POLICIES]


def run(seed: int, goes_on: Callable[[int], bool]) -> tuple[Counter[str], Finding | None]:
    """The answers by reason while `goes_on` says so of their number, and the first finding."""
    random, reviews, targets = Random(seed), corpus.reviews(), clients()  # noqa: S311 (repeatable, not secret)
    reasons: Counter[str] = Counter()
    while goes_on(reasons.total()):
        body = damage.damaged(random, reviews)
        index, path = random.randrange(len(POLICIES)), random.choice(PATHS)
        try:
            reason = oracle.check(targets[index], POLICIES[index], path, body)
        except Exception as error:
            return reasons, Finding(index, path, body, error)
        reasons[reason] += 1
    return reasons, None


def within(seconds: float, report: Callable[[int], None]) -> Callable[[int], bool]:
    """Goes on for so many seconds; `report` is told the count about every ten."""
    start = time.monotonic()
    told = start

    def goes_on(count: int) -> bool:
        nonlocal told
        now = time.monotonic()
        if now - told >= 10:
            told = now
            report(count)
        return now - start < seconds

    return goes_on
