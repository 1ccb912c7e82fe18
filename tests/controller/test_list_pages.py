"""Paginated lists, from a server that paginates as the API server does."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
from kubernetes.client import Configuration

from webhook.cluster.api import MAX_PAGE, MAX_PAGE_BYTES, Api
from webhook.cluster.client_config import ClientConfig
from webhook.json_tree import JsonObject

MEGABYTE = 1 << 20


class Collection:
    """Objects with annotations of these sizes; `limits` are those of the requested pages."""

    def __init__(self, sizes: list[int]) -> None:
        self.sizes = sizes
        self.limits: list[int] = []

    def page(self, query: dict[str, list[str]]) -> bytes:
        start, limit = int(query.get("continue", ["0"])[0]), int(query["limit"][0])
        self.limits.append(limit)
        end = min(start + limit, len(self.sizes))
        items = [
            {"metadata": {"name": f"p{number}", "annotations": {"a": "x" * self.sizes[number]}}}
            for number in range(start, end)
        ]
        metadata = {"resourceVersion": "7"} | ({"continue": str(end)} if end < len(self.sizes) else {})
        return json.dumps({"metadata": metadata, "items": items}).encode()


ListAll = Callable[[Collection], tuple[list[JsonObject], str]]


@pytest.fixture
def list_all() -> Iterator[ListAll]:
    """Lists a collection from a server of its own."""
    servers: list[ThreadingHTTPServer] = []

    def read(collection: Collection) -> tuple[list[JsonObject], str]:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                data = collection.page(parse_qs(urlsplit(self.path).query))
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                try:
                    self.wfile.write(data)
                except OSError:
                    # The client closed the connection: the page is too large.
                    self.close_connection = True

            def log_message(self, *args: object) -> None: ...

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.block_on_close = False
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        configuration = Configuration()
        configuration.host = f"http://127.0.0.1:{server.server_port}"
        client = Api(ClientConfig(configuration, lambda _: None, "default"), connections=1, user_agent="test")
        try:
            return client.list_objects("/api/v1/pods", {"labelSelector": "a=b"}, strip)
        finally:
            client.close()

    yield read
    for server in servers:
        server.shutdown()
        server.server_close()


def strip(obj: JsonObject) -> None:
    metadata = obj["metadata"]
    assert isinstance(metadata, dict)
    metadata.pop("annotations")


def names(count: int) -> list[JsonObject]:
    return [{"metadata": {"name": f"p{number}"}} for number in range(count)]


def test_ordinary_objects_are_read_in_pages_of_the_maximum_size(
    list_all: ListAll,
) -> None:
    collection = Collection([2000] * (2 * MAX_PAGE + 1))
    assert list_all(collection) == (names(2 * MAX_PAGE + 1), "7")
    assert collection.limits == [MAX_PAGE] * 3


def test_large_objects_are_read_in_small_pages_each_once(list_all: ListAll) -> None:
    sizes = [100] * 700 + [MEGABYTE // 2] * 60 + [100] * 2000
    collection = Collection(sizes)
    assert list_all(collection)[0] == names(len(sizes))
    assert min(collection.limits) * MEGABYTE // 2 <= MAX_PAGE_BYTES
    # The pages after them are large again.
    assert collection.limits[-1] > MAX_PAGE // 4
    assert len(collection.limits) < 40


def test_an_object_that_is_larger_than_a_page_is_read(
    list_all: ListAll,
) -> None:
    assert list_all(Collection([10, MAX_PAGE_BYTES + 1, 10]))[0] == names(3)
