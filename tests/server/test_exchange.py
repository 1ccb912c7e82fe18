"""A request as a WSGI call, and the answer's bytes."""

from collections.abc import Callable, Iterable
from typing import Any

from gunicorn.config import Config
from gunicorn.http.parser import RequestParser

from webhook.server import wsgi


def parsed(data: bytes) -> Any:
    """gunicorn's request."""
    return next(RequestParser(Config(), iter([data]), ("127.0.0.1", 1)))


def environ(data: bytes) -> dict[str, Any]:
    base = wsgi.base_environ(("10.0.0.1", 8443), ("10.0.0.2", 50000), multiprocess=False)
    return wsgi.environ(parsed(data), base)


def test_the_environment_is_pep_3333s() -> None:
    members = environ(
        b"POST /a%20b/%C3%A4?timeout=10s&x=%20 HTTP/1.1\r\nHost: x:1\r\nContent-Type: application/json\r\n"
        b"Content-Length: 4\r\nX-Two: a\r\nX-Two: b\r\n\r\nbody"
    )
    assert members.pop("wsgi.input").read() == b"body"
    assert members.pop("wsgi.errors").write
    assert members == {
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


def test_what_one_request_says_is_not_said_by_the_next() -> None:
    base = wsgi.base_environ(("10.0.0.1", 8443), ("10.0.0.2", 50000), multiprocess=False)
    first = wsgi.environ(parsed(b"GET / HTTP/1.1\r\nHost: x\r\nX-One: 1\r\n\r\n"), base)
    second = wsgi.environ(parsed(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"), base)
    assert "HTTP_X_ONE" in first
    assert "HTTP_X_ONE" not in second


def answered(status: str, headers: list[tuple[str, str]], body: Iterable[bytes], method: str = "GET") -> list[bytes]:
    """The lines of an answer, but for its date."""

    def application(members: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
        start_response(status, headers)
        return body

    data = wsgi.answer(application, {"REQUEST_METHOD": method}, closes=False)
    return [line for line in data.split(b"\r\n") if not line.startswith(b"Date: ")]


def test_the_length_is_that_of_the_whole_body() -> None:
    head = [b"HTTP/1.1 200 OK", b"Connection: keep-alive", b"X: y"]
    expected = [*head, b"Content-Length: 4", b"", b"abcd"]
    assert answered("200 OK", [("X", "y")], iter([b"ab", b"", b"cd"])) == expected
    assert answered("200 OK", [("X", "y"), ("content-length", "999")], [b"abcd"]) == expected


def test_the_answer_to_head_has_the_length_and_no_body() -> None:
    assert answered("200 OK", [("Content-Length", "4")], [b"abcd"], "HEAD")[2:] == [b"Content-Length: 4", b"", b""]


def test_an_answer_without_content_has_no_length() -> None:
    assert answered("204 NO CONTENT", [], [b""])[2:] == [b"", b""]


def test_the_body_is_closed_after_use() -> None:
    class Body(list[bytes]):
        closed = False

        def close(self) -> None:
            self.closed = True

    body = Body([b"x"])
    answered("200 OK", [], body)
    assert body.closed


def test_the_date_is_that_of_the_answer() -> None:
    data = wsgi.encode("200 OK", [], b"", closes=True)
    assert data.startswith(b"HTTP/1.1 200 OK\r\nDate: ")
    assert b" GMT\r\nConnection: close\r\n" in data
