"""Lists in pages, from a server that pages as the API server does."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
from kubernetes.client import Configuration

from webhook.cluster.api import PAGE, PAGE_BYTES, Api, JsonObject
from webhook.cluster.client_config import ClientConfig

MEGABYTE = 1 << 20


class Lists:
    """Has objects with annotations of these sizes; `limits` are the pages' that were asked for."""

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
        about = {"resourceVersion": "7"} | ({"continue": str(end)} if end < len(self.sizes) else {})
        return json.dumps({"metadata": about, "items": items}).encode()


@pytest.fixture
def listed() -> Iterator[Callable[[Lists], tuple[list[JsonObject], str]]]:
    """Lists what a server has."""
    servers: list[ThreadingHTTPServer] = []

    def read(lists: Lists) -> tuple[list[JsonObject], str]:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                data = lists.page(parse_qs(urlsplit(self.path).query))
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                try:
                    self.wfile.write(data)
                except OSError:
                    # It had enough.
                    self.close_connection = True

            def log_message(self, *about: object) -> None: ...

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.block_on_close = False
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        configuration = Configuration()
        configuration.host = f"http://127.0.0.1:{server.server_port}"
        client = Api(ClientConfig(configuration, lambda _: None, "default"), connections=1, user_agent="test")
        try:
            return client.metadata("/api/v1/pods", {"labelSelector": "a=b"}, trim)
        finally:
            client.close()

    yield read
    for server in servers:
        server.shutdown()
        server.server_close()


def trim(obj: JsonObject) -> None:
    metadata = obj["metadata"]
    assert isinstance(metadata, dict)
    metadata.pop("annotations")


def names(count: int) -> list[JsonObject]:
    return [{"metadata": {"name": f"p{number}"}} for number in range(count)]


def test_ordinary_objects_come_in_pages_of_the_usual_size(
    listed: Callable[[Lists], tuple[list[JsonObject], str]],
) -> None:
    lists = Lists([2000] * (2 * PAGE + 1))
    assert listed(lists) == (names(2 * PAGE + 1), "7")
    assert lists.limits == [PAGE] * 3


def test_large_ones_come_in_small_pages_and_none_twice(listed: Callable[[Lists], tuple[list[JsonObject], str]]) -> None:
    sizes = [100] * 700 + [MEGABYTE // 2] * 60 + [100] * 2000
    lists = Lists(sizes)
    assert listed(lists)[0] == names(len(sizes))
    assert min(lists.limits) * MEGABYTE // 2 <= PAGE_BYTES
    # Behind them the pages are large again.
    assert lists.limits[-1] > PAGE // 4
    assert len(lists.limits) < 40


def test_one_object_that_is_larger_than_a_page_is_read_all_the_same(
    listed: Callable[[Lists], tuple[list[JsonObject], str]],
) -> None:
    assert listed(Lists([10, PAGE_BYTES + 1, 10]))[0] == names(3)
