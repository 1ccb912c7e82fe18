"""Groups of settings, each under its own key."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo
from pydantic.alias_generators import to_camel

from webhook.core.claims.device_request import MAX_ALTERNATIVES
from webhook.core.profiles import Profile
from webhook.settings.field_types import (
    Amount,
    DeviceClass,
    Driver,
    Expression,
    Gibibytes,
    Identifier,
    LabelKey,
    LabelValue,
    ObjectName,
    Product,
    QualifiedName,
)

_MAX_SELECTORS = 32 * 1024
"""Bytes. A claim repeats the selectors up to 8 times, and an object may have at most 1.5 MiB."""
_MAX_CLASSES_WITH_SHARES = MAX_ALTERNATIVES // 2
"""With shares, each class takes two alternatives of a request."""


class Group(BaseModel):
    """Settings that are immutable, without unknown keys. The docstring under each field documents it."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        alias_generator=to_camel,
        use_attribute_docstrings=True,
    )


# Each validator checks one field, against the fields above it. pydantic skips a validator of the whole group if one of
# its fields is invalid, and then not all errors are reported together.


def _check_unique(classes: list[str]) -> list[str]:
    if len(set(classes)) < len(classes):
        raise ValueError("each class once")
    return classes


def _check_partitions(classes: list[str], info: ValidationInfo) -> list[str]:
    if not set(classes) <= set(info.data.get("device_classes", classes)):
        raise ValueError("only classes that are in deviceClasses")
    return classes


def _check_shares(shares: dict[str, str], info: ValidationInfo) -> dict[str, str]:
    errors = []
    if shares and len(info.data.get("device_classes", ())) > _MAX_CLASSES_WITH_SHARES:
        errors.append(f"at most {_MAX_CLASSES_WITH_SHARES} deviceClasses with it, each is tried in two ways")
    if info.data.get("capacity") in shares:
        errors.append("other capacities than the one that holds GPU memory")
    if errors:
        raise ValueError("; ".join(errors))
    return shares


def _check_length(selectors: list[str]) -> list[str]:
    if sum(len(each.encode()) for each in selectors) > _MAX_SELECTORS:
        raise ValueError(f"at most {_MAX_SELECTORS} bytes together")
    return selectors


def _check_toleration_value(value: str | None, info: ValidationInfo) -> str | None:
    if (value is not None) != (info.data.get("operator", "Exists") == "Equal"):
        raise ValueError("a value with the operator Equal, and none with Exists")
    if value is not None and info.data.get("key", "") is None:
        raise ValueError("none without a key")
    return value


def _check_product_memory(memory: dict[str, int], info: ValidationInfo) -> dict[str, int]:
    if memory and info.data.get("product", "") is None:
        raise ValueError("none without product, whose values it lists")
    if memory and info.data.get("shares"):
        raise ValueError("none with shares: only devices that publish their memory are shared")
    if memory and len(info.data.get("device_classes", ())) > _MAX_CLASSES_WITH_SHARES:
        raise ValueError(f"at most {_MAX_CLASSES_WITH_SHARES} deviceClasses with it, each is tried in two ways")
    return memory


