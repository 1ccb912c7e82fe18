"""A pod's volumes as folders, swapped as a whole when they change, as a kubelet does it.

ConfigMaps, Secrets and the pod's own annotations."""

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
    """A volume cannot be mounted: what it is made of does not exist. The pod waits, as it does on a real node."""


class Volume:
    """One volume of a pod with these annotations, in `folder`; its files are links into `..data`, a link that moves."""

    def __init__(
        self, api: Api, namespace: str, volume: JsonObject, folder: Path, annotations: Mapping[str, str] | None = None
    ) -> None:
        self._api, self._namespace, self._volume, self.folder = api, namespace, volume, folder
        self._annotations = annotations or {}
        self._files: dict[str, bytes] | None = None
        self._numbers = itertools.count()
        folder.mkdir(parents=True)

    def refresh(self) -> None:
        """Mounts it, or brings it up to date. Raises SourceMissingError."""
        files = self._wanted()
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

    def _wanted(self) -> dict[str, bytes]:
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
            raise AssertionError(f"this node has no volumes of kind {', '.join(self._volume)}")
        if found is None:
            raise SourceMissingError(self._volume["name"])
        items = source.get("items") or [{"key": key, "path": key} for key in data]
        missing = [item["key"] for item in items if item["key"] not in data]
        if missing:
            raise SourceMissingError(f"{self._volume['name']} has no {', '.join(missing)}")
        return {item["path"]: data[item["key"]] for item in items}

    def _field(self, reference: JsonObject) -> bytes:
        key = re.fullmatch(r"metadata\.annotations\['(.+)'\]", reference["fieldPath"])
        assert key, f"this node knows no field {reference['fieldPath']}"
        return self._annotations.get(key[1], "").encode()
