"""The caBundle is written webhook by webhook, by name, and only ours."""

import pytest

from tests.controller.objects import FOREIGN, MUTATING, OURS, VALIDATING, Objects
from webhook.cluster.api_errors import ApiError, ErrorReason
from webhook.cluster.webhook_configurations import Trust, WebhookConfiguration


@pytest.fixture
def objects() -> Objects:
    made = Objects()
    for path in OURS:
        made.make_configuration(path)
    return made


@pytest.fixture
def validating(objects: Objects) -> WebhookConfiguration:
    return objects.configurations()[1]


def read(configuration: WebhookConfiguration) -> Trust:
    found = configuration.read()
    assert found is not None
    return found


def test_each_webhook_of_ours_gets_the_bundle_and_no_other_one(
    objects: Objects, validating: WebhookConfiguration
) -> None:
    after = validating.publish(read(validating), b"bundle")
    assert after == read(validating)
    assert after.bundles == dict.fromkeys(OURS[VALIDATING], b"bundle")
    assert FOREIGN not in objects.bundles()
    assert not any(read(objects.configurations()[0]).bundles.values())


def test_only_the_webhook_that_has_another_one_is_written(objects: Objects, validating: WebhookConfiguration) -> None:
    validating.publish(read(validating), b"bundle")
    assert read(validating).without(b"bundle") == []
    del objects.there[VALIDATING]["webhooks"][2]["clientConfig"]["caBundle"]
    seen = read(validating)
    assert seen.without(b"bundle") == ["two.modelfit.llmfit.ai"]
    validating.publish(seen, b"bundle")
    assert [each["name"] for each in objects.bodies[-1]["webhooks"]] == ["two.modelfit.llmfit.ai"]


def test_what_changed_since_it_was_read_is_not_written_over(objects: Objects, validating: WebhookConfiguration) -> None:
    old = read(validating)
    objects.write_bundle(VALIDATING, b"newer")
    with pytest.raises(ApiError) as told:
        validating.publish(old, b"older")
    assert told.value.reason is ErrorReason.CONFLICT
    assert objects.bundles()["validate.modelfit.llmfit.ai"] == b"newer"


def test_one_that_is_not_there_is_none(objects: Objects, validating: WebhookConfiguration) -> None:
    del objects.there[VALIDATING]
    assert validating.read() is None


@pytest.mark.parametrize(
    "webhooks",
    [None, [], [None], [{}], [{"name": FOREIGN, "clientConfig": {}}]],
    ids=["null", "none", "a null", "without a name", "others"],
)
def test_one_without_a_webhook_of_ours_has_nothing_to_write(
    objects: Objects, validating: WebhookConfiguration, webhooks: object
) -> None:
    objects.put(VALIDATING, {"metadata": {}, "webhooks": webhooks})
    assert read(validating).bundles == {}
    assert read(validating).without(b"bundle") == []


@pytest.mark.parametrize("client", [None, {}, {"caBundle": None}, {"caBundle": ""}, {"caBundle": "a"}])
def test_no_bundle_is_an_empty_one(objects: Objects, client: object) -> None:
    name = "mutate.modelfit.llmfit.ai"
    objects.put(MUTATING, {"metadata": {}, "webhooks": [{"name": name, "clientConfig": client}]})
    assert read(objects.configurations()[0]).bundles == {name: b""}


def test_it_is_called_by_its_kind(objects: Objects) -> None:
    assert [str(each) for each in objects.configurations()] == [
        "MutatingWebhookConfiguration ours",
        "ValidatingWebhookConfiguration ours",
    ]