class TolerationSettings(Group):
    """A device taint that a profile tolerates, as in the API."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"properties": {"operator": {"const": "Equal"}}, "required": ["operator"]},
            "then": {"required": ["key", "value"]},
            "else": {"properties": {"value": {"type": "null"}}},
        }
    )

    key: LabelKey | None = None
    """Key of the taint; without it, all keys. Default none."""
    operator: Literal["Exists", "Equal"] = "Exists"
    """`Exists`: any value. `Equal`: the value `value`. Default `Exists`."""
    value: Annotated[LabelValue | None, AfterValidator(_check_toleration_value)] = Field(
        default=None, validate_default=True
    )
    """Value of the taint. Required with `Equal`, none with `Exists`. Default none."""
    effect: Literal["NoSchedule", "NoExecute"] | None = None
    """Effect of the taint; without it, both. Default none."""

    def toleration(self) -> dict[str, str]:
        """The toleration as in the API."""
        fields = {"key": self.key, "operator": self.operator, "value": self.value, "effect": self.effect}
        return {name: text for name, text in fields.items() if text is not None}


class ProfileSettings(Group):
    """A custom device profile: how the claims select devices of one DRA driver."""

    # The chart validates values by the JSON schema alone, so the rules of the validators above are in it too.
    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [
                {
                    "if": {"properties": {"shares": {"minProperties": 1}}, "required": ["shares"]},
                    "then": {"properties": {"deviceClasses": {"maxItems": _MAX_CLASSES_WITH_SHARES}}},
                },
                {
                    "if": {"properties": {"productMemory": {"minProperties": 1}}, "required": ["productMemory"]},
                    "then": {
                        "properties": {
                            "deviceClasses": {"maxItems": _MAX_CLASSES_WITH_SHARES},
                            "shares": {"maxProperties": 0},
                            "product": {"type": "string"},
                        },
                        "required": ["product"],
                    },
                },
            ]
        }
    )

    driver: Driver
    """Name of the DRA driver, as in ResourceSlices. Required."""
    device_classes: Annotated[list[DeviceClass], AfterValidator(_check_unique)] = Field(
        min_length=1, max_length=MAX_ALTERNATIVES, json_schema_extra={"uniqueItems": True}
    )
    """DeviceClasses to try, in order: at most 8, or 4 with `shares` or `productMemory`. Classes that do not exist in
    the cluster are skipped. Required."""
    partition_classes: Annotated[list[DeviceClass], AfterValidator(_check_partitions)] = Field(default_factory=list)
    """Those of `deviceClasses` whose devices are partitions that cannot work together. A request for several devices
    does not use them. Default none."""
    capacity: Identifier = "memory"
    """Name of the capacity for GPU memory, as the driver publishes it. Default `memory`."""
    shares: Annotated[dict[Identifier, Amount], AfterValidator(_check_shares)] = Field(
        default_factory=dict, max_length=16
    )
    """Amounts that a model requests of a shareable device's other capacities, such as `cores: "25"`. For a capacity
    that is not named here, a model gets all of it, or the driver's default. Default none."""
    selectors: Annotated[list[Expression], AfterValidator(_check_length)] = Field(default_factory=list, max_length=28)
    """Additional CEL conditions on a device, at most 28, of at most 32 KiB together. Each must guard its own look-ups.
    Default none."""
    product: QualifiedName | None = None
    """Attribute with its domain that has the same value on all GPUs of one product. Several devices for one pod must
    agree in it. Default none."""
    product_memory: Annotated[dict[Product, Gibibytes], AfterValidator(_check_product_memory)] = Field(
        default_factory=dict, max_length=32
    )
    """GPU memory in GiB of products whose devices publish no `capacity`, by the value of `product`, such as
    `NVIDIA GB10: 110`. At most 32; needs `product`, at most 4 `deviceClasses`, and no `shares`. Default none."""
    tolerations: list[TolerationSettings] = Field(default_factory=list, max_length=16)
    """Device taints that the claims tolerate, at most 16, each with `key`, `operator` (default `Exists`), `value` and
    `effect` as in the API. Default none."""

    def profile(self, name: str) -> Profile:
        """The profile as the core uses it."""
        return Profile(
            name=name,
            driver=self.driver,
            device_classes=tuple(self.device_classes),
            capacity=self.capacity,
            selectors=tuple(self.selectors),
            product=self.product,
            partition_classes=tuple(self.partition_classes),
            shares=self.shares,
            product_memory={name: gibibytes << 10 for name, gibibytes in self.product_memory.items()},
            tolerations=tuple(each.toleration() for each in self.tolerations),
        )


class SystemMemorySettings(Group):
    """System memory from a DRA driver for memory."""

    device_class: DeviceClass | None = None
    """DeviceClass of dra-driver-memory, such as `dra.memory`. The claim then requests the model's `memory` from it, in
    addition to the container's memory request. Needs consumable capacity (Kubernetes 1.36). Default none."""


class CertificatesSettings(Group):
    """The webhook's certificate, if the controller issues it. The Helm chart writes this group."""

    namespace: ObjectName
    """Namespace of the Secret and of the Service. Required."""
    secret: ObjectName
    """Secret for the certificate. It must exist; the controller writes only its data. Required."""
    service: ObjectName
    """Service through which the API server calls the webhook. The certificate is issued for its DNS name. Required."""
    mutating_webhook_configuration: ObjectName | None = None
    """MutatingWebhookConfiguration in which the controller sets `caBundle`. Default none."""
    validating_webhook_configuration: ObjectName | None = None
    """ValidatingWebhookConfiguration in which the controller sets `caBundle`. Default none."""
    ca_lifetime_days: float = Field(default=365, gt=0, le=36500)
    """Lifetime of a CA in days, at least three times `leafLifetimeDays`. The CA is renewed after two thirds of it.
    Default 365."""
    leaf_lifetime_days: float = Field(default=30, gt=0, le=36500)
    """Lifetime of a serving certificate in days, at least six times `propagationMinutes`. The certificate is renewed
    after two thirds of it. Default 30."""
    propagation_minutes: float = Field(default=10, gt=0, le=1440)
    """Pause between the steps of a rotation, in minutes: the time until every webhook pod uses a changed Secret and
    every API server a changed `caBundle`. A kubelet needs a minute and a half, in clusters of thousands of nodes up to
    seven. Default 10."""
