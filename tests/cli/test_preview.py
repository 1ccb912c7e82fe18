"""`modelfit preview`: what is shown, and manifests that cannot be read."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Run
from tests.core import builders
from webhook.core import claims
from webhook.core.admission_config import AdmissionConfig

POD = """
apiVersion: v1
kind: Pod
metadata:
  name: llama
  namespace: models
  annotations:
    llmfit.ai/model-fit: '{"model": "llama-7b", "min_ram_gb": 12, "min_vram_gb": 8}'
spec:
  containers:
  - name: server
    image: registry.example/server:1
"""

UNUSABLE = {
    "empty": b"",
    "only a comment": b"# nothing\n---\n",
    "not UTF-8": b"kind: \xff",
    "not YAML": b"kind: [",
    "a control character": b"kind: \x07",
    "a text": b"hello",
    "a list": b"[1]",
    "no kind": b"apiVersion: v1",
    "no apiVersion": b"kind: Pod",
    "a kind that is no text": b"apiVersion: v1\nkind: 1",
    "an item that is no object": b"{apiVersion: v1, kind: List, items: [1]}",
    "a key twice": POD.encode() + b"spec: {}\n",
    "a key twice in JSON": b'{"apiVersion": "v1", "kind": "Pod", "kind": "Pod"}',
    "a key twice in a broken second document": POD.encode() + b"---\na: 1\na: 2\n",
    "a key that is a list": b"? [a]\n: b\n",
    "a tag of Python's": b"!!python/object/apply:os.system ['true']",
    "a tag of another type": b"!!timestamp 2024-01-01",
    "a number that is none": b"apiVersion: v1\nkind: Pod\na: !!int two",
    "a boolean that is none": b"apiVersion: v1\nkind: Pod\na: !!bool maybe",
    "an infinite number": b"apiVersion: v1\nkind: Pod\na: .inf",
    "an infinite number in JSON": b'{"apiVersion": "v1", "kind": "Pod", "a": 1e999}',
    "NaN in JSON": b'{"apiVersion": "v1", "kind": "Pod", "a": NaN}',
    "a number of many digits": b"apiVersion: v1\nkind: Pod\na: " + b"9" * 5000,
    "deep nesting": b"[" * 20_000,
    "deep nesting in JSON": b'{"a":' * 20_000 + b"1" + b"}" * 20_000,
    "itself inside": b"apiVersion: v1\nkind: Pod\nspec: &a {b: *a}",
    "an unknown alias": b"a: *b",
    "a billion laughs": b"a: &a [1,1,1,1,1,1,1,1,1,1]\n"
    + b"".join(b"%c: &%c [%s]\n" % (b, b, b",".join([b"*%c" % a] * 10)) for a, b in pairwise(b"abcdefghi")),
    "a billion merges": b"a: &a {k: 1}\n"
    + b"".join(b"%c: &%c {<<: [%s]}\n" % (b, b, b",".join([b"*%c" % a] * 40)) for a, b in pairwise(b"abcdefghi")),
    "a workload without a template": b"{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}",
    "annotations that are no texts": b"{apiVersion: v1, kind: Pod, metadata: {annotations: {llmfit.ai/model-fit: {}}}}",
    "metadata that is a list": b"{apiVersion: v1, kind: Pod, metadata: []}",
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_a_manifest_that_cannot_be_read_gives_one_message_and_no_output(case: str, modelfit: Run) -> None:
    result = modelfit("preview", "-f", "-", stdin=UNUSABLE[case])
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("modelfit: ")
    assert result.err.count("\n") == 1
    assert result.err.rstrip("\n").isprintable()


@pytest.mark.parametrize(
    ("stdin", "said"),
    [
        ("hello", 'the text "hello"; want a Kubernetes object'),
        ("[1]", "a list; want a Kubernetes object"),
        ("5", "the number 5; want a Kubernetes object"),
        ("apiVersion: v1", "kind: nothing; want a Kubernetes object, which says its apiVersion and kind"),
        ("kind: Pod", "apiVersion: nothing; want"),
        ("apiVersion: 1.5\nkind: Pod", "apiVersion: the number 1.5; want"),
        ("apiVersion: v1\nkind: ''", 'kind: the text ""; want'),
        ("apiVersion: v1\nkind: List\nitems: 5", "items: the number 5; want a list of Kubernetes objects"),
        ("apiVersion: v1\nkind: List\nitems: {}", "items: an object; want a list of Kubernetes objects"),
        ("apiVersion: v1\nkind: List\nitems: [yes]", "items[0]: true; want a Kubernetes object"),
        ('{"apiVersion": "v1", "kind": "Pod", "a": NaN}', "the number NaN, which JSON has not; want manifests"),
    ],
)
def test_what_is_no_object_is_said_with_what_it_is(stdin: str, said: str, modelfit: Run) -> None:
    result = modelfit("preview", "-f", "-", stdin=stdin)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"modelfit: standard input: {said}")


@pytest.mark.parametrize("items", ["", "items: []", "items: null"])
def test_an_empty_list_holds_nothing(items: str, modelfit: Run) -> None:
    result = modelfit("preview", "-f", "-", stdin=f"apiVersion: v1\nkind: List\n{items}\n")
    assert (result.code, result.out, result.err) == (0, "", "")


@pytest.mark.parametrize("path", ["no-such-file", ".", "", "a\0b"])
def test_a_file_that_cannot_be_read_is_said_with_what_is_wanted(path: str, modelfit: Run) -> None:
    for call in (("preview", "-f", path), ("convert", path)):
        assert modelfit(*call).err.endswith("; want a readable file, or -\n")


@pytest.mark.parametrize(
    "arguments",
    [["-f", "no-such-file"], ["-f", "."], ["-f"], [], ["file"], ["-f", "-", "-o", "xml"], ["-f", "-", "--config", "."]],
    ids=" ".join,
)
def test_a_call_that_cannot_be_used_gives_one_message_and_no_output(arguments: list[str], modelfit: Run) -> None:
    result = modelfit("preview", *arguments, stdin=POD)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("modelfit: ")
    assert result.err.count("\n") == 1


def test_the_claim_is_the_one_that_the_controller_makes(modelfit: Run) -> None:
    pod, claim = yaml.safe_load_all(modelfit("preview", "-f", "-", stdin=POD).out)
    made = claims.build_pod_claim(pod["metadata"] | {"uid": "u"}, AdmissionConfig())
    assert made is not None
    metadata = made["metadata"]
    assert isinstance(metadata, dict)
    del metadata["ownerReferences"]
    assert claim == made


def test_what_is_printed_is_printed_again_unchanged(modelfit: Run) -> None:
    first = modelfit("preview", "-f", "-", stdin=POD).out
    again = modelfit("preview", "-f", "-", stdin=first)
    assert again.out == first
    assert "not previewed: resource.k8s.io/v1 ResourceClaim" in again.err


def test_the_same_manifest_gives_the_same_text(modelfit: Run) -> None:
    assert modelfit("preview", "-f", "-", stdin=POD) == modelfit("preview", "-f", "-", stdin=POD)


def test_yaml_and_json_say_the_same(modelfit: Run) -> None:
    documents = list(yaml.safe_load_all(modelfit("preview", "-f", "-", stdin=POD).out))
    printed = json.loads(modelfit("preview", "-f", "-", "-o", "json", stdin=POD).out)
    assert printed == {"apiVersion": "v1", "kind": "List", "items": documents}


def test_a_pod_without_the_annotation_is_printed_as_it_is(modelfit: Run) -> None:
    plain = POD.replace("llmfit.ai/model-fit", "example.com/model-fit")
    result = modelfit("preview", "-f", "-", stdin=plain)
    assert yaml.safe_load(result.out) == yaml.safe_load(plain)
    assert (result.code, result.err) == (0, "")


def test_a_refused_pod_is_a_message_and_exit_code_1_and_nothing_else_is_printed(modelfit: Run) -> None:
    bad = POD.replace('"min_vram_gb": 8', '"min_vram_gb": -8')
    result = modelfit("preview", "-f", "-", stdin=f"{POD}\n---\n{bad}")
    assert (result.code, result.out) == (1, "")
    assert "modelfit: Pod llama: InvalidModelFit: metadata.annotations[llmfit.ai/model-fit].min_vram_gb" in result.err


def test_a_file_without_pods_prints_nothing_and_says_so(modelfit: Run) -> None:
    result = modelfit("preview", "-f", "-", stdin="{apiVersion: v1, kind: Secret, metadata: {name: s}}")
    assert (result.code, result.out) == (0, "")
    assert result.err == "modelfit: not previewed: v1 Secret\n"


def test_the_settings_are_those_of_the_webhook(modelfit: Run, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("profile: example\nmemoryRequests: ignore\n")
    pod, claim = yaml.safe_load_all(modelfit("preview", "-f", "-", "--config", str(config), stdin=POD).out)
    assert "requests" not in pod["spec"]["containers"][0]["resources"]
    assert "gpu.example.com" in json.dumps(claim)


def test_hostile_names_do_nothing_to_the_terminal(modelfit: Run) -> None:
    evil = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "\x1b[2J\nWarning: fine"}, "spec": {}}
    evil["metadata"]["annotations"] = {"llmfit.ai/model-fit": "{}"}  # type: ignore[index]
    other = {"apiVersion": "v1", "kind": "\x1b[2J\nSecret"}
    result = modelfit("preview", "-f", "-", stdin=f"{json.dumps(evil)}\n{json.dumps(other)}")
    assert result.code == 1
    assert all(line.isprintable() and line.startswith("modelfit: ") for line in result.err.splitlines())
    assert result.err.count("\n") == 2


def test_merged_keys_may_be_overridden(modelfit: Run) -> None:
    document = "apiVersion: v1\nkind: Pod\nmetadata: {labels: &l {a: b, c: d}, annotations: {<<: *l, a: x}}\n"
    pod = yaml.safe_load(modelfit("preview", "-f", "-", stdin=document).out)
    assert pod["metadata"]["annotations"] == {"a": "x", "c": "d"}


def test_a_stream_of_json_texts_is_read(modelfit: Run) -> None:
    text = json.dumps(yaml.safe_load(POD.replace("llmfit.ai/model-fit", "a")))
    assert len(list(yaml.safe_load_all(modelfit("preview", "-f", "-", stdin=f"{text}\n{text}").out))) == 2


def test_several_files_are_all_shown(modelfit: Run, tmp_path: Path) -> None:
    paths = []
    for name in ("one", "two"):
        path = tmp_path / f"{name}.yaml"
        path.write_text(
            f"{{apiVersion: v1, kind: Pod, metadata: {{name: {name}}}, spec: {{containers: [{{name: a}}]}}}}"
        )
        paths += ["-f", str(path)]
    printed = list(yaml.safe_load_all(modelfit("preview", *paths).out))
    assert [each["metadata"]["name"] for each in printed] == ["one", "two"]


def test_a_pod_that_is_left_alone_is_said_to_be(modelfit: Run) -> None:
    disabled = POD.replace("metadata:", "metadata:\n  labels: {llmfit.ai/inject: disabled}", 1)
    result = modelfit("preview", "-f", "-", stdin=disabled)
    assert result.code == 0
    assert "left alone: the pod is labelled llmfit.ai/inject: disabled" in result.err


@pytest.mark.parametrize(
    "text", ["0X1F", "0B1", "0O17", "-0X1", "0_x1f", "0x_1f", "1_000", "+1", ".5", "1e3", "1E+3", "y", "N", "1.2.3"]
)
def test_a_text_that_kubectl_could_read_as_something_else_is_quoted(modelfit: Run, text: str) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"hostname": text}}
    printed = modelfit("preview", "-f", "-", stdin=json.dumps(pod)).out
    assert f"hostname: '{text}'" in printed


@pytest.mark.parametrize("text", ["0o_", "0x_", "0b_"])
def test_a_prefix_of_a_number_without_digits_is_a_text_as_kubectl_has_it(modelfit: Run, text: str) -> None:
    pod = f"{{apiVersion: v1, kind: Pod, metadata: {{name: a}}, spec: {{hostname: {text}}}}}"
    printed = json.loads(modelfit("preview", "-f", "-", "-o", "json", stdin=pod).out)
    assert printed["spec"]["hostname"] == text


FAULTY = {
    "one fault": builders.pod(annotations={"llmfit.ai/device-count": "two"}),
    "faults of every kind": builders.pod(
        '{"min_vram_gb": "8", "ram_gb": -1}',
        annotations={"llmfit.ai/device-count": "0", "llmfit.ai/profile": "amiga", "llmfit.ai/containers": "nobody"},
        nodeName="node-1",
    ),
    "a plugin's device": builders.pod(containers=[builders.container(resources={"limits": {"nvidia.com/gpu": 1}})]),
}


@pytest.mark.parametrize("kind", builders.WORKLOADS)
@pytest.mark.parametrize("case", FAULTY)
def test_a_workload_is_refused_in_the_webhooks_words(case: str, kind: str, modelfit: Run) -> None:
    workload = builders.workload(kind, FAULTY[case])
    said = builders.validate(workload, kind=builders.kind_of(workload))
    path = "spec.jobTemplate.spec.template." if kind == "CronJob" else "spec.template."
    assert said.message.startswith(path)
    result = modelfit("preview", "-f", "-", stdin=json.dumps(workload))
    assert (result.code, result.out) == (1, "")
    assert result.err == f"modelfit: {kind} llama: {said.reason}: {said.message}\n"


@pytest.mark.parametrize("kind", builders.WORKLOADS)
def test_a_workload_is_warned_of_in_the_webhooks_words(kind: str, modelfit: Run) -> None:
    workload = builders.workload(kind, builders.pod(schedulerName="volcano"))
    _, told = builders.validate(workload, kind=builders.kind_of(workload)).warnings
    said = told.removeprefix(f"modelfit: {kind} llama: ")
    assert said.startswith("spec.")
    assert ".template.spec.schedulerName" in said
    assert f"Warning: {kind} llama: {said}\n" in modelfit("preview", "-f", "-", stdin=json.dumps(workload)).err


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ([], "object.spec.template.metadata: want an object"),
        (
            {"annotations": {"llmfit.ai/model-fit": 8}},
            'spec.template.metadata.annotations["llmfit.ai/model-fit"]: want',
        ),
    ],
)
def test_a_template_of_no_shape_is_said_with_its_path(metadata: object, said: str, modelfit: Run) -> None:
    template = {"metadata": metadata, "spec": {}}
    workload = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {}}
    result = modelfit("preview", "-f", "-", stdin=json.dumps(workload | {"spec": {"template": template}}))
    assert (result.code, result.out) == (2, "")
    assert f"Deployment web: {said}" in result.err


def test_of_several_files_a_message_names_the_one(modelfit: Run, tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(POD)
    for name, fit in {"bad": "{}", "off": "null"}.items():
        (tmp_path / f"{name}.yaml").write_text(json.dumps(builders.pod(fit)))
    (tmp_path / "odd.yaml").write_text(json.dumps(builders.pod(annotations={"a": 1})))
    paths = {name: str(tmp_path / f"{name}.yaml") for name in ("good", "bad", "off", "odd")}
    result = modelfit("preview", "-f", paths["good"], "-f", paths["bad"], "-f", paths["off"])
    assert result.code == 1
    warned, bad, off = result.err.splitlines()
    assert warned.startswith(f"Warning: {paths['good']}: Pod llama: ")
    assert bad.startswith(f"modelfit: {paths['bad']}: Pod llama: NoGpuMemoryFigure: ")
    assert off.startswith(f"modelfit: {paths['off']}: Pod llama: InvalidModelFit: ")
    assert f"{paths['odd']}: Pod llama: " in modelfit("preview", "-f", paths["odd"], "-f", paths["odd"]).err
    assert tmp_path.name not in modelfit("preview", "-f", paths["bad"]).err


def test_annotations_that_do_nothing_are_warned_of(modelfit: Run) -> None:
    """Also where a cluster would ask nobody: there is no fit."""
    idle = builders.pod(None, annotations={"llmfit.ai/profile": "amd", "llmfit.ai/device_count": "2"})
    for workload, path in ((idle, ""), (builders.workload("Job", idle), "spec.template.")):
        result = modelfit("preview", "-f", "-", stdin=json.dumps(workload))
        assert result.code == 0
        whose = f"Warning: {workload['kind']} llama: {path}metadata.annotations: "
        assert f"{whose}llmfit.ai/profile does nothing without llmfit.ai/model-fit\n" in result.err
        assert f'{whose}"llmfit.ai/device_count" is not known and does nothing; known are ' in result.err
    assert modelfit("preview", "-f", "-", stdin=json.dumps(builders.pod(None))).err == ""
