"""The chart, rendered: values in, objects out."""

import functools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from tests.chart.helm import Helm
from tools.generate.chart_values import CHART

JsonObject = dict[str, Any]
"""A Kubernetes object. The one `Any` here: tests reach deep into objects of any kind."""

Values = Mapping[str, object]


@dataclass(frozen=True)
class Rendered:
    """What a release consists of, in the order in which helm prints it."""

    text: str
    objects: tuple[JsonObject, ...]

    def of(self, kind: str) -> list[JsonObject]:
        return [each for each in self.objects if each["kind"] == kind]

    def one(self, kind: str, suffix: str = "") -> JsonObject:
        """The only object of that kind whose name ends so."""
        found = [each for each in self.of(kind) if each["metadata"]["name"].endswith(suffix)]
        assert len(found) == 1, f"{len(found)} objects {kind} …{suffix}"
        return found[0]

    @property
    def pods(self) -> Iterator[tuple[str, JsonObject]]:
        """(name of what makes it, pod template or pod) of every pod."""
        for each in self.objects:
            if each["kind"] == "Pod":
                yield each["metadata"]["name"], each
            elif each["kind"] == "Deployment":
                yield each["metadata"]["name"], each["spec"]["template"]

    @property
    def settings(self) -> str:
        """The settings file, the same for all pods."""
        templates = [each["spec"]["template"] for each in self.of("Deployment")]
        (text,) = {each["metadata"]["annotations"]["modelfit.llmfit.ai/config"] for each in templates}
        return str(text)


def render(
    helm: Helm, values: Values | None = None, *, release: str = "modelfit", namespace: str = "modelfit"
) -> Rendered:
    """The release, with its test. Raises HelmFailed. Equal calls are rendered once."""
    return _render(helm, json.dumps(values or {}, sort_keys=True), release, namespace)


def forget() -> None:
    """From now on everything is rendered anew."""
    _render.cache_clear()


@functools.cache
def _render(helm: Helm, values: str, release: str, namespace: str) -> Rendered:
    text = helm.run("template", release, str(CHART), "--namespace", namespace, "--values", "-", input=values)
    # PyYAML's C loader: some hundred renderings are read.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return Rendered(text, tuple(each for each in yaml.load_all(text, loader) if each))
