"""Transcripts as golden files: every sample of llmfit's output, llmfit's documented manifest, every workload kind."""

from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from tests.cli.conftest import Run
from tests.conftest import GOLDEN, Golden

FIT = '{"model": "llama-7b", "min_ram_gb": 12, "min_vram_gb": 8}'
ESTIMATED = (
    '{"model": "llama-7b", "min_ram_gb": 12, "min_vram_gb": 8, "ram_gb": 99, "vram_gb": 99, "estimated_vram_gb": 12.5}'
)
CPU_FIT = '{"model": "tiny", "min_ram_gb": 2.5, "min_vram_gb": 0}'

SAMPLES = sorted(path.stem for path in (GOLDEN / "llmfit").glob("*.json"))
MANIFESTS = sorted(path.name for path in (GOLDEN / "cli" / "manifests").iterdir())

CONVERT = {
    "documented": (FIT, "--api-version v1alpha2"),
    "documented-template": (FIT, "--api-version v1alpha2 --kind template"),
    "documented-estimates": (ESTIMATED, "--api-version v1alpha2"),
    "documented-cpu-only": (CPU_FIT, "--api-version v1alpha2"),
    "claim": (FIT, "- --api-version v1 --kind claim"),
    "claim-estimates": (ESTIMATED, ""),
    "claim-cpu-only": (CPU_FIT, ""),
    "claim-named": (FIT, "--name big.model --namespace models --profile example -o json"),
    "template": (FIT, "--kind template --name llama"),
    "several-errors": ('{"min_vram_gb": "8", "min_ram_gb": -1, "ram_gb": NaN, "min_ram_gb": 1}', ""),
}
"""Name of the transcript → standard input, arguments."""


@pytest.mark.parametrize("sample", SAMPLES)
def test_every_sample_of_llmfit_gives_its_manifest_or_its_error(
    sample: str, modelfit: Run, golden: Golden, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(GOLDEN)
    # The bandwidth in a claim needs the profile whose devices publish bandwidth.
    arguments = ["convert", f"llmfit/{sample}.json", *(["--profile", "llmfit"] if sample.startswith("claim") else [])]
    golden(f"cli/samples/{sample}.txt", modelfit(*arguments).transcript("modelfit " + " ".join(arguments)))


@pytest.mark.parametrize("case", CONVERT)
def test_convert(case: str, modelfit: Run, golden: Golden) -> None:
    fit, arguments = CONVERT[case]
    result = modelfit("convert", *arguments.split(), stdin=fit)
    golden(f"cli/convert/{case}.txt", result.transcript(f"echo '{fit}' | modelfit convert {arguments}".rstrip()))


@pytest.mark.parametrize("name", MANIFESTS)
def test_preview(name: str, modelfit: Run, golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(GOLDEN / "cli" / "manifests")
    arguments = ["preview", "-f", name, *(["-o", "json"] if name.endswith(".json") else [])]
    result = modelfit(*arguments)
    golden(f"cli/preview/{Path(name).stem}.txt", result.transcript("modelfit " + " ".join(arguments)))


def test_every_transcript_has_a_test() -> None:
    files = {str(path.relative_to(GOLDEN / "cli")) for path in (GOLDEN / "cli").rglob("*.txt")}
    expected = {f"samples/{sample}.txt" for sample in SAMPLES}
    expected |= {f"convert/{case}.txt" for case in CONVERT}
    expected |= {f"preview/{Path(name).stem}.txt" for name in MANIFESTS}
    assert files == expected


# v1alpha2 with spec.resources is an export format that no API server ever had, so it has no schema.
SERVED = [path for path in sorted((GOLDEN / "cli").rglob("*.txt")) if not path.stem.startswith("documented")]


@pytest.mark.parametrize("path", SERVED, ids=lambda path: path.stem)
def test_what_is_printed_validates_against_kubernetes_own_schema(path: Path) -> None:
    printed = path.read_text("utf-8").partition("--- standard output\n")[2]
    documents = [document for document in yaml.safe_load_all(printed) if document is not None]
    for document in documents:
        for item in document["items"] if document["kind"] == "List" else [document]:
            kubernetes_validate.validate(item, kubernetes_validate.latest_version(), strict=True)
