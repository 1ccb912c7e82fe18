"""The short form of the soak test: at least one of everything, and no violated requirement."""

from __future__ import annotations

import pytest

from testbed.controlplane import ControlPlane
from tests.soak.plan import SHORT
from tests.soak.run import run
from tests.soak.table import table

pytestmark = pytest.mark.cluster


def test_under_load_and_every_disturbance_no_admission_and_no_claim_is_lost(controlplane: ControlPlane) -> None:
    result = run(controlplane, SHORT, print)
    print(table(result))
    violations = result.violations(SHORT)
    assert not violations, "\n".join(violations)
