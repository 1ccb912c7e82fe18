import textwrap
from pathlib import Path

import pytest

from webhook import settings
from webhook.errors import InvalidSettings
from webhook.settings import Settings


class ConfigFile:
    """Loads text as the configuration file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self, text: str, **environ: str) -> Settings:
        self.path.write_text(textwrap.dedent(text), "utf-8")
        return settings.load(self.path, environ)

    def errors(self, text: str, **environ: str) -> list[str]:
        """The lines of the error, with FILE for the path."""
        with pytest.raises(InvalidSettings) as invalid:
            self.load(text, **environ)
        return str(invalid.value).replace(str(self.path), "FILE").splitlines()


@pytest.fixture
def config_file(tmp_path: Path) -> ConfigFile:
    return ConfigFile(tmp_path / "config.yaml")
