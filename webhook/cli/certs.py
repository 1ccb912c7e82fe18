"""Issue and show the webhook's serving certificate in a directory.

For a webhook whose certificate neither the controller nor cert-manager
issues. `issue` creates what is missing and renews what is due; run it
regularly, for example daily. `modelfit serve` uses a renewed certificate
without a restart. Clients must trust ca.crt. `show` also reads a Secret, as
kubectl prints it.

examples:
  modelfit certs issue ./certs --name modelfit.modelfit.svc
  modelfit certs show ./certs
  kubectl get secret modelfit-tls -o yaml | modelfit certs show -
"""

import argparse
import base64
import binascii
import os
import sys
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import yaml

from certs import hostnames, rotation, secret_data, verification
from certs.description import describe
from certs.exceptions import CertificatesError
from certs.rotation import Action
from certs.rotation_config import RotationConfig
from certs.secret_data import State
from webhook.cli import REFUSED, UsageError, inputs, write_stderr
from webhook.errors import quote
from webhook.settings import strict_yaml

MAX_DURATION = 36_500
"""Days, or minutes. 36,500 days are a hundred years; a later end does not fit into a date."""

MAX_STEPS = 8
"""Rotation steps of one call. At most three are due at a time."""

DEFAULT = RotationConfig()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(metavar="ACTION", required=True, dest="action", help="one of these")
    issue = actions.add_parser("issue", help="create what is missing, renew what is due", allow_abbrev=False)
    show = actions.add_parser("show", help="show certificates, problems and what is due next", allow_abbrev=False)
    issue.add_argument("directory", metavar="DIRECTORY", type=_directory, help="directory of the certificates")
    issue.add_argument(
        "--name",
        metavar="HOST",
        action="append",
        default=[],
        help="DNS name or IP address that clients connect to; repeatable (default: the current names)",
    )
    show.add_argument(
        "directory",
        metavar="DIRECTORY",
        type=lambda text: text if text == "-" else _directory(text),
        help="directory of the certificates, or - for a Secret on standard input",
    )
    for action in (issue, show):
        for flag, default, text in (
            ("--ca-days", DEFAULT.ca_lifetime / timedelta(days=1), "lifetime of a CA in days"),
            ("--leaf-days", DEFAULT.leaf_lifetime / timedelta(days=1), "lifetime of a serving certificate in days"),
            (
                "--propagation",
                DEFAULT.propagation / timedelta(minutes=1),
                "minutes until a change is in use by every client and server",
            ),
        ):
            action.add_argument(flag, metavar="N", type=_number, default=default, help=f"{text} (default: {default:g})")


def run(arguments: argparse.Namespace) -> int:
    """Prints the certificates. Returns 1 if they cannot be served. Raises UsageError."""
    now = datetime.now(UTC).replace(microsecond=0)
    try:
        config = RotationConfig(
            timedelta(days=arguments.ca_days),
            timedelta(days=arguments.leaf_days),
            timedelta(minutes=arguments.propagation),
        )
        if arguments.action == "show":
            state = _show(arguments.directory)
        else:
            state = _issue(arguments.directory, arguments.name, now, config)
    except CertificatesError as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise UsageError(f"{inputs.quote_unprintable(str(arguments.directory))}: {error.strerror or error}") from None
    if sys.stdout is None:
        raise UsageError("standard output: closed")
    print("\n".join(describe(state, now, config)), flush=True)
    return 0 if verification.is_trusted(state.leaf, state.cas, now) else REFUSED


def _show(source: Path | str) -> State:
    """The state in a directory or in the Secret on standard input. Prints faults as warnings."""
    data = _read(source) if isinstance(source, Path) else _parse_secret(inputs.read_text(source))
    if not data and isinstance(source, Path):
        where = inputs.quote_unprintable(str(source))
        raise UsageError(f"no certificates in {where}; `modelfit certs issue {where} --name HOST` creates them")
    state, faults = secret_data.parse(data)
    for fault in faults:
        write_stderr(f"Warning: {fault}")
    return state


def _issue(directory: Path, names: list[str], now: datetime, config: RotationConfig) -> State:
    """Takes every rotation step that is due, then writes the result."""
    before = data = _read(directory)
    state, _ = secret_data.parse(data)
    names = names or sorted(hostnames.on_certificate(state.leaf.certificate) if state.leaf else ())
    if not names:
        where = inputs.quote_unprintable(str(directory))
        raise UsageError(f"no certificate in {where} to take the names from; set --name HOST, which clients connect to")
    steps: list[str] = []
    for _ in range(MAX_STEPS):
        step = rotation.next_step(data, names, now, config)
        if steps and step.action is Action.KEEP:
            break
        steps.append(f"{step.action}: {step.reason}")
        state, data = step.state, secret_data.dump(step.state)
    _write(directory, before, data)
    for text in steps:
        write_stderr(text)
    if data[secret_data.BUNDLE] != before.get(secret_data.BUNDLE):
        path = inputs.quote_unprintable(str(directory / secret_data.BUNDLE))
        write_stderr(f"clients must trust {path}, which has changed: distribute it within {config.propagation}")
    return state


def _read(directory: Path) -> dict[str, bytes]:
    data = {}
    for key in secret_data.KEYS:
        try:
            data[key] = (directory / key).read_bytes()
        except FileNotFoundError:
            continue
    return data


def _write(directory: Path, before: Mapping[str, bytes], data: Mapping[str, bytes]) -> None:
    """Replaces each file atomically; only the owner can read private keys.

    The files together are not replaced atomically. `modelfit serve` keeps the old pair while key and certificate do not
    match, and the next `issue` repairs what a killed one leaves.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for key in secret_data.KEYS:
        if key not in data:
            (directory / key).unlink(missing_ok=True)
        elif data[key] != before.get(key):
            with tempfile.NamedTemporaryFile(dir=directory, prefix=f".{key}.", delete=False) as file:
                file.write(data[key])
                file.flush()
                os.fsync(file.fileno())
                os.fchmod(file.fileno(), 0o600 if key in secret_data.PRIVATE_KEYS else 0o644)
            os.replace(file.name, directory / key)


def _parse_secret(text: str) -> dict[str, bytes]:
    """The data of a Secret. Raises UsageError, which never contains the input."""
    try:
        document = yaml.safe_load(text)
    except (yaml.YAMLError, *strict_yaml.SCALAR_ERRORS):
        raise UsageError("standard input: broken YAML; want one Secret, as kubectl prints it") from None
    data = document.get("data") if isinstance(document, dict) and document.get("kind") == "Secret" else None
    if not isinstance(data, dict):
        raise UsageError("standard input: no Secret with data; want one, as kubectl prints it")
    decoded = {}
    for key, value in data.items():
        try:
            decoded[str(key)] = base64.b64decode(str(value or ""), validate=True)
        except (binascii.Error, ValueError):
            raise UsageError(f"standard input: data.{key}: not base64") from None
    return decoded


def _directory(text: str) -> Path:
    """A directory that exists or can be created."""
    if text in ("", "-"):
        raise argparse.ArgumentTypeError(f"{quote(text)}; want a directory")
    # Not Path.exists, which raises for a name that is too long.
    if os.path.exists(text) and not os.path.isdir(text):
        raise argparse.ArgumentTypeError(f"{inputs.quote_unprintable(text)}: a file; want a directory")
    return Path(text)


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= MAX_DURATION:
        raise argparse.ArgumentTypeError(f"{quote(text)}; want a number above 0 and at most {MAX_DURATION}")
    return number
