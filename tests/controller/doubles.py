"""An API server's answers by script, in place of `webhook.cluster.api.Api`."""

from collections.abc import Mapping
from typing import cast

from webhook.cluster.api import Api, JsonObject
from webhook.cluster.api_errors import ApiError


class Script:
    """Records the calls, and answers each with the next of `answers`: an object, or a failure that is raised."""

    def __init__(self, *answers: JsonObject | ApiError) -> None:
        self.answers = list(answers)
        self.calls: list[tuple[str, str]] = []
        self.bodies: list[JsonObject] = []

    def call(self, method: str, path: str, *, body: JsonObject | None = None, **more: object) -> JsonObject:
        self.calls.append((method, path))
        self.bodies.append(body or {})
        answer = self.answers.pop(0) if self.answers else {}
        if isinstance(answer, ApiError):
            raise answer
        return answer

    def metadata(self, path: str, query: Mapping[str, str], *trim: object) -> tuple[list[JsonObject], str]:
        self.calls.append(("LIST", f"{path} {sorted(query.values())}"))
        answer = self.answers.pop(0) if self.answers else {}
        if isinstance(answer, ApiError):
            raise answer
        return cast(list[JsonObject], answer.get("items", [])), "1"

    @property
    def api(self) -> Api:
        return cast(Api, self)
