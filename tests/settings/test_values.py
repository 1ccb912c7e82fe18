"""Each setting: the values that it does not accept, and its documentation."""

import re

import pytest
from pydantic import BaseModel
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo

from tests.settings.conftest import ConfigFile
from webhook import settings
from webhook.settings import Settings

GROUPS = [each for each in vars(settings).values() if isinstance(each, type) and issubclass(each, BaseModel)]
FIELDS = [
    (group, name, field) for group in GROUPS for name, field in group.model_fields.items() if group is not BaseModel
]

INVALID: dict[str, list[str]] = {
    "profile": ["7", "true", "[nvidia]", "null"],
    "placement": ["best", "1", "null"],
    "systemMemory": ["dra.memory", "{deviceClass: 'Not A Class'}", "{deviceClass: 7}", "null"],
    "deviceCountVariable": ["1A", "A-B", "''", "7"],
    "memoryRequests": ["yes", "Fill"],
    "devicePluginRequests": ["allow", "true"],
    "gpuResourceNames": ["example.com/gpu", "[gpu]", "[nvidia.com/]", "[a.b/-x]", "[7]", "[A.b/gpu]"],
    "ambiguousContainers": ["allow", "last"],
    "uninjectedPods": ["allow", "no"],
    "profiles": ["[]", "acme", "{acme: null}", "{acme: {}}", "{Acme: {driver: a, deviceClasses: [a]}}"],
    "logLevel": ["trace", "INFO", "10"],
    "workers": ["0", "65", "1.5", "'1'", "true"],
    "maxConnections": ["15", "65537", "'64'"],
    "maxReviewMebibytes": ["0", "65", "8Mi"],
    "keepAliveSeconds": ["0", "3601", "2m", "1.5"],
    "drainSeconds": ["-1", "601", "'10'", "true", ".nan", ".inf", "10s"],
}


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in INVALID.items() for value in values])
def test_an_invalid_value_is_an_error_of_its_setting(config_file: ConfigFile, key: str, value: str) -> None:
    errors = config_file.errors(f"{key}: {value}")
    assert all(error.startswith(f"FILE: {key}") for error in errors)


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("driver", '"Gpu.Example"'), ("driver", f"{'a' * 64}"), ("driver", "\"a' || true || '\""), ("driver", '"a\\n"'),
        ("driver", "-a"), ("driver", '""'), ("deviceClasses", "[]"), ("deviceClasses", "a"),
        ("deviceClasses", "[a, a]"),
        ("deviceClasses", "[A]"), ("deviceClasses", "[a, b, c, d, e, f, g, h, i]"), ("capacity", "gpu.example/memory"),
        ("capacity", '"mem\\"ory"'), ("capacity", "m" + "x" * 32), ("selectors", "true"), ("selectors", "['']"),
        ("selectors", "[" + ",".join(["'true'"] * 29) + "]"), ("selectors", f"['{'x' * 10241}']"), ("product", "model"),
        ("product", "gpu.example/a/b"), ("product", '"gpu.example/\\"x"'), ("partitionClasses", "[b]"),
        ("shares", "{cores: 10}"), ("shares", '{cores: "-1"}'), ("shares", '{cores: "ten"}'),
        ("shares", '{memory: "1"}'),
        ("shares", '{"a b": "1"}'), ("productMemory", "{GB10: 110}"),
        ("product", "a/m, productMemory: {GB10: 110Gi}"), ("product", "a/m, productMemory: {GB10: 0}"),
        ("product", 'a/m, productMemory: {"": 1}'),
        ("product", 'a/m, shares: {cores: "1"}, productMemory: {GB10: 110}'),
        ("deviceClasses", "[a, b, c, d, e], product: a/m, productMemory: {GB10: 110}"),
        ("tolerations", "[{operator: Equal, key: a}]"), ("tolerations", "[{operator: Equal, value: b}]"),
        ("tolerations", "[{key: a, value: b}]"), ("tolerations", "[{effect: PreferNoSchedule}]"),
        ("tolerations", "[{key: '-a'}]"), ("tolerations", "[" + ",".join(["{key: a}"] * 17) + "]"),
    ],
)  # fmt: skip
def test_an_invalid_member_of_a_profile_is_an_error_of_the_profile(
    config_file: ConfigFile, member: str, value: str
) -> None:
    profile = {"driver": "a", "deviceClasses": "[a]"} | {member: value}
    members = ", ".join(f"{key}: {text}" for key, text in profile.items())
    errors = config_file.errors(f"profiles: {{acme: {{{members}}}}}")
    assert all(error.startswith("FILE: profiles.acme") for error in errors)
    assert all(len(error) < 400 for error in errors)


@pytest.mark.parametrize(("group", "name", "field"), FIELDS, ids=lambda it: getattr(it, "__name__", str(it)[:30]))
def test_every_setting_documents_its_unit_and_default(group: type[BaseModel], name: str, field: FieldInfo) -> None:
    manual = " ".join((field.description or "").split())
    assert len(manual) >= 20
    if field.is_required():
        assert manual.endswith("Required.")
    else:
        assert re.search(r"Default `?[\w.\[\]-]+`?\.$", manual)
        default = field.default
        if isinstance(default, (str, int, float)) and not isinstance(default, bool):
            assert f"{default:g}" in manual if isinstance(default, float) else f"{default}" in manual
    for unit, text in (("seconds", "Seconds"), ("mebibytes", "MiB"), ("days", "days")):
        if name.endswith(unit):
            assert text in manual


def test_settings_are_immutable() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Settings().profile = "example"


def test_a_setting_in_snake_case_is_an_error(config_file: ConfigFile) -> None:
    for name in Settings.model_fields:
        if to_camel(name) != name:
            (error,) = config_file.errors(f"{name}: null")
            assert "a setting that does not exist" in error
