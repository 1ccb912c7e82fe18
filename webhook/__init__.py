"""modelfit: turns a ModelFit annotation into a ResourceClaim for a GPU that holds the model.

`core` decides and performs no I/O. `server`, `controller` and `cli` call it. Only `cluster` imports the Kubernetes
client; `observe` has logs and metrics; `settings` loads the configuration. `.importlinter` enforces these rules.
"""
