"""The command line: one command a module, each a thin shell over the core.

Standard output carries what was asked for and nothing else; everything that is said goes to standard error. Exit
codes: 0 done, 1 refused (a pod, a model that needs no claim, a certificate that cannot be served), 2 the input or the
call cannot be used, 130 interrupted.
"""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import NoReturn

from webhook.errors import ModelfitError

COMMANDS = {
    "convert": "llmfit JSON to a ResourceClaim manifest",
    "preview": "show the pods of a manifest as they would be admitted",
    "serve": "run the admission webhook",
    "controller": "create the claims of injected pods",
    "certs": "make, show and change serving certificates",
}
"""Command → one line of help. Only the module of the command that is called is imported: `convert` need not wait for
a Kubernetes client."""

REFUSED = 1
UNUSABLE = 2
INTERRUPTED = 130


class UsageError(ModelfitError):
    """The call or its input cannot be used; the message goes to standard error as it is."""


class _Parser(argparse.ArgumentParser):
    """Says what is wrong with a call in one line; the usage is a `--help` away."""

    def error(self, message: str) -> NoReturn:
        text = message if message.isprintable() else ascii(message)
        self.exit(UNUSABLE, f"modelfit: {text}; see {self.prog} --help\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code. Raises SystemExit after `--help`, and for a call that is wrong."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        return _run(arguments)
    except ModelfitError as error:
        say(f"modelfit: {error}")
        return UNUSABLE
    except BrokenPipeError:
        # The reader of a pipe has gone: nobody to tell.
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        _flush()


def say(message: str) -> None:
    """One line of talk."""
    if sys.stderr is not None:
        print(message, file=sys.stderr)


def _flush() -> None:
    """Writes what is left. Where that fails it is dropped, or Python would try again at the end, and complain."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _run(arguments: Sequence[str]) -> int:
    name = next((argument for argument in arguments if not argument.startswith("-")), "")
    parsed = _parser(name).parse_args(arguments)
    code: int = parsed.run(parsed)
    return code


def _parser(called: str) -> argparse.ArgumentParser:
    """The parser of every command's name, and of the arguments of the one that is `called`."""
    parser = _Parser(
        prog="modelfit",
        description=f"A GPU ResourceClaim for every pod that says which model it runs.\n\ncommands:\n{_summaries()}",
        epilog="`modelfit COMMAND --help` has an example of each.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"modelfit {version('modelfit-webhook')}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, dest="command", help="one of these commands")
    for name in COMMANDS:
        command = commands.add_parser(name, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
        if name == called:
            module = importlib.import_module(f"webhook.cli.{name}")
            command.description = module.__doc__
            module.add_arguments(command)
            command.set_defaults(run=module.run)
    return parser


def _summaries() -> str:
    width = max(map(len, COMMANDS))
    return "\n".join(f"  {name:{width}}  {summary}" for name, summary in COMMANDS.items())
