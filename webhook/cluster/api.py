"""One call to the API server: JSON in, JSON out, Failure where it fails.

Closed here, of the client's defaults: it has no timeouts, silently repeats calls whose connection broke, and keeps
fewer connections than there are workers.
"""
# mypy: disable-error-code="no-untyped-call"
# The client announces types and leaves many out.

import json
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlencode

import urllib3
from kubernetes.client import ApiClient

from webhook.cluster import api_errors
from webhook.cluster.api_errors import ApiError, ErrorReason
from webhook.cluster.client_config import ClientConfig

JsonObject = dict[str, object]
"""A Kubernetes object as it is on the wire."""

CONNECT_SECONDS = 5.0
READ_SECONDS = 15.0
"""Seconds that a call waits for the connection, and then for each part of the answer. Longer than a slow API server
takes for a write, shorter than anybody wants to wait for a lost one."""

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
"""Content types in which the API server leaves everything but `metadata` away."""

PAGE = 500
"""Objects in a page of a list: client-go's figure."""
PAGE_BYTES = 4 << 20
"""A page that is larger is asked for again in parts. Ordinary metadata has 2 to 8 KB; anybody who may create an object
can make it a megabyte, and decoded it takes many times that."""


class Api:
    """The API server behind a Connection, with `connections` kept open. Safe to share between threads."""

    def __init__(self, connection: ClientConfig, *, connections: int, user_agent: str) -> None:
        self._connection = connection
        configuration = connection.configuration
        configuration.connection_pool_maxsize = connections
        # Whoever calls decides what to repeat: urllib3 would do so three times, unseen and without a pause.
        configuration.retries = False
        configuration.keep_alive = True
        self._client = ApiClient(configuration)
        self._host = configuration.host
        self._user_agent = user_agent

    def close(self) -> None:
        """Closes the idle connections."""
        self._client.close()

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: object = None,
        accept: str = JSON,
        content_type: str = JSON,
        read_seconds: float = READ_SECONDS,
    ) -> JsonObject:
        """The answer's JSON object. Raises Failure."""
        return _decoded(self._read(self._send(method, path, query, body, accept, content_type, read_seconds)))

    def open(self, path: str, query: Mapping[str, str], *, accept: str, read_seconds: float) -> urllib3.HTTPResponse:
        """An answer that is read bit by bit (a watch); `read_seconds` is how long it may be silent. Raises Failure."""
        return self._send("GET", path, query, None, accept, JSON, read_seconds)

    def metadata(
        self, path: str, query: Mapping[str, str], trim: Callable[[JsonObject], None] = lambda item: None
    ) -> tuple[list[JsonObject], str]:
        """All objects of a collection, only their metadata, and the list's resource version. Read in pages, and what is
        not needed is dropped by `trim` page by page, so that neither side holds a big cluster's whole list at once.
        Raises Failure, Kind.EXPIRED where reading took too long."""
        items: list[JsonObject] = []
        page, limit = dict(query), PAGE
        while True:
            asked = {**page, "limit": str(limit)}
            response = self._send("GET", path, asked, None, METADATA_LIST, JSON, READ_SECONDS)
            data = self._read(response, PAGE_BYTES if limit > 1 else None)
            if len(data) > PAGE_BYTES and limit > 1:
                limit = max(1, limit // 4)
                continue
            document = _decoded(data)
            found, about = document.get("items"), document.get("metadata")
            if not isinstance(about, dict):
                raise ApiError(ErrorReason.UNEXPECTED, f"GET {path}: a list without metadata")
            for item in found if isinstance(found, list) else []:
                trim(item)
                items.append(item)
            if not about.get("continue"):
                return items, str(about.get("resourceVersion", ""))
            page["continue"] = about["continue"]
            if len(data) < PAGE_BYTES // 4:
                limit = min(2 * limit, PAGE)

    def _read(self, response: urllib3.HTTPResponse, most: int | None = None) -> bytes:
        """The answer's body; the beginning of it, and the end of its connection, where it has more than `most` bytes.
        Raises Failure."""
        try:
            if most is None:
                return response.data
            data = response.read(most + 1)
            if len(data) > most:
                response.close()
                response.release_conn()
            return data
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise api_errors.from_exception(error, self._host) from error

    def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        body: object,
        accept: str,
        content_type: str,
        read_seconds: float,
    ) -> urllib3.HTTPResponse:
        url = self._host + path + ("?" + urlencode(query) if query else "")
        headers = {"Accept": accept, "Content-Type": content_type, "User-Agent": self._user_agent}
        for last in (False, True):
            authorization = self._connection.authorization()
            sent = {**headers, "Authorization": authorization} if authorization else headers
            response = self._once(method, url, sent, body, read_seconds)
            if response.status < 300:
                return response
            try:
                failure = api_errors.from_response(response.status, response.data, response.headers)
            except (urllib3.exceptions.HTTPError, OSError) as error:
                failure = api_errors.from_exception(error, self._host)
            if last or failure.reason is not ErrorReason.UNAUTHORIZED or not self._connection.renew(authorization):
                raise failure
        raise AssertionError("unreachable")

    def _once(
        self, method: str, url: str, headers: Mapping[str, str], body: object, read_seconds: float
    ) -> urllib3.HTTPResponse:
        timeouts = (CONNECT_SECONDS, read_seconds)
        try:
            answer = self._client.call_api(method, url, dict(headers), body, _request_timeout=timeouts)
        except Exception as error:
            raise api_errors.from_exception(error, self._host) from error
        response: urllib3.HTTPResponse = answer.response
        return response


def path(api_version: str, plural: str, namespace: str | None = None, *rest: str) -> str:
    """The URL path of a collection, of an object or of its subresource: `path("v1", "pods", "a", "web", "status")`.
    Names come from the API server and from validated settings, so nothing in them needs escaping."""
    parts: Sequence[str] = ["/apis" if "/" in api_version else "/api", api_version]
    parts = [*parts, "namespaces", namespace] if namespace else parts
    return "/".join([*parts, plural, *rest])


def _decoded(data: bytes) -> JsonObject:
    try:
        document = json.loads(data)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise ApiError(ErrorReason.UNEXPECTED, data[:512].decode(errors="replace"))
    return document
