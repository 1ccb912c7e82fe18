"""A node that runs pods as local processes, so that an installed chart runs without machines.

It does what a kubelet and a kube-proxy do for the chart's pods: mounts ConfigMaps, Secrets and annotations and updates
them, starts containers with their own arguments, probes them, terminates pods gracefully, and routes calls for a
Service to a ready pod. It changes only what a process cannot have: mount paths, the address to listen on (each pod has
one of 127.0.0.0/8), and the service account's token (a kubeconfig instead).

    kubelet ─► pod ─► volumes                Kubelet(plane, node, namespaces)
    network                                  ServiceProxy: how the API server reaches Services
"""
