"""Seeded faults: a list of single changes to the product, each of which the tests must catch.

`python -m tools.mutations [NAME …]` (or `make mutations`) applies them one by one to a copy of the tree and runs the
tests named beside each. It prints a line per fault, and exits 1 if one survives or no longer applies. The list guards
the tests: after a test is trimmed, it shows which fault is no longer caught. Add the fault that your test covers.
"""
