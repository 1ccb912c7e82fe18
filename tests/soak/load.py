"""People who create annotated pods, and take each away once it has its claim."""

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

LOOK_SECONDS = 0.5
PATIENCE = 60.0
"""For a claim: three times what it takes until another controller leads."""


@dataclass(frozen=True)
class _Waiting:
    claim: str
    uid: str
    since: float


class Customers(BackgroundThreads):
    """`per_second` pods, not evenly, while inside the `with`; at its end the last ones are waited for."""

    def __init__(self, namespace: Namespace, *, per_second: float) -> None:
        self._namespace, self._per_second = namespace, per_second
        self._stop, self._done = threading.Event(), threading.Event()
        self._waiting: dict[str, _Waiting] = {}
        self.admitted = 0
        self.refused: list[str] = []
        """What those were told whose pod was not created."""
        self.not_injected = 0
        self.without_claim: list[str] = []
        self.claims_after: list[float] = []
        """Seconds until each claim was there."""
        self.left: list[str] = []
        """Claims that outlived their pods."""
        super().__init__([self._create, self._look])

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        try:
            self._namespace.wait_claims(0, timeout=PATIENCE)
        except WaitTimeoutError:
            self.left = [claim["metadata"]["name"] for claim in self._namespace.claims()]

    def _create(self) -> None:
        while not self._stop.wait(random.expovariate(self._per_second)):
            try:
                made = self._namespace.create(pod(generate_name="llama-", annotations=ANNOTATED))
            except (ApiError, UnreachableError) as refusal:
                self.refused.append(f"{time.strftime('%X')} {refusal}")
                continue
            self.admitted += 1
            name, uid = made["metadata"]["name"], made["metadata"]["uid"]
            claims = made["spec"].get("resourceClaims")
            if claims:
                self._waiting[name] = _Waiting(claims[0]["resourceClaimName"], uid, time.monotonic())
            else:
                self.not_injected += 1
        self._done.set()

    def _look(self) -> None:
        while not (self._done.is_set() and not self._waiting):
            time.sleep(LOOK_SECONDS)
            waiting = dict(self._waiting)
            there = {(claim["metadata"]["name"], uid) for claim in self._claims() for uid in owner_uids([claim])}
            for name, each in waiting.items():
                waited = time.monotonic() - each.since
                if (each.claim, each.uid) in there:
                    self.claims_after.append(waited)
                elif waited > PATIENCE:
                    self.without_claim.append(name)
                else:
                    continue
                del self._waiting[name]
                self._namespace.api.delete_if_exists(self._namespace.path("Pod", name), force=True)

    def _claims(self) -> list[JsonObject]:
        return wait_for("claims can be listed", lambda: (managed_claims(self._namespace),))[0]
