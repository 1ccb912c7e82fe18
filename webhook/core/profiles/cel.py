"""CEL expressions for device selectors. All external text enters CEL through `literal`.

Every lookup is guarded, the domain's too. In a selector an unknown key is an error, and an error on one device aborts
scheduling of the pod on all nodes (seen on 1.36). `a && b` absorbs an error of `b` if `a` is false.

Every type is guarded too, because a driver may publish an attribute of any type. `"text" == x` is false for an x of
another type, but `x == "text"` is an error if x is a version, so literals are on the left. `x >= 5` is an error for
anything but a number.
"""

MAX_EXPRESSION = 10 * 1024
"""Bytes; the API server's limit for one expression."""

MAX_LITERAL = 253
"""Characters; the longest name in Kubernetes."""


def literal(text: str) -> str:
    """A CEL string literal for `text`. Raises ValueError if it is too long or is not valid Unicode."""
    if len(text) > MAX_LITERAL:
        raise ValueError(f"a text of {len(text)} characters; want at most {MAX_LITERAL}")
    return '"' + "".join(map(_escape, text)) + '"'


def at_least(driver: str, capacity: str, quantity: str) -> str:
    """The device publishes at least `quantity` (canonical) of `capacity` under `driver`."""
    found = _lookup("capacity", driver, capacity)
    return f"{_present('capacity', driver, capacity)} && {found}.compareTo(quantity({literal(quantity)})) >= 0"


def at_most(driver: str, capacity: str, quantity: str) -> str:
    """The device publishes at most `quantity` (canonical) of `capacity` under `driver`."""
    found = _lookup("capacity", driver, capacity)
    return f"{_present('capacity', driver, capacity)} && {found}.compareTo(quantity({literal(quantity)})) <= 0"


def lacks_capacity(driver: str, capacities: tuple[str, ...]) -> str:
    """The device lacks at least one of `capacities`."""
    return " || ".join(f"!({_present('capacity', driver, capacity)})" for capacity in capacities)


def is_product_without(driver: str, capacity: str, attribute: str, products: tuple[str, ...]) -> str:
    """The device lacks `capacity`, and its `attribute` (qualified) is one of `products`."""
    domain, _, name = attribute.partition("/")
    return f"!({_present('capacity', driver, capacity)}) && {attribute_in(domain, name, products)}"


def attribute_at_least(driver: str, attribute: str, minimum: int) -> str:
    """The device has the integer attribute, and it is at least `minimum`."""
    found = _lookup("attributes", driver, attribute)
    # The API server rejects the plainer `type(…) == int`: it cannot estimate the cost of the comparison.
    return f"{_present('attributes', driver, attribute)} && type({found}) in [int] && {found} >= {minimum:d}"


def attribute_is_true(driver: str, attribute: str) -> str:
    """The device has the boolean attribute, and it is true."""
    return f"{_present('attributes', driver, attribute)} && true == {_lookup('attributes', driver, attribute)}"


def attribute_in(driver: str, attribute: str, values: tuple[str, ...]) -> str:
    """The device has the string attribute, and it is one of `values`."""
    found = _lookup("attributes", driver, attribute)
    # Not `in [...]`: the scheduler turns a literal list into a hash table, and a version is not hashable.
    accepted = " || ".join(f"{literal(value)} == {found}" for value in values)
    return f"{_present('attributes', driver, attribute)} && ({accepted})"


def attribute_is_not(driver: str, attribute: str, value: str) -> str:
    """The device has the string attribute, and it is not `value`."""
    found = _lookup("attributes", driver, attribute)
    return f"{_present('attributes', driver, attribute)} && {literal(value)} != {found}"


def attribute_absent_or_not(driver: str, attribute: str, value: str) -> str:
    """The device lacks the attribute, or it is not `value`."""
    found = _lookup("attributes", driver, attribute)
    return f"!({_present('attributes', driver, attribute)} && {literal(value)} == {found})"


def _present(table: str, driver: str, key: str) -> str:
    return f"{literal(driver)} in device.{table} && {literal(key)} in device.{table}[{literal(driver)}]"


def _lookup(table: str, driver: str, key: str) -> str:
    return f"device.{table}[{literal(driver)}][{literal(key)}]"


def _escape(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    point = ord(character)
    if 0xD800 <= point <= 0xDFFF:
        raise ValueError("half of a surrogate pair, which is not a character")
    if point < 0x20 or 0x7F <= point <= 0x9F or point in (0x2028, 0x2029):
        return f"\\u{point:04x}"
    return character
