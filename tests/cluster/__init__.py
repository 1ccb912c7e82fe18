"""The test bed: a real control plane on loopback, hardware to allocate, and the program under test as processes.

Belongs here: starting and ending processes, writing and reading Kubernetes objects, and the tests that need a real API
server. Never here: an imitation of an API server, or knowledge of how the product does what it does.

Mark every test that needs it `pytest.mark.cluster`. `make controlplane` builds the binaries once (`build.py`), or
KUBEBUILDER_ASSETS names a folder with etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kubectl. With
neither, marked tests are skipped, and fail if CI is set. Import with relative imports: `from .pods import pod`.

Fixtures (`conftest.py`)
    controlplane        ControlPlane, one a session, Kubernetes' defaults. Not for stopping the API server.
    make_controlplane   f(Options(...)) -> ControlPlane: further ones (4 s, 500 MB each), gone after the test.
    inventory           Inventory on `controlplane`: empty at first, taken away after the test.
    namespace           Namespace on `controlplane`: fresh; afterwards deleted, with its pods and claims gone.
    programs            f(Process) -> Process: starts it, kills it after the test. `programs.modelfit` makes them.
    server              WebhookServer: `modelfit serve` over TLS, healthy, not registered.
    webhook             WebhookServer, registered at `controlplane` (Fail), in effect.

ControlPlane (`controlplane.py`), a context manager, also outside pytest
    .server .ca .logs, .etcd .apiserver .controller_manager .scheduler (each a Process)
    .api(user) .kubeconfig(user, server=) .token(user) .kubectl(*args, input=, user=) -> Result(stdout, stderr,
    returncode; .ok() .warnings) .stop_apiserver(kill=) .start_apiserver(runtime_config=) .metric(name, **labels)
    .metrics() .memory()
    Users: "admin"; "system:serviceaccount:NS:NAME" (a real one, made on demand); those of Options.users.
Options (`servers.py`)  feature_gates, runtime_config, users, apiserver_flags, controller_manager_flags, scheduler_flags
Api (`api.py`)          get find list post put patch delete delete_if_exists create send; ApiError(status, reason,
                        message), UnreachableError; `send` gives Answer(status, body, warnings) whatever the outcome
path (`paths.py`)       path("Pod", namespace, name, "status", api_version=) -> URL path
Namespace               .name .api .create(manifest, dryRun="All") .path(kind, name) .pod(name) .pods() .claims()
                        .events(name=, reason=) .wait_bound(name) .wait_claims(n) .set_phase(name, phase)
                        .delete_pod(name) .finish_deletions()
Inventory               .install("nvidia", …) .install(DeviceClass) .node(*devices, cpu=, memory=, pods=) -> name
                        .withdraw(node, driver) .clear(); devices: `drivers.nvidia.gpu("gpu-0", "40Gi")`, …
Manifests               pods.pod, deployment, stateful_set, job, cron_job; claims.claim, request, at_least, allocated
Waiting                 waiting.wait_for(what, look, enough, timeout=) -> seen; stays(what, look, enough, seconds=)
Permissions             rbac.grant(api, user, rules, name=)
Webhooks                webhooks.registered(plane, url, ca, failure_policy=, mutate=, validate=): in effect inside the
                        `with`; webhooks.calls(plane, name) counts; foreign.StubWebhook(decide), allow, refuse with
                        webhooks.registered_for_pods: another party's webhook
Processes               Process.start stop kill restart wait wait_url check output memory pid running
Certificates            certified.Installation(plane): Secret and configurations as the chart makes them, .settings()
                        for the controller; certified.Replica: a webhook with the Secret mounted; reviewers.ReviewClients:
                        reviews by pooled clients that trust today's caBundle; volumes.Volume: a mount
                        service.served(plane): several replicas behind one address, which the API server calls;
                        idlers.KeepAliveClients: reviews now and then over connections that are kept
A cut line              relay.TCPProxy(port).url for kubeconfig(server=): freeze (silence), thaw, cut (close)

Nothing outlives the tests: every process is killed by the kernel when the test process ends (`tether.py`), and the next
test process removes what folders and grandchildren a killed one left (`workspace.py`). A failed test's logs are copied
to `.logs/<test>/`, and its report says so.
"""
