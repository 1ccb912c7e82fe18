"""Access to the cluster: the only package that imports the Kubernetes client.

Belongs here: reaching and authenticating to an API server, single calls, watches, the Lease, API discovery, and the
classification of errors. Never here: what the calls are for.

Objects are plain JSON. The client's typed models drop unknown fields and cost ten times the work of the call itself, so
they are not used. Its configuration loaders, informer and election protocol are used; each module lists its
changes to their defaults.
"""
