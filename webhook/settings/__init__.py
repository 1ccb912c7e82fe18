"""The configuration: one YAML file for the webhook, the controller and the CLI, and `MODELFIT_*` overrides.

The name of a setting is camelCase in the file and MODELFIT_UPPER_SNAKE in the environment, where the value is parsed as
YAML. Unknown settings and invalid values are reported together, and stop the start. The docstring under each setting
documents its meaning, unit and default; docs/configuration.md is generated from it.
"""

from webhook.settings.groups import CertificatesSettings, ProfileSettings, SystemMemorySettings
from webhook.settings.load import PREFIX, load
from webhook.settings.schema import Settings

__all__ = ["PREFIX", "CertificatesSettings", "ProfileSettings", "Settings", "SystemMemorySettings", "load"]
