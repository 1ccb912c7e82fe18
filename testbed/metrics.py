"""Reads /metrics pages."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families


def sum_samples(page: str, name: str, /, **labels: str) -> float:
    """The sum of the samples called `name` (with suffix, e.g. `…_total`) with all `labels`; 0 if there are none."""
    # The API server's page has megabytes: parse only the lines that can match.
    lines = "\n".join(line for line in page.splitlines() if line.startswith(name))
    return sum(
        sample.value
        for family in text_string_to_metric_families(lines)
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    )
