"""Make, show and change serving certificates that are kept in a directory.

For a webhook whose certificate the controller does not make: `issue` makes an
authority and a certificate, and renews them when they are due; run it from
time to time. The directory is laid out as a mounted Secret, so
`modelfit serve` uses a renewed certificate at once. Clients have to trust
ca.crt. `show` also takes a Secret, as kubectl prints it.

examples:
  modelfit certs issue ./certs --name modelfit.modelfit.svc
  modelfit certs show ./certs
  modelfit certs rotate ./certs
  kubectl get secret modelfit-tls -o yaml | modelfit certs show -
"""

import argparse
import base64
import binascii
import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import yaml

from certs import entries, names, verify
from certs.converge import Outcome, converge
from certs.describe import describe
from certs.errors import CertificatesError
from certs.evidence import Evidence
from certs.files import FileStore
from certs.policy import Policy
from certs.rotation import Action
from certs.state import State
from certs.store import Stored
from webhook.cli import REFUSED, UsageError, inputs, say
from webhook.errors import quote

LONGEST = 36_500
"""Days, or minutes: a hundred years of days. What is longer is no lifetime, and beyond what a date can say."""

MOST_STEPS = 8
"""Further steps of one call. What is due takes three at most."""

DEFAULT = Policy()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(metavar="ACTION", required=True, dest="action", help="one of these")
    issue = actions.add_parser("issue", help="make what is missing, renew what is due", allow_abbrev=False)
    show = actions.add_parser("show", help="what is there, what is wrong with it, what comes next", allow_abbrev=False)
    rotate = actions.add_parser("rotate", help="change the authority, step by step", allow_abbrev=False)
    for action in (issue, rotate):
        action.add_argument("directory", metavar="DIRECTORY", type=_directory, help="where they are kept")
        action.add_argument(
            "--name",
            metavar="HOST",
            action="append",
            default=[],
            help="DNS name or IP address that clients call it by; again for another (default: as before)",
        )
        action.add_argument(
            "--settled",
            action="store_true",
            help="every client and every server has what was last written; else --propagation is waited for",
        )
    show.add_argument(
        "directory",
        metavar="DIRECTORY",
        type=lambda text: text if text == "-" else str(_directory(text)),
        help="where they are kept; - is a Secret on standard input",
    )
    for action in (issue, show, rotate):
        _add_policy(action)


def _add_policy(parser: argparse.ArgumentParser) -> None:
    for flag, default, what in (
        ("--authority-days", DEFAULT.authority_lifetime / timedelta(days=1), "life of an authority in days"),
        ("--leaf-days", DEFAULT.leaf_lifetime / timedelta(days=1), "life of a certificate in days"),
        (
            "--propagation",
            DEFAULT.propagation / timedelta(minutes=1),
            "minutes until what is written is in use everywhere",
        ),
    ):
        parser.add_argument(flag, metavar="N", type=_amount, default=default, help=f"{what} (default: {default:g})")


def run(arguments: argparse.Namespace) -> int:
    """Prints what is there now. 1 where that cannot be served, 2 where the call or the directory cannot be used."""
    now = datetime.now(UTC).replace(microsecond=0)
    try:
        policy = Policy(
            timedelta(days=arguments.authority_days),
            timedelta(days=arguments.leaf_days),
            timedelta(minutes=arguments.propagation),
        )
        state = _shown(arguments.directory) if arguments.action == "show" else _changed(arguments, now, policy)
    except CertificatesError as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise UsageError(f"{inputs.printable(str(arguments.directory))}: {error.strerror or error}") from None
    _print(describe(state, now, policy))
    return 0 if verify.servable(state.leaf, state.authorities(), now) else REFUSED


def _shown(where: str) -> State:
    """What a directory or a Secret holds; what is unusable in it is said."""
    found = entries.parse(_secret(inputs.text(where)) if where == "-" else _there(Path(where)).data)
    for fault in found.faults:
        say(f"Warning: {fault}")
    return found.state


def _there(directory: Path) -> Stored:
    """What is in the directory. Raises UsageError where there is nothing."""
    stored = FileStore(directory).read()
    if stored is None:
        where = inputs.printable(str(directory))
        raise UsageError(f"no certificates in {where}; `modelfit certs issue {where} --name HOST` makes them")
    return stored


def _changed(arguments: argparse.Namespace, now: datetime, policy: Policy) -> State:
    store = FileStore(arguments.directory)
    before = _there(arguments.directory) if arguments.action == "rotate" else store.read()
    state = entries.parse(before.data if before else {}).state
    wanted = arguments.name or sorted(names.of(state.leaf.certificate) if state.leaf else ())
    if not wanted:
        where = inputs.printable(str(arguments.directory))
        raise UsageError(f"no certificate in {where} to take the names from; give --name HOST, as clients call it")
    # A change that is under way is carried on with; another one begins only after it.
    rotate = arguments.action == "rotate" and state.next is None and not state.retired
    outcome = converge(store, wanted, now, policy, Evidence(settled=arguments.settled), rotate=rotate)
    _tell(outcome, arguments.directory)
    for _ in range(MOST_STEPS):
        if outcome.action is Action.KEEP and not outcome.lost:
            break
        # What the operator said was of what was written before.
        outcome = converge(store, wanted, now, policy)
        if outcome.action is not Action.KEEP:
            _tell(outcome, arguments.directory)
    return outcome.state


_NEXT = {
    Action.MINT: "have clients trust {ca}",
    Action.PUBLISH: "have clients trust {ca}, then run it again; the new authority signs nothing before that",
    Action.SWITCH: "the new certificate is served from now on; go on trusting {ca}, and run it again later",
    Action.RETIRE: "have clients trust {ca}, which is without the old authority",
}
"""What is to be done after a step."""


def _tell(outcome: Outcome, directory: Path) -> None:
    say(f"{outcome.action}: {outcome.why}")
    advice = _NEXT.get(outcome.action)
    if advice:
        say(f"  {advice.format(ca=inputs.printable(str(directory / entries.BUNDLE)))}")


def _secret(text: str) -> dict[str, bytes]:
    """The data of a Secret. Raises UsageError, and never shows what it has."""
    try:
        document = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        raise UsageError("standard input: broken YAML; want one Secret, as kubectl prints it") from None
    data = document.get("data") if isinstance(document, dict) and document.get("kind") == "Secret" else None
    if not isinstance(data, dict):
        raise UsageError("standard input: no Secret with data; want one, as kubectl prints it")
    return dict(_decoded(data))


def _decoded(data: dict[object, object]) -> Iterator[tuple[str, bytes]]:
    for name, value in data.items():
        try:
            yield str(name), base64.b64decode(str(value or ""), validate=True)
        except (binascii.Error, ValueError):
            raise UsageError(f"standard input: data.{name}: no base64") from None


def _print(lines: list[str]) -> None:
    if sys.stdout is None:
        raise UsageError("standard output: closed")
    print("\n".join(lines), flush=True)


def _directory(text: str) -> Path:
    """A directory, or one that is to be made."""
    if text in ("", "-"):
        raise argparse.ArgumentTypeError(f"{quote(text)}; want a directory")
    # Not Path's own `exists`, which raises for a name that is too long.
    if os.path.exists(text) and not os.path.isdir(text):
        raise argparse.ArgumentTypeError(f"{inputs.printable(text)}: a file; want a directory")
    return Path(text)


def _amount(text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = 0.0
    if not 0 < amount <= LONGEST:
        raise argparse.ArgumentTypeError(f"{quote(text)}; want a number above 0 and at most {LONGEST}")
    return amount
