"""Prints manifests: all of them, or none if there is an error."""

import json
import re
import sys
from collections.abc import Sequence

import yaml

from webhook.cli import UsageError

# Plain texts that are a number or boolean for kubectl but not for PyYAML: 1e3 is 1000, 0X1F is 31, y is true. kubectl
# ignores underscores in a number.
_AMBIGUOUS = re.compile(r"[-+]?[.\d][\d.eE+-]*|[-+]?0[xXoObB][\da-fA-F]+|[yYnN]")

# Characters that PyYAML treats as line breaks: unless quoted and escaped, they are read as spaces.
_LINE_BREAKS = re.compile(r"[\x85\u2028\u2029\ufeff]")


class _Dumper(yaml.SafeDumper):
    """Writes no aliases, and quotes texts that kubectl would read as another type."""

    def ignore_aliases(self, data: object) -> bool:
        return True

    def represent_text(self, data: str) -> yaml.ScalarNode:
        """A literal block for several lines; quotes if the text is ambiguous."""
        style = "'" if _AMBIGUOUS.fullmatch(data.replace("_", "")) else None
        if "\n" in data:
            style = "|"  # PyYAML uses another style if a literal block cannot represent the text
        if _LINE_BREAKS.search(data):
            style = '"'
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Dumper.add_representer(str, _Dumper.represent_text)


def print_manifests(documents: Sequence[object], output: str) -> None:
    """Prints the documents as YAML documents, or as one JSON object: a List if there are several. Raises UsageError if
    standard output cannot be written, BrokenPipeError if its reader has exited."""
    if output == "json":
        as_list = {"apiVersion": "v1", "kind": "List", "items": list(documents)}
        text = json.dumps(documents[0] if len(documents) == 1 else as_list, indent=2) + "\n"
    else:
        text = yaml.dump_all(
            documents, Dumper=_Dumper, sort_keys=False, default_flow_style=False, width=4096, allow_unicode=True
        )
    if sys.stdout is None:
        raise UsageError("standard output: closed")
    try:
        # Manifests are UTF-8 in every locale.
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UsageError(f"standard output: {error.strerror or error}") from None
