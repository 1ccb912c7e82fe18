"""Loading the configuration: files, the environment, and errors, which are all reported with their place."""

from pathlib import Path

import pytest
from pydantic.alias_generators import to_camel

from tests.settings.conftest import ConfigFile
from webhook import settings
from webhook.core.admission_config import AdmissionConfig
from webhook.core.profiles import BUILTIN
from webhook.errors import InvalidSettings
from webhook.settings import Settings

ACME = "profiles: {acme: {driver: gpu.acme.example, deviceClasses: [gpu.acme.example]}}\n"


def test_without_a_file_every_setting_has_its_default() -> None:
    assert settings.load(None, {}) == Settings()
    assert Settings().admission_config() == AdmissionConfig()


@pytest.mark.parametrize("text", ["", "\n", "# nothing\n", "---\n", "{}", "null"])
def test_an_empty_file_gives_the_defaults(config_file: ConfigFile, text: str) -> None:
    assert config_file.load(text) == Settings()


def test_a_file_sets_every_kind_of_setting(config_file: ConfigFile) -> None:
    loaded = config_file.load(
        """
        profile: acme
        placement: tightest
        memoryRequests: ignore
        devicePluginRequests: warn
        gpuResourceNames: [example.com/gpu, acme.example/GPU.shared_2]
        ambiguousContainers: first
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
    assert config.gpu_resource_names == ("example.com/gpu", "acme.example/GPU.shared_2")
    assert config.ambiguous_containers == "first"
    assert (config.system_memory_class, config.device_count_variable) == ("dra.memory", "TENSOR_PARALLEL")
    assert config.profiles.keys() == BUILTIN.keys() | {"acme"}
    acme = config.profiles["acme"]
    assert (acme.name, acme.driver, acme.capacity) == ("acme", "gpu.acme.example", "hbm")
    assert acme.device_classes == ("big.acme.example", "gpu.acme.example")
    assert acme.classes_for(2) == ("gpu.acme.example",)
    assert acme.product == "gpu.acme.example/model"
    assert acme.shares == {"cores": "10"}
    assert loaded.log_level == "debug"


def test_a_custom_profile_replaces_the_built_in_one_of_its_name(config_file: ConfigFile) -> None:
    loaded = config_file.load("profiles: {nvidia: {driver: gpu.nvidia.com, deviceClasses: [mine]}}")
    assert loaded.admission_config().profiles["nvidia"].device_classes == ("mine",)


def test_the_environment_overrides_the_file(config_file: ConfigFile) -> None:
    loaded = config_file.load(
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


def test_all_errors_are_reported_together_with_their_place(config_file: ConfigFile) -> None:
    errors = config_file.errors(
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
        error.partition(": ")[0] if error.startswith("MODEL") else ": ".join(error.split(": ")[:2]) for error in errors
    ]
    assert sorted(places) == sorted(
        [
            "FILE: profile", "FILE: memoryRequests", "FILE: workers", "FILE: colour", "FILE: profiles.acme.driver",
            "FILE: profiles.acme.speed", "FILE: profiles.B d",
            "MODELFIT_LOG_LEVEL", "MODELFIT_COLOUR", "MODELFIT_MAX_CONNECTIONS",
        ]
    )  # fmt: skip
    assert all("; want " in error for error in errors)


def test_contradictions_are_reported_together_with_invalid_values(config_file: ConfigFile) -> None:
    errors = config_file.errors(
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
    assert sorted(error.partition("; want ")[0] for error in errors) == [
        'FILE: profiles.acme.driver: the text "A"',
        "FILE: profiles.acme.partitionClasses: a list",
        "FILE: profiles.acme.shares: a mapping",
        "FILE: profiles.other.shares: a mapping",
        "FILE: profiles.third.partitionClasses: a list",
        'FILE: profiles.third.shares.cores: the text "ten"',
        "FILE: workers: 0",
    ]
    (both,) = [error for error in errors if "profiles.other" in error]
    assert "at most 4 deviceClasses with it" in both
    assert "other capacities than the one" in both


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('workers: "2"', 'FILE: workers: the text "2"; want a valid integer'),
        ("workers: 65", "FILE: workers: 65; want less than or equal to 64"),
        ("profile: 5", "FILE: profile: 5; want a valid string"),
        ("profile: null", "FILE: profile: null; want a valid string"),
        ("memoryRequests: no", "FILE: memoryRequests: false; want 'fill' or 'ignore'"),
        ("systemMemory: null", "FILE: systemMemory: null; want a mapping of settings"),
        ("profiles: []", "FILE: profiles: a list; want a mapping of settings"),
        ("certificates: {namespace: n, secret: s}", "FILE: certificates.service: missing; want a value: "),
        ("excludedNamespaces: [A]", 'FILE: excludedNamespaces.0: the text "A"; want lower-case letters, digits'),
        ("workers: 2\nworkers: 3", 'FILE: invalid YAML: duplicate key "workers" at line 2; want '),
        ("- profile", "FILE: a list; want a YAML mapping of settings"),
        ("{1: a}", "FILE: the key 1; want a YAML mapping of names of settings"),
        (
            "profiles: {a: {driver: d, deviceClasses: []}}",
            "FILE: profiles.a.deviceClasses: a list; want at least 1 item",
        ),
        (f"workers: 0x{'f' * 6000}", "FILE: workers: a number of hundreds of digits; want less than or equal to 64"),
        ('workers: !!int ""', "FILE: invalid YAML; want a YAML file of settings"),
        ("workers: !!bool x", "FILE: invalid YAML; want a YAML file of settings"),
        ("workers: !!timestamp x", "FILE: invalid YAML; want a YAML file of settings"),
    ],
)
def test_an_error_describes_the_value_as_it_is_written(config_file: ConfigFile, text: str, error: str) -> None:
    (found,) = config_file.errors(text)
    assert found.startswith(error)


def test_an_empty_environment_variable_is_ignored() -> None:
    assert settings.load(None, {"MODELFIT_WORKERS": "", "MODELFIT_PROFILE": ""}) == settings.load(None, {})


def test_the_error_for_an_unknown_setting_lists_the_known_ones(config_file: ConfigFile) -> None:
    (error,) = config_file.errors("log_level: info")
    assert '"logLevel"' in error
    (error,) = config_file.errors("profiles: {a: {driver: a, deviceClasses: [a], deviceClass: a}}")
    assert '"deviceClasses"' in error
    assert '"logLevel"' not in error
    (error,) = config_file.errors("", MODELFIT_LOGLEVEL="info")
    assert '"MODELFIT_LOG_LEVEL"' in error


@pytest.mark.parametrize("key", [to_camel(name) for name in Settings.model_fields])
def test_an_unknown_setting_inside_any_group_is_an_error(config_file: ConfigFile, key: str) -> None:
    errors = config_file.errors(f"{key}: {{acme: {{unknownSetting: 1}}, unknownSetting: 1}}")
    assert errors
    assert all(error.startswith(f"FILE: {key}") for error in errors)


def test_the_error_for_an_unknown_profile_lists_the_known_ones(config_file: ConfigFile) -> None:
    (error,) = config_file.errors(ACME + "profile: acne")
    assert error.startswith('FILE: profile: "acne"; want one of "acme", ')
    (error,) = config_file.errors("", MODELFIT_PROFILE="acne")
    assert error.startswith('MODELFIT_PROFILE: "acne"; want one of ')


@pytest.mark.parametrize(
    "text",
    ["[", "a: b: c", "a: 2026-13-45", "- a\n- b", "just text", "7", "{1: a}", "profile: a\nprofile: b", "[" * 3000,
     "profiles:\n  a: {driver: a, driver: b}"],
)  # fmt: skip
def test_a_file_that_is_not_a_mapping_of_settings_is_one_error(config_file: ConfigFile, text: str) -> None:
    (error,) = config_file.errors(text)
    assert error.startswith("FILE: ")
    assert "YAML" in error


def test_a_merge_key_may_be_overridden(config_file: ConfigFile) -> None:
    loaded = config_file.load(
        """
        profiles:
          a: &a {driver: a, deviceClasses: [a]}
          b: {<<: *a, deviceClasses: [b]}
        """
    )
    assert loaded.profiles["b"].device_classes == ["b"]
    assert loaded.profiles["b"].driver == "a"


def test_a_profile_states_the_memory_of_products_and_tolerates_taints(config_file: ConfigFile) -> None:
    loaded = config_file.load(
        """
        profiles:
          spark:
            driver: gpu.nvidia.com
            deviceClasses: [gpu.nvidia.com]
            product: gpu.nvidia.com/productName
            productMemory: {NVIDIA GB10: 110}
            tolerations: [{key: a/b, operator: Equal, value: c, effect: NoExecute}, {}]
        """
    )
    profile = loaded.admission_config().profiles["spark"]
    assert profile.product_memory == {"NVIDIA GB10": 110 << 10}
    tolerated = {"key": "a/b", "operator": "Equal", "value": "c", "effect": "NoExecute"}
    assert profile.tolerations == (tolerated, {"operator": "Exists"})


def test_a_file_that_cannot_be_read_is_an_error(config_file: ConfigFile, tmp_path: Path) -> None:
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(InvalidSettings, match="want a readable YAML file of settings"):
            settings.load(path, {})
    config_file.path.write_bytes(b"\xff\xff")
    with pytest.raises(InvalidSettings, match="not UTF-8"):
        settings.load(config_file.path, {})


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_the_error_for_a_file_from_powershell_names_the_remedy(config_file: ConfigFile, encoding: str) -> None:
    config_file.path.write_bytes("profile: amd\r\n".encode(encoding))
    with pytest.raises(InvalidSettings, match=r"UTF-16 text; want .* Out-File -Encoding utf8, .* cmd /c"):
        settings.load(config_file.path, {})


@pytest.mark.parametrize(
    "name",
    ["MODELFIT_SERVICE_HOST", "MODELFIT_SERVICE_PORT", "MODELFIT_SERVICE_PORT_HTTPS", "MODELFIT_PORT",
     "MODELFIT_PORT_443_TCP", "MODELFIT_PORT_443_TCP_ADDR", "MODELFIT_PORT_443_TCP_PORT", "MODELFIT_PORT_443_TCP_PROTO",
     "MODELFIT_WEBHOOK_SERVICE_HOST", "MODELFIT_WEBHOOK_PORT", "MODELFIT_WEBHOOK_PORT_8443_TCP_PROTO"],
)  # fmt: skip
def test_variables_of_kubernetes_service_links_are_ignored(name: str) -> None:
    assert settings.load(None, {name: "tcp://10.0.0.1:443"}) == Settings()


def test_no_setting_is_mistaken_for_a_service_link(config_file: ConfigFile) -> None:
    for name in Settings.model_fields:
        variable = f"MODELFIT_{name.upper()}"
        assert config_file.errors("", **{variable: "[invalid", f"{variable}_": "x"})
