"""How commands print manifests: all at once or not at all."""

import json
import re
import sys
from collections.abc import Sequence

import yaml


# Texts that YAML's other readers take for a number or a boolean although PyYAML does not: kubectl reads `1e3` as a
# thousand and `y` as true.
_AMBIGUOUS = re.compile(r"[-+.\d].*|[yYnN]", re.DOTALL)


class _Dumper(yaml.SafeDumper):
    """Keys in their order, no aliases, long expressions on one line."""

    def ignore_aliases(self, data: object) -> bool:
        return True

    def represent_text(self, data: str) -> yaml.ScalarNode:
        """A text, quoted where it could be read as something else."""
        style = "'" if _AMBIGUOUS.fullmatch(data) and "\n" not in data else None
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Dumper.add_representer(str, _Dumper.represent_text)


def manifests(documents: Sequence[object], output: str) -> None:
    """Prints the documents as a stream of YAML documents, or as one JSON object (a List, where there are several)."""
    if output == "json":
        whole = documents[0] if len(documents) == 1 else {"apiVersion": "v1", "kind": "List", "items": list(documents)}
        text = json.dumps(whole, indent=2) + "\n"
    else:
        text = yaml.dump_all(
            documents, Dumper=_Dumper, sort_keys=False, default_flow_style=False, width=4096, allow_unicode=True
        )
    sys.stdout.write(text)


def say(message: str) -> None:
    """One line of talk."""
    print(message, file=sys.stderr)
