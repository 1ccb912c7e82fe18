"""Stands in for `webhook.cluster.api.Api`, with scripted responses."""

import copy
from collections.abc import Callable, Mapping
from typing import cast

from webhook.cluster.api import Api
from webhook.cluster.api_errors import ApiError
from webhook.json_tree import JsonObject


class ScriptedApi:
    """Records the calls, and answers each with the next of `responses`: an object, or an error that is raised."""

    def __init__(self, *responses: JsonObject | ApiError) -> None:
        self.responses = list(responses)
        self.calls: list[tuple[str, str]] = []
        self.bodies: list[JsonObject] = []

    def call(self, method: str, path: str, *, body: JsonObject | None = None, **options: object) -> JsonObject:
        self.calls.append((method, path))
        self.bodies.append(body or {})
        response = self.responses.pop(0) if self.responses else {}
        if isinstance(response, ApiError):
            raise response
        return response

    def list_objects(
        self,
        path: str,
        query: Mapping[str, str],
        strip: Callable[[JsonObject], None] = lambda item: None,
        *,
        metadata_only: bool = True,
    ) -> tuple[list[JsonObject], str]:
        response = self.call("LIST", f"{path} {sorted(query.values())}")
        items = [copy.deepcopy(item) for item in cast(list[JsonObject], response.get("items", []))]
        for item in items:
            if metadata_only:
                item.pop("spec", None)
            strip(item)
        return items, "1"

    @property
    def api(self) -> Api:
        return cast(Api, self)
