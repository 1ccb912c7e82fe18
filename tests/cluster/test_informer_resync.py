"""The informer's periodic list, against the real API server."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from testbed.controlplane import ControlPlane
from testbed.injected_pods import injected_pod
from testbed.namespaces import Namespace
from testbed.paths import path as object_path
from testbed.waiting import wait_for
from webhook.cluster import client_config, informer
from webhook.cluster.api import Api
from webhook.cluster.api_errors import ApiError
from webhook.cluster.informer import Informer
from webhook.controller import object_metadata
from webhook.json_tree import JsonObject

pytestmark = pytest.mark.cluster


class RecordingApi(Api):
    """Counts lists, and can drop the events of watches."""

    lists = 0
    drop_events = False

    def list_objects(self, *args: object, **options: object) -> tuple[list[JsonObject], str]:
        self.lists += 1
        return super().list_objects(*args, **options)  # type: ignore[arg-type]

    def open_stream(self, path: str, query: dict[str, str], **options: object) -> object:  # type: ignore[override]
        # A watch from the present on misses what has happened meanwhile.
        dropped = {**query, "resourceVersion": "0", "labelSelector": "none=matches"} if self.drop_events else query
        return super().open_stream(path, dropped, **options)  # type: ignore[arg-type]


@pytest.fixture
def api(controlplane: ControlPlane) -> Iterator[RecordingApi]:
    api = RecordingApi(client_config.load_kubeconfig(str(controlplane.kubeconfig())), connections=2, user_agent="test")
    yield api
    api.close()


def test_an_event_that_is_missed_is_healed_by_the_next_list(
    api: RecordingApi, namespace: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Watches end several times before a list is due."""
    monkeypatch.setattr(informer, "WATCH_SECONDS", 2)
    monkeypatch.setattr(informer, "RESYNC_SECONDS", 6)
    stop = threading.Event()
    gone: list[str] = []
    errors: list[ApiError] = []
    pods = Informer(
        api,
        lambda: f"/api/v1/namespaces/{namespace.name}/pods",
        stop=stop,
        strip=object_metadata.strip,
        changed=lambda _: None,
        gone=lambda obj: gone.append(str(obj)),
        failed=errors.append,
    )
    namespace.create(injected_pod("deleted"))
    pods.start()
    try:
        wait_for("the pod is cached", lambda: pods.keys() == [f"{namespace.name}/deleted"])
        api.drop_events = True
        # The watch that is open now still has its events.
        wait_for("it is replaced", lambda: api.lists >= 2)
        namespace.api.delete(object_path("Pod", namespace.name, "deleted"))
        namespace.create(injected_pod("created"))
        wait_for("the cache is healed", lambda: pods.keys() == [f"{namespace.name}/created"])
        assert len(gone) == 1
        assert api.lists >= 3
        assert errors == []
    finally:
        stop.set()
        pods.stop()
