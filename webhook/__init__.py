"""modelfit: a ModelFit annotation becomes a ResourceClaim for a GPU that holds the model.

`core` decides and is pure. `server`, `controller` and `cli` are thin shells over it; `cluster` is the only
importer of the Kubernetes client, `observe` holds logs and metrics. The import rules between them are
contracts in `.importlinter`, not promises.
"""
