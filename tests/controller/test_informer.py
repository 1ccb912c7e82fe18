"""The informer's own part: what it does when lists and watches fail, on answers by script."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import cast

import pytest

from webhook.cluster.api import Api, JsonObject
from webhook.cluster.api_errors import ApiError, ErrorReason
from webhook.cluster.informer import SILENCE_SECONDS, WATCH_SECONDS, Informer


def pod(name: str, version: int = 1) -> JsonObject:
    return {"metadata": {"namespace": "models", "name": name, "resourceVersion": str(version)}, "spec": {"big": True}}


class Stream:
    """A watch's answer: these events, and then its end."""

    status = 200

    def __init__(self, *events: tuple[str, JsonObject]) -> None:
        self.lines = [json.dumps({"type": kind, "object": obj}).encode() + b"\n" for kind, obj in events]

    def stream(self, **more: object) -> Iterator[bytes]:
        # In pieces that end anywhere.
        data = b"".join(self.lines)
        yield from (data[start : start + 7] for start in range(0, len(data), 7))

    def close(self) -> None: ...

    def release_conn(self) -> None: ...


class Server:
    """Answers lists and watches from two scripts; when one is at its end, the last answer is repeated."""

    def __init__(self, lists: list[list[JsonObject] | ApiError], watches: list[Stream | ApiError]) -> None:
        self.lists, self.watches = lists, watches
        self.listed = 0
        self.asked: list[dict[str, str]] = []

    def metadata(
        self, path: str, query: dict[str, str], trim: Callable[[JsonObject], None]
    ) -> tuple[list[JsonObject], str]:
        answer = self.lists[min(self.listed, len(self.lists) - 1)]
        self.listed += 1
        if isinstance(answer, ApiError):
            raise answer
        for item in answer:
            trim(item)
        return answer, str(self.listed * 100)

    def open(self, path: str, query: dict[str, str], *, accept: str, read_seconds: float) -> Stream:
        assert read_seconds == SILENCE_SECONDS > WATCH_SECONDS == int(query["timeoutSeconds"])
        answer = self.watches[min(len(self.asked), len(self.watches) - 1)]
        self.asked.append(query)
        if isinstance(answer, ApiError):
            raise answer
        return answer


