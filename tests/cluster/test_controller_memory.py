"""Memory of the controller with pods whose metadata is as large as it can be."""

from __future__ import annotations

import pytest

from testbed.controllers import LONG_TESTS, NO_LEADER_ELECTION, controller
from testbed.controlplane import ControlPlane
from testbed.injected_pods import ANNOTATED, create_all, injected_pod, managed_claims
from testbed.namespaces import Namespace
from testbed.pods import pod
from testbed.waiting import wait_for

pytestmark = pytest.mark.cluster

PODS = 200
JUNK = "x" * (250 << 10)
"""The annotations of a pod are limited to 256 KiB."""

MARGIN = 56 << 20
"""Bytes. The pods' annotations are as large again."""

UNUSABLE_PODS = 5800 if LONG_TESTS else 800
UNUSABLE_FIT = '{"min_vram_gb": "\N{ROCKET}' + "x" * ((16 << 10) - 100)
"""Python stores four bytes for each character of a text with an emoji."""


def test_pods_with_large_annotations_cost_the_controller_little_memory(
    controlplane: ControlPlane, namespace: Namespace
) -> None:
    """Whether it watches them, lists them after a restart, or scans them as uninjected pods."""
    ours = controller(controlplane, environment={**NO_LEADER_ELECTION, "MODELFIT_UNINJECTED_SCAN_SECONDS": "1"})
    try:
        ours.start()
        idle = ours.process.memory()
        injected = [
            injected_pod(f"injected-{number}", annotations={"llmfit.ai/junk": f"{number}{JUNK}"})
            for number in range(PODS // 2)
        ]
        oversized = [
            injected_pod(f"oversized-{number}", annotations={"llmfit.ai/model-fit": f"{number}{JUNK}"})
            for number in range(PODS // 4)
        ]
        uninjected = [
            pod(f"uninjected-{number}", annotations={**ANNOTATED, "llmfit.ai/junk": f"{number}{JUNK}"})
            for number in range(PODS // 4)
        ]
        create_all(namespace, [*injected, *oversized, *uninjected], clients=4)
        wait_for("their claims", lambda: len(managed_claims(namespace)), lambda seen: seen == len(injected))
        events = wait_for("the Events", lambda: namespace.events(reason="InvalidModelFit"), bool)
        assert "more than 16384 bytes" in events[0]["message"]
        assert ours.process.peak() - idle < MARGIN
        ours.process.kill()
        ours.start()
        wait_for("the scan", lambda: namespace.events(reason="NotInjected"), bool)
        assert ours.process.peak() - idle < MARGIN
    finally:
        ours.process.kill()


def test_unusable_fits_with_an_emoji_cost_each_replica_little_memory(
    controlplane: ControlPlane, namespace: Namespace
) -> None:
    """While they are created, and with the list after a restart. Of an unusable fit only its errors are kept."""
    replicas = [controller(controlplane, environment=NO_LEADER_ELECTION) for _ in range(2)]
    try:
        idle = []
        for each in replicas:
            each.start()
            idle.append(each.process.memory())
        pods = [
            injected_pod(f"llama-{number}", annotations={"llmfit.ai/model-fit": f"{UNUSABLE_FIT}{number}"})
            for number in range(UNUSABLE_PODS)
        ]
        create_all(namespace, pods, clients=4)
        for restarted in (False, True):
            for each, before in zip(replicas, idle, strict=True):
                if restarted:
                    each.process.kill()
                    each.start()
                unusable = lambda: each.metric("modelfit_reconcile_total", result="ModelFitUnusable")  # noqa: B023, E731
                wait_for("all pods are reconciled", unusable, lambda count: count >= UNUSABLE_PODS, timeout=120)
                used = each.process.peak() - before
                assert used < MARGIN, f"{used >> 20} MiB with {UNUSABLE_PODS} pods"
    finally:
        for each in replicas:
            each.process.kill()
