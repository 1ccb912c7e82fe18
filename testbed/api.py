"""A small API client for tests: JSON in, JSON out, with the warnings of every response.

Not the official client: tests must not observe the cluster through the library that the product uses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlencode

import urllib3

from testbed.paths import path
from testbed.waiting import RetryableError

JsonObject: TypeAlias = dict[str, Any]
"""A Kubernetes object. The one `Any` of the test bed: tests reach deep into objects of any kind."""

MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


class ApiError(RetryableError):
    """An error response. `status` is the HTTP code; `reason` and `message` come from its Status object."""

    def __init__(self, method: str, url: str, answer: Answer) -> None:
        self.answer = answer
        self.status = answer.status
        self.reason = str(answer.body.get("reason", ""))
        self.message = str(answer.body.get("message", answer.body))
        super().__init__(f"{method} {url}: {self.status} {self.reason}: {self.message}")


class UnreachableError(RetryableError):
    """The API server did not answer."""


@dataclass(frozen=True)
class Answer:
    """A response: HTTP status, decoded body (`{"text": …}` if it is not a JSON object), `Warning` headers."""

    status: int
    body: JsonObject
    warnings: tuple[str, ...]


class Api:
    """Calls the API server at `server` with `token` (None: anonymous). Thread-safe."""

    def __init__(self, server: str, ca: Path, token: str | None, *, connections: int = 32) -> None:
        self.server = server
        self._headers = {"Accept": "application/json", "User-Agent": "modelfit-tests"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"
        self._pool = urllib3.PoolManager(
            maxsize=connections, ca_certs=str(ca), retries=False, timeout=urllib3.Timeout(connect=5, read=60)
        )

    def close(self) -> None:
        self._pool.clear()

    def send(
        self,
        method: str,
        url: str,
        body: object = None,
        *,
        content_type: str = "application/json",
        query: Mapping[str, str] | None = None,
    ) -> Answer:
        """One call, whatever its status. Raises UnreachableError. `url` is a path; see `paths.path`."""
        try:
            response = self._pool.request(
                method,
                self.server + url + ("?" + urlencode(query) if query else ""),
                body=None if body is None else json.dumps(body).encode(),
                headers={**self._headers, "Content-Type": content_type},
            )
        except urllib3.exceptions.HTTPError as problem:
            raise UnreachableError(f"{method} {url}: {problem}") from problem
        return Answer(response.status, _decoded(response.data), _warnings(response.headers))

    def _checked(
        self,
        method: str,
        url: str,
        body: object = None,
        *,
        content_type: str = "application/json",
        query: Mapping[str, str] | None = None,
    ) -> JsonObject:
        answer = self.send(method, url, body, content_type=content_type, query=query)
        if answer.status >= 400:
            raise ApiError(method, url, answer)
        return answer.body

    def get(self, url: str, **query: str) -> JsonObject:
        """The object. Raises ApiError (404 if it does not exist), as all the methods below do."""
        return self._checked("GET", url, query=query)

    def find(self, url: str) -> JsonObject | None:
        """The object, or None if it does not exist."""
        answer = self.send("GET", url)
        if answer.status == 404:
            return None
        if answer.status >= 400:
            raise ApiError("GET", url, answer)
        return answer.body

    def list(self, url: str, **query: str) -> list[JsonObject]:
        """The items of a collection, e.g. `list(path("Pod"), labelSelector="app=web")`."""
        items = self._checked("GET", url, query=query).get("items")
        return list(items or [])

    def post(self, url: str, body: JsonObject, **query: str) -> JsonObject:
        return self._checked("POST", url, body, query=query)

    def put(self, url: str, body: JsonObject, **query: str) -> JsonObject:
        return self._checked("PUT", url, body, query=query)

    def patch(self, url: str, body: object, content_type: str = MERGE_PATCH, **query: str) -> JsonObject:
        return self._checked("PATCH", url, body, content_type=content_type, query=query)

    def delete(self, url: str, *, force: bool = False, **query: str) -> JsonObject:
        """`force`: no grace period, as `kubectl delete --force`: without a kubelet a bound pod ends no other way."""
        options: JsonObject = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
        if force:
            options["gracePeriodSeconds"] = 0
        return self._checked("DELETE", url, options, query=query)

    def delete_if_exists(self, url: str, *, force: bool = False) -> None:
        """Deletes the object if it exists."""
        try:
            self.delete(url, force=force)
        except ApiError as refusal:
            if refusal.status != 404:
                raise

    def create(self, manifest: JsonObject, namespace: str | None = None, **query: str) -> JsonObject:
        """Creates an object from its manifest with `apiVersion` and `kind`; `dryRun="All"` for a dry run."""
        return self.post(collection_of(manifest, namespace), manifest, **query)


def collection_of(manifest: JsonObject, namespace: str | None = None) -> str:
    """The URL path of a manifest's collection. `namespace` applies if the manifest has none."""
    where = manifest["metadata"].get("namespace", namespace)
    return path(manifest["kind"], where, api_version=manifest["apiVersion"])


def _decoded(data: bytes) -> JsonObject:
    try:
        body = json.loads(data)
    except ValueError:
        body = None
    return body if isinstance(body, dict) else {"text": data.decode(errors="replace")}


def _warnings(headers: urllib3.HTTPHeaderDict) -> tuple[str, ...]:
    """The texts of `Warning: 299 - "text"` headers (RFC 7234 section 5.5), unescaped."""
    found = (re.fullmatch(r'299 \S+ "((?:[^"\\]|\\.)*)".*', line) for line in headers.getlist("Warning"))
    return tuple(re.sub(r"\\(.)", r"\1", match[1]) for match in found if match)
