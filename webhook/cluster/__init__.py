"""The way to a cluster: the only importer of the Kubernetes client.

Belongs here: how to reach and authenticate to an API server, one call, one watch, one lease, which API version is
served, and what a failure means. Never here: what the calls are for.

Objects are plain JSON both ways. The client's typed models drop fields that they don't know and cost ten times the
work of the call itself, so they are not used; its configuration loaders, informer, election protocol and retry helpers
are, and each module says which gap of theirs it closes.
"""
