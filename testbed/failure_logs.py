"""Keeps the logs that a failed test's processes wrote."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from testbed import workspace
from testbed.programs import REPOSITORY

FOLDER = REPOSITORY / ".logs"


def save_logs(test: str, since: float) -> Path | None:
    """Copies the logs written since that time (seconds since 1970) to `.logs/<test>/`; None if there are none."""
    logs = workspace.current().logs
    written = [log for log in logs.rglob("*.log") if log.stat().st_mtime >= since and log.stat().st_size > 0]
    if not written:
        return None
    folder = FOLDER / re.sub(r"[^\w.\[\]-]+", "_", test)
    shutil.rmtree(folder, ignore_errors=True)
    for log in written:
        copy = folder / log.relative_to(logs)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(log, copy)
    return folder
