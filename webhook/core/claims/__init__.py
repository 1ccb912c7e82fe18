"""ResourceClaims, from a demand. One spec, in the v1 shape; older API versions are translations of it.

`adminAccess` is never set, and nothing that a pod says reaches the spec but amounts and the choice of a configured
profile: a forged annotation can only ask for what the core would build anyway.
"""

from webhook.core.claims import claim_names
from webhook.core.claims.api_versions import API_VERSIONS
from webhook.core.claims.companion import companion
from webhook.core.claims.manifest import manifest
from webhook.core.claims.spec import spec

__all__ = ["API_VERSIONS", "claim_names", "companion", "manifest", "spec"]
