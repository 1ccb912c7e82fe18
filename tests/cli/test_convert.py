"""`modelfit convert`: options, and invalid input."""

import json
from pathlib import Path
from typing import Literal

import pytest
import yaml

from tests.cli.conftest import Run
from tests.core import builders
from webhook.core import claims
from webhook.core.admission_config import AdmissionConfig
from webhook.core.claims import API_VERSIONS

FIT = '{"model": "llama-7b", "min_ram_gb": 12, "min_vram_gb": 8}'

INVALID_INPUTS = {
    "empty": b"",
    "blank": b" \n\t",
    "not UTF-8": b'{"min_vram_gb": 8, "model": "\xff"}',
    "UTF-16": FIT.encode("utf-16"),
    "not JSON": b"min_vram_gb: 8",
    "cut off": b'{"min_vram_gb": 8',
    "trailing text": FIT.encode() + b" and more",
    "a list": b"[]",
    "a number": b"8",
    "null": b"null",
    "no amounts": b"{}",
    "an infinite amount": b'{"min_vram_gb": 1e999}',
    "NaN": b'{"min_vram_gb": NaN}',
    "a text for an amount": b'{"min_vram_gb": "8Gi"}',
    "a negative amount": b'{"min_vram_gb": -8}',
    "an amount with many digits": b'{"min_vram_gb": ' + b"9" * 5000 + b"}",
    "a duplicate key": b'{"min_vram_gb": 8, "min_vram_gb": 9}',
    "deep nesting": b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "no models": b'{"models": []}',
    "a NUL": b"\0",
}

INVALID_ARGUMENTS = {
    "a missing file": ["no-such-file.json"],
    "an empty file name": [""],
    "a NUL in a file name": ["a\0b"],
    "a directory": ["."],
    "two files": ["a", "b"],
    "an unknown kind": ["--kind", "pod"],
    "an unknown version": ["--api-version", "v2"],
    "an unknown format": ["-o", "xml"],
    "a device count of 0": ["--device-count", "0"],
    "a device count without counts in the fit": ["--device-count", "auto"],
    "a device count in v1alpha2": ["--device-count", "2", "--api-version", "v1alpha2"],
    "a placement in v1alpha2": ["--placement", "any", "--api-version", "v1alpha2"],
    "an unknown placement": ["--placement", "loose"],
    "an unknown profile": ["--profile", "amiga"],
    "an empty profile": ["--profile", ""],
    "an unknown option": ["--force"],
    "an option that colours the terminal": ["--\x1b[31m"],
    "a shortened option": ["--prof", "nvidia"],
    "an option without its value": ["--name"],
    "a name in capitals": ["--name", "Llama"],
    "an empty name": ["--name="],
    "a name of two lines": ["--name", "a\nb"],
    "a name with a newline behind it": ["--name", "a\n"],
    "a long name": ["--name", "a" * 254],
    "a name with two dots": ["--name", "a..b"],
    "a namespace with a dot": ["--namespace", "a.b"],
    "a long namespace": ["--namespace", "a" * 64],
    "missing settings": ["--config", "no-such-file.yaml"],
    "empty settings name": ["--config", ""],
    "settings that are a directory": ["--config", "."],
}


@pytest.mark.parametrize("case", INVALID_INPUTS)
def test_invalid_input_gives_one_message_and_no_output(case: str, modelfit: Run) -> None:
    result = modelfit("convert", "-", stdin=INVALID_INPUTS[case])
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("modelfit: ")
    assert result.err.count("\n") == 1
    assert "standard input" in result.err


@pytest.mark.parametrize("case", INVALID_ARGUMENTS)
def test_invalid_arguments_give_one_message_and_no_output(case: str, modelfit: Run) -> None:
    result = modelfit("convert", *INVALID_ARGUMENTS[case], stdin=FIT)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("modelfit: ")
    assert result.err.count("\n") == 1
    assert result.err.rstrip("\n").isprintable()


def test_a_file_and_standard_input_give_the_same_manifest(modelfit: Run, tmp_path: Path) -> None:
    path = tmp_path / "fit.json"
    path.write_text(FIT)
    printed = modelfit("convert", str(path)).out
    assert printed == modelfit("convert", "-", stdin=FIT).out == modelfit("convert", stdin=FIT).out
    assert yaml.safe_load(printed)["metadata"]["name"] == "llama-7b-claim"


