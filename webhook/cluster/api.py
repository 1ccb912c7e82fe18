"""Calls to the API server: JSON in, JSON out, ApiError on failure.

Changes to the client's defaults: calls have timeouts, are not silently repeated when the connection breaks, and the
connection pool has room for every worker.
"""
# mypy: disable-error-code="no-untyped-call"
# The client claims to be typed, but many of its functions have no annotations.

from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlencode

import urllib3
from kubernetes.client import ApiClient

from webhook.cluster import api_errors
from webhook.cluster.api_errors import ApiError, ErrorReason
from webhook.cluster.client_config import ClientConfig
from webhook.json_tree import JsonObject, get_text

CONNECT_SECONDS = 5.0
READ_SECONDS = 15.0
"""Timeouts of the connection and of each read of the response. A slow API server needs less for a write."""

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
"""Content types in which the API server omits everything but `metadata`."""

MAX_PAGE = 500
"""Objects in a page of a list: client-go's default."""
MAX_WHOLE_PAGE = 100
"""The same for whole objects, which are several times larger than their metadata."""
MAX_PAGE_BYTES = 4 << 20
"""A larger page is requested again with fewer objects. Ordinary metadata has 2 to 8 KB, but any user who may create an
object can make it 1 MB, and decoded it takes a multiple of that."""


class Api:
    """The API server of a ClientConfig, with a pool of `connections`. Thread-safe."""

    def __init__(self, config: ClientConfig, *, connections: int, user_agent: str) -> None:
        self._config = config
        configuration = config.configuration
        configuration.connection_pool_maxsize = connections
        # The caller decides on retries: by default urllib3 retries three times, without a delay.
        configuration.retries = False
        configuration.keep_alive = True
        self._client = ApiClient(configuration)
        self._host = configuration.host
        self._user_agent = user_agent

    def close(self) -> None:
        """Closes idle connections."""
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
        """The response's JSON object. Raises ApiError."""
        response = self._send(method, path, query, body, accept, content_type, read_seconds)
        return _decode(self._read(response), response.headers)

    def open_stream(
        self, path: str, query: Mapping[str, str], *, accept: str, read_seconds: float
    ) -> urllib3.HTTPResponse:
        """A response to be read incrementally (a watch), which times out after `read_seconds` without a byte. Raises
        ApiError."""
        return self._send("GET", path, query, None, accept, JSON, read_seconds)

    def list_objects(
        self,
        path: str,
        query: Mapping[str, str],
        strip: Callable[[JsonObject], None] = lambda item: None,
        *,
        metadata_only: bool = True,
    ) -> tuple[list[JsonObject], str]:
        """All objects of a collection, by default only their metadata, and the list's resource version.

        Reads in pages and calls `strip` on every object of a page before the next, so that neither side holds the
        whole list of a large cluster. Raises ApiError; ErrorReason.EXPIRED if reading took too long.
        """
        items: list[JsonObject] = []
        max_page = MAX_PAGE if metadata_only else MAX_WHOLE_PAGE
        page, limit = dict(query), max_page
        accept = METADATA_LIST if metadata_only else JSON
        while True:
            page_query = {**page, "limit": str(limit)}
            response = self._send("GET", path, page_query, None, accept, JSON, READ_SECONDS)
            data = self._read(response, MAX_PAGE_BYTES if limit > 1 else None)
            if len(data) > MAX_PAGE_BYTES and limit > 1:
                limit = max(1, limit // 4)
                continue
            document = _decode(data, response.headers)
            for item in _list_items(document, path):
                strip(item)
                items.append(item)
            previous, token = page.get("continue"), get_text(document, "metadata", "continue")
            if not token:
                return items, get_text(document, "metadata", "resourceVersion") or ""
            if token == previous:
                raise ApiError(ErrorReason.UNEXPECTED, f"GET {path}: a list that does not end")
            page["continue"] = token
            if len(data) < MAX_PAGE_BYTES // 4:
                limit = min(2 * limit, max_page)

    def _read(self, response: urllib3.HTTPResponse, max_bytes: int | None = None) -> bytes:
        """The response's body. A body of more than `max_bytes` is truncated and its connection closed. Raises
        ApiError."""
        try:
            if max_bytes is None:
                return response.data
            data = response.read(max_bytes + 1)
            if len(data) > max_bytes:
                response.close()
                response.release_conn()
            return data
        except Exception as error:
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
        """A successful response. After a 401 the credentials are read again and the call is repeated once."""
        # A continue token that is not Unicode, such as a lone surrogate, is replaced.
        url = self._host + path + ("?" + urlencode(query, errors="replace") if query else "")
        headers = {"Accept": accept, "Content-Type": content_type, "User-Agent": self._user_agent}
        for is_last_attempt in (False, True):
            authorization = self._authorization()
            all_headers = {**headers, "Authorization": authorization} if authorization else headers
            response = self._send_once(method, url, all_headers, body, read_seconds)
            if response.status < 300:
                return response
            try:
                error = api_errors.from_response(response.status, response.data, response.headers)
            except Exception as cause:
                error = api_errors.from_exception(cause, self._host)
            is_unauthorized = error.reason is ErrorReason.UNAUTHORIZED
            if is_last_attempt or not is_unauthorized or not self._renew(authorization):
                raise error
        raise AssertionError("unreachable")

    def _authorization(self) -> str | None:
        """The Authorization header. Raises ApiError if the credentials cannot be read."""
        try:
            return self._config.authorization()
        except Exception as error:
            raise ApiError(ErrorReason.UNAUTHORIZED, f"they cannot be read: {error}") from error

    def _renew(self, refused: str | None) -> bool:
        """Whether there are other credentials than the refused ones."""
        try:
            return self._config.renew(refused)
        except Exception:
            # The loaders do not wrap errors. The refusal is reported.
            return False

    def _send_once(
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
    """The URL path of a collection, an object or a subresource: `path("v1", "pods", "a", "web", "status")`.

    Names come from the API server or from validated settings, so they need no escaping.
    """
    parts: Sequence[str] = ["/apis" if "/" in api_version else "/api", api_version]
    parts = [*parts, "namespaces", namespace] if namespace else parts
    return "/".join([*parts, plural, *rest])


def _list_items(document: JsonObject, path: str) -> list[JsonObject]:
    """The objects of a list. An incomplete list is an error: what it lacks would count as deleted. Raises ApiError."""
    items = document.get("items", "absent")
    if items is None:
        # An empty list of Go.
        return []
    if not isinstance(document.get("metadata"), dict) or not isinstance(items, list):
        raise ApiError(ErrorReason.UNEXPECTED, f"GET {path}: not a list of objects")
    for item in items:
        if not get_text(item, "metadata", "name"):
            raise ApiError(ErrorReason.UNEXPECTED, f"GET {path}: a list with an object without a name")
    return items


def _decode(data: bytes, headers: Mapping[str, str]) -> JsonObject:
    document = api_errors.decode(data)
    if not isinstance(document, dict):
        message = f"not a JSON object: {api_errors.describe_body(data, headers)}"
        raise ApiError(ErrorReason.UNEXPECTED, message)
    return document
