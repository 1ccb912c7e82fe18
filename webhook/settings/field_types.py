"""Types of settings that are text in a fixed form, and descriptions of these forms for error messages."""

from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from webhook.core.profiles import cel
from webhook.dns_names import LABEL, MAX_LABEL, MAX_SUBDOMAIN, SUBDOMAIN

_LABEL = f"^{LABEL}$"
_SUBDOMAIN = f"^{SUBDOMAIN}$"
_IDENTIFIER = "^[A-Za-z_][A-Za-z0-9_]*$"
_QUALIFIED = f"^{SUBDOMAIN}/[A-Za-z_][A-Za-z0-9_]*$"
_RESOURCE = f"^{SUBDOMAIN}/[A-Za-z0-9]([-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?$"
_QUANTITY = r"^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][-+]?[0-9]+)?$"

_LABEL_KEY = f"^({SUBDOMAIN}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?$"
_LABEL_VALUE = "^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$"
_PRODUCT = "^[ -~]{1,64}$"

_LABEL_CHARACTERS = "lower-case letters, digits and dashes, a letter or digit first and last"

PATTERNS = {
    _LABEL: _LABEL_CHARACTERS,
    _SUBDOMAIN: f"{_LABEL_CHARACTERS}, in parts with dots between",
    _IDENTIFIER: "letters, digits and underscores, no digit first",
    _QUALIFIED: "a domain, a slash and an identifier, such as gpu.nvidia.com/productName",
    _RESOURCE: "an extended resource, such as example.com/gpu",
    _LABEL_KEY: "the key of a taint, such as gpu.nvidia.com/xid",
    _LABEL_VALUE: "the value of a taint, as of a label",
    _PRODUCT: "1 to 64 ASCII characters",
    _QUANTITY: "a quantity of 0 or more such as 10 or 8Gi",
}
"""Regular expression → description."""


def _check_length(expression: str) -> str:
    if len(expression.encode()) > cel.MAX_EXPRESSION:
        raise ValueError(f"at most {cel.MAX_EXPRESSION} bytes")
    return expression


Driver = Annotated[str, StringConstraints(pattern=_SUBDOMAIN, max_length=63)]
DeviceClass = Annotated[str, StringConstraints(pattern=_SUBDOMAIN, max_length=MAX_SUBDOMAIN)]
Identifier = Annotated[str, StringConstraints(pattern=_IDENTIFIER, max_length=32)]
QualifiedName = Annotated[str, StringConstraints(pattern=_QUALIFIED, max_length=96)]
Expression = Annotated[str, StringConstraints(min_length=1), AfterValidator(_check_length)]
Amount = Annotated[str, StringConstraints(pattern=_QUANTITY, max_length=32)]
Product = Annotated[str, StringConstraints(pattern=_PRODUCT)]
Gibibytes = Annotated[int, Field(ge=1, le=1024)]
LabelKey = Annotated[str, StringConstraints(pattern=_LABEL_KEY, max_length=MAX_SUBDOMAIN + 64)]
LabelValue = Annotated[str, StringConstraints(pattern=_LABEL_VALUE)]
Variable = Annotated[str, StringConstraints(pattern=_IDENTIFIER, max_length=253)]
ObjectName = Annotated[str, StringConstraints(pattern=_SUBDOMAIN, max_length=MAX_SUBDOMAIN)]
ProfileName = Annotated[str, StringConstraints(pattern=_LABEL, max_length=MAX_LABEL)]
ResourceName = Annotated[str, StringConstraints(pattern=_RESOURCE, max_length=MAX_SUBDOMAIN + 64)]
Namespace = Annotated[str, StringConstraints(pattern=_LABEL, max_length=MAX_LABEL)]
