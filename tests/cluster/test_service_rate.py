"""One replica under 200 annotated pods a second, compared with pods without the annotation.

Both run in turns and the best turn counts, since other load on the machine slows everything down now and then. It does
not change the webhook's CPU time per pod. The figures are printed (`-s`).
"""

from __future__ import annotations

import pytest

from testbed.controllers import LONG_TESTS
from testbed.controlplane import ControlPlane
from testbed.injected_pods import ANNOTATED
from testbed.latency import percentile
from testbed.namespaces import Namespace
from testbed.pod_load import LoadResult, create_pods_at_rate
from testbed.pods import pod
from testbed.programs import WebhookServer

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

PER_SECOND = 200
SECONDS, TURNS = (30, 2) if LONG_TESTS else (3, 3)
PROMISED = 1.0
"""Seconds of p99, plus a multiple of the API server's own p99 without the webhook."""
CPU = 0.5 / PER_SECOND
"""Seconds per pod: half of one worker's CPU time."""


def test_two_hundred_annotated_pods_a_second(
    controlplane: ControlPlane, namespace: Namespace, webhook: WebhookServer
) -> None:
    turns, costs = [], []
    for _ in range(TURNS):
        plain = create_pods_at_rate(controlplane, namespace.name, pod("plain"), per_second=PER_SECOND, seconds=SECONDS)
        before = webhook.process.cpu()
        manifest = pod("annotated", annotations=ANNOTATED)
        annotated = create_pods_at_rate(controlplane, namespace.name, manifest, per_second=PER_SECOND, seconds=SECONDS)
        turns.append((plain, annotated))
        costs.append((webhook.process.cpu() - before) / (PER_SECOND * SECONDS))
        assert (plain.refused, annotated.refused) == ([], [])
        assert [each["name"] for each in annotated.last["spec"]["resourceClaims"]] == ["modelfit"]
    figures = "\n".join(f"without the annotation {plain}, with it {annotated}" for plain, annotated in turns)
    figures += f"\nthe webhook's CPU time per pod: {min(costs) * 1000:.2f} ms"
    print(figures)
    assert any(keeps_up(*each) for each in turns), figures
    assert min(costs) < CPU, figures


def keeps_up(plain: LoadResult, annotated: LoadResult) -> bool:
    """Whether the API server is nearly as fast with the webhook as without."""
    is_prompt = percentile(annotated.times, 99) < PROMISED + 3 * percentile(plain.times, 99)
    return is_prompt and annotated.per_second > 0.7 * plain.per_second
