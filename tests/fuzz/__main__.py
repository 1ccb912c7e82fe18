"""`python -m tests.fuzz [FILE]`: see the package."""

import hashlib
import json
import logging
import os
import secrets
import sys
import traceback
from pathlib import Path

from tests.fuzz import oracle, run

FINDINGS = Path(".logs")


def main(arguments: list[str]) -> int:
    logging.disable(logging.ERROR)
    if arguments:
        return _replay(Path(arguments[0]))
    seconds = float(os.environ.get("FUZZ_SECONDS", "180"))
    seed = int(os.environ.get("FUZZ_SEED", secrets.randbits(32)))
    print(f"fuzz: {seconds:g} seconds, FUZZ_SEED={seed}", flush=True)
    reasons, finding = run.run(seed, run.until(seconds, lambda count: print(f"fuzz: {count} inputs", flush=True)))
    if finding is None:
        print("fuzz: " + ", ".join(f"{reason} {count}" for reason, count in reasons.most_common()))
        print(f"fuzz: {reasons.total()} inputs, no failure")
        return 0
    FINDINGS.mkdir(exist_ok=True)
    path = FINDINGS / f"fuzz-{hashlib.sha256(finding.body).hexdigest()[:12]}.json"
    kept = {"config": finding.config, "path": finding.path, "body": finding.body.decode("latin-1")}
    path.write_text(json.dumps(kept), "utf-8")
    print(f"fuzz: input {reasons.total() + 1} failed; replay it with: python -m tests.fuzz {path}")
    traceback.print_exception(finding.error, file=sys.stdout)
    return 1


def _replay(path: Path) -> int:
    """Checks the input in a file."""
    kept = json.loads(path.read_text("utf-8"))
    index = kept["config"]
    oracle.check(run.clients()[index], run.CONFIGS[index], kept["path"], kept["body"].encode("latin-1"))
    print(f"{path}: no failure")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
