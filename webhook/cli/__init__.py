"""The command line: one module for each command, a thin shell over the core.

Standard output has only the result of a command; messages go to standard error. Exit codes: 0 success, 1 refused (a pod
is denied, a model needs no claim, a certificate cannot be served), 2 invalid input or usage, 3 an annotation is in an
object that `preview` cannot read, 130 interrupted.
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
    "convert": "convert llmfit JSON to a ResourceClaim manifest",
    "preview": "show the pods of a manifest as they would be admitted",
    "serve": "run the admission webhook",
    "controller": "create the ResourceClaims of injected pods",
    "certs": "issue and show serving certificates",
}
"""Command → one line of help. Only the module of the called command is imported, so that `convert` does not load the
Kubernetes client."""

REFUSED = 1
UNUSABLE = 2
INTERRUPTED = 130


class UsageError(ModelfitError):
    """The arguments or the input are invalid. The message is printed unchanged."""


class _Parser(argparse.ArgumentParser):
    """Prints usage errors in one line, without the usage text."""

    def error(self, message: str) -> NoReturn:
        text = message if message.isprintable() else ascii(message)
        self.exit(UNUSABLE, f"modelfit: {text}; see {self.prog} --help\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code. Raises SystemExit after `--help` and for invalid arguments."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        return _run(arguments)
    except ModelfitError as error:
        write_stderr(f"modelfit: {error}")
        return UNUSABLE
    except BrokenPipeError:
        # The reader of the pipe has exited, which is not an error: `modelfit preview … | head`.
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        _flush()


def write_stderr(message: str) -> None:
    """Prints a line to standard error, unless it is closed."""
    if sys.stderr is not None:
        print(message, file=sys.stderr)


def _flush() -> None:
    """Flushes standard output. If that fails, the rest is discarded: Python would flush again at exit, and print an
    error."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


def _run(arguments: Sequence[str]) -> int:
    name = next((argument for argument in arguments if not argument.startswith("-")), "")
    parsed = _parser(name).parse_args(arguments)
    code: int = parsed.run(parsed)
    return code


def _parser(called: str) -> argparse.ArgumentParser:
    """The parser of all commands, with the arguments of the `called` one."""
    parser = _Parser(
        prog="modelfit",
        description=f"Creates a GPU ResourceClaim for every annotated pod.\n\ncommands:\n{_summaries()}",
        epilog="`modelfit COMMAND --help` shows the options and examples of a command.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"modelfit {version('modelfit-webhook')}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, dest="command", help="one of the commands above")
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
