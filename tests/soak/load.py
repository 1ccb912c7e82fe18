"""Creates annotated pods and deletes each after its claim was created."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass

from testbed.api import ApiError, JsonObject, UnreachableError
from testbed.background import BackgroundThreads
from testbed.injected_pods import ANNOTATED, managed_claims, owner_uids
from testbed.namespaces import Namespace
from testbed.pods import pod
from testbed.waiting import WaitTimeoutError, wait_for

POLL_SECONDS = 0.5
CLAIM_TIMEOUT = 60.0
"""For a claim: three times the time until another controller leads."""


@dataclass(frozen=True)
class _Waiting:
    claim: str
    uid: str
    since: float


class PodClients(BackgroundThreads):
    """Creates `per_second` pods at random times inside the `with`. Its exit waits for the last claims."""

    def __init__(self, namespace: Namespace, *, per_second: float) -> None:
        self._namespace, self._per_second = namespace, per_second
        self._stop, self._done = threading.Event(), threading.Event()
        self._waiting: dict[str, _Waiting] = {}
        self.admitted = 0
        self.refused: list[str] = []
        """The errors of pods that were not created."""
        self.not_injected = 0
        self.without_claim: list[str] = []
        self.claims_after: list[float] = []
        """Seconds until each claim existed."""
        self.left: list[str] = []
        """Claims that outlived their pods."""
        super().__init__([self._create, self._poll])

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        try:
            self._namespace.wait_claims(0, timeout=CLAIM_TIMEOUT)
        except WaitTimeoutError:
            self.left = [claim["metadata"]["name"] for claim in self._namespace.claims()]

    def _create(self) -> None:
        while not self._stop.wait(random.expovariate(self._per_second)):
            try:
                created = self._namespace.create(pod(generate_name="llama-", annotations=ANNOTATED))
            except (ApiError, UnreachableError) as refusal:
                self.refused.append(f"{time.strftime('%X')} {refusal}")
                continue
            self.admitted += 1
            name, uid = created["metadata"]["name"], created["metadata"]["uid"]
            claims = created["spec"].get("resourceClaims")
            if claims:
                self._waiting[name] = _Waiting(claims[0]["resourceClaimName"], uid, time.monotonic())
            else:
                self.not_injected += 1
        self._done.set()

    def _poll(self) -> None:
        while not (self._done.is_set() and not self._waiting):
            time.sleep(POLL_SECONDS)
            waiting = dict(self._waiting)
            existing = {(claim["metadata"]["name"], uid) for claim in self._claims() for uid in owner_uids([claim])}
            for name, each in waiting.items():
                waited = time.monotonic() - each.since
                if (each.claim, each.uid) in existing:
                    self.claims_after.append(waited)
                elif waited > CLAIM_TIMEOUT:
                    self.without_claim.append(name)
                else:
                    continue
                del self._waiting[name]
                self._namespace.api.delete_if_exists(self._namespace.path("Pod", name), force=True)

    def _claims(self) -> list[JsonObject]:
        return wait_for("claims can be listed", lambda: (managed_claims(self._namespace),))[0]
