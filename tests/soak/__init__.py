"""The soak test: load, restarts, rotations and hostile peers at once, for minutes.

`make soak MINUTES=n`, or `MINUTES=n python -m tests.soak` (at least 2). One control plane has two webhooks behind one
Service and two controllers that manage the webhooks' certificate.

`plan`              how much of everything, and how often
`load`              creates pods and waits for their claims
`disturbances`      restarts, kills, overload; `hostile_peers` connects to a webhook
`monitor`           memory, certificates and logs, seen from outside
`run`               puts it together
`result`            what was counted, and which requirements are violated; `table` prints it

Apart from it, `make soak-fairness PODS=n` measures whether one namespace delays the others (`fairness`).
"""
