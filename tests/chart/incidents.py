"""One incident per alert, simulated in a separate process, so that every series is as new as after an installation.

`python -m tests.chart.incidents ALERT FOLDER` prints one line of JSON per scrape: the phase (healthy, incident, after),
the time, and the metrics of each scrape target.
"""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeAlias

from tests.controller.sample_metadata import pod
from tests.controller.scripted_api import ScriptedApi
from tests.wire.certificates import CertificateAuthority
from webhook.controller import controller_metrics as controller
from webhook.controller.events import Recorder
from webhook.controller.pod_reconciler import Listers
from webhook.controller.uninjected_pods import UninjectedPodScanner
from webhook.core.admission.exemptions import InjectedNamespaces
from webhook.observe import admission_metrics as webhook
from webhook.reasons import Reason
from webhook.server.serving_certificate import ServingCertificate
from webhook.settings import Settings

SCRAPE_INTERVAL = timedelta(minutes=1)

Incident: TypeAlias = Callable[["Simulation"], Iterator[None]]
"""Starts the incident, yields, and ends it."""


@dataclass
class Simulation:
    """One pod of each program."""

    folder: Path
    now: datetime = datetime(2026, 3, 1, 12, tzinfo=UTC)
    unreachable: set[str] = field(default_factory=set)
    """Targets that cannot be scraped."""
    certificate_reconciles: bool = True
    leader: bool = True
    queue_oldest_seconds: float = 0.0
    review_seconds: float = 0.002
    on_step: Callable[[], None] = lambda: None
    """Called before each scrape."""
    uninjected_pods: list[dict[str, object]] = field(default_factory=list)
    apiserver_metrics: str = ""

    def __post_init__(self) -> None:
        script, config = ScriptedApi(), Settings().admission_config()
        listers = Listers(lambda key: None, lambda key: None, lambda: None, InjectedNamespaces)
        scanner = UninjectedPodScanner(script.api, config, Recorder(script.api, "controller"), listers)

        def scan() -> None:
            script.responses = [{"items": list(self.uninjected_pods)}, {"items": []}]
            scanner.scan()

        self.scan = scan
        self.files = self.folder / "tls.crt", self.folder / "tls.key"
        self.key_pair = CertificateAuthority().issue("first")
        self.write_files(self.key_pair)
        self.certificate = ServingCertificate(*self.files)
        controller.set_gauge_sources(
            lambda: self.leader, lambda: 0, lambda: self.queue_oldest_seconds, lambda: 0, lambda: scanner.found, dict
        )
        webhook.set_certificate_expiry((self.now + timedelta(days=20)).timestamp())
        controller.set_certificate_expiry("leaf", self.now + timedelta(days=20))
        controller.set_certificate_expiry("ca", self.now + timedelta(days=300))
        controller.count_bundle_patch("published")

    def write_files(self, key_pair: tuple[bytes, bytes]) -> None:
        for path, content in zip(self.files, key_pair, strict=True):
            path.write_bytes(content)

    def run(self, phase: str, minutes: int) -> None:
        """Serves reviews and reconciles for `minutes`, and prints each scrape."""
        for _ in range(timedelta(minutes=minutes) // SCRAPE_INTERVAL):
            self.now += SCRAPE_INTERVAL
            for name in ("mutate", "validate"):
                webhook.count_review(name, "CREATE", True, Reason.INJECTED, self.review_seconds)
            self.certificate.context()
            self.scan()
            if self.certificate_reconciles:
                controller.set_certificate_success("modelfit/modelfit-tls", self.now)
            self.on_step()
            pages = {"webhook": webhook.exposition([], multiprocess=False), "controller": controller.exposition()}
            scraped = {name: _only_ours(page) for name, page in pages.items() if name not in self.unreachable}
            scraped["apiserver"] = self.apiserver_metrics
            print(json.dumps([phase, self.now.timestamp(), scraped]))


def _only_ours(page: bytes) -> str:
    return "".join(line for line in page.decode().splitlines(keepends=True) if "modelfit_" in line)


def webhook_down(simulation: Simulation) -> Iterator[None]:
    simulation.unreachable.add("webhook")
    yield
    simulation.unreachable.clear()


def webhook_configuration_missing(_: Simulation) -> Iterator[None]:
    controller.set_missing_configurations(2)
    yield
    controller.set_missing_configurations(0)


def certificate_expiring(simulation: Simulation) -> Iterator[None]:
    webhook.set_certificate_expiry((simulation.now + timedelta(hours=12)).timestamp())
    yield
    webhook.set_certificate_expiry((simulation.now + timedelta(days=20)).timestamp())


def ca_expiring(simulation: Simulation) -> Iterator[None]:
    controller.set_certificate_expiry("ca", simulation.now + timedelta(days=4))
    yield
    controller.set_certificate_expiry("ca", simulation.now + timedelta(days=300))


def certificate_renewal_failing(simulation: Simulation) -> Iterator[None]:
    simulation.certificate_reconciles = False
    yield
    simulation.certificate_reconciles = True


def ca_bundle_overwritten(simulation: Simulation) -> Iterator[None]:
    """A tool overwrites both configurations every ten minutes."""
    start = simulation.now

    def overwrite() -> None:
        if (simulation.now - start) % timedelta(minutes=10) == timedelta():
            controller.count_bundle_patch("healed")
            controller.count_bundle_patch("healed")

    simulation.on_step = overwrite
    yield
    simulation.on_step = lambda: None


def certificate_unusable(simulation: Simulation) -> Iterator[None]:
    """A key that does not match the certificate."""
    simulation.write_files((simulation.key_pair[0], CertificateAuthority().issue("second")[1]))
    yield
    simulation.write_files(simulation.key_pair)


def webhook_calls_failing(simulation: Simulation) -> Iterator[None]:
    """One failed call, in the format that `tests.cluster.test_webhooks` checks with a real API server."""
    labels = 'error_type="calling_webhook_error",operation="CREATE",rejection_code="503",type="admit"'
    simulation.apiserver_metrics = (
        f'apiserver_admission_webhook_rejection_count{{name="mutate.modelfit.llmfit.ai",{labels}}} 1\n'
        f'apiserver_admission_webhook_rejection_count{{name="mutate.other.example.com",{labels}}} 1\n'
    )
    yield


def internal_error(_: Simulation) -> Iterator[None]:
    webhook.count_internal_error("validate", "UPDATE")
    yield


def denials_rising(simulation: Simulation) -> Iterator[None]:
    """The first retries of a ReplicaSet, all between two scrapes."""
    for _ in range(12):
        webhook.count_review("mutate", "CREATE", False, Reason.UNKNOWN_PROFILE, simulation.review_seconds)
    yield


def slow(simulation: Simulation) -> Iterator[None]:
    simulation.review_seconds = 0.9
    yield
    simulation.review_seconds = 0.002


def no_leader(simulation: Simulation) -> Iterator[None]:
    simulation.leader = False
    yield
    simulation.leader = True


def claims_waiting(simulation: Simulation) -> Iterator[None]:
    simulation.queue_oldest_seconds = 90.0
    yield
    simulation.queue_oldest_seconds = 0.0


def pods_not_injected(simulation: Simulation) -> Iterator[None]:
    """Three pods. Each gets one Event, so no Event counter increases again."""
    simulation.uninjected_pods = [
        pod(uid=f"uid-{number}", annotations={"llmfit.ai/claim": None}) for number in range(3)
    ]
    yield
    simulation.uninjected_pods = []


@dataclass(frozen=True)
class Scenario:
    """An incident, its duration in minutes, and the minutes simulated after it."""

    incident: Incident
    minutes: int = 40
    after: int = 40


SCENARIOS = {
    "ModelfitWebhookDown": Scenario(webhook_down),
    "ModelfitWebhookConfigurationMissing": Scenario(webhook_configuration_missing),
    "ModelfitCertificateExpiring": Scenario(certificate_expiring),
    "ModelfitCAExpiring": Scenario(ca_expiring, minutes=90),
    "ModelfitCertificateRenewalFailing": Scenario(certificate_renewal_failing),
    "ModelfitCABundleOverwritten": Scenario(ca_bundle_overwritten, minutes=60, after=150),
    "ModelfitCertificateUnusable": Scenario(certificate_unusable),
    "ModelfitWebhookCallsFailing": Scenario(webhook_calls_failing),
    "ModelfitInternalErrors": Scenario(internal_error),
    "ModelfitDenialsRising": Scenario(denials_rising),
    "ModelfitSlow": Scenario(slow),
    "ModelfitNoLeader": Scenario(no_leader),
    "ModelfitClaimsWaiting": Scenario(claims_waiting),
    "ModelfitPodsNotInjected": Scenario(pods_not_injected),
}


def main(alert: str, folder: str) -> None:
    scenario, simulation = SCENARIOS[alert], Simulation(Path(folder))
    simulation.run("healthy", 30)
    with contextmanager(scenario.incident)(simulation):
        simulation.run("incident", scenario.minutes)
    simulation.run("after", scenario.after)


if __name__ == "__main__":
    main(*sys.argv[1:])
