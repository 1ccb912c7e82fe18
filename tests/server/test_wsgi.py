"""The WSGI environment of a request, and the bytes of a response."""

from collections.abc import Callable, Iterable
from typing import Any

from gunicorn.config import Config
from gunicorn.http.parser import RequestParser

from webhook.server import wsgi

CONNECTION_ENVIRON = wsgi.build_connection_environ(("10.0.0.1", 8443), ("10.0.0.2", 50000), multiprocess=False)


def build_environ(data: bytes) -> dict[str, Any]:
    request = next(RequestParser(Config(), iter([data]), ("127.0.0.1", 1)))
    return wsgi.build_environ(request, CONNECTION_ENVIRON)


def test_the_environ_has_the_members_of_pep_3333() -> None:
    environ = build_environ(
        b"POST /a%20b/%C3%A4?timeout=10s&x=%20 HTTP/1.1\r\nHost: x:1\r\nContent-Type: application/json\r\n"
        b"Content-Length: 4\r\nX-Two: a\r\nX-Two: b\r\n\r\nbody"
    )
    assert environ.pop("wsgi.input").read() == b"body"
    assert environ.pop("wsgi.errors").write
    assert environ == {
        "REQUEST_METHOD": "POST",
        "SCRIPT_NAME": "",
        "PATH_INFO": "/a b/ä".encode().decode("latin-1"),
        "QUERY_STRING": "timeout=10s&x=%20",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "SERVER_NAME": "10.0.0.1",
        "SERVER_PORT": "8443",
        "REMOTE_ADDR": "10.0.0.2",
        "REMOTE_PORT": "50000",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": "4",
        "HTTP_HOST": "x:1",
        "HTTP_X_TWO": "a,b",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "https",
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        "wsgi.input_terminated": True,
    }


def test_headers_do_not_leak_into_the_next_request_of_a_connection() -> None:
    assert "HTTP_X_ONE" in build_environ(b"GET / HTTP/1.1\r\nHost: x\r\nX-One: 1\r\n\r\n")
    assert "HTTP_X_ONE" not in build_environ(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")


def call(status: str, headers: list[tuple[str, str]], body: Iterable[bytes], method: str = "GET") -> list[bytes]:
    """The lines of an application's response without the Date header."""

    def application(environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
        start_response(status, headers)
        return body

    data = wsgi.call(application, {"REQUEST_METHOD": method}, close=False)
    return [line for line in data.split(b"\r\n") if not line.startswith(b"Date: ")]


def test_content_length_is_the_length_of_the_whole_body() -> None:
    head = [b"HTTP/1.1 200 OK", b"Connection: keep-alive", b"X: y"]
    expected = [*head, b"Content-Length: 4", b"", b"abcd"]
    assert call("200 OK", [("X", "y")], iter([b"ab", b"", b"cd"])) == expected
    assert call("200 OK", [("X", "y"), ("content-length", "999")], [b"abcd"]) == expected


def test_a_response_to_head_has_a_length_and_no_body() -> None:
    assert call("200 OK", [("Content-Length", "4")], [b"abcd"], "HEAD")[2:] == [b"Content-Length: 4", b"", b""]


def test_a_204_has_no_content_length() -> None:
    assert call("204 NO CONTENT", [], [b""])[2:] == [b"", b""]


def test_the_body_iterable_is_closed() -> None:
    class Body(list[bytes]):
        closed = False

        def close(self) -> None:
            self.closed = True

    body = Body([b"x"])
    call("200 OK", [], body)
    assert body.closed


def test_a_response_has_a_date_and_announces_the_close() -> None:
    data = wsgi.serialize_response("200 OK", [], b"", close=True)
    assert data.startswith(b"HTTP/1.1 200 OK\r\nDate: ")
    assert b" GMT\r\nConnection: close\r\n" in data
