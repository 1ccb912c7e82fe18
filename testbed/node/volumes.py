"""A pod's volumes as folders: ConfigMaps, Secrets and its annotations, swapped atomically as a kubelet does."""

from __future__ import annotations

import base64
import itertools
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from testbed.api import Api, JsonObject
from testbed.paths import path


class SourceMissingError(Exception):
    """The source of a volume does not exist yet, so the pod waits."""


class Volume:
    """A volume of a pod with these annotations. The files in `folder` are links into `..data`, which is a link, too."""

    def __init__(
        self, api: Api, namespace: str, volume: JsonObject, folder: Path, annotations: Mapping[str, str] | None = None
    ) -> None:
        self._api, self._namespace, self._volume, self.folder = api, namespace, volume, folder
        self._annotations = annotations or {}
        self._files: dict[str, bytes] | None = None
        self._numbers = itertools.count()
        folder.mkdir(parents=True)

    def refresh(self) -> None:
        """Mounts or updates the volume. Raises SourceMissingError."""
        files = self._source_files()
        if files == self._files:
            return
        data = self.folder / f"..{next(self._numbers)}"
        data.mkdir()
        for name, content in files.items():
            (data / name).write_bytes(content)
        moving, current = self.folder / "..new", self.folder / "..data"
        old = current.readlink() if current.is_symlink() else None
        moving.symlink_to(data.name)
        os.replace(moving, current)
        for name in files:
            link = self.folder / name
            if not link.is_symlink():
                link.symlink_to(f"..data/{name}")
        if old is not None:
            shutil.rmtree(self.folder / old)
        self._files = files

    def _source_files(self) -> dict[str, bytes]:
        if "downwardAPI" in self._volume:
            return {item["path"]: self._field(item["fieldRef"]) for item in self._volume["downwardAPI"]["items"]}
        if "configMap" in self._volume:
            source = self._volume["configMap"]
            found = self._api.find(path("ConfigMap", self._namespace, source["name"]))
            data = {key: text.encode() for key, text in ((found or {}).get("data") or {}).items()}
        elif "secret" in self._volume:
            source = self._volume["secret"]
            found = self._api.find(path("Secret", self._namespace, source["secretName"]))
            data = {key: base64.b64decode(text) for key, text in ((found or {}).get("data") or {}).items()}
        else:
            raise AssertionError(f"unsupported volume {', '.join(self._volume)}")
        if found is None:
            raise SourceMissingError(self._volume["name"])
        items = source.get("items") or [{"key": key, "path": key} for key in data]
        missing = [item["key"] for item in items if item["key"] not in data]
        if missing:
            raise SourceMissingError(f"{self._volume['name']} has no {', '.join(missing)}")
        return {item["path"]: data[item["key"]] for item in items}

    def _field(self, reference: JsonObject) -> bytes:
        key = re.fullmatch(r"metadata\.annotations\['(.+)'\]", reference["fieldPath"])
        assert key, f"unsupported field {reference['fieldPath']}"
        return self._annotations.get(key[1], "").encode()
