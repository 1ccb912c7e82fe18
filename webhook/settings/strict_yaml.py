"""Parses YAML, and rejects repeated keys."""

import yaml

from webhook import unique_keys
from webhook.errors import quote

SCALAR_ERRORS = (ValueError, LookupError, AttributeError, RecursionError)
"""What PyYAML raises, beside its own errors, for a text that is none of its tag's: an impossible date, `!!int ""`,
`!!bool x`, `!!timestamp x`; and for very deep nesting."""


class InvalidYaml(Exception):
    """The text is not one YAML document. The message is empty or continues "invalid YAML"."""


class _Loader(yaml.SafeLoader):
    """Rejects repeated keys. SafeLoader keeps the last of them, which would lose a setting without an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[object, object]:
        keys = [key for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
        repeat = unique_keys.first_repeat(str(key.value) for key in keys)
        if repeat is not None:
            problem = f"duplicate key {quote(keys[repeat].value)}"
            raise yaml.constructor.ConstructorError(None, None, problem, keys[repeat].start_mark)
        return super().construct_mapping(node, deep)


def parse(text: str) -> object:
    """The value of the one document in `text`; None if there is none. Raises InvalidYaml."""
    try:
        return yaml.load(text, _Loader)  # noqa: S506 (a SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = f": {error.problem}" if isinstance(error, yaml.constructor.ConstructorError) else ""
        raise InvalidYaml(f"{problem} at line {mark.line + 1}" if mark else problem) from None
    except SCALAR_ERRORS:
        raise InvalidYaml from None
