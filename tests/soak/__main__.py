"""`python -m tests.soak`: see the package."""

import os
import sys

from testbed.controlplane import ControlPlane
from tests.soak.plan import for_minutes
from tests.soak.run import run
from tests.soak.table import table


def main() -> int:
    """Runs for MINUTES and prints the table. Returns 1 if a requirement is violated."""
    minutes = float(os.environ.get("MINUTES", "10"))
    if minutes < 2:
        print("soak: MINUTES must be at least 2, for each disturbance to happen", file=sys.stderr)
        return 2
    plan = for_minutes(minutes)
    print(f"soak: {minutes:g} minutes on its own control plane", flush=True)
    with ControlPlane() as plane:
        result = run(plane, plan, lambda line: print(line, flush=True))
    violations = result.violations(plan)
    print(f"\n{table(result)}\n")
    print("\n".join(["violated:", *violations]) if violations else "all requirements hold")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
