"""Everything at once, for minutes: `make soak MINUTES=n`, or MINUTES=n python -m tests.soak (2 and more).

On one control plane, two webhooks behind one address and two controllers that own their certificate work under load
(`load`) while they are disturbed (`disturbances`, `peers`); `run` puts it together, by a `plan` that says how much and
how often. What was counted is a `record`, which also says what of it should not be; `table` prints it.
"""
