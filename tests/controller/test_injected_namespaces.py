"""The namespaces whose pods the controller serves."""

import pytest

from tests.controller.scripted_api import ScriptedApi
from webhook.cluster.api_errors import ApiError, ErrorReason
from webhook.controller.injected_namespaces import CACHE_SECONDS, InjectedNamespacesLister
from webhook.core.admission.exemptions import InjectedNamespaces


def labelled(*names: str) -> dict[str, object]:
    return {"items": [{"metadata": {"name": name}} for name in names]}


def test_labelled_namespaces_are_listed_by_their_label_and_cached_for_a_short_time() -> None:
    now = [0.0]
    api = ScriptedApi(labelled("a"), labelled("b"))
    lister = InjectedNamespacesLister(api.api, InjectedNamespaces({"own"}, {"a", "b", "own"}), lambda: now[0])
    for _ in range(2):
        assert [lister.get().contains(name) for name in ("a", "b", "own", "other")] == [False, True, False, False]
        now[0] += CACHE_SECONDS / 2
    assert [lister.get().contains(name) for name in ("a", "b", "own", "other")] == [True, False, False, False]
    assert api.calls == [("LIST", "/api/v1/namespaces ['llmfit.ai/inject=disabled']")] * 2


def test_without_the_list_nothing_is_known_and_the_next_call_tries_again() -> None:
    api = ScriptedApi(ApiError(ErrorReason.FORBIDDEN, "no", 403), labelled())
    lister = InjectedNamespacesLister(api.api, InjectedNamespaces())
    with pytest.raises(ApiError):
        lister.get()
    assert lister.get().contains("a")
