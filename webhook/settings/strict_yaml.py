"""YAML as settings are written in it."""

import yaml

from webhook.errors import quote


class BrokenYamlError(Exception):
    """Text that is not YAML, or not only one thing. The message says where, as far as that is known."""


class _Loader(yaml.SafeLoader):
    """Of a key twice YAML readers keep the last, in silence; a setting must not be lost like that."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[object, object]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.tag != "tag:yaml.org,2002:merge" and str(key.value) in seen:
                problem = f"the key {quote(key.value)} twice"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(str(key.value))
        return super().construct_mapping(node, deep)


def read(text: str) -> object:
    """The one document in `text`. Raises BrokenYamlError."""
    try:
        return yaml.load(text, _Loader)  # noqa: S506 (a SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = f": {error.problem}" if isinstance(error, yaml.constructor.ConstructorError) else ""
        raise BrokenYamlError(f"{problem} at line {mark.line + 1}" if mark else problem) from None
    except (ValueError, RecursionError):  # a date that does not exist, nesting without end
        raise BrokenYamlError from None
