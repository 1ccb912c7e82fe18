"""Every key that this project writes or reads on Kubernetes objects. The comments are the manual."""

DOMAIN = "llmfit.ai"

# Set by the user, on a pod.
MODEL_FIT = f"{DOMAIN}/model-fit"
"""ModelFit JSON, in any shape that llmfit prints, of at most 16,384 characters."""
CONTAINERS = f"{DOMAIN}/containers"
"""Comma-separated names of the containers (init containers too) that get the claim."""
PROFILE = f"{DOMAIN}/profile"
"""Device profile to use instead of the configured default."""
DEVICE_COUNT = f"{DOMAIN}/device-count"
"""How many devices share the model: `1` (default) to `32`, or `auto`: the counts in the fit's `supports_tp`."""
DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"
"""kubectl's own annotation; names the target container where `llmfit.ai/containers` is absent."""

# Set by the user, a label on a pod or on a namespace.
INJECT = f"{DOMAIN}/inject"
"""`disabled`: leave it alone."""
INJECT_DISABLED = "disabled"

# Set by the webhook, on a pod.
INJECTED = f"{DOMAIN}/injected"
"""Label `"true"`: what the controller watches."""
INJECTED_TRUE = "true"
CLAIM = f"{DOMAIN}/claim"
"""Annotation: the name of the pod's companion ResourceClaim."""
RESOURCES = f"{DOMAIN}/resources"
"""Annotation: the two quantities as JSON, `{"gpu.memory":"8Gi","memory":"12Gi"}`."""
INJECTED_INTO = f"{DOMAIN}/injected-into"
"""Annotation: the pod that all of this was written for, `models/llama`. On a copy it names the other pod."""
ALIAS = "modelfit"
"""The entry's name in `spec.resourceClaims` and in the containers' `resources.claims`."""

# Set by the controller, on a claim.
CLAIM_MODEL = f"{DOMAIN}/model"
CLAIM_MEMORY = f"{DOMAIN}/memory"
CLAIM_GPU_MEMORY = f"{DOMAIN}/gpu-memory"
"""Annotations: where the claim comes from. Provenance for people; nothing reads them back."""
MANAGED_BY = "app.kubernetes.io/managed-by"
"""Label with the value `modelfit`: the claims that the controller made."""
MANAGED_BY_US = "modelfit"

WEBHOOK_NAMES = f".{ALIAS}.{DOMAIN}"
"""How the names of our webhooks end, in the two webhook configurations: `mutate.modelfit.llmfit.ai`."""

MIRROR_POD = "kubernetes.io/config.mirror"
"""The kubelet's mark on the API copy of a static pod. Mirror pods may not name resource claims."""
