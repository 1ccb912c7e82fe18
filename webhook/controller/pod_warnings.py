"""Problems of a pod with a claim that only the controller can see, as messages of Events."""

from collections.abc import Collection, Iterator, Mapping

from webhook import constants
from webhook.controller import stripped_pods
from webhook.core.admission.gpu_resources import DEVICE_CLASS_PREFIX
from webhook.core.claims.device_request import DeviceRequest
from webhook.core.fits import quantities
from webhook.errors import quote, quote_all
from webhook.json_tree import JsonObject, get_list, get_object, get_text, is_object


def strip_class(device_class: JsonObject) -> None:
    """Strips all of a DeviceClass but its name, and what tells which devices its extended resource hands out."""
    spec = get_object(device_class, "spec")
    kept = {key: spec[key] for key in ("extendedResourceName", "selectors") if key in spec}
    device_class["spec"] = kept if "extendedResourceName" in kept else {}
    device_class["metadata"] = {"name": get_object(device_class, "metadata").get("name")}
    for key in [key for key in device_class if key not in ("metadata", "spec")]:
        del device_class[key]


def memory_limit(pod: Mapping[str, object], request: DeviceRequest) -> str:
    """A message if the model cannot fit into the memory limits: if the limit of every container that has the claim, or
    the pod's, is below the model's system memory. A LimitRange or another webhook can set it after injection."""
    if not request.requirements.memory:
        return ""
    required = quantities.mebibytes(request.requirements.memory) * quantities.MIB
    limits = [
        get_object(container, "resources", "limits").get("memory")
        for container in stripped_pods.containers(pod)
        if stripped_pods.has_claim(container)
    ]
    values = [quantities.parse(limit) for limit in limits]
    containers_limit = max((value for value in values if value is not None), default=None)
    pod_limit = quantities.parse(get_object(pod, "spec", "resources", "limits").get("memory"))
    found = [value for value in (pod_limit, None if None in values else containers_limit) if value is not None]
    if not found or min(found) >= required:
        return ""
    limit = next(each for each in (get_object(pod, "spec", "resources", "limits").get("memory"), *limits)
                 if quantities.parse(each) == min(found))  # fmt: skip
    return (
        f"the pod's memory limit is {quote(limit)}, less than the {request.requirements.memory_quantity} that the model"
        " needs, so it may be killed while it loads; raise the limit in the pod template, or the default of the"
        " namespace's LimitRange"
    )


def duplicate_devices(
    pod: Mapping[str, object],
    claim: Mapping[str, object],
    request: DeviceRequest,
    classes: Mapping[str, Mapping[str, object]],
) -> str:
    """A message if a container also requests devices of the claim's kind as an extended resource of a DeviceClass: by
    the name that the class maps (`extendedResourceName`), or by its implicit name."""
    claimed = set(class_names(claim))
    mapped = {
        get_text(each, "spec", "extendedResourceName")
        for name, each in classes.items()
        if name in claimed or _mentions_driver(each, request.profile.driver)
    }
    implicit = {f"{DEVICE_CLASS_PREFIX}{name}" for name in claimed}
    found = [
        name
        for container in stripped_pods.containers(pod)
        for name, amount in get_object(container, "resources", "limits").items()
        if (name in mapped or name in implicit) and quantities.parse(amount) != 0
    ]
    if not found:
        return ""
    return (
        f"requests {quote_all(dict.fromkeys(found), 3)} beside its ResourceClaim: a DeviceClass hands out devices of"
        " the same kind under that name, so the pod gets two; remove the request, or the annotation"
        f" {constants.MODEL_FIT}"
    )


def class_names(claim: Mapping[str, object]) -> list[str]:
    """The DeviceClasses that the v1 claim requests, each once, in order."""
    return list(dict.fromkeys(_class_names(claim)))


def missing_classes(claim: Mapping[str, object], existing: Collection[str]) -> str:
    """A message if DeviceClasses that the claim requests do not exist: the API server accepts such a claim, and the pod
    stays pending without a reason."""
    missing = [name for name in class_names(claim) if name not in existing]
    if not missing:
        return ""
    return (
        f"DeviceClass {', '.join(map(quote, missing))}: not in the cluster; the pod's ResourceClaim was created and"
        " waits for it; install the vendor's DRA driver, or choose another profile with the annotation"
        f" {constants.PROFILE}"
    )


def _class_names(claim: Mapping[str, object]) -> Iterator[str]:
    for request in get_list(claim, "spec", "devices", "requests"):
        for choice in (get_object(request, "exactly"), *get_list(request, "firstAvailable")):
            name = get_text(choice, "deviceClassName")
            if name is not None:
                yield name


def _mentions_driver(device_class: Mapping[str, object], driver: str) -> bool:
    """Whether a selector of the DeviceClass contains the driver as a string: `device.driver == "gpu.nvidia.com"`."""
    selectors = get_list(device_class, "spec", "selectors")
    expressions = (get_text(selector, "cel", "expression") for selector in selectors if is_object(selector))
    return any(f'"{driver}"' in text or f"'{driver}'" in text for text in expressions if text)
