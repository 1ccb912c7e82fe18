"""Chooses the containers that get the claim. The first rule that applies decides:

1. llmfit.ai/containers                       the names in it, init containers included
2. a container that references the claim      the pod was injected before, or its author wrote the reference
3. kubectl.kubernetes.io/default-container    kubectl's annotation for the main container
4. the only container
5. the only one that is no known sidecar      other webhooks insert theirs, often at index 0
6. the only one that runs a model server      by its image or command line
7. the first, or none                         see AdmissionConfig.ambiguous_containers

The second rule comes before the third because other webhooks set default-container, also between two calls for a pod.
Istio sets it to the pod's first container, whichever that is, so on its pods the third rule comes after the sixth.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from webhook import constants
from webhook.core.admission import known_sidecars, model_servers
from webhook.core.admission.pods import Container, Pod
from webhook.core.claims.device_request import annotation_path
from webhook.errors import Denied, FieldError, quote, quote_all
from webhook.reasons import Reason

_ISTIO_STATUS = "sidecar.istio.io/status"
"""Annotation of a pod that Istio's injector has changed."""
_ISTIO_PROXY = "istio-proxy"

_HINT = f"name the container in the annotation {constants.CONTAINERS}"


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen containers in the order of the rule, at least one if `choose` returns it, and the warnings about the
    choice."""

    containers: Sequence[Container]
    warnings: Sequence[str] = ()


def choose(pod: Pod, use_first: bool = False) -> Choice:
    """The target containers. Raises Denied if no rule applies; `use_first`: the seventh rule chooses the first."""
    all_containers = pod.containers + pod.init_containers
    listed = pod.annotations.get(constants.CONTAINERS)
    if listed is not None:
        names = [name for part in listed.split(",") if (name := part.strip())]
        return Choice(_find(names, all_containers, annotation_path(constants.CONTAINERS), listed))
    referencing = [container for container in all_containers if references_claim(container)]
    if referencing:
        return Choice(referencing)
    default = pod.annotations.get(constants.DEFAULT_CONTAINER)
    if default and not _is_set_by_istio(pod, default):
        (container,) = _find([default], all_containers, annotation_path(constants.DEFAULT_CONTAINER), default)
        return Choice([container], _other_servers(pod, container))
    return _choose_candidate(pod, default or None, use_first)


def references_claim(container: Container) -> bool:
    """Whether the container references the whole claim under our alias."""
    return any(isinstance(claim, dict) and claim.get("name") == constants.ALIAS for claim in container.claims)


def _choose_candidate(pod: Pod, default: str | None, use_first: bool) -> Choice:
    """The choice among the containers that no annotation of the user's and no reference names."""
    if len(pod.containers) == 1:
        return Choice(pod.containers)
    candidates = [each for each in pod.containers if not known_sidecars.is_sidecar(each.name, each.image)]
    if len(candidates) > 1:
        candidates = [each for each in candidates if _is_server(each)] or candidates
    chosen = [each for each in candidates if each.name == default] or candidates
    if len(chosen) == 1:
        return Choice(chosen)
    if not chosen:
        names = quote_all(each.name for each in pod.containers)
        value = f"only known sidecars: {names}" if pod.containers else "no container"
        raise Denied(Reason.UNKNOWN_CONTAINER, [FieldError("spec.containers", value, "one that runs the model", _HINT)])
    names = quote_all((each.name for each in chosen), 4)
    if use_first:
        warning = f"{quote(chosen[0].name)} gets the claim, the first of several that may run the model: {names}"
        return Choice(chosen[:1], [f"spec.containers: {warning}; {_HINT}"])
    value = f"several that may run the model: {names}"
    raise Denied(Reason.AMBIGUOUS_CONTAINER, [FieldError("spec.containers", value, "one target container", _HINT)])


def _is_set_by_istio(pod: Pod, default: str) -> bool:
    if _ISTIO_STATUS not in pod.annotations:
        return False
    first = next((each.name for each in pod.containers if each.name != _ISTIO_PROXY), None)
    return default == first


def _other_servers(pod: Pod, chosen: Container) -> list[str]:
    """A warning if the container of default-container is not the one that plainly runs a model server."""
    servers = [each.name for each in pod.containers if _is_server(each)]
    if not servers or _is_server(chosen):
        return []
    return [
        f"{annotation_path(constants.DEFAULT_CONTAINER)} gives the claim to {quote(chosen.name)}, but a model server "
        f"runs in {quote_all(servers, 2)}; {constants.CONTAINERS} overrides it"
    ]


def _is_server(container: Container) -> bool:
    if model_servers.is_server_image(container.name, container.image):
        return True
    return model_servers.is_server_command(container.command_line)


def _find(names: list[str], containers: Sequence[Container], field: str, annotation: str) -> list[Container]:
    by_name = {container.name: container for container in containers if container.name}
    unknown = [name for name in names if name not in by_name]
    if unknown or not names:
        value = f"no container {quote_all(unknown)}" if unknown else f"no name in {quote(annotation)}"
        raise Denied(Reason.UNKNOWN_CONTAINER, [FieldError(field, value, f"names among {quote_all(by_name, 16)}")])
    return [by_name[name] for name in dict.fromkeys(names)]
