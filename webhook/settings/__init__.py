"""The configuration: one YAML file for the webhook, the controller and the CLI, and `MODELFIT_*` overrides.

A setting is spelled in camelCase in the file and as MODELFIT_UPPER_SNAKE in the environment, where the value is read
as YAML. Unknown or wrong settings stop the start, all of them named at once. The docstring under each setting is its
manual: meaning, unit, default.
"""

from webhook.settings.groups import CertificatesSettings, ProfileSettings, SystemMemorySettings
from webhook.settings.load import PREFIX, load
from webhook.settings.schema import Settings

__all__ = ["PREFIX", "CertificatesSettings", "ProfileSettings", "Settings", "SystemMemorySettings", "load"]
