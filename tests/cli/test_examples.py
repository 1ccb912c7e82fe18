"""Every file in examples/ works."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Run
from tests.conftest import Golden

EXAMPLES = Path(__file__).parents[2] / "examples"
NO_MANIFESTS = {"config.yaml"}
MANIFESTS = sorted(path.name for path in EXAMPLES.glob("*.yaml") if path.name not in NO_MANIFESTS)


@pytest.mark.parametrize("name", MANIFESTS)
def test_every_example_can_be_previewed(
    name: str, modelfit: Run, golden: Golden, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(EXAMPLES)
    result = modelfit("preview", "-f", name)
    assert result.code == 0
    golden(f"examples/{Path(name).stem}.txt", result.transcript(f"modelfit preview -f {name}"))


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.name)
def test_every_example_begins_with_a_comment(path: Path) -> None:
    assert path.read_text("utf-8").startswith("# ")


def test_the_example_settings_are_applied(modelfit: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES)
    printed = modelfit("preview", "-f", "pod.yaml", "--config", "config.yaml").out
    claim = list(yaml.safe_load_all(printed))[1]
    assert '"Turing"' in json.dumps(claim).replace("\\", "")


def test_the_deployments_fit_is_an_excerpt_of_the_example_plan(modelfit: Run) -> None:
    metadata = yaml.safe_load((EXAMPLES / "deployment.yaml").read_text("utf-8"))["spec"]["template"]["metadata"]
    fit = json.loads(metadata["annotations"]["llmfit.ai/model-fit"])
    plan = json.loads((EXAMPLES / "qwen3-8b-plan.json").read_text("utf-8"))
    for key, value in fit.items():
        assert value.items() <= plan[key].items() if isinstance(value, dict) else value == plan[key]


@pytest.mark.wire
def test_the_demo_prints_its_steps_and_removes_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("MODELFIT_PROFILE", "not-a-profile")
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "demo.py")], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [line[0] for line in done.stdout.splitlines() if line[:1].isdigit()] == ["1", "2", "3", "4", "5"]
    assert "+   resourceClaims:" in done.stdout
    assert "kind: ResourceClaim" in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.wire
@pytest.mark.parametrize(
    ("fit", "code", "message"),
    [
        ('{"model": "tiny", "min_ram_gb": 2, "min_vram_gb": 0}', 0, "there is no ResourceClaim"),
        ('{"model": "unsaid"}', 1, "no usable figure"),
    ],
)
def test_the_demo_accepts_another_fit(fit: str, code: int, message: str, tmp_path: Path) -> None:
    path = tmp_path / "fit.json"
    path.write_text(fit)
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "demo.py"), str(path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == code
    assert message in done.stdout + done.stderr
