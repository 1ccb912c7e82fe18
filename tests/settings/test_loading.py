"""The configuration: every fault at once, where it stands, and nothing that passes unseen."""

from pathlib import Path

import pytest
from pydantic.alias_generators import to_camel

from tests.settings.writing import Write
from webhook import settings
from webhook.core.admission_config import AdmissionConfig
from webhook.core.profiles import BUILTIN
from webhook.errors import InvalidSettings
from webhook.settings import Settings

OWN = "profiles: {acme: {driver: gpu.acme.example, deviceClasses: [gpu.acme.example]}}\n"


def test_without_a_file_everything_has_its_default() -> None:
    assert settings.load(None, {}) == Settings()
    assert Settings().admission_config() == AdmissionConfig()


@pytest.mark.parametrize("text", ["", "\n", "# nothing\n", "---\n", "{}", "null"])
def test_an_empty_file_is_the_defaults(write: Write, text: str) -> None:
    assert write.load(text) == Settings()


def test_a_file_sets_what_it_names(write: Write) -> None:
    loaded = write.load(
        """
        profile: acme
        placement: tightest
        memoryRequests: ignore
        devicePluginRequests: warn
        uninjectedPods: warn
        logLevel: debug
        systemMemory: {deviceClass: dra.memory}
        deviceCountVariable: TENSOR_PARALLEL
        profiles:
          acme:
            driver: gpu.acme.example
            deviceClasses: [big.acme.example, gpu.acme.example]
            partitionClasses: [big.acme.example]
            capacity: hbm
            selectors: ['"gpu.acme.example" in device.attributes']
            product: gpu.acme.example/model
            shares: {cores: "10"}
        """
    )
    config = loaded.admission_config()
    assert (config.profile, config.placement, config.memory_requests) == ("acme", "tightest", "ignore")
    assert (config.device_plugin_requests, config.uninjected_pods) == ("warn", "warn")
    assert (config.system_memory_class, config.device_count_variable) == ("dra.memory", "TENSOR_PARALLEL")
    assert config.profiles.keys() == BUILTIN.keys() | {"acme"}
    acme = config.profiles["acme"]
    assert (acme.name, acme.driver, acme.capacity) == ("acme", "gpu.acme.example", "hbm")
    assert acme.device_classes == ("big.acme.example", "gpu.acme.example")
    assert acme.classes_for(2) == ("gpu.acme.example",)
    assert acme.product == "gpu.acme.example/model"
    assert acme.shares == {"cores": "10"}
    assert loaded.log_level == "debug"


def test_a_built_in_profile_may_be_redefined(write: Write) -> None:
    loaded = write.load("profiles: {nvidia: {driver: gpu.nvidia.com, deviceClasses: [mine]}}")
    assert loaded.admission_config().profiles["nvidia"].device_classes == ("mine",)


def test_the_environment_overrides_the_file(write: Write) -> None:
    loaded = write.load(
        "profile: example\nlogLevel: error\nworkers: 3",
        MODELFIT_PROFILE="acme",
        MODELFIT_PROFILES="{acme: {driver: gpu.acme.example, deviceClasses: [c]}}",
        MODELFIT_WORKERS="2",
        MODELFIT_DRAIN_SECONDS="0.5",
        HOME="/root",
        NOT_MODELFIT_FOO="1",
    )
    assert (loaded.profile, loaded.log_level, loaded.workers, loaded.drain_seconds) == ("acme", "error", 2, 0.5)
    assert settings.load(None, {"MODELFIT_LOG_LEVEL": "debug"}).log_level == "debug"


def test_every_fault_is_named_at_once_with_its_place(write: Write) -> None:
    faults = write.faults(
        """
        profile: nowhere
        memoryRequests: sometimes
        workers: 0
        colour: red
        profiles:
          acme: {driver: "Not A Driver", deviceClasses: [a], speed: 9}
          "B d": {driver: a, deviceClasses: [a]}
        """,
        MODELFIT_LOG_LEVEL="loud",
        MODELFIT_COLOUR="blue",
        MODELFIT_MAX_CONNECTIONS="[",
    )
    places = [
        fault.partition(": ")[0] if fault.startswith("MODEL") else ": ".join(fault.split(": ")[:2]) for fault in faults
    ]
    assert sorted(places) == sorted(
        [
            "FILE: profile", "FILE: memoryRequests", "FILE: workers", "FILE: colour", "FILE: profiles.acme.driver",
            "FILE: profiles.acme.speed", "FILE: profiles.B d",
            "MODELFIT_LOG_LEVEL", "MODELFIT_COLOUR", "MODELFIT_MAX_CONNECTIONS",
        ]
    )  # fmt: skip
    assert all("; want " in fault for fault in faults)


