"""What the controller keeps of a pod: little, because there may be ten thousand, and any user who may create a pod can
give it 1.5 MB."""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from webhook import constants
from webhook.controller import object_metadata
from webhook.core.admission_config import AdmissionConfig
from webhook.core.claims import pod_claim
from webhook.core.claims.device_request import DeviceRequest
from webhook.core.fits.model_fit import MAX_CACHED_TEXT
from webhook.errors import Denied, truncate
from webhook.json_tree import JsonObject, get_list, get_object, get_text, is_object

_REQUEST = "deviceRequest"
"""Key of the parsed device request in a stripped pod. The API server sends no such field."""
_READ = (constants.MODEL_FIT, constants.PROFILE, constants.DEVICE_COUNT)
"""The annotations that a device request is parsed from."""
_CONTAINER_FIELDS = ("containers", "initContainers")
_MAX_CONTAINERS = 16
_MAX_RESOURCES = 8
"""Limits of what is kept for Events. Real pods have less."""


class UnusableFit(NamedTuple):
    """Stands in for annotations from which no device request can be parsed."""

    reason: str
    message: str


def stripper(config: AdmissionConfig) -> Callable[[JsonObject], None]:
    """A function that strips a pod, or its metadata, in place. The annotations are replaced by the device request that
    they stand for. The pods of a workload have the same annotations, and share one.

    Other threads may read the pod meanwhile, so kept fields are never absent.
    """

    @lru_cache(maxsize=256)
    def parse_cached(*values: str | None) -> DeviceRequest | UnusableFit:
        annotations = {key: value for key, value in zip(_READ, values, strict=True) if value is not None}
        return _parse({"metadata": {"annotations": annotations}}, config)

    def parse(pod: Mapping[str, object]) -> DeviceRequest | UnusableFit:
        values = [get_text(pod, "metadata", "annotations", key) for key in _READ]
        if sum(len(value) for value in values if value is not None) > MAX_CACHED_TEXT:
            return _parse(pod, config)
        return parse_cached(*values)

    def strip(pod: JsonObject) -> None:
        metadata = get_object(pod, "metadata")
        # A listed pod is stripped again when it is reported.
        if _REQUEST not in pod and constants.MODEL_FIT in get_object(metadata, "annotations"):
            pod[_REQUEST] = parse(pod)
        if "spec" in pod:
            pod["spec"] = _strip_spec(get_object(pod, "spec"))
        object_metadata.strip(pod, keep=("metadata", "spec", _REQUEST))

    return strip


def device_request(pod: Mapping[str, object], config: AdmissionConfig) -> DeviceRequest | UnusableFit:
    """The device request of an annotated pod, stripped or not."""
    # A pod that is stripped meanwhile gets its request before it loses its annotations, so they are read first.
    unstripped = {"metadata": {"annotations": get_object(pod, "metadata", "annotations")}}
    request = pod.get(_REQUEST)
    return request if isinstance(request, (DeviceRequest, UnusableFit)) else _parse(unstripped, config)


def containers(pod: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """The containers and init containers, at most _MAX_CONTAINERS of a stripped pod."""
    for field in _CONTAINER_FIELDS:
        yield from (container for container in get_list(pod, "spec", field) if is_object(container))


def has_claim(container: Mapping[str, object]) -> bool:
    """Whether the container gets the pod's claim."""
    claims = get_list(container, "resources", "claims")
    return any(is_object(claim) and claim.get("name") == constants.ALIAS for claim in claims)


def _parse(pod: Mapping[str, object], config: AdmissionConfig) -> DeviceRequest | UnusableFit:
    try:
        return pod_claim.parse_request(pod, config)
    except Denied as denied:
        return UnusableFit(denied.reason.value, truncate(str(denied)))


def _strip_spec(spec: Mapping[str, object]) -> JsonObject:
    entries = (entry for entry in get_list(spec, "resourceClaims") if is_object(entry))
    ours = [entry for entry in entries if entry.get("name") == constants.ALIAS][:1]
    stripped: JsonObject = {
        "resourceClaims": [
            {key: object_metadata.truncate(entry[key]) for key in ("name", "resourceClaimName") if key in entry}
            for entry in ours
        ]
    }
    if spec.get("nodeName"):
        stripped["nodeName"] = object_metadata.truncate(spec["nodeName"])
    memory = get_object(spec, "resources", "limits").get("memory")
    if memory is not None:
        stripped["resources"] = {"limits": {"memory": object_metadata.truncate(memory)}}
    left = _MAX_CONTAINERS
    for field in _CONTAINER_FIELDS:
        kept = [kept for each in get_list(spec, field) if is_object(each) and (kept := _strip_container(each))][:left]
        left -= len(kept)
        if kept:
            stripped[field] = kept
    return stripped


def _strip_container(container: Mapping[str, object]) -> JsonObject | None:
    """The reference to the pod's claim, the memory limit, and the extended resources, which have equal requests and
    limits. None if there is neither reference nor extended resource."""
    limits = get_object(container, "resources", "limits")
    extended = [name for name in limits if "/" in name][:_MAX_RESOURCES]
    if not extended and not has_claim(container):
        return None
    names = ["memory", *extended] if "memory" in limits else extended
    resources: JsonObject = {"limits": {name[:320]: object_metadata.truncate(limits[name]) for name in names}}
    if has_claim(container):
        resources["claims"] = [{"name": constants.ALIAS}]
    return {"resources": resources}
