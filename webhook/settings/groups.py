"""Settings that belong together, under a key of their own."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from webhook.core.demand import MOST_ALTERNATIVES
from webhook.core.profiles import Profile
from webhook.settings.names import Amount, DeviceClass, Driver, Expression, Identifier, ObjectName, QualifiedName

_MAX_SELECTORS = 32 * 1024
"""Bytes. A claim repeats them up to 8 times, and must stay below the 1.5 MiB of one object."""


class Group(BaseModel):
    """Closed and fixed; the docstring under each field is its manual."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        alias_generator=to_camel,
        use_attribute_docstrings=True,
    )


class ProfileSettings(Group):
    """A device profile of the operator's own, in the words of the vendor's driver."""

    driver: Driver
    """The driver's name, as in ResourceSlices. Required."""
    device_classes: list[DeviceClass] = Field(min_length=1, max_length=MOST_ALTERNATIVES)
    """The DeviceClasses to try, in order: at most 8, or 4 with `shares`. Those that do not exist in the cluster are
    passed over. Required."""
    partition_classes: list[DeviceClass] = Field(default_factory=list)
    """Those of `deviceClasses` whose devices are partitions that cannot work together: not used for several devices.
    Default none."""
    capacity: Identifier = "memory"
    """The capacity that holds GPU memory, spelled as the driver publishes it. Default `memory`."""
    shares: dict[Identifier, Amount] = Field(default_factory=dict, max_length=16)
    """What a model takes of a shareable device's other capacities, such as `cores: "25"`; what is not named here is
    taken whole, or at the driver's default. Default none."""
    selectors: list[Expression] = Field(default_factory=list, max_length=28)
    """Further CEL conditions on a device, at most 28, of at most 32 KiB together; each must guard its own look-ups.
    Default none."""
    product: QualifiedName | None = None
    """Attribute with domain that is equal on cards of one model, for several devices. Default none."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if len(set(self.device_classes)) < len(self.device_classes):
            raise ValueError("deviceClasses: each class once")
        if not set(self.partition_classes) <= set(self.device_classes):
            raise ValueError("partitionClasses: only classes that are in deviceClasses")
        if self.shares and len(self.device_classes) * 2 > MOST_ALTERNATIVES:
            raise ValueError(f"deviceClasses: at most {MOST_ALTERNATIVES // 2} with shares, each is tried in two ways")
        if sum(len(each.encode()) for each in self.selectors) > _MAX_SELECTORS:
            raise ValueError(f"selectors: at most {_MAX_SELECTORS} bytes together")
        if self.capacity in self.shares:
            raise ValueError("shares: other capacities than the one that holds GPU memory")
        return self

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
    """MutatingWebhookConfiguration whose webhooks get the authority as `caBundle`. Default none."""
    validating_webhook_configuration: ObjectName | None = None
    """ValidatingWebhookConfiguration whose webhooks get it. Default none."""
    authority_lifetime_days: float = Field(default=365, gt=0, le=36500)
    """Life of an authority in days; at least three times that of a leaf. Renewed at two thirds. Default 365."""
    leaf_lifetime_days: float = Field(default=30, gt=0, le=36500)
    """Life of a serving certificate in days; at least six times `propagationMinutes`. Renewed at two thirds.
    Default 30."""
    propagation_minutes: float = Field(default=10, gt=0, le=1440)
    """Minutes until what was written is in use everywhere: the Secret in every webhook pod, the authority in every API
    server. A kubelet takes a minute and a half, in clusters of thousands of nodes up to seven. The pause between the
    steps of a rotation. Default 10."""