def test_what_does_not_fit_together_is_named_beside_what_is_wrong_by_itself(write: Write) -> None:
    faults = write.faults(
        """
        workers: 0
        profiles:
          acme:
            driver: A
            deviceClasses: [a, b, c]
            partitionClasses: [other]
            shares: {memory: "1"}
          other: {driver: a, deviceClasses: [a, b, c, d, e], shares: {memory: "1"}}
          third: {driver: a, deviceClasses: [a], partitionClasses: [b], shares: {cores: ten}}
        """
    )
    assert sorted(fault.partition("; want ")[0] for fault in faults) == [
        'FILE: profiles.acme.driver: the text "A"',
        "FILE: profiles.acme.partitionClasses: a list",
        "FILE: profiles.acme.shares: a mapping",
        "FILE: profiles.other.shares: a mapping",
        "FILE: profiles.third.partitionClasses: a list",
        'FILE: profiles.third.shares.cores: the text "ten"',
        "FILE: workers: 0",
    ]
    (both,) = [fault for fault in faults if "profiles.other" in fault]
    assert "at most 4 deviceClasses with it" in both
    assert "other capacities than the one" in both


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('workers: "2"', 'FILE: workers: the text "2"; want a valid integer'),
        ("workers: 65", "FILE: workers: 65; want less than or equal to 64"),
        ("profile: 5", "FILE: profile: 5; want a valid string"),
        ("profile: null", "FILE: profile: null; want a valid string"),
        ("memoryRequests: no", "FILE: memoryRequests: false; want 'fill' or 'ignore'"),
        ("systemMemory: null", "FILE: systemMemory: null; want a mapping of settings"),
        ("profiles: []", "FILE: profiles: a list; want a mapping of settings"),
        ("certificates: {namespace: n, secret: s}", "FILE: certificates.service: nothing; want a value: "),
        ("excludedNamespaces: [A]", 'FILE: excludedNamespaces.0: the text "A"; want lower-case letters, digits'),
        ("workers: 2\nworkers: 3", 'FILE: broken YAML: the key "workers" twice at line 2; want '),
        ("- profile", "FILE: a list; want a YAML mapping of settings"),
    ],
)
def test_a_fault_says_what_was_seen_as_its_author_would(write: Write, text: str, fault: str) -> None:
    (found,) = write.faults(text)
    assert found.startswith(fault)


def test_an_empty_variable_is_none() -> None:
    assert settings.load(None, {"MODELFIT_WORKERS": "", "MODELFIT_PROFILE": ""}) == settings.load(None, {})


def test_a_setting_that_does_not_exist_is_answered_with_those_that_do(write: Write) -> None:
    (fault,) = write.faults("log_level: info")
    assert '"logLevel"' in fault
    (fault,) = write.faults("profiles: {a: {driver: a, deviceClasses: [a], deviceClass: a}}")
    assert '"deviceClasses"' in fault
    assert '"logLevel"' not in fault
    (fault,) = settings_faults(MODELFIT_LOGLEVEL="info")
    assert '"MODELFIT_LOG_LEVEL"' in fault


def settings_faults(**environ: str) -> list[str]:
    with pytest.raises(InvalidSettings) as invalid:
        settings.load(None, environ)
    return str(invalid.value).splitlines()


@pytest.mark.parametrize("key", [to_camel(name) for name in Settings.model_fields])
def test_an_unknown_setting_inside_any_group_is_named(write: Write, key: str) -> None:
    faults = write.faults(f"{key}: {{acme: {{unknownSetting: 1}}, unknownSetting: 1}}")
    assert faults
    assert all(fault.startswith(f"FILE: {key}") for fault in faults)


def test_an_unknown_profile_is_answered_with_the_known_ones(write: Write) -> None:
    (fault,) = write.faults(OWN + "profile: acne")
    assert fault.startswith('FILE: profile: "acne"; want one of "acme", ')
    (fault,) = settings_faults(MODELFIT_PROFILE="acne")
    assert fault.startswith('MODELFIT_PROFILE: "acne"; want one of ')


@pytest.mark.parametrize(
    "text",
    ["[", "a: b: c", "a: 2026-13-45", "- a\n- b", "just text", "7", "{1: a}", "profile: a\nprofile: b", "[" * 3000,
     "profiles:\n  a: {driver: a, driver: b}"],
)  # fmt: skip
def test_what_is_no_mapping_of_settings_is_one_fault(write: Write, text: str) -> None:
    (fault,) = write.faults(text)
    assert fault.startswith("FILE: ")
    assert "YAML" in fault


def test_a_merge_key_is_no_key_twice(write: Write) -> None:
    loaded = write.load(
        """
        profiles:
          a: &a {driver: a, deviceClasses: [a]}
          b: {<<: *a, deviceClasses: [b]}
        """
    )
    assert loaded.profiles["b"].device_classes == ["b"]
    assert loaded.profiles["b"].driver == "a"


def test_a_file_that_cannot_be_read_is_a_fault(write: Write, tmp_path: Path) -> None:
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(InvalidSettings, match="want a readable YAML file of settings"):
            settings.load(path, {})
    write.path.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidSettings, match="not UTF-8"):
        settings.load(write.path, {})


@pytest.mark.parametrize(
    "name",
    ["MODELFIT_SERVICE_HOST", "MODELFIT_SERVICE_PORT", "MODELFIT_SERVICE_PORT_HTTPS", "MODELFIT_PORT",
     "MODELFIT_PORT_443_TCP", "MODELFIT_PORT_443_TCP_ADDR", "MODELFIT_PORT_443_TCP_PORT", "MODELFIT_PORT_443_TCP_PROTO",
     "MODELFIT_WEBHOOK_SERVICE_HOST", "MODELFIT_WEBHOOK_PORT", "MODELFIT_WEBHOOK_PORT_8443_TCP_PROTO"],
)  # fmt: skip
def test_what_kubernetes_adds_for_a_service_of_our_name_is_no_setting(name: str) -> None:
    assert settings.load(None, {name: "tcp://10.0.0.1:443"}) == Settings()


def test_no_setting_is_mistaken_for_a_service_link() -> None:
    for name in Settings.model_fields:
        variable = f"MODELFIT_{name.upper()}"
        assert settings_faults(**{variable: "[not, what, is, wanted", f"{variable}_": "x"})
