"""Liveness, readiness and metrics."""

from prometheus_client.parser import text_string_to_metric_families
from werkzeug.test import Client

from tests.core import builders
from tests.server.conftest import MAX_BYTES
from webhook.core.admission_config import AdmissionConfig
from webhook.server.app import create_app


def test_healthz_answers_get_and_head(client: Client) -> None:
    assert client.get("/healthz").status_code == 200
    assert client.head("/healthz").status_code == 200


def test_a_draining_server_is_healthy_and_not_ready(client: Client) -> None:
    assert client.get("/readyz").status_code == 200
    client = Client(create_app(AdmissionConfig(), MAX_BYTES, lambda: False))
    assert client.get("/readyz").status_code == 503
    assert client.get("/healthz").status_code == 200


def read_samples(client: Client) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """The values of all samples, by name and labels."""
    answer = client.get("/metrics")
    assert answer.content_type.startswith("text/plain; version=0.0.4")
    return {
        (each.name, frozenset(each.labels.items())): each.value
        for family in text_string_to_metric_families(answer.text)
        for each in family.samples
    }


def post_and_diff(client: Client, path: str, body: object) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """The increase of each counter that a request increases."""
    before = read_samples(client)
    client.post(path, json=body)
    return {
        key: value - before.get(key, 0)
        for key, value in read_samples(client).items()
        if key[0].startswith("modelfit") and value != before.get(key, 0) and not key[0].endswith(("_sum", "_bucket"))
    }


def sample(name: str, **labels: str) -> tuple[str, frozenset[tuple[str, str]]]:
    return name, frozenset(labels.items())


def test_a_review_is_counted_by_operation_outcome_and_reason(client: Client) -> None:
    reviews, seconds = "modelfit_admission_reviews_total", "modelfit_admission_duration_seconds_count"
    assert post_and_diff(client, "/mutate", builders.body(builders.pod())) == {
        sample(reviews, webhook="mutate", operation="CREATE", outcome="allowed", reason="Injected"): 1,
        sample(seconds, webhook="mutate"): 1,
    }
    assert post_and_diff(client, "/validate", builders.body(builders.pod("x"))) == {
        sample(reviews, webhook="validate", operation="CREATE", outcome="denied", reason="InvalidModelFit"): 1,
        sample(seconds, webhook="validate"): 1,
    }


def test_an_unknown_operation_is_counted_as_other(client: Client) -> None:
    increase = post_and_diff(client, "/mutate", builders.body(builders.pod(), operation="x" * 9))
    labels = [dict(labels) for name, labels in increase if name == "modelfit_admission_reviews_total"]
    assert [each["operation"] for each in labels] == ["other"]


def test_a_rejected_request_is_counted_by_its_status(client: Client) -> None:
    assert post_and_diff(client, "/mutate", {}) == {sample("modelfit_malformed_calls_total", status="400"): 1}


def test_a_scrape_can_select_metrics(client: Client) -> None:
    answer = client.get("/metrics?name[]=modelfit_serving_certificate_expiry_timestamp_seconds")
    names = {line.split()[2] for line in answer.text.splitlines() if line.startswith("# TYPE")}
    assert names == {"modelfit_serving_certificate_expiry_timestamp_seconds"}
