"""Every key that this project reads or writes on Kubernetes objects, with its meaning."""

DOMAIN = "llmfit.ai"

# Set by the user on a pod.
MODEL_FIT = f"{DOMAIN}/model-fit"
"""ModelFit JSON in any shape that llmfit prints, at most 16,384 bytes."""
CONTAINERS = f"{DOMAIN}/containers"
"""Comma-separated names of the containers (including init containers) that get the claim."""
PROFILE = f"{DOMAIN}/profile"
"""The device profile to use instead of the configured default."""
DEVICE_COUNT = f"{DOMAIN}/device-count"
"""How many devices share the model: `1` (default) to `32`, or `auto`: the counts in the fit's `supports_tp`."""
DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"
"""kubectl's annotation; names the target container if `llmfit.ai/containers` is absent."""

# Set by the user as a label on a pod or a namespace.
INJECT = f"{DOMAIN}/inject"
"""`disabled` exempts the pod, or all pods of the namespace."""
INJECT_DISABLED = "disabled"

# Set by the webhook on a pod.
INJECTED = f"{DOMAIN}/injected"
"""Label `"true"`: the controller watches the pods that have it."""
INJECTED_TRUE = "true"
CLAIM = f"{DOMAIN}/claim"
"""Annotation: the name of the pod's ResourceClaim."""
RESOURCES = f"{DOMAIN}/resources"
"""Annotation: the two quantities as JSON, `{"gpu.memory":"8Gi","memory":"12Gi"}`."""
INJECTED_INTO = f"{DOMAIN}/injected-into"
"""Annotation: the pod that the injection was made for, `models/llama`. On a copy it names the original."""
ALIAS = "modelfit"
"""The name of the entry in `spec.resourceClaims`, which the containers' `resources.claims` reference."""

# Set by the controller on a claim.
CLAIM_MODEL = f"{DOMAIN}/model"
CLAIM_MEMORY = f"{DOMAIN}/memory"
CLAIM_GPU_MEMORY = f"{DOMAIN}/gpu-memory"
"""Annotations: what the claim was computed from, for people; no program reads them."""
MANAGED_BY = "app.kubernetes.io/managed-by"
"""Label with the value `modelfit`: the claims that the controller created."""
MANAGED_BY_US = "modelfit"

WEBHOOK_NAME_SUFFIX = f".{ALIAS}.{DOMAIN}"
"""Suffix of the names of our webhooks in the two webhook configurations: `mutate.modelfit.llmfit.ai`."""

MIRROR_POD = "kubernetes.io/config.mirror"
"""Set by the kubelet on the mirror pod of a static pod. Mirror pods cannot reference resource claims."""
