"""Tests of the product on a real control plane; `testbed` has the means, `tests/vendors` the devices.

Mark each test `pytest.mark.cluster`. `make controlplane` builds the binaries once, or KUBEBUILDER_ASSETS names a folder
with etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kubectl. Without them marked tests are skipped,
and fail if CI is set.

Fixtures (`conftest.py`)
    controlplane        ControlPlane with Kubernetes' defaults, shared by all tests of a session (with xdist: a worker).
                        Do not stop its API server.
    make_controlplane   make_controlplane(Options(...)) -> ControlPlane, removed after the test. Costs 4 s and 500 MB:
                        only for tests that need other options or stop the API server.
    inventory           Inventory of `controlplane`: empty at first, removed after the test.
    namespace           a new Namespace on `controlplane`, deleted after the test with its pods and claims.
    programs            programs(Process) starts it, and kills it after the test; `testbed.programs` creates processes.
    server              WebhookServer: `modelfit serve` over TLS, healthy, not registered.
    webhook             `server`, registered at `controlplane` with failurePolicy Fail, in effect.
"""
