"""What happens to the webhooks and the controllers while they work."""

from __future__ import annotations

import random
import time
import traceback
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Self

from testbed.background import BackgroundThreads
from testbed.certified import Replica
from testbed.controllers import Controller
from testbed.service import Service, is_ready, worker_pids
from testbed.waiting import wait_for
from tests.soak import peers
from tests.soak.plan import Plan

CONNECTIONS = 128
"""The webhooks' limit while it all runs."""
CROWD = 3 * CONNECTIONS


class Disturbances(BackgroundThreads):
    """All of them, each now and then, while inside the `with`; `problems` is what went wrong with them."""

    def __init__(self, service: Service, controllers: list[Controller], plan: Plan) -> None:
        self._service, self._controllers, self._plan = service, controllers, plan
        self._workers: dict[int, list[int]] = {}
        self.restarts = 0
        self.kills = 0
        self.hostile: Counter[str] = Counter()
        self.crowd: Counter[str] = Counter()
        self.overloads: list[tuple[float, float]] = []
        """From when to when, by `time.monotonic`."""
        self.problems: list[str] = []
        pauses: dict[Callable[[], None], float] = {
            self._restart: plan.between_restarts,
            self._kill_leader: plan.between_kills,
            self._be_hostile: plan.between_hostilities,
            self._overload: plan.between_overloads,
        }
        super().__init__([*(partial(self._repeat, *each) for each in pauses.items()), self._take_the_key_away])

    def __enter__(self) -> Self:
        self._workers = {each.port: worker_pids(each) for each in self._service.replicas}
        return super().__enter__()

    def __exit__(self, *_: object) -> None:
        """Each comes to its end, so that everything runs afterwards."""
        super().__exit__()
        for each in self._service.replicas:
            self._compare_workers(each)

    def _repeat(self, act: Callable[[], None], pause: float) -> None:
        while not self._stop.wait(random.uniform(pause / 2, pause)):  # noqa: S311
            try:
                act()
            except Exception:
                self.problems.append(traceback.format_exc())

    def _restart(self) -> None:
        """One webhook after the other, as a rollout does."""
        replica = self._service.replicas[self.restarts % len(self._service.replicas)]
        self._compare_workers(replica)
        code = self._service.restart(replica)
        self._workers[replica.port] = worker_pids(replica)
        self.restarts += 1
        if code != 0:
            self.problems.append(f"webhook {replica.port} ended with code {code}")

    def _compare_workers(self, replica: Replica) -> None:
        """They are the ones that it started with."""
        before, now = self._workers[replica.port], worker_pids(replica)
        if before != now:
            self.problems.append(f"webhook {replica.port} had the workers {before}, and then {now}")

    def _kill_leader(self) -> None:
        """With no chance to hand over; another one leads when its lease has run out."""
        leader = wait_for("a controller leads", self._leaders)[0]
        leader.process.kill()
        wait_for("another one leads", self._leaders, timeout=60)
        leader.process.start()
        leader.process.wait_url(f"{leader.url}/healthz", timeout=60)
        self.kills += 1

    def _leaders(self) -> list[Controller]:
        """One, or none for a moment."""
        return [each for each in self._controllers if leads(each)]

    def _take_the_key_away(self) -> None:
        """As docs/operations.md has it for an authority whose key may have leaked."""
        if not self._stop.wait(self._plan.by_hand):
            self._service.installation.damage({"ca.key": None})

    def _be_hostile(self) -> None:
        self.hostile.update(peers.apart(peers.hostilities, self._port()))

    def _overload(self) -> None:
        """More at a time than the webhook lets in."""
        began = time.monotonic()
        self.crowd.update(peers.apart(peers.crowd, self._port(), CROWD, self._plan.overload))
        self.overloads.append((began, time.monotonic()))

    def _port(self) -> int:
        """Of a webhook that is not restarting at the moment."""
        replicas = self._service.replicas
        ready = wait_for("a webhook is ready", lambda: [each.port for each in replicas if is_ready(each.port)])
        return random.choice(ready)  # noqa: S311


def leads(each: Controller) -> bool:
    """Whether it is the one that acts; not where it is just being killed or started."""
    try:
        return each.metric("modelfit_leader") == 1
    except OSError:
        return False
