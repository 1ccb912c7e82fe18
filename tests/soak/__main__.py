"""`python -m tests.soak`: see the package."""

import os
import sys

from testbed.controlplane import ControlPlane
from tests.soak.plan import for_minutes
from tests.soak.run import run
from tests.soak.table import table


def main() -> int:
    """Runs for MINUTES and prints the table; 1 where something did not hold."""
    minutes = float(os.environ.get("MINUTES", "10"))
    if minutes < 2:
        print("soak: MINUTES must be 2 or more: the disturbances need their time", file=sys.stderr)
        return 2
    plan = for_minutes(minutes)
    print(f"soak: {minutes:g} minutes on a control plane of its own", flush=True)
    with ControlPlane() as plane:
        record = run(plane, plan, lambda line: print(line, flush=True))
    broken = record.broken(plan)
    print(f"\n{table(record)}\n")
    print("\n".join(["did not hold:", *broken]) if broken else "all that must hold held")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
