"""ResourceClaims: from a pod's annotations to a device request, and from there to a manifest.

Belongs here: device counts, alternatives, claim specs and names, API versions. A spec is built in the v1 shape; older
API versions are conversions of it.
Never here: what happens to the pod (see `admission`), reading a fit (see `fits`), the drivers' names (see `profiles`).

`adminAccess` is never set. A pod contributes nothing to a spec but amounts and the name of a configured profile, so a
forged annotation can only request what the core would build anyway.
"""

from webhook.core.claims import claim_names
from webhook.core.claims.api_versions import API_VERSIONS
from webhook.core.claims.claim_spec import build_spec
from webhook.core.claims.manifest import build_manifest
from webhook.core.claims.pod_claim import build_pod_claim

__all__ = ["API_VERSIONS", "build_manifest", "build_pod_claim", "build_spec", "claim_names"]
