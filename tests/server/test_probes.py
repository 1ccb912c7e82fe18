"""Health, readiness and metrics."""

from flask.testing import FlaskClient
from prometheus_client.parser import text_string_to_metric_families

from tests.core import kit


def test_the_process_is_healthy(client: FlaskClient) -> None:
    assert client.get("/healthz").status_code == 200
    assert client.head("/healthz").status_code == 200


def test_a_draining_process_is_healthy_and_not_ready(client: FlaskClient, readiness: dict[str, bool]) -> None:
    assert client.get("/readyz").status_code == 200
    readiness["is_ready"] = False
    assert client.get("/readyz").status_code == 503
    assert client.get("/healthz").status_code == 200


def samples(client: FlaskClient) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """The metrics, by name and labels."""
    answer = client.get("/metrics")
    assert answer.content_type.startswith("text/plain; version=0.0.4")
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def grown(client: FlaskClient, path: str, body: object) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """The counters that a call has counted up, with the difference."""
    before = samples(client)
    client.post(path, json=body)
    return {
        key: value - before.get(key, 0)
        for key, value in samples(client).items()
        if key[0].startswith("modelfit") and value != before.get(key, 0) and not key[0].endswith(("_sum", "_bucket"))
    }


def counted(name: str, **labels: str) -> tuple[str, frozenset[tuple[str, str]]]:
    return name, frozenset(labels.items())


def test_a_review_is_counted_by_operation_outcome_and_reason(client: FlaskClient) -> None:
    reviews, seconds = "modelfit_admission_reviews_total", "modelfit_admission_seconds_count"
    assert grown(client, "/mutate", kit.body(kit.pod())) == {
        counted(reviews, webhook="mutate", operation="CREATE", outcome="allowed", reason="Injected"): 1,
        counted(seconds, webhook="mutate"): 1,
    }
    assert grown(client, "/validate", kit.body(kit.pod("x"))) == {
        counted(reviews, webhook="validate", operation="CREATE", outcome="denied", reason="InvalidModelFit"): 1,
        counted(seconds, webhook="validate"): 1,
    }


def test_an_operation_of_the_callers_making_becomes_no_label(client: FlaskClient) -> None:
    grew = grown(client, "/mutate", kit.body(kit.pod(), operation="x" * 9))
    labels = [dict(labels) for name, labels in grew if name == "modelfit_admission_reviews_total"]
    assert [each["operation"] for each in labels] == ["other"]


def test_a_malformed_call_is_counted_by_its_status(client: FlaskClient) -> None:
    assert grown(client, "/mutate", {}) == {counted("modelfit_malformed_calls_total", status="400"): 1}


def test_a_scrape_can_ask_for_some_of_the_metrics(client: FlaskClient) -> None:
    answer = client.get("/metrics?name[]=modelfit_serving_certificate_expiry_timestamp_seconds")
    names = {line.split()[2] for line in answer.text.splitlines() if line.startswith("# TYPE")}
    assert names == {"modelfit_serving_certificate_expiry_timestamp_seconds"}
