"""Settings that belong together, under a key of their own."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo
from pydantic.alias_generators import to_camel

from webhook.core.claims.device_request import MAX_ALTERNATIVES
from webhook.core.profiles import Profile
from webhook.settings.field_types import Amount, DeviceClass, Driver, Expression, Identifier, ObjectName, QualifiedName

_MAX_SELECTORS = 32 * 1024
"""Bytes. A claim repeats them up to 8 times, and must stay below the 1.5 MiB of one object."""
_MOST_CLASSES_WITH_SHARES = MAX_ALTERNATIVES // 2


class Group(BaseModel):
    """Closed and fixed; the docstring under each field is its manual."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        alias_generator=to_camel,
        use_attribute_docstrings=True,
    )


# Each of these looks at its own field and those above it, so that a fault hides no other one.


def _different(classes: list[str]) -> list[str]:
    if len(set(classes)) < len(classes):
        raise ValueError("each class once")
    return classes


def _among_classes(classes: list[str], info: ValidationInfo) -> list[str]:
    if not set(classes) <= set(info.data.get("device_classes", classes)):
        raise ValueError("only classes that are in deviceClasses")
    return classes


def _beside_memory(shares: dict[str, str], info: ValidationInfo) -> dict[str, str]:
    faults = []
    if shares and len(info.data.get("device_classes", ())) > _MOST_CLASSES_WITH_SHARES:
        faults.append(f"at most {_MOST_CLASSES_WITH_SHARES} deviceClasses with it, each is tried in two ways")
    if info.data.get("capacity") in shares:
        faults.append("other capacities than the one that holds GPU memory")
    if faults:
        raise ValueError("; ".join(faults))
    return shares


def _short_together(selectors: list[str]) -> list[str]:
    if sum(len(each.encode()) for each in selectors) > _MAX_SELECTORS:
        raise ValueError(f"at most {_MAX_SELECTORS} bytes together")
    return selectors


class ProfileSettings(Group):
    """A device profile of the operator's own, in the words of the vendor's driver."""

    # For who checks by the schema alone, before there is a program.
    model_config = ConfigDict(
        json_schema_extra={
            "if": {"properties": {"shares": {"minProperties": 1}}, "required": ["shares"]},
            "then": {"properties": {"deviceClasses": {"maxItems": _MOST_CLASSES_WITH_SHARES}}},
        }
    )

    driver: Driver
    """The driver's name, as in ResourceSlices. Required."""
    device_classes: Annotated[list[DeviceClass], AfterValidator(_different)] = Field(
        min_length=1, max_length=MAX_ALTERNATIVES, json_schema_extra={"uniqueItems": True}
    )
    """The DeviceClasses to try, in order: at most 8, or 4 with `shares`. Those that do not exist in the cluster are
    passed over. Required."""
    partition_classes: Annotated[list[DeviceClass], AfterValidator(_among_classes)] = Field(default_factory=list)
    """Those of `deviceClasses` whose devices are partitions that cannot work together: not used for several devices.
    Default none."""
    capacity: Identifier = "memory"
    """The capacity that holds GPU memory, spelled as the driver publishes it. Default `memory`."""
    shares: Annotated[dict[Identifier, Amount], AfterValidator(_beside_memory)] = Field(
        default_factory=dict, max_length=16
    )
    """What a model takes of a shareable device's other capacities, such as `cores: "25"`; what is not named here is
    taken whole, or at the driver's default. Default none."""
    selectors: Annotated[list[Expression], AfterValidator(_short_together)] = Field(default_factory=list, max_length=28)
    """Further CEL conditions on a device, at most 28, of at most 32 KiB together; each must guard its own look-ups.
    Default none."""
    product: QualifiedName | None = None
    """Attribute with domain that is equal on cards of one model, for several devices. Default none."""

    def profile(self, name: str) -> Profile:
        """The core's value."""
        return Profile(
            name=name,
            driver=self.driver,
            device_classes=tuple(self.device_classes),
            capacity=self.capacity,
            selectors=tuple(self.selectors),
            product=self.product,
            partition_classes=tuple(self.partition_classes),
            shares=self.shares,
        )


class SystemMemorySettings(Group):
    """System memory from a DRA memory driver."""

    device_class: DeviceClass | None = None
    """DeviceClass of dra-driver-memory, such as `dra.memory`: the claim then takes the model's `memory` from it too,
    beside the memory request. Needs consumable capacity (Kubernetes 1.36). Default none."""


class CertificatesSettings(Group):
    """The webhook's certificate, where the controller is its owner. The Helm chart writes this group."""

    namespace: ObjectName
    """Namespace of the Secret and of the Service. Required."""
    secret: ObjectName
    """Secret that holds the certificate; it exists already, the controller writes only its data. Required."""
    service: ObjectName
    """Service that the API server calls the webhook by, which the certificate is for. Required."""
    mutating_webhook_configuration: ObjectName | None = None
    """MutatingWebhookConfiguration whose webhooks get the CA as `caBundle`. Default none."""
    validating_webhook_configuration: ObjectName | None = None
    """ValidatingWebhookConfiguration whose webhooks get it. Default none."""
    ca_lifetime_days: float = Field(default=365, gt=0, le=36500)
    """Life of a CA in days; at least three times that of a leaf. Renewed at two thirds. Default 365."""
    leaf_lifetime_days: float = Field(default=30, gt=0, le=36500)
    """Life of a serving certificate in days; at least six times `propagationMinutes`. Renewed at two thirds.
    Default 30."""
    propagation_minutes: float = Field(default=10, gt=0, le=1440)
    """Minutes until what was written is in use everywhere: the Secret in every webhook pod, the CA in every API
    server. A kubelet takes a minute and a half, in clusters of thousands of nodes up to seven. The pause between the
    steps of a rotation. Default 10."""
