"""The Helm chart, tested as code: rendered by the real helm over a matrix of values, and installed on a real control
plane.

Belongs here: whatever is said about `charts/modelfit`. Never here: knowledge of what the programs do, but for the
arguments, settings and metrics that the chart names.

    helm ─► rendering ─► test_*          every helm that is found; HELM names one
    node/, installing ─► test_on_a_cluster         the pods of a release, run as local processes
"""
