"""What each alert is for, played in a process of its own, so that every series is as new as after an installation.

`python -m tests.chart.incidents ALERT FOLDER` prints a line of JSON for each scrape: its phase (healthy, incident,
after), the time, and the pages of webhook and controller.
"""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeAlias

from tests.controller.doubles import Script
from tests.controller.examples import pod
from tests.wire.certificates import Authority
from webhook.controller import controller_metrics as controller
from webhook.controller.events import Recorder
from webhook.controller.uninjected_pods import UninjectedPodScanner
from webhook.observe import admission_metrics as webhook
from webhook.reasons import Reason
from webhook.server.serving_certificate import ServingCertificate
from webhook.settings import Settings

STEP = 60
"""Seconds between scrapes."""

Incident: TypeAlias = Callable[["World"], Iterator[None]]


@dataclass
class World:
    """One pod of each program. Incidents change it, and change it back."""

    folder: Path
    now: datetime = datetime(2026, 3, 1, 12, tzinfo=UTC)
    away: set[str] = field(default_factory=set)
    """Pods that cannot be scraped."""
    kept: bool = True
    """Whether somebody looks after the certificate."""
    leading: bool = True
    oldest: float = 0.0
    seconds: float = 0.002
    """That a review takes."""
    each: Callable[[], None] = lambda: None
    """What happens beside that in each step."""
    pods: list[dict[str, object]] = field(default_factory=list)
    """That were not injected."""
    apiserver: str = ""
    """Its page; it shows of a webhook nothing but failures."""

    def __post_init__(self) -> None:
        script, policy = Script(), Settings().admission_config()
        audit = UninjectedPodScanner(script.api, policy, Recorder(script.api, "controller"), frozenset())

        def look() -> None:
            script.answers = [{"items": []}, {"items": [{"metadata": each} for each in self.pods]}]
            audit.look()

        self.look = look
        self.files = self.folder / "tls.crt", self.folder / "tls.key"
        self.pair = Authority().issue("first")
        self.write(self.pair)
        self.certificate = ServingCertificate(*self.files)
        controller.set_gauge_sources(lambda: self.leading, lambda: 0, lambda: self.oldest, lambda: 0, lambda: audit.found)
        self.serve_until(timedelta(days=20))
        self.keep_until(timedelta(days=300))
        controller.count_bundle_patch("published")

    def write(self, pair: tuple[bytes, bytes]) -> None:
        for path, content in zip(self.files, pair, strict=True):
            path.write_bytes(content)

    def serve_until(self, life: timedelta) -> None:
        webhook.serving_certificate((self.now + life).timestamp())

    def keep_until(self, life: timedelta) -> None:
        controller.set_certificate_expiry("leaf", self.now + timedelta(days=20))
        controller.set_certificate_expiry("ca", self.now + life)

    def live(self, phase: str, minutes: int) -> None:
        """Goes on for so long, and is scraped."""
        for _ in range(minutes * 60 // STEP):
            self.now += timedelta(seconds=STEP)
            for asked in ("mutate", "validate"):
                webhook.reviewed(asked, "CREATE", True, Reason.INJECTED, self.seconds)
            self.certificate.context()
            self.look()
            if self.kept:
                controller.set_certificate_success("modelfit/modelfit-tls", self.now)
            self.each()
            pages = {"webhook": webhook.exposition([], multiprocess=False), "controller": controller.exposition()}
            shown = {name: _ours(page) for name, page in pages.items() if name not in self.away}
            shown["apiserver"] = self.apiserver
            print(json.dumps([phase, self.now.timestamp(), shown]))


def _ours(page: bytes) -> str:
    return "".join(line for line in page.decode().splitlines(keepends=True) if "modelfit_" in line)


def webhook_down(world: World) -> Iterator[None]:
    world.away.add("webhook")
    yield
    world.away.clear()


def webhook_configuration_missing(_: World) -> Iterator[None]:
    controller.set_missing_configurations(2)
    yield
    controller.set_missing_configurations(0)


def certificate_expiring(world: World) -> Iterator[None]:
    world.serve_until(timedelta(hours=12))
    yield
    world.serve_until(timedelta(days=20))


def authority_expiring(world: World) -> Iterator[None]:
    world.keep_until(timedelta(days=4))
    yield
    world.keep_until(timedelta(days=300))


def certificate_not_kept(world: World) -> Iterator[None]:
    world.kept = False
    yield
    world.kept = True


def bundle_written_over(world: World) -> Iterator[None]:
    """By a tool that comes by every ten minutes, and empties both."""
    at = world.now

    def come_by() -> None:
        if (world.now - at).total_seconds() % 600 == 0:
            controller.count_bundle_patch("healed")
            controller.count_bundle_patch("healed")

    world.each = come_by
    yield
    world.each = lambda: None


def certificate_unusable(world: World) -> Iterator[None]:
    """A single bad write, that stays."""
    world.write((world.pair[0], Authority().issue("second")[1]))
    yield
    world.write(world.pair)


def webhook_not_reached(world: World) -> Iterator[None]:
    """Once; as the API server shows it, which `tests.cluster.test_webhooks` has asked."""
    labels = 'error_type="calling_webhook_error",operation="CREATE",rejection_code="503",type="admit"'
    world.apiserver = (
        f'apiserver_admission_webhook_rejection_count{{name="mutate.modelfit.llmfit.ai",{labels}}} 1\n'
        f'apiserver_admission_webhook_rejection_count{{name="mutate.other.example.com",{labels}}} 1\n'
    )
    yield


def internal_errors(_: World) -> Iterator[None]:
    """One."""
    webhook.failed("validate", "UPDATE")
    yield


def denials_rising(world: World) -> Iterator[None]:
    """A ReplicaSet's first tries, all between two scrapes."""
    for _ in range(12):
        webhook.reviewed("mutate", "CREATE", False, Reason.UNKNOWN_PROFILE, world.seconds)
    yield


def slow(world: World) -> Iterator[None]:
    world.seconds = 0.9
    yield
    world.seconds = 0.002


def controller_not_leading(world: World) -> Iterator[None]:
    world.leading = False
    yield
    world.leading = True


def claims_waiting(world: World) -> Iterator[None]:
    world.oldest = 90.0
    yield
    world.oldest = 0.0


def pods_not_injected(world: World) -> Iterator[None]:
    """Three, whose first Events are all that is ever counted."""
    world.pods = [pod(uid=f"uid-{number}", annotations={"llmfit.ai/claim": None}) for number in range(3)]
    yield
    world.pods = []


@dataclass(frozen=True)
class Play:
    """An incident and for how many minutes it lasts, and is watched afterwards."""

    incident: Incident
    minutes: int = 40
    after: int = 40


PLAYS = {
    "ModelfitWebhookDown": Play(webhook_down),
    "ModelfitWebhookConfigurationMissing": Play(webhook_configuration_missing),
    "ModelfitCertificateExpiring": Play(certificate_expiring),
    "ModelfitAuthorityExpiring": Play(authority_expiring, minutes=90),
    "ModelfitCertificateNotKept": Play(certificate_not_kept),
    "ModelfitBundleWrittenOver": Play(bundle_written_over, minutes=60, after=150),
    "ModelfitCertificateUnusable": Play(certificate_unusable),
    "ModelfitWebhookNotReached": Play(webhook_not_reached),
    "ModelfitInternalErrors": Play(internal_errors),
    "ModelfitDenialsRising": Play(denials_rising),
    "ModelfitSlow": Play(slow),
    "ModelfitControllerNotLeading": Play(controller_not_leading),
    "ModelfitClaimsWaiting": Play(claims_waiting),
    "ModelfitPodsNotInjected": Play(pods_not_injected),
}


def main(alert: str, folder: str) -> None:
    play, world = PLAYS[alert], World(Path(folder))
    world.live("healthy", 30)
    with contextmanager(play.incident)(world):
        world.live("incident", play.minutes)
    world.live("after", play.after)


if __name__ == "__main__":
    main(*sys.argv[1:])
