"""The command line: one command a module, each a thin shell over the core.

Standard output carries manifests and nothing else; everything that is said goes to standard error. Exit codes: 0 done,
1 refused (a pod, or a model that needs no claim), 2 the input or the call cannot be used.
"""

import argparse
import importlib
import sys
from collections.abc import Sequence
from importlib.metadata import version

from webhook.errors import ModelfitError

COMMANDS = {
    "convert": "llmfit JSON to a ResourceClaim manifest",
    "preview": "show the pods of a manifest as they would be admitted",
    "serve": "run the admission webhook",
    "controller": "create the claims of injected pods",
}
"""Command → one line of help. Only the module of the command that is called is imported: `convert` need not wait for
a Kubernetes client."""

REFUSED = 1
UNUSABLE = 2


class UsageError(ModelfitError):
    """The call or its input cannot be used; the message goes to standard error as it is."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    name = next((argument for argument in arguments if not argument.startswith("-")), "")
    parser = _parser(name)
    try:
        parsed = parser.parse_args(arguments)
        code: int = parsed.run(parsed)
        sys.stdout.flush()
    except ModelfitError as error:
        print(f"modelfit: {error}", file=sys.stderr)
        return UNUSABLE
    except BrokenPipeError:
        # The reader of a pipe has gone: nobody to tell. Python would complain once more when it closes the stream.
        sys.stdout = None
        return 0
    except KeyboardInterrupt:
        return 130
    return code


def _parser(called: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="modelfit",
        description="A GPU ResourceClaim for every pod that says which model it runs.",
        epilog="`modelfit COMMAND --help` has an example of each.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"modelfit {version('modelfit-webhook')}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, dest="command")
    for name, summary in COMMANDS.items():
        command = commands.add_parser(
            name, help=summary, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
        )
        if name == called:
            module = importlib.import_module(f"webhook.cli.{name}")
            command.description = module.__doc__
            module.add_arguments(command)
            command.set_defaults(run=module.run)
    return parser
