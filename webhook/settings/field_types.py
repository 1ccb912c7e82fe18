"""Names and other texts as a setting has them: each a type, and in words what is wrong with another text."""

from typing import Annotated

from pydantic import AfterValidator, StringConstraints

from webhook.core.profiles import cel

_WORD = "lower-case letters, digits and dashes, a letter or digit first and last"

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"^{_LABEL}(\.{_LABEL})*$"
_IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]*"
_QUALIFIED = rf"^{_LABEL}(\.{_LABEL})*/{_IDENTIFIER}$"
_QUANTITY = r"^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][-+]?[0-9]+)?$"

PATTERNS = {
    f"^{_LABEL}$": _WORD,
    _SUBDOMAIN: f"{_WORD}, in parts with dots between",
    f"^{_IDENTIFIER}$": "letters, digits and underscores, no digit first",
    _QUALIFIED: "a domain, a slash and an identifier, such as gpu.nvidia.com/productName",
    _QUANTITY: "a quantity of 0 or more such as 10 or 8Gi",
}
"""What a name has to be, in words."""


def _short_enough(expression: str) -> str:
    if len(expression.encode()) > cel.MAX_EXPRESSION:
        raise ValueError(f"at most {cel.MAX_EXPRESSION} bytes")
    return expression


Driver = Annotated[str, StringConstraints(pattern=_SUBDOMAIN, max_length=63)]
DeviceClass = Annotated[str, StringConstraints(pattern=_SUBDOMAIN, max_length=253)]
Identifier = Annotated[str, StringConstraints(pattern=rf"^{_IDENTIFIER}$", max_length=32)]
QualifiedName = Annotated[str, StringConstraints(pattern=_QUALIFIED, max_length=96)]
Expression = Annotated[str, StringConstraints(min_length=1), AfterValidator(_short_enough)]
Amount = Annotated[str, StringConstraints(pattern=_QUANTITY, max_length=32)]
Variable = Annotated[str, StringConstraints(pattern=rf"^{_IDENTIFIER}$", max_length=253)]
ObjectName = Annotated[str, StringConstraints(pattern=_SUBDOMAIN, max_length=253)]
ProfileName = Annotated[str, StringConstraints(pattern=rf"^{_LABEL}$", max_length=63)]
Namespace = Annotated[str, StringConstraints(pattern=rf"^{_LABEL}$", max_length=63)]
