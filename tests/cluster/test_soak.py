"""The soak's short form: at least one of everything, and what must hold holds."""

from __future__ import annotations

import pytest

from testbed.controlplane import ControlPlane
from tests.soak.plan import SHORT
from tests.soak.run import run
from tests.soak.table import table

pytestmark = pytest.mark.cluster


def test_under_load_and_disturbed_in_every_way_nothing_is_lost(controlplane: ControlPlane) -> None:
    record = run(controlplane, SHORT, print)
    print(table(record))
    broken = record.broken(SHORT)
    assert not broken, "\n".join(broken)
