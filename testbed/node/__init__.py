"""A node that runs pods as local processes, so that what a chart installs runs on a control plane without machines.

It does what a kubelet and a kube-proxy do, as far as the chart's pods ask for it: mounts ConfigMaps, Secrets and
annotations and keeps them up to date, starts each container's own arguments, probes, ends pods in order, and leads
calls for a Service to a ready pod. It replaces in what is shipped only what a process cannot have: paths (a mount is a
folder somewhere), the address to listen on (each pod has one of 127.0.0.0/8), and the account's token (a kubeconfig).

    kubelet ─► pod ─► volumes, probes        kubelet.Kubelet(plane, node, namespaces)
    network                                  network.ServiceProxy: how the API server reaches Services
"""
