"""docs/configuration.md, from the settings' own docstrings: there is one text for each setting."""

from pathlib import Path

from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo

from webhook.settings import PREFIX, CertificatesSettings, ProfileSettings, Settings, SystemMemorySettings

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"

_HEAD = """\
# Configuration

One YAML file, the same for the webhook, the controller and the CLI (`--config FILE`); without it every setting has its
default. An environment variable overrides the file; its value is read as YAML. Unknown or wrong settings stop the
start, all of them named at once; whether the lives under `certificates` fit together, the controller says after that.

<!-- Written by `python -m tests.docs` from webhook/settings. -->
"""

_PROFILE = """
## A profile of your own

Under `profiles`, by name:

```yaml
profile: acme
profiles:
  acme:
    driver: gpu.acme.example
    deviceClasses: [gpu.acme.example]
    selectors:
    - '"gpu.acme.example" in device.attributes && "ecc" in device.attributes["gpu.acme.example"]
      && device.attributes["gpu.acme.example"]["ecc"]'
```

In a selector an unknown key is an error that stops the pod's scheduling on every node, so each look-up needs its guard.
Names and lengths are checked at the start; whether the CEL compiles, only an API server knows:

```sh
echo '{"vram_gb": 8}' | modelfit convert --config config.yaml --profile acme | kubectl create --dry-run=server -f -
```
"""

_SYSTEM_MEMORY = "\n## System memory\n\nUnder `systemMemory`:\n"

_CERTIFICATES = (
    "\n## The webhook's certificate\n\nUnder `certificates`; [what it does](operations.md#the-certificate):\n"
)


def render() -> str:
    """The whole page."""
    settings = "".join(_section(name, field, env=True) for name, field in Settings.model_fields.items())
    profile = "".join(_section(name, field, env=False) for name, field in ProfileSettings.model_fields.items())
    memory = "".join(_section(name, field, env=False) for name, field in SystemMemorySettings.model_fields.items())
    own = "".join(_section(name, field, env=False) for name, field in CertificatesSettings.model_fields.items())
    return f"{_HEAD}\n## Settings\n{settings}{_PROFILE}{profile}{_SYSTEM_MEMORY}{memory}{_CERTIFICATES}{own}"


def _section(name: str, field: FieldInfo, env: bool) -> str:
    variable = f" (`{PREFIX}{name.upper()}`)" if env else ""
    text = " ".join((field.description or "").split())
    return f"\n**`{to_camel(name)}`**{variable}: {text}\n"
