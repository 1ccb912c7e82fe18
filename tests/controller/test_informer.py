"""The informer: lists, watches and their errors, with scripted responses."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import cast

import pytest

from webhook.backoff import Backoff
from webhook.cluster import informer
from webhook.cluster.api import Api
from webhook.cluster.api_errors import ApiError, ErrorReason
from webhook.cluster.informer import SILENCE_SECONDS, WATCH_SECONDS, Informer
from webhook.json_tree import JsonObject


def pod(name: str, version: int = 1) -> JsonObject:
    return {"metadata": {"namespace": "models", "name": name, "resourceVersion": str(version)}, "spec": {"big": True}}


class Stream:
    """The response to a watch: these events, then the end."""

    status = 200

    def __init__(self, *events: tuple[str, object]) -> None:
        self.lines = [json.dumps({"type": event_type, "object": obj}).encode() + b"\n" for event_type, obj in events]

    def stream(self, **options: object) -> Iterator[bytes]:
        # Chunks do not end at line ends.
        data = b"".join(self.lines)
        yield from (data[start : start + 7] for start in range(0, len(data), 7))

    def close(self) -> None: ...

    def release_conn(self) -> None: ...


class ScriptedServer:
    """Answers lists and watches with scripted responses, and repeats the last one."""

    def __init__(self, lists: list[list[JsonObject] | ApiError], watches: list[Stream | ApiError]) -> None:
        self.lists, self.watches = lists, watches
        self.listed = 0
        self.watch_queries: list[dict[str, str]] = []

    def list_objects(
        self, path: str, query: dict[str, str], strip: Callable[[JsonObject], None], *, metadata_only: bool
    ) -> tuple[list[JsonObject], str]:
        response = self.lists[min(self.listed, len(self.lists) - 1)]
        self.listed += 1
        if isinstance(response, ApiError):
            raise response
        for item in response:
            strip(item)
        return response, str(self.listed * 100)

    def open_stream(self, path: str, query: dict[str, str], *, accept: str, read_seconds: float) -> Stream:
        assert read_seconds == SILENCE_SECONDS > WATCH_SECONDS >= int(query["timeoutSeconds"])
        response = self.watches[min(len(self.watch_queries), len(self.watches) - 1)]
        self.watch_queries.append(query)
        if isinstance(response, ApiError):
            raise response
        return response


class RunningInformer:
    """A started informer and what it reported."""

    def __init__(self, server: ScriptedServer) -> None:
        self.server = server
        self.changed: list[str] = []
        self.gone: list[str] = []
        self.gone_but_cached: list[str] = []
        self.errors: list[ErrorReason] = []
        self.stop = threading.Event()
        self.informer = Informer(
            cast(Api, server),
            lambda: "/api/v1/pods",
            stop=self.stop,
            strip=strip_spec,
            changed=self.on_changed,
            gone=self.on_gone,
            failed=lambda error: self.errors.append(error.reason),
            selectors={"labelSelector": "a=b"},
        )
        self.informer.start()

    def on_changed(self, obj: JsonObject) -> None:
        if name(obj) == "a bug":
            raise ZeroDivisionError
        self.changed.append(name(obj))

    def on_gone(self, obj: JsonObject) -> None:
        self.gone.append(name(obj))
        if self.informer.get(f"models/{name(obj)}") is not None:
            self.gone_but_cached.append(name(obj))

    def wait_for(self, condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + 20
        while not condition():
            assert time.monotonic() < deadline, (self.changed, self.gone, self.errors, self.server.watch_queries)
            time.sleep(0.005)


def strip_spec(obj: JsonObject) -> None:
    obj.pop("spec", None)


def name(obj: JsonObject) -> str:
    return cast(dict[str, str], obj["metadata"])["name"]


RunInformer = Callable[[ScriptedServer], RunningInformer]


@pytest.fixture
def run() -> Iterator[RunInformer]:
    runs: list[RunningInformer] = []

    def start(server: ScriptedServer) -> RunningInformer:
        runs.append(RunningInformer(server))
        return runs[-1]

    yield start
    for each in runs:
        each.stop.set()
        each.informer.stop()


def expired() -> tuple[str, JsonObject]:
    return "ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}


def test_a_list_is_followed_by_a_watch(run: RunInformer) -> None:
    events = [("ADDED", pod("b", 101)), ("MODIFIED", pod("a", 102)), ("DELETED", pod("b", 103))]
    running = run(ScriptedServer([[pod("a")]], [Stream(*events), Stream()]))
    running.wait_for(lambda: len(running.server.watch_queries) >= 2)
    assert running.informer.synced.is_set()
    assert (running.changed, running.gone) == (["a", "b", "a"], ["b"])
    assert running.informer.keys() == ["models/a"]
    assert running.informer.get("models/a") == {
        "metadata": {"namespace": "models", "name": "a", "resourceVersion": "102"}
    }
    # The next watch starts where the first ended, without another list.
    assert [query["resourceVersion"] for query in running.server.watch_queries[:2]] == ["100", "103"]
    assert running.server.watch_queries[0]["labelSelector"] == "a=b"
    assert running.server.watch_queries[0]["timeoutSeconds"] == str(WATCH_SECONDS)
    assert running.server.listed == 1


def test_a_bookmark_advances_the_resource_version(run: RunInformer) -> None:
    bookmark: tuple[str, JsonObject] = ("BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": "150"}})
    running = run(ScriptedServer([[]], [Stream(bookmark), Stream()]))
    running.wait_for(lambda: len(running.server.watch_queries) >= 2)
    assert running.server.watch_queries[1]["resourceVersion"] == "150"


@pytest.mark.parametrize(
    "end", [Stream(expired()), ApiError(ErrorReason.EXPIRED, "too old", 410)], ids=["in the watch", "when it is opened"]
)
def test_an_expired_resource_version_causes_a_list_that_reports_deleted_objects(
    end: Stream | ApiError, run: RunInformer
) -> None:
    # The client's Watch retries once before it raises.
    running = run(ScriptedServer([[pod("a"), pod("b")], [pod("b"), pod("c")]], [end, end, Stream()]))
    running.wait_for(lambda: "c" in running.changed)
    assert running.gone == ["a"]
    # The handler of a deleted object does not find it any more.
    assert running.gone_but_cached == []
    assert sorted(running.informer.keys()) == ["models/b", "models/c"]


def test_a_failed_list_is_retried_and_until_then_it_is_not_synced(
    run: RunInformer,
) -> None:
    down = ApiError(ErrorReason.UNREACHABLE, "down")
    running = run(ScriptedServer([down, down, [pod("a")]], [Stream()]))
    assert not running.informer.synced.is_set()
    running.wait_for(running.informer.synced.is_set)
    assert running.server.listed == 3
    assert running.errors == []
    assert running.informer.keys() == ["models/a"]


def test_a_forbidden_list_is_reported(run: RunInformer) -> None:
    running = run(ScriptedServer([ApiError(ErrorReason.FORBIDDEN, "pods is forbidden", 403)], [Stream()]))
    running.wait_for(lambda: ErrorReason.FORBIDDEN in running.errors)
    assert not running.informer.synced.is_set()


@pytest.mark.parametrize(
    "outcome", [ApiError(ErrorReason.UNREACHABLE, "down"), Stream()], ids=["cannot be opened", "ends at once"]
)
def test_a_failing_watch_is_not_reopened_in_a_hot_loop(outcome: ApiError | Stream, run: RunInformer) -> None:
    running = run(ScriptedServer([[]], [outcome]))
    time.sleep(1.5)
    # Delays of 0.1, 0.2, 0.4, 0.8 seconds, or half of each; a hot loop makes thousands.
    assert 2 <= len(running.server.watch_queries) <= 8


def test_a_failed_handler_is_logged_and_does_not_stop_the_informer(
    run: RunInformer, caplog: pytest.LogCaptureFixture
) -> None:
    running = run(ScriptedServer([[]], [Stream(("ADDED", pod("a bug")), ("ADDED", pod("a", 101))), Stream()]))
    running.wait_for(lambda: running.changed == ["a"])
    assert running.informer.alive
    (record,) = [record for record in caplog.records if record.name.startswith("modelfit")]
    assert record.exc_info


def test_stop_does_not_wait_for_the_back_off(run: RunInformer) -> None:
    running = run(ScriptedServer([[]], [ApiError(ErrorReason.UNREACHABLE, "down")]))
    running.wait_for(lambda: len(running.server.watch_queries) >= 4)
    running.stop.set()
    running.informer.stop()
    assert not running.informer.alive


def test_a_resync_heals_the_cache_after_missed_events(run: RunInformer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The watch reports neither that `a` is deleted nor that `b` is created."""
    monkeypatch.setattr(informer, "RESYNC_SECONDS", 2)
    # Several watches in each second.
    monkeypatch.setattr(informer, "BACKOFF", Backoff(first=0.1, maximum=0.1))
    running = run(ScriptedServer([[pod("a")], [pod("b")]], [Stream()]))
    # `b` is reconciled again with every list.
    running.wait_for(lambda: running.changed == ["a", "b", "b"])
    assert running.gone == ["a"]
    assert running.informer.keys() == ["models/b"]
    assert running.errors == []
    assert {query["timeoutSeconds"] for query in running.server.watch_queries} == {"1", "2"}


