"""Tests of the Helm chart `charts/modelfit`: rendered by helm over a matrix of values and installed on a cluster.

These tests know only the arguments, settings and metrics of the programs that the chart names.

    helm ─► rendering ─► test_*                        every installed helm; $HELM names one
    testbed.node, installing ─► test_*_on_a_cluster    the pods of a release run as local processes
"""
