"""The configuration: one YAML file for the webhook, the controller and the CLI, and `MODELFIT_*` overrides.

A setting is spelled in camelCase in the file and as MODELFIT_UPPER_SNAKE in the environment, where the value is read
as YAML. Unknown or wrong settings stop the start, all of them named at once. The docstring under each setting is its
manual: meaning, unit, default.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self, get_args

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from webhook.core import cel, quantities
from webhook.core.demand import MOST_ALTERNATIVES
from webhook.core.policy import Policy
from webhook.core.profiles import BUILTIN, Profile
from webhook.errors import Fault, InvalidSettings, shown, shown_all

PREFIX = "MODELFIT_"

# What Kubernetes itself puts into a container's environment for a Service named modelfit or modelfit-….
_SERVICE_LINK = re.compile(r"(_SERVICE_HOST|_SERVICE_PORT(_\w+)?|_PORT|_PORT_\d+_(TCP|UDP|SCTP)(_\w+)?)$")

_WORD = "lower-case letters, digits and dashes, a letter or digit first and last"

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"^{_LABEL}(\.{_LABEL})*$"
_IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]*"
_QUALIFIED = rf"^{_LABEL}(\.{_LABEL})*/{_IDENTIFIER}$"

_PATTERNS = {
    f"^{_LABEL}$": _WORD,
    _SUBDOMAIN: f"{_WORD}, in parts with dots between",
    f"^{_IDENTIFIER}$": "letters, digits and underscores, no digit first",
    _QUALIFIED: "a domain, a slash and an identifier, such as gpu.nvidia.com/productName",
}
"""What a name has to be, in words."""


def _short_enough(expression: str) -> str:
    if len(expression.encode()) > cel.MAX_EXPRESSION:
        raise ValueError(f"at most {cel.MAX_EXPRESSION} bytes")
    return expression


def _amount(quantity: str) -> str:
    amount = quantities.parse(quantity)
    if amount is None or amount < 0:
        raise ValueError("a quantity of 0 or more such as 10 or 8Gi")
    return quantity


Driver = Annotated[str, StringConstraints(pattern=_SUBDOMAIN, max_length=63)]
DeviceClass = Annotated[str, StringConstraints(pattern=_SUBDOMAIN, max_length=253)]
Identifier = Annotated[str, StringConstraints(pattern=rf"^{_IDENTIFIER}$", max_length=32)]
QualifiedName = Annotated[str, StringConstraints(pattern=_QUALIFIED, max_length=96)]
Expression = Annotated[str, StringConstraints(min_length=1), AfterValidator(_short_enough)]
Amount = Annotated[str, AfterValidator(_amount)]
Variable = Annotated[str, StringConstraints(pattern=rf"^{_IDENTIFIER}$", max_length=253)]
ObjectName = Annotated[str, StringConstraints(pattern=_SUBDOMAIN, max_length=253)]
ProfileName = Annotated[str, StringConstraints(pattern=rf"^{_LABEL}$", max_length=63)]


_MAX_SELECTORS = 32 * 1024
"""Bytes. A claim repeats them up to 8 times, and must stay below the 1.5 MiB of one object."""


class _Group(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        alias_generator=to_camel,
        use_attribute_docstrings=True,
    )


class ProfileSettings(_Group):
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


class SystemMemorySettings(_Group):
    """System memory from a DRA memory driver."""

    device_class: DeviceClass | None = None
    """DeviceClass of dra-driver-memory, such as `dra.memory`: the claim then takes the model's `memory` from it too,
    beside the memory request. Needs consumable capacity (Kubernetes 1.36). Default none."""


class CertificatesSettings(_Group):
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


class Settings(_Group):
    """Every setting, with its default."""

    profile: str = "nvidia"
    """Device profile of pods that name none: a built-in one or one of `profiles`. Default `nvidia`."""
    placement: Literal["any", "tightest"] = "any"
    """`any`: the first device that is large enough, which is what the scheduler does. `tightest`: smaller ones are
    looked for first; a claim lists at most 8 alternatives, so a profile with more than 4 DeviceClasses (2 with
    `shares`) leaves no room for it. Default `any`."""
    system_memory: SystemMemorySettings = SystemMemorySettings()
    """System memory from a DRA memory driver. Default off."""
    device_count_variable: Variable | None = None
    """Name of an environment variable for the target containers with the number of devices, where a pod asks for one
    number; with `auto` it is not known when the pod is admitted. Default none."""
    memory_requests: Literal["fill", "ignore"] = "fill"
    """`fill`: the model's `memory` becomes the first target container's memory request where nobody set one.
    `ignore`: pods' memory requests are left alone. Default `fill`."""
    device_plugin_requests: Literal["deny", "warn"] = "deny"
    """A target container that also requests a device-plugin GPU such as nvidia.com/gpu. Default `deny`."""
    uninjected_pods: Literal["deny", "warn"] = "deny"
    """An annotated pod that needs a claim and reaches the validating webhook without one. Default `deny`."""
    profiles: dict[ProfileName, ProfileSettings] = Field(default_factory=dict)
    """The operator's own device profiles by name; a built-in name may be redefined. Default none."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Least severe level that is logged. Default `info`."""
    workers: int = Field(default=1, ge=1, le=64)
    """Worker processes of the webhook. One serves what an API server can ask; replicas add more. Default 1."""
    max_connections: int = Field(default=1024, ge=16, le=65536)
    """Open connections of one worker, silent ones included; more wait to be accepted. Default 1024."""
    max_review_mebibytes: int = Field(default=8, ge=1, le=64)
    """Largest review in MiB; a larger one gets HTTP 413. An API server's largest is about 7. Default 8."""
    keep_alive_seconds: int = Field(default=120, ge=1, le=3600)
    """Seconds that an idle connection is kept. Longer than the API server keeps its own idle ones (90), so that the
    side that may have a request on the way is the one that closes. Default 120."""
    drain_seconds: float = Field(default=10, ge=0, le=600)
    """Seconds from SIGTERM, when readiness turns false, until the webhook stops answering. Longer than endpoints take
    to reach the API server. Default 10."""

    claim_workers: int = Field(default=8, ge=1, le=64)
    """Claims that the controller creates at the same time. Default 8."""
    leader_election: bool = True
    """Whether replicas of the controller agree, by a Lease, on the one that acts. Default true."""
    audit_seconds: float = Field(default=300, ge=1, le=86400)
    """Seconds between the controller's looks for annotated pods that the webhook did not see, which get an Event.
    Default 300."""

    excluded_namespaces: list[Annotated[str, StringConstraints(pattern=rf"^{_LABEL}$", max_length=63)]] = Field(
        default_factory=lambda: ["kube-system"]
    )
    """Namespaces in which the webhook is not called: the controller does not miss its work there. Its own namespace and
    those labelled `llmfit.ai/inject: disabled` need not be named. Default `[kube-system]`."""

    certificates: CertificatesSettings | None = None
    """The webhook's certificate, where the controller is its owner. Default none.
    Without it somebody else makes the certificate."""

    def policy(self) -> Policy:
        """What the core needs of it."""
        own = {name: settings.profile(name) for name, settings in self.profiles.items()}
        return Policy(
            profile=self.profile,
            profiles=BUILTIN | own,
            placement=self.placement,
            system_memory_class=self.system_memory.device_class,
            device_count_variable=self.device_count_variable,
            memory_requests=self.memory_requests,
            device_plugin_requests=self.device_plugin_requests,
            uninjected_pods=self.uninjected_pods,
        )


