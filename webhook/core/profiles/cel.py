"""Selector expressions. Every text that comes from outside enters CEL through `literal`, and nowhere else.

Every look-up is guarded, the domain's too: in a selector an unknown key is an error, and one device that lacks it
aborts scheduling of the pod on all nodes (seen on 1.36). `a && b` absorbs an error of `b` where `a` is false.

So is every type, since an attribute may be of any. `"text" == x` is false for an x of another type, but `x == "text"`
is an error where x is a version, so literals stand on the left; `x >= 5` is an error for anything but a number.
"""

MAX_EXPRESSION = 10 * 1024
"""Bytes; the API server's limit for one expression."""

MAX_LITERAL = 253
"""Characters; the longest name that Kubernetes has."""


def literal(text: str) -> str:
    """A CEL string literal that denotes exactly `text`. Raises ValueError for one that no name can be."""
    if len(text) > MAX_LITERAL:
        raise ValueError(f"a text of {len(text)} characters; want at most {MAX_LITERAL}")
    return '"' + "".join(map(_escaped, text)) + '"'


def at_least(driver: str, capacity: str, quantity: str) -> str:
    """The device publishes `capacity` under `driver`, and no less of it than `quantity` (canonical)."""
    found = _lookup("capacity", driver, capacity)
    return f"{_present('capacity', driver, capacity)} && {found}.compareTo(quantity({literal(quantity)})) >= 0"


def at_most(driver: str, capacity: str, quantity: str) -> str:
    """The device publishes `capacity` under `driver`, and no more of it than `quantity` (canonical)."""
    found = _lookup("capacity", driver, capacity)
    return f"{_present('capacity', driver, capacity)} && {found}.compareTo(quantity({literal(quantity)})) <= 0"


def lacks_capacity(driver: str, capacities: tuple[str, ...]) -> str:
    """The device does not publish all of `capacities`."""
    return " || ".join(f"!({_present('capacity', driver, capacity)})" for capacity in capacities)


def attribute_at_least(driver: str, attribute: str, least: int) -> str:
    """The device has the integer attribute, and it is no less than `least`."""
    found = _lookup("attributes", driver, attribute)
    # `type(…) == int` would be plainer; the API server refuses it, as it cannot tell what the comparison costs.
    return f"{_present('attributes', driver, attribute)} && type({found}) in [int] && {found} >= {least:d}"


def attribute_true(driver: str, attribute: str) -> str:
    """The device has the boolean attribute, and it is true."""
    return f"{_present('attributes', driver, attribute)} && true == {_lookup('attributes', driver, attribute)}"


def attribute_in(driver: str, attribute: str, values: tuple[str, ...]) -> str:
    """The device has the string attribute, and it is one of `values`."""
    found = _lookup("attributes", driver, attribute)
    # Not `in [...]`: of a literal list the scheduler makes a hash table, and a version is not hashable.
    accepted = " || ".join(f"{literal(value)} == {found}" for value in values)
    return f"{_present('attributes', driver, attribute)} && ({accepted})"


def attribute_not(driver: str, attribute: str, value: str) -> str:
    """The device has the string attribute, and it is not `value`."""
    found = _lookup("attributes", driver, attribute)
    return f"{_present('attributes', driver, attribute)} && {literal(value)} != {found}"


def attribute_unless(driver: str, attribute: str, value: str) -> str:
    """The device does not have the attribute, or it is not `value`."""
    found = _lookup("attributes", driver, attribute)
    return f"!({_present('attributes', driver, attribute)} && {literal(value)} == {found})"


def _present(table: str, driver: str, key: str) -> str:
    return f"{literal(driver)} in device.{table} && {literal(key)} in device.{table}[{literal(driver)}]"


def _lookup(table: str, driver: str, key: str) -> str:
    return f"device.{table}[{literal(driver)}][{literal(key)}]"


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    point = ord(character)
    if 0xD800 <= point <= 0xDFFF:
        raise ValueError("half of a surrogate pair, which is no character")
    if point < 0x20 or 0x7F <= point <= 0x9F or point in (0x2028, 0x2029):
        return f"\\u{point:04x}"
    return character
