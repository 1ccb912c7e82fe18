"""Reading a /metrics page."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families


def sum_samples(page: str, name: str, /, **labels: str) -> float:
    """The sum of the samples called `name` (with its suffix, e.g. `…_total`) that carry all of `labels`; else 0."""
    # The API server's page is megabytes: the parser gets only the lines that can count.
    own = "\n".join(line for line in page.splitlines() if line.startswith(name))
    return sum(
        sample.value
        for family in text_string_to_metric_families(own)
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    )
