"""What one who may create pods can make the controller hold."""

from __future__ import annotations

import pytest

from testbed.controllers import NO_LEADER_ELECTION, controller
from testbed.controlplane import ControlPlane
from testbed.injected_pods import ANNOTATED, create_all, injected_pod, managed_claims
from testbed.namespaces import Namespace
from testbed.pods import pod
from testbed.waiting import wait_for

pytestmark = pytest.mark.cluster

PODS = 200
JUNK = "x" * (250 << 10)
"""Nearly as much as the annotations of a pod may have."""

MARGIN = 48 << 20
"""Bytes: the pods' annotations are as much again."""


def test_pods_full_of_junk_cost_the_controller_little(controlplane: ControlPlane, namespace: Namespace) -> None:
    """Neither those that it watches, nor those that it lists after a restart, nor those that its audit looks at."""
    ours = controller(controlplane, environment={**NO_LEADER_ELECTION, "MODELFIT_UNINJECTED_SCAN_SECONDS": "1"})
    try:
        ours.start()
        idle = ours.process.memory()
        injected = [
            injected_pod(f"injected-{number}", annotations={"llmfit.ai/junk": f"{number}{JUNK}"})
            for number in range(PODS // 2)
        ]
        endless = [
            injected_pod(f"endless-{number}", annotations={"llmfit.ai/model-fit": f"{number}{JUNK}"})
            for number in range(PODS // 4)
        ]
        unseen = [
            pod(f"unseen-{number}", annotations={**ANNOTATED, "llmfit.ai/junk": f"{number}{JUNK}"})
            for number in range(PODS // 4)
        ]
        create_all(namespace, [*injected, *endless, *unseen], clients=4)
        wait_for("their claims", lambda: len(managed_claims(namespace)), lambda seen: seen == len(injected))
        told = wait_for("the Events", lambda: namespace.events(reason="InvalidModelFit"), bool)
        assert "more than 16384 characters" in told[0]["message"]
        assert ours.process.peak() - idle < MARGIN
        ours.process.kill()
        ours.start()
        wait_for("the audit", lambda: namespace.events(reason="NotInjected"), bool)
        assert ours.process.peak() - idle < MARGIN
    finally:
        ours.process.kill()
