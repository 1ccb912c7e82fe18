"""Disturbs the webhooks and controllers under load."""

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
from tests.soak import hostile_peers
from tests.soak.plan import Plan

CONNECTIONS = 128
"""The webhooks' maxConnections."""
CROWD = 3 * CONNECTIONS


class Disturbances(BackgroundThreads):
    """Runs all disturbances at random times inside the `with`. `problems` has their errors."""

    def __init__(self, service: Service, controllers: list[Controller], plan: Plan) -> None:
        self._service, self._controllers, self._plan = service, controllers, plan
        self._workers: dict[int, list[int]] = {}
        self.restarts = 0
        self.kills = 0
        self.hostile: Counter[str] = Counter()
        self.crowd: Counter[str] = Counter()
        self.overloads: list[tuple[float, float]] = []
        """Start and end of each, by `time.monotonic`."""
        self.problems: list[str] = []
        pauses: dict[Callable[[], None], float] = {
            self._restart: plan.between_restarts,
            self._kill_leader: plan.between_kills,
            self._send_hostile_round: plan.between_hostile_round,
            self._overload: plan.between_overloads,
        }
        super().__init__([*(partial(self._repeat, *each) for each in pauses.items()), self._delete_ca_key])

    def __enter__(self) -> Self:
        self._workers = {each.port: worker_pids(each) for each in self._service.replicas}
        return super().__enter__()

    def __exit__(self, *_: object) -> None:
        """Waits for the running disturbances, so that everything runs afterwards."""
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
        """Restarts one webhook after the other, as a rollout does."""
        replica = self._service.replicas[self.restarts % len(self._service.replicas)]
        self._compare_workers(replica)
        code = self._service.restart(replica)
        self._workers[replica.port] = worker_pids(replica)
        self.restarts += 1
        if code != 0:
            self.problems.append(f"webhook {replica.port} exited with code {code}")

    def _compare_workers(self, replica: Replica) -> None:
        """Reports workers that were replaced."""
        before, now = self._workers[replica.port], worker_pids(replica)
        if before != now:
            self.problems.append(f"webhook {replica.port} had the workers {before}, then {now}")

    def _kill_leader(self) -> None:
        """Kills the leader; another controller leads when the lease has expired."""
        leader = wait_for("a controller leads", self._leaders)[0]
        leader.process.kill()
        wait_for("another controller leads", self._leaders, timeout=60)
        leader.process.start()
        leader.process.wait_url(f"{leader.url}/healthz", timeout=60)
        self.kills += 1

    def _leaders(self) -> list[Controller]:
        """The leader, or none for a moment."""
        return [each for each in self._controllers if leads(each)]

    def _delete_ca_key(self) -> None:
        """The procedure of docs/operations.md for a CA whose key may have leaked."""
        if not self._stop.wait(self._plan.key_deletion):
            self._service.installation.damage({"ca.key": None})

    def _send_hostile_round(self) -> None:
        self.hostile.update(hostile_peers.in_own_process(hostile_peers.hostile_round, self._port()))

    def _overload(self) -> None:
        """Opens more connections than the webhook accepts."""
        began = time.monotonic()
        self.crowd.update(hostile_peers.in_own_process(hostile_peers.crowd, self._port(), CROWD, self._plan.overload))
        self.overloads.append((began, time.monotonic()))

    def _port(self) -> int:
        """The port of a ready webhook."""
        replicas = self._service.replicas
        ready = wait_for("a webhook is ready", lambda: [each.port for each in replicas if is_ready(each.port)])
        return random.choice(ready)  # noqa: S311


def leads(each: Controller) -> bool:
    """Whether the controller leads; False while it is being killed or started."""
    try:
        return each.metric("modelfit_leader") == 1
    except OSError:
        return False
