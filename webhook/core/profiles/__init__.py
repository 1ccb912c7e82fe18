"""Device profiles: how a vendor's DRA driver describes its devices.

Belongs here: driver names, DeviceClasses, capacities and attributes, and the CEL that refers to them. A profile is
data; operators add their own in the settings.
Never here: amounts, device counts, claims.
"""

from webhook.core.profiles.builtin import BUILTIN
from webhook.core.profiles.profile import Profile

__all__ = ["BUILTIN", "Profile"]
