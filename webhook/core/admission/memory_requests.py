"""System memory: `memory` has no device on a GPU, so it becomes a memory request, where nobody set one."""

from collections.abc import Iterator

from webhook.core.admission import pods
from webhook.core.admission.pods import Container, Pod
from webhook.core.fits import quantities
from webhook.core.fits.requirements import ModelRequirements


def existing_requests(pod: Pod, container: Container) -> list[tuple[str, object]]:
    """What the container and the pod say of memory, each with its path. A limit alone counts: the API server makes it
    the request too."""
    return list(_stated(pod, container))


def below_requirement(said: list[tuple[str, object]], requirements: ModelRequirements) -> Iterator[str]:
    """A warning for each figure of `stated` that is below the need; it is kept."""
    if not requirements.memory or not said:
        return
    wanted = quantities.mebibytes(requirements.memory) * quantities.MIB
    for where, amount in said:
        given = quantities.parse(amount)
        if given is not None and given < wanted:
            yield f"{where} is less than the {requirements.memory_quantity} that the model needs; it is kept"


def _stated(pod: Pod, container: Container) -> Iterator[tuple[str, object]]:
    pod_level = pods.mapping(pod.spec, "resources", "spec")
    for kind in ("requests", "limits"):
        for where, amounts in (
            (f"{container.field}.resources", container.amounts(kind)),
            ("spec.resources", pods.mapping(pod_level, kind, "spec.resources")),
        ):
            if amounts.get("memory") is not None:
                yield f"{where}.{kind}.memory", amounts["memory"]
