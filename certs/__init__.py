"""Certificates that serve a webhook: minted, verified, rotated without a gap, kept in a store.

Belongs here: X.509 and the decision what happens to it next, as values, with the time as a parameter; the protocol
of a store, and the store that is a directory (`files`).
Never here: Kubernetes, HTTP, the webhook, logging, threads, sleeping, reading the clock.

    names ─► mint ─► pairs ◄─ pem         what a certificate is
                trust ─► verify           what is wrong with it at a given time
    policy, evidence, state ─► rotation   what happens next: plan(state, names, now, …) -> Step
    entries                               the state as the data of a kubernetes.io/tls Secret
    store ◄─ files, converge              read, plan, write; the loser of a race reads the winner's

`describe` puts a state into words.
"""
