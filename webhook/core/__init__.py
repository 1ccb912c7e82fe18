"""The decision, as values. The core performs no I/O and reads neither the clock nor randomness.

An annotated pod flows through the groups from top to bottom, as .importlinter enforces:

    admission         review → pod → plan → patch → response
    claims            annotations → device request → claim
    fits, profiles    fit → model requirements; the devices of a vendor's driver
"""
