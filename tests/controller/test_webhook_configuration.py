"""The caBundle is patched by webhook name, on modelfit's webhooks only."""

import pytest

from tests.controller.fake_api_server import FOREIGN, MUTATING, VALIDATING, WEBHOOKS, FakeApiServer
from webhook.cluster.api_errors import ApiError, ErrorReason
from webhook.cluster.webhook_configurations import CABundles, WebhookConfiguration


@pytest.fixture
def validating(server: FakeApiServer) -> WebhookConfiguration:
    return server.configurations()[1]


def read(configuration: WebhookConfiguration) -> CABundles:
    bundles = configuration.read()
    assert bundles is not None
    return bundles


def test_only_the_webhooks_of_modelfit_get_the_bundle(server: FakeApiServer, validating: WebhookConfiguration) -> None:
    after = validating.publish(read(validating), b"bundle")
    assert after == read(validating)
    assert after.by_webhook == dict.fromkeys(WEBHOOKS[VALIDATING], b"bundle")
    assert FOREIGN not in server.ca_bundles()
    assert not any(read(server.configurations()[0]).by_webhook.values())


def test_only_a_stale_webhook_is_patched(server: FakeApiServer, validating: WebhookConfiguration) -> None:
    validating.publish(read(validating), b"bundle")
    assert read(validating).stale(b"bundle") == []
    del server.objects[VALIDATING]["webhooks"][2]["clientConfig"]["caBundle"]
    current = read(validating)
    assert current.stale(b"bundle") == ["two.modelfit.llmfit.ai"]
    validating.publish(current, b"bundle")
    assert [each["name"] for each in server.bodies[-1]["webhooks"]] == ["two.modelfit.llmfit.ai"]


def test_a_configuration_that_has_changed_since_it_was_read_is_a_conflict(
    server: FakeApiServer, validating: WebhookConfiguration
) -> None:
    old = read(validating)
    server.overwrite(VALIDATING, b"newer")
    with pytest.raises(ApiError) as error:
        validating.publish(old, b"older")
    assert error.value.reason is ErrorReason.CONFLICT
    assert server.ca_bundles()["validate.modelfit.llmfit.ai"] == b"newer"


def test_a_missing_configuration_is_none(server: FakeApiServer, validating: WebhookConfiguration) -> None:
    del server.objects[VALIDATING]
    assert validating.read() is None


@pytest.mark.parametrize(
    "webhooks",
    [None, [], [None], [{}], [{"name": FOREIGN, "clientConfig": {}}]],
    ids=["null", "empty", "null webhook", "unnamed webhook", "foreign webhook"],
)
def test_a_configuration_without_a_webhook_of_modelfit_has_no_bundles(
    server: FakeApiServer, validating: WebhookConfiguration, webhooks: object
) -> None:
    server.put(VALIDATING, {"metadata": {}, "webhooks": webhooks})
    assert read(validating).by_webhook == {}


@pytest.mark.parametrize("client", [None, {}, {"caBundle": None}, {"caBundle": ""}, {"caBundle": "a"}])
def test_an_absent_or_invalid_bundle_is_empty(server: FakeApiServer, client: object) -> None:
    name = "mutate.modelfit.llmfit.ai"
    server.put(MUTATING, {"metadata": {}, "webhooks": [{"name": name, "clientConfig": client}]})
    assert read(server.configurations()[0]).by_webhook == {name: b""}


def test_its_text_is_kind_and_name(server: FakeApiServer) -> None:
    assert [str(each) for each in server.configurations()] == [
        "MutatingWebhookConfiguration ours",
        "ValidatingWebhookConfiguration ours",
    ]