def load(path: Path | None, environ: Mapping[str, str]) -> Settings:
    """The settings of the file at `path`, if any, with the overrides in `environ`. Raises InvalidSettings."""
    members = _file(path) if path else {}
    sources = {key: f"{path}: {key}" for key in members}
    faults = [
        Fault(name, "a setting that does not exist", f"one of {shown_all(_variables(), 32)}")
        for name in environ
        if name.startswith(PREFIX) and name not in _variables() and not _SERVICE_LINK.search(name)
    ]
    for name, key in _variables().items():
        if environ.get(name):  # empty is how many a template spells "not set"
            try:
                members[key] = _yaml(environ[name])
            except _BrokenYamlError as error:
                faults.append(Fault(name, f"broken YAML{error}", "the setting's value"))
            sources[key] = name
    faults += _unknown_profile(members, sources)
    try:
        settings = Settings.model_validate(members)
    except ValidationError as error:
        faults += [_fault(detail, sources) for detail in error.errors()]
    else:
        if not faults:
            return settings
    raise InvalidSettings(faults)


def _unknown_profile(members: Mapping[str, object], sources: Mapping[str, str]) -> list[Fault]:
    own = members.get("profiles")
    names = sorted({*BUILTIN, *map(str, own if isinstance(own, dict) else ())})
    chosen = members.get("profile")
    if not isinstance(chosen, str) or chosen in names:
        return []
    return [Fault(sources["profile"], shown(chosen), f"one of {shown_all(names, 16)}")]