def test_a_byte_order_mark_is_ignored(modelfit: Run) -> None:
    assert modelfit("convert", stdin="\ufeff" + FIT).out == modelfit("convert", stdin=FIT).out


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_the_error_for_utf_16_names_powershells_remedy(encoding: str, modelfit: Run) -> None:
    text = FIT.encode(encoding) if encoding != "utf-16" else b"\xff\xfe" + FIT.encode("utf-16-le")
    for command in (("convert",), ("preview", "-f", "-")):
        result = modelfit(*command, stdin=text)
        assert (result.code, result.out) == (2, "")
        assert result.err.startswith("modelfit: standard input: UTF-16 text; want UTF-8 text; PowerShell")
        assert "| Out-File -Encoding utf8" in result.err
        assert "cmd /c" in result.err


@pytest.mark.parametrize("placement", ["any", "tightest"])
@pytest.mark.parametrize("count", ["1", "3", "auto"])
def test_a_device_count_and_a_placement_give_the_claim_of_the_controller(
    count: str, placement: Literal["any", "tightest"], modelfit: Run
) -> None:
    fit = '{"model": "m", "min_vram_gb": 140, "supports_tp": [1, 2, 4]}'
    result = modelfit("convert", "--device-count", count, "--placement", placement, stdin=fit)
    config = AdmissionConfig(placement=placement)
    admitted = builders.admitted(builders.pod(fit, annotations={"llmfit.ai/device-count": count}), config)
    stored = admitted["metadata"] | {"uid": "u", "namespace": "default"}
    expected = claims.build_pod_claim(admitted | {"metadata": stored}, config)
    assert expected is not None
    assert yaml.safe_load(result.out)["spec"] == expected["spec"]


@pytest.mark.parametrize(("count", "profile"), [("33", "nvidia"), ("x", "amiga"), ("auto", "amd")])
def test_an_invalid_device_count_is_denied_with_the_webhooks_message(count: str, profile: str, modelfit: Run) -> None:
    annotations = {"llmfit.ai/device-count": count, "llmfit.ai/profile": profile}
    decision = builders.mutate(builders.pod(FIT, annotations=annotations))
    message = f"{decision.reason}: {decision.message}"
    for flag in ("device-count", "profile"):
        message = message.replace(f"metadata.annotations[llmfit.ai/{flag}]", f"--{flag}")
    result = modelfit("convert", "--device-count", count, "--profile", profile, stdin=FIT)
    assert (result.code, result.out, result.err) == (2, "", f"modelfit: {message}\n")


@pytest.mark.parametrize("kind", ["claim", "template"])
@pytest.mark.parametrize("version", API_VERSIONS)
def test_yaml_and_json_have_the_same_values(version: str, kind: str, modelfit: Run) -> None:
    call = ("convert", "--api-version", version, "--kind", kind, "--name", "n", "--namespace", "ns")
    document = json.loads(modelfit(*call, "-o", "json", stdin=FIT).out)
    assert yaml.safe_load(modelfit(*call, stdin=FIT).out) == document
    assert document["apiVersion"] == f"resource.k8s.io/{version}"
    assert document["metadata"]["name"] == "n"
    assert document["metadata"]["namespace"] == "ns"


def test_v1alpha2_is_the_manifest_in_llmfits_documentation(modelfit: Run) -> None:
    assert yaml.safe_load(modelfit("convert", "--api-version", "v1alpha2", stdin=FIT).out) == {
        "apiVersion": "resource.k8s.io/v1alpha2",
        "kind": "ResourceClaim",
        "metadata": {"name": "llama-7b-claim"},
        "spec": {"resourceClassName": "gpu-memory-class", "resources": {"memory": "12Gi", "gpu.memory": "8Gi"}},
    }


def test_the_profile_argument_overrides_the_setting(modelfit: Run, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("profile: example\n")
    assert "gpu.example.com" in modelfit("convert", "--config", str(config), stdin=FIT).out
    assert "gpu.example.com" not in modelfit("convert", "--config", str(config), "--profile", "nvidia", stdin=FIT).out


def test_the_environment_overrides_the_settings(modelfit: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODELFIT_PROFILE", "example")
    assert "gpu.example.com" in modelfit("convert", stdin=FIT).out
    monkeypatch.setenv("MODELFIT_PROFIL", "example")
    result = modelfit("convert", stdin=FIT)
    assert (result.code, result.out) == (2, "")
    assert "MODELFIT_PROFIL" in result.err


def test_an_ambiguous_fit_is_converted_with_a_warning(modelfit: Run) -> None:
    result = modelfit("convert", stdin='{"min_ram_gb": 12, "min_vram_gb": null}')
    assert result.code == 0
    assert result.err.startswith("Warning: min_vram_gb is null")


def test_control_characters_in_a_name_are_escaped(modelfit: Run) -> None:
    fit = json.dumps({"model": "\x1b[31m\n---\nkind: Secret \u2028 \ud800", "min_vram_gb": 8})
    result = modelfit("convert", stdin=fit)
    assert result.code == 0
    assert "\x1b" not in result.out
    assert len(list(yaml.safe_load_all(result.out))) == 1
