"""Each setting: which values stop the start, and whether its manual says what it is."""

import pytest
from pydantic import BaseModel
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo

from tests.settings.writing import Write
from webhook import settings
from webhook.settings import Settings

GROUPS = [each for each in vars(settings).values() if isinstance(each, type) and issubclass(each, BaseModel)]
FIELDS = [
    (group, name, field) for group in GROUPS for name, field in group.model_fields.items() if group is not BaseModel
]

WRONG: dict[str, list[str]] = {
    "profile": ["7", "true", "[nvidia]", "null"],
    "placement": ["best", "1", "null"],
    "systemMemory": ["dra.memory", "{deviceClass: 'Not A Class'}", "{deviceClass: 7}", "null"],
    "deviceCountVariable": ["1A", "A-B", "''", "7"],
    "memoryRequests": ["yes", "Fill"],
    "devicePluginRequests": ["allow", "true"],
    "uninjectedPods": ["allow", "no"],
    "profiles": ["[]", "acme", "{acme: null}", "{acme: {}}", "{Acme: {driver: a, deviceClasses: [a]}}"],
    "logLevel": ["trace", "INFO", "10"],
    "workers": ["0", "65", "1.5", "'1'", "true"],
    "maxConnections": ["15", "65537", "'64'"],
    "maxReviewMebibytes": ["0", "65", "8Mi"],
    "keepAliveSeconds": ["0", "3601", "2m", "1.5"],
    "drainSeconds": ["-1", "601", "'10'", "true", ".nan", ".inf", "10s"],
}


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in WRONG.items() for value in values])
def test_a_wrong_value_stops_the_start(write: Write, key: str, value: str) -> None:
    faults = write.faults(f"{key}: {value}")
    assert all(fault.startswith(f"FILE: {key}") for fault in faults)


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
        ("shares", '{"a b": "1"}'),
    ],
)  # fmt: skip
def test_a_profile_that_no_api_server_would_take_stops_the_start(write: Write, member: str, value: str) -> None:
    given = {"driver": "a", "deviceClasses": "[a]"} | {member: value}
    faults = write.faults("profiles: {acme: {" + ", ".join(f"{key}: {text}" for key, text in given.items()) + "}}")
    assert all(fault.startswith("FILE: profiles.acme") for fault in faults)
    assert all(len(fault) < 400 for fault in faults)


@pytest.mark.parametrize(("group", "name", "field"), FIELDS, ids=lambda it: getattr(it, "__name__", str(it)[:30]))
def test_every_setting_has_its_manual_with_unit_and_default(
    group: type[BaseModel], name: str, field: FieldInfo
) -> None:
    manual = " ".join((field.description or "").split())
    assert len(manual) >= 20
    if field.is_required():
        assert manual.endswith("Required.")
    else:
        assert "Default " in manual
        default = field.default
        if isinstance(default, (str, int, float)) and not isinstance(default, bool):
            assert f"{default:g}" in manual if isinstance(default, float) else f"{default}" in manual
    for unit, words in (("seconds", "Seconds"), ("mebibytes", "MiB"), ("days", "days")):
        if name.endswith(unit):
            assert words in manual


def test_settings_cannot_be_changed_once_they_are_read() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Settings().profile = "example"


def test_every_setting_is_spelled_in_one_way_only(write: Write) -> None:
    for name in Settings.model_fields:
        if to_camel(name) != name:
            (fault,) = write.faults(f"{name}: null")
            assert "a setting that does not exist" in fault