class Run:
    """An informer at work, and what it reported."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.changed: list[str] = []
        self.gone: list[str] = []
        self.failures: list[ErrorReason] = []
        self.stop = threading.Event()
        self.informer = Informer(
            cast(Api, server),
            lambda: "/api/v1/pods",
            stop=self.stop,
            trim=without_spec,
            changed=lambda obj: self.changed.append(name(obj)),
            gone=lambda obj: self.gone.append(name(obj)),
            failed=lambda failure: self.failures.append(failure.reason),
            selectors={"labelSelector": "a=b"},
        )
        self.informer.start()

    def until(self, true: Callable[[], object]) -> None:
        deadline = time.monotonic() + 20
        while not true():
            assert time.monotonic() < deadline, (self.changed, self.gone, self.failures, self.server.asked)
            time.sleep(0.005)


def without_spec(obj: JsonObject) -> None:
    obj.pop("spec", None)


def name(obj: JsonObject) -> str:
    return cast(dict[str, str], obj["metadata"])["name"]


@pytest.fixture
def run() -> Iterator[Callable[[Server], Run]]:
    runs: list[Run] = []

    def start(server: Server) -> Run:
        runs.append(Run(server))
        return runs[-1]

    yield start
    for each in runs:
        each.stop.set()
        each.informer.stop()


def expired() -> tuple[str, JsonObject]:
    return "ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}


def test_it_lists_and_then_follows_the_watch(run: Callable[[Server], Run]) -> None:
    events = [("ADDED", pod("b", 101)), ("MODIFIED", pod("a", 102)), ("DELETED", pod("b", 103))]
    it = run(Server([[pod("a")]], [Stream(*events), Stream()]))
    it.until(lambda: len(it.server.asked) >= 2)
    assert it.informer.synced.is_set()
    assert (it.changed, it.gone) == (["a", "b", "a"], ["b"])
    assert it.informer.keys() == ["models/a"]
    assert it.informer.get("models/a") == {"metadata": {"namespace": "models", "name": "a", "resourceVersion": "102"}}
    # It goes on where it was: nothing is missed, and nothing listed again.
    assert [query["resourceVersion"] for query in it.server.asked[:2]] == ["100", "103"]
    assert it.server.asked[0]["labelSelector"] == "a=b"
    assert it.server.listed == 1


def test_a_bookmark_moves_it_on(run: Callable[[Server], Run]) -> None:
    bookmark: tuple[str, JsonObject] = ("BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": "150"}})
    it = run(Server([[]], [Stream(bookmark), Stream()]))
    it.until(lambda: len(it.server.asked) >= 2)
    assert it.server.asked[1]["resourceVersion"] == "150"


@pytest.mark.parametrize(
    "end", [Stream(expired()), ApiError(ErrorReason.EXPIRED, "too old", 410)], ids=["in the watch", "when it is opened"]
)
def test_when_its_version_is_too_old_it_lists_again_and_tells_what_went_away(
    end: Stream | ApiError, run: Callable[[Server], Run]
) -> None:
    # The client's Watch tries once more by itself before it says so.
    it = run(Server([[pod("a"), pod("b")], [pod("b"), pod("c")]], [end, end, Stream()]))
    it.until(lambda: "c" in it.changed)
    assert it.gone == ["a"]
    assert sorted(it.informer.keys()) == ["models/b", "models/c"]


def test_a_list_that_fails_is_tried_again_and_until_then_it_is_not_synced(run: Callable[[Server], Run]) -> None:
    down = ApiError(ErrorReason.UNREACHABLE, "down")
    it = run(Server([down, down, [pod("a")]], [Stream()]))
    assert not it.informer.synced.is_set()
    it.until(it.informer.synced.is_set)
    assert it.server.listed == 3
    assert it.informer.keys() == ["models/a"]


def test_a_list_that_is_forbidden_is_told_about(run: Callable[[Server], Run]) -> None:
    it = run(Server([ApiError(ErrorReason.FORBIDDEN, "pods is forbidden", 403)], [Stream()]))
    it.until(lambda: ErrorReason.FORBIDDEN in it.failures)
    assert not it.informer.synced.is_set()


@pytest.mark.parametrize(
    "trouble", [ApiError(ErrorReason.UNREACHABLE, "down"), Stream()], ids=["cannot be opened", "ends at once"]
)
def test_a_watch_that_keeps_failing_is_not_opened_in_a_hot_loop(
    trouble: ApiError | Stream, run: Callable[[Server], Run]
) -> None:
    it = run(Server([[]], [trouble]))
    time.sleep(1.5)
    # 0.1, 0.2, 0.4, 0.8 seconds, half of each at least; a hot loop makes thousands.
    assert 2 <= len(it.server.asked) <= 8


def test_a_handler_that_fails_is_in_the_log_and_does_not_end_it(
    run: Callable[[Server], Run], caplog: pytest.LogCaptureFixture
) -> None:
    it = run(Server([[]], [Stream(("ADDED", {"metadata": {}}), ("ADDED", pod("a", 101))), Stream()]))
    it.until(lambda: it.changed == ["a"])
    assert it.informer.alive
    (record,) = [record for record in caplog.records if record.name.startswith("modelfit")]
    assert record.exc_info


def test_stopping_it_does_not_wait_for_its_pause(run: Callable[[Server], Run]) -> None:
    it = run(Server([[]], [ApiError(ErrorReason.UNREACHABLE, "down")]))
    it.until(lambda: len(it.server.asked) >= 4)
    it.stop.set()
    it.informer.stop()
    assert not it.informer.alive
