"""One run: damages a review, posts it and checks the response, until the time is up."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from werkzeug.test import Client

from tests.fuzz import corpus, damage, oracle
from webhook.core.admission_config import AdmissionConfig
from webhook.server.app import create_app

CONFIGS = (
    AdmissionConfig(),
    AdmissionConfig(profile="llmfit", memory_requests="ignore", device_plugin_requests="warn", uninjected_pods="warn"),
    AdmissionConfig(
        profile="hami", placement="tightest", system_memory_class="dra.memory", device_count_variable="GPUS"
    ),
)
PATHS = ("/mutate", "/mutate", "/validate")


@dataclass(frozen=True)
class Finding:
    """An input that failed; `config` is an index of CONFIGS."""

    config: int
    path: str
    body: bytes
    error: Exception


def clients() -> list[Client]:
    """The real application for each of CONFIGS."""
    return [Client(create_app(config, 8 << 20, lambda: True)) for config in CONFIGS]


def run(seed: int, proceed: Callable[[int], bool]) -> tuple[Counter[str], Finding | None]:
    """Counts responses by reason until the first finding, while `proceed` is true of the number of inputs."""
    random, reviews, targets = Random(seed), corpus.reviews(), clients()  # noqa: S311 (repeatable, not secret)
    reasons: Counter[str] = Counter()
    while proceed(reasons.total()):
        body = damage.damaged(random, reviews)
        index, path = random.randrange(len(CONFIGS)), random.choice(PATHS)
        try:
            reason = oracle.check(targets[index], CONFIGS[index], path, body)
        except Exception as error:
            return reasons, Finding(index, path, body, error)
        reasons[reason] += 1
    return reasons, None


def until(seconds: float, report: Callable[[int], None]) -> Callable[[int], bool]:
    """A condition that holds for so many seconds and calls `report` with the count about every ten."""
    start = time.monotonic()
    reported = start

    def proceed(count: int) -> bool:
        nonlocal reported
        now = time.monotonic()
        if now - reported >= 10:
            reported = now
            report(count)
        return now - start < seconds

    return proceed
