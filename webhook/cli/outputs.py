"""How commands print manifests: all at once or not at all."""

import json
import re
import sys
from collections.abc import Sequence

import yaml

from webhook.cli import UsageError

# Texts that kubectl takes for a number or a boolean although PyYAML does not: 1e3 is a thousand, 0X1F is 31, and y is
# true. Underscores are passed over in a number, wherever they stand.
_AMBIGUOUS = re.compile(r"[-+]?[.\d][\d.eE+-]*|[-+]?0[xXoObB][\da-fA-F]+|[yYnN]")

# What PyYAML takes for the end of a line, and would write and read as a blank. Quoted, it is escaped.
_BREAKS = re.compile(r"[\x85\u2028\u2029\ufeff]")


class _Dumper(yaml.SafeDumper):
    """Keys in their order, no aliases, long expressions on one line."""

    def ignore_aliases(self, data: object) -> bool:
        return True

    def represent_text(self, data: str) -> yaml.ScalarNode:
        """A text, quoted where it could be read as something else, a script as lines."""
        style = "'" if _AMBIGUOUS.fullmatch(data.replace("_", "")) else None
        if "\n" in data:
            style = "|"  # PyYAML takes another one where lines cannot say it
        if _BREAKS.search(data):
            style = '"'
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Dumper.add_representer(str, _Dumper.represent_text)


def manifests(documents: Sequence[object], output: str) -> None:
    """Prints the documents as a stream of YAML documents, or as one JSON object (a List, where there are several).
    Raises UsageError where standard output takes them not, BrokenPipeError where nobody reads it any more."""
    if output == "json":
        whole = documents[0] if len(documents) == 1 else {"apiVersion": "v1", "kind": "List", "items": list(documents)}
        text = json.dumps(whole, indent=2) + "\n"
    else:
        text = yaml.dump_all(
            documents, Dumper=_Dumper, sort_keys=False, default_flow_style=False, width=4096, allow_unicode=True
        )
    if sys.stdout is None:
        raise UsageError("standard output: closed")
    try:
        # Manifests are UTF-8 whatever the terminal's language is.
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UsageError(f"standard output: {error.strerror or error}") from None
