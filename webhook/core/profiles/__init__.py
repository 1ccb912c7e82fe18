"""Device profiles: the words in which a vendor's DRA driver describes its devices.

A profile is data. The built-in ones are taken from the drivers' own charts and sources; operators add theirs in the
configuration, in the same terms.
"""

from webhook.core.profiles.builtin import BUILTIN
from webhook.core.profiles.profile import Profile

__all__ = ["BUILTIN", "Profile"]
