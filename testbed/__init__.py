"""The test bed: a real control plane on loopback, simulated hardware, and the product as processes.

Belongs here: starting and stopping processes, writing and reading Kubernetes objects, load and failure injection.
Never here: an imitation of an API server, or imports of the product or its tests (an import contract checks that).

Control plane
    `controlplane`      ControlPlane: etcd, kube-apiserver, kube-controller-manager, kube-scheduler
    `servers`           their flags, and Options: feature gates, API versions, users, further flags
    `identities`        users, service accounts, tokens, kubeconfigs; `rbac` grants permissions
    `assets`, `build`   the binaries: KUBEBUILDER_ASSETS, or what `make controlplane` has built in .assets
Processes
    `processes`         Process: start, stop, kill, restart, wait_url, output, memory, cpu
    `die_with_parent`   the kernel kills a process when the test process ends
    `workspace`         the temporary folder of a test process; removes what killed test processes left behind
    `failure_logs`      copies the logs of a failed test to .logs/<test>/
    `programs`          `modelfit …` and `modelfit serve` as processes; `controllers`: `modelfit controller` with the
                        permissions that the chart grants
    `ports`, `background`, `waiting`    free ports, threads beside a test, wait_for and consistently
API and objects
    `api`, `kubectl`    the API client of the tests, and the real kubectl; `paths`: URL paths by kind
    `namespaces`        Namespace: one per test, with its pods, claims and Events
    `pods`, `claims`    manifests of pods, workloads and claims; `injected_pods`: pods as the webhook leaves them
Hardware
    `inventory`         Inventory: Nodes, ResourceSlices and DeviceClasses, removed after the test
    `nodes`, `devices`  Ready Nodes without a kubelet; devices as a DRA driver publishes them
    `node`              a node that runs pods as local processes: kubelet, volumes, Service network
Webhooks and certificates
    `webhooks`          registers webhooks and waits until the API server calls them
    `stub_webhook`      another party's webhook that answers as a test decides
    `service`           several webhook replicas behind one Service
    `certified`         the Secret and configurations of a managed certificate; `certificates`: the tests' own
Load and failures
    `review_clients`    AdmissionReviews over pooled and over idle connections
    `pod_load`          pods created at a fixed rate; `latency`: percentiles
    `tcp_proxy`         a connection to the API server that a test can break
Metrics
    `metrics`, `promql` samples of a /metrics page; alert expressions evaluated over scraped pages

All processes end with the test process, whatever ends it.
"""
