"""Renders the chart with `helm template` and parses the result."""

import functools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from tests.chart.helm import Helm
from tools.generate.chart_values import CHART

JsonObject = dict[str, Any]
"""A Kubernetes object of any kind."""

Values = Mapping[str, object]

REPOSITORY = "registry.example/modelfit"


def with_image(values: Values | None) -> JsonObject:
    """The values with the one that has no default."""
    values = values or {}
    image = values.get("image", {})
    return {**values, "image": {"repository": REPOSITORY, **image} if isinstance(image, dict) else image}


@dataclass(frozen=True)
class Rendered:
    """The objects of a release, in the order of helm's output."""

    text: str
    objects: tuple[JsonObject, ...]

    def of(self, kind: str) -> list[JsonObject]:
        return [each for each in self.objects if each["kind"] == kind]

    def one(self, kind: str, suffix: str = "") -> JsonObject:
        """The only object of that kind whose name has the suffix."""
        found = [each for each in self.of(kind) if each["metadata"]["name"].endswith(suffix)]
        assert len(found) == 1, f"{len(found)} objects {kind} …{suffix}"
        return found[0]

    @property
    def pods(self) -> Iterator[tuple[str, JsonObject]]:
        """(name of the Deployment or Pod, pod template or Pod) of every pod."""
        for each in self.objects:
            if each["kind"] == "Pod":
                yield each["metadata"]["name"], each
            elif each["kind"] == "Deployment":
                yield each["metadata"]["name"], each["spec"]["template"]

    @property
    def settings(self) -> str:
        """The settings file, which is the same for all pods."""
        templates = [each["spec"]["template"] for each in self.of("Deployment")]
        (text,) = {each["metadata"]["annotations"]["modelfit.llmfit.ai/config"] for each in templates}
        return str(text)


def render(
    helm: Helm, values: Values | None = None, *, release: str = "modelfit", namespace: str = "modelfit"
) -> Rendered:
    """Renders a release with its test and REPOSITORY. Raises HelmFailed. Results are cached."""
    return _render(helm, json.dumps(with_image(values), sort_keys=True), release, namespace)


def clear_cache() -> None:
    """Discards all cached renderings."""
    _render.cache_clear()


@functools.cache
def _render(helm: Helm, values: str, release: str, namespace: str) -> Rendered:
    text = helm.run("template", release, str(CHART), "--namespace", namespace, "--values", "-", input=values)
    # The C loader is faster for some hundred renderings.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return Rendered(text, tuple(each for each in yaml.load_all(text, loader) if each))
