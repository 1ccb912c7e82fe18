"""A text as the configuration file."""

import textwrap
from pathlib import Path

import pytest

from webhook import settings
from webhook.errors import InvalidSettings
from webhook.settings import Settings


class Write:
    """Loads a text as the configuration file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self, text: str, **environ: str) -> Settings:
        self.path.write_text(textwrap.dedent(text), "utf-8")
        return settings.load(self.path, environ)

    def faults(self, text: str, **environ: str) -> list[str]:
        with pytest.raises(InvalidSettings) as invalid:
            self.load(text, **environ)
        return str(invalid.value).replace(str(self.path), "FILE").splitlines()