NONSENSE_EVENTS: list[object] = [
    None,
    [],
    "text",
    {},
    {"metadata": None},
    {"metadata": "text"},
    {"metadata": {}},
    {"metadata": {"name": ["a"], "resourceVersion": {}}},
    {"metadata": {"namespace": "models", "resourceVersion": None}},
]


@pytest.mark.parametrize("event_type", ["ADDED", "DELETED", "ERROR", "BOOKMARK"])
@pytest.mark.parametrize("obj", NONSENSE_EVENTS, ids=json.dumps)
def test_an_event_that_is_no_object_ends_the_watch_only(event_type: str, obj: object, run: RunInformer) -> None:
    running = run(ScriptedServer([[pod("a")]], [Stream((event_type, obj)), Stream(("ADDED", pod("b", 101))), Stream()]))
    running.wait_for(lambda: "b" in running.changed)
    assert running.informer.alive
    assert sorted(running.informer.keys()) == ["models/a", "models/b"]
    assert event_type == "BOOKMARK" or running.errors


@pytest.mark.parametrize(
    "line",
    [b"null", b"[]", b"{}", b"\xff", b"[" * 100_000, b'{"type": []}', b'{"type": "ERROR", "object": {"code": "x"}}'],
)
def test_a_line_that_is_no_event_ends_the_watch_only(line: bytes, run: RunInformer) -> None:
    broken = Stream()
    broken.lines = [line + b"\n"]
    running = run(ScriptedServer([[pod("a")]], [broken, Stream(("ADDED", pod("b", 101))), Stream()]))
    running.wait_for(lambda: "b" in running.changed)
    assert running.errors


def test_a_resource_version_that_the_server_refuses_causes_a_list(run: RunInformer) -> None:
    """An event may have set it to anything."""
    refused = ApiError(ErrorReason.INVALID, 'resourceVersion: Invalid value: "{}"', 400)
    running = run(ScriptedServer([[pod("a")], [pod("b")]], [refused, Stream()]))
    running.wait_for(lambda: "b" in running.changed)
    assert running.gone == ["a"]