def _file(path: Path) -> dict[str, object]:
    try:
        document = _yaml(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "text that is not UTF-8"
        raise InvalidSettings([Fault(str(path), str(reason), "a readable YAML file of settings")]) from None
    except _BrokenYamlError as error:
        raise InvalidSettings([Fault(str(path), f"broken YAML{error}", "a YAML file of settings")]) from None
    if document is None:
        return {}
    if not isinstance(document, dict) or not all(isinstance(key, str) for key in document):
        raise InvalidSettings([Fault(str(path), _seen(document), "a YAML mapping of settings")])
    return document


class _BrokenYamlError(Exception):
    """Text that is not YAML, or not only one thing. The message says where, as far as that is known."""


class _Loader(yaml.SafeLoader):
    """Of a key twice YAML readers keep the last, in silence; a setting must not be lost like that."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[object, object]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.tag != "tag:yaml.org,2002:merge" and str(key.value) in seen:
                problem = f"the key {shown(key.value)} twice"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(str(key.value))
        return super().construct_mapping(node, deep)


def _yaml(text: str) -> object:
    try:
        return yaml.load(text, _Loader)  # noqa: S506 (a SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = f": {error.problem}" if isinstance(error, yaml.constructor.ConstructorError) else ""
        raise _BrokenYamlError(f"{problem} at line {mark.line + 1}" if mark else problem) from None
    except (ValueError, RecursionError):  # a date that does not exist, nesting without end
        raise _BrokenYamlError from None


def _variables() -> dict[str, str]:
    """Environment variable → key in the file."""
    return {PREFIX + name.upper(): to_camel(name) for name in Settings.model_fields}


def _fault(detail: ErrorDetails, sources: Mapping[str, str]) -> Fault:
    key, *rest = map(str, detail["loc"])
    where = ".".join([sources.get(key, key), *rest])
    if detail["type"] == "missing":
        return Fault(where, "nothing", "a value: the setting is required")
    if detail["type"] != "extra_forbidden":
        where = where.removesuffix(".[key]")
        return Fault(where, _seen(detail["input"]), _wanted(detail))
    fields = _group(key).model_fields if rest else Settings.model_fields
    return Fault(where, "a setting that does not exist", f"one of {shown_all(map(to_camel, fields), 32)}")


def _seen(value: object) -> str:
    """A value as its author would call it: the text "2" is not the number 2."""
    if isinstance(value, str):
        return f"the text {shown(value)}"
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return str(value)[:64]


def _wanted(detail: ErrorDetails) -> str:
    if detail["type"] == "string_pattern_mismatch":
        return _PATTERNS[detail["ctx"]["pattern"]]
    if detail["type"] == "model_type":
        return "a mapping of settings"
    return detail["msg"].removeprefix("Value error, ").replace("Input should be", "").strip()


def _group(key: str) -> type[_Group]:
    """The group of settings under a key: the field's type, or that of its values."""
    (annotation,) = (field.annotation for name, field in Settings.model_fields.items() if to_camel(name) == key)
    return next(
        each for each in (annotation, *get_args(annotation)) if isinstance(each, type) and issubclass(each, _Group)
    )
