"""`modelfit preview`: the printed pods and claims, denied pods, and invalid manifests."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Run
from tests.core import builders
from webhook.core import claims
from webhook.core.admission import pods
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

INVALID_MANIFESTS = {
    "empty": b"",
    "only a comment": b"# nothing\n---\n",
    "not UTF-8": b"kind: \xff",
    "not YAML": b"kind: [",
    "a control character": b"kind: \x07",
    "a text": b"hello",
    "a list": b"[1]",
    "no kind": b"apiVersion: v1",
    "no apiVersion": b"kind: Pod",
    "a kind that is not text": b"apiVersion: v1\nkind: 1",
    "an item that is not an object": b"{apiVersion: v1, kind: List, items: [1]}",
    "a duplicate key": POD.encode() + b"spec: {}\n",
    "a duplicate key in JSON": b'{"apiVersion": "v1", "kind": "Pod", "kind": "Pod"}',
    "a duplicate key in an invalid second document": POD.encode() + b"---\na: 1\na: 2\n",
    "a key that is a list": b"? [a]\n: b\n",
    "a tag of Python's": b"!!python/object/apply:os.system ['true']",
    "a tag of another type": b"!!timestamp 2024-01-01",
    "an invalid number": b"apiVersion: v1\nkind: Pod\na: !!int two",
    "an invalid boolean": b"apiVersion: v1\nkind: Pod\na: !!bool maybe",
    "an infinite number": b"apiVersion: v1\nkind: Pod\na: .inf",
    "an infinite number in JSON": b'{"apiVersion": "v1", "kind": "Pod", "a": 1e999}',
    "NaN in JSON": b'{"apiVersion": "v1", "kind": "Pod", "a": NaN}',
    "a number of many digits": b"apiVersion: v1\nkind: Pod\na: " + b"9" * 5000,
    "a hexadecimal number of many digits": b"apiVersion: v1\nkind: Pod\na: 0x" + b"f" * 6000,
    "deep nesting": b"[" * 20_000,
    "nesting that a parser allows": POD.encode() + b"x: " + b"{a: " * 200 + b"1" + b"}" * 200,
    "nesting that a JSON parser allows": b'{"apiVersion": "v1", "kind": "Pod", "x":' + b"[" * 480 + b"]" * 480 + b"}",
    "deep nesting in JSON": b'{"a":' * 20_000 + b"1" + b"}" * 20_000,
    "an object inside itself": b"apiVersion: v1\nkind: Pod\nspec: &a {b: *a}",
    "an unknown alias": b"a: *b",
    "a billion laughs": b"a: &a [1,1,1,1,1,1,1,1,1,1]\n"
    + b"".join(b"%c: &%c [%s]\n" % (b, b, b",".join([b"*%c" % a] * 10)) for a, b in pairwise(b"abcdefghi")),
    "a billion merges": b"a: &a {k: 1}\n"
    + b"".join(b"%c: &%c {<<: [%s]}\n" % (b, b, b",".join([b"*%c" % a] * 40)) for a, b in pairwise(b"abcdefghi")),
    "a workload without a template": b"{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}",
    "an annotation that is no text": b"{apiVersion: v1, kind: Pod, metadata: {annotations: {llmfit.ai/model-fit: {}}}}",
    "metadata that is a list": b"{apiVersion: v1, kind: Pod, metadata: []}",
}


@pytest.mark.parametrize("case", INVALID_MANIFESTS)
def test_an_invalid_manifest_gives_one_message_and_no_output(case: str, modelfit: Run) -> None:
    result = modelfit("preview", "-f", "-", stdin=INVALID_MANIFESTS[case])
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("modelfit: ")
    assert result.err.count("\n") == 1
    assert result.err.rstrip("\n").isprintable()


@pytest.mark.parametrize(
    ("stdin", "message"),
    [
        ("hello", 'the text "hello"; want a Kubernetes object'),
        ("[1]", "a list; want a Kubernetes object"),
        ("5", "the number 5; want a Kubernetes object"),
        ("apiVersion: v1", "kind: missing; want a Kubernetes object with apiVersion and kind"),
        ("kind: Pod", "apiVersion: missing; want"),
        ("apiVersion: 1.5\nkind: Pod", "apiVersion: the number 1.5; want"),
        ("apiVersion: v1\nkind: ''", 'kind: the text ""; want'),
        ("apiVersion: v1\nkind: List\nitems: 5", "items: the number 5; want a list of Kubernetes objects"),
        ("apiVersion: v1\nkind: List\nitems: {}", "items: an object; want a list of Kubernetes objects"),
        ("apiVersion: v1\nkind: List\nitems: [yes]", "items[0]: true; want a Kubernetes object"),
        ('{"apiVersion": "v1", "kind": "Pod", "a": NaN}', "the number NaN, which is not JSON; want manifests"),
    ],
)
def test_the_error_for_an_invalid_object_describes_it(stdin: str, message: str, modelfit: Run) -> None:
    result = modelfit("preview", "-f", "-", stdin=stdin)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"modelfit: standard input: {message}")


@pytest.mark.parametrize("items", ["", "items: []", "items: null"])
def test_an_empty_list_gives_no_output(items: str, modelfit: Run) -> None:
    result = modelfit("preview", "-f", "-", stdin=f"apiVersion: v1\nkind: List\n{items}\n")
    assert (result.code, result.out, result.err) == (0, "", "")


@pytest.mark.parametrize("path", ["no-such-file", ".", "", "a\0b"])
def test_a_file_that_cannot_be_read_is_an_error(path: str, modelfit: Run) -> None:
    for call in (("preview", "-f", path), ("convert", path)):
        assert modelfit(*call).err.endswith("; want a readable file, or -\n")


@pytest.mark.parametrize(
    "arguments",
    [["-f", "no-such-file"], ["-f", "."], ["-f"], [], ["file"], ["-f", "-", "-o", "xml"], ["-f", "-", "--config", "."]],
    ids=" ".join,
)
def test_invalid_arguments_give_one_message_and_no_output(arguments: list[str], modelfit: Run) -> None:
    result = modelfit("preview", *arguments, stdin=POD)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("modelfit: ")
    assert result.err.count("\n") == 1


def test_the_claim_is_the_one_that_the_controller_creates(modelfit: Run) -> None:
    pod, claim = yaml.safe_load_all(modelfit("preview", "-f", "-", stdin=POD).out)
    expected = claims.build_pod_claim(pod | {"metadata": pod["metadata"] | {"uid": "u"}}, AdmissionConfig())
    assert expected is not None
    metadata = expected["metadata"]
    assert isinstance(metadata, dict)
    del metadata["ownerReferences"]
    assert claim == expected


def test_previewing_the_output_gives_the_same_output(modelfit: Run) -> None:
    first = modelfit("preview", "-f", "-", stdin=POD).out
    again = modelfit("preview", "-f", "-", stdin=first)
    assert again.out == first
    assert "not previewed: resource.k8s.io/v1 ResourceClaim" in again.err


def test_the_same_manifest_gives_the_same_output(modelfit: Run) -> None:
    assert modelfit("preview", "-f", "-", stdin=POD) == modelfit("preview", "-f", "-", stdin=POD)


def test_yaml_and_json_have_the_same_values(modelfit: Run) -> None:
    documents = list(yaml.safe_load_all(modelfit("preview", "-f", "-", stdin=POD).out))
    printed = json.loads(modelfit("preview", "-f", "-", "-o", "json", stdin=POD).out)
    assert printed == {"apiVersion": "v1", "kind": "List", "items": documents}


def test_a_pod_without_the_annotation_is_printed_unchanged(modelfit: Run) -> None:
    plain = POD.replace("llmfit.ai/model-fit", "example.com/model-fit")
    result = modelfit("preview", "-f", "-", stdin=plain)
    assert yaml.safe_load(result.out) == yaml.safe_load(plain)
    assert (result.code, result.err) == (0, "")


def test_a_denied_pod_gives_exit_code_1_and_no_output(modelfit: Run) -> None:
    bad = POD.replace('"min_vram_gb": 8', '"min_vram_gb": -8')
    result = modelfit("preview", "-f", "-", stdin=f"{POD}\n---\n{bad}")
    assert (result.code, result.out) == (1, "")
    assert "modelfit: Pod llama: InvalidModelFit: metadata.annotations[llmfit.ai/model-fit].min_vram_gb" in result.err


def test_objects_other_than_pods_and_workloads_are_listed_as_not_previewed(modelfit: Run) -> None:
    result = modelfit("preview", "-f", "-", stdin="{apiVersion: v1, kind: Secret, metadata: {name: s}}")
    assert (result.code, result.out) == (0, "")
    assert result.err == "modelfit: not previewed: v1 Secret\n"


@pytest.mark.parametrize(
    ("version", "kind", "path"),
    [
        ("serving.knative.dev/v1", "Service", "spec.template.metadata.annotations"),
        ("serving.kserve.io/v1beta1", "InferenceService", "metadata.annotations"),
        ("jobset.x-k8s.io/v1alpha2", "JobSet", "spec.replicatedJobs[0].template.spec.template.metadata.annotations"),
        ("ray.io/v1", "RayCluster", "spec.workerGroupSpecs[0].template.metadata.annotations"),
        ("v1", "PodTemplate", "template.metadata.annotations"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("annotation", pods.USER_ANNOTATIONS)
def test_an_annotation_in_another_kind_gives_exit_code_3_and_its_path(
    version: str, kind: str, path: str, annotation: str, modelfit: Run
) -> None:
    inner: object = {annotation: "{}"}
    for key in reversed(path.split(".")):
        inner = {key.removesuffix("[0]"): [inner] if key.endswith("[0]") else inner}
    assert isinstance(inner, dict)
    document = {"apiVersion": version, "kind": kind, **inner}
    result = modelfit("preview", "-f", "-", stdin=f"{json.dumps(document)}\n---\n{POD}")
    assert result.code == 3
    assert f"modelfit: {kind} without a name: {path}[{annotation}]: not previewed; want" in result.err
    assert [each["kind"] for each in yaml.safe_load_all(result.out)] == ["Pod", "ResourceClaim"]
    denied = POD.replace('"min_vram_gb": 8', '"min_vram_gb": -8')
    assert modelfit("preview", "-f", "-", stdin=f"{json.dumps(document)}\n---\n{denied}").code == 1


def test_the_help_lists_the_exit_codes(modelfit: Run) -> None:
    assert "3 an annotation is in an object whose pods are not shown" in modelfit("preview", "--help").out


def test_the_settings_are_applied(modelfit: Run, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("profile: example\nmemoryRequests: ignore\n")
    pod, claim = yaml.safe_load_all(modelfit("preview", "-f", "-", "--config", str(config), stdin=POD).out)
    assert "requests" not in pod["spec"]["containers"][0]["resources"]
    assert "gpu.example.com" in json.dumps(claim)


def test_control_characters_in_names_are_escaped(modelfit: Run) -> None:
    evil = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "\x1b[2J\nWarning: fine"}, "spec": {}}
    evil["metadata"]["annotations"] = {"llmfit.ai/model-fit": "{}"}  # type: ignore[index]
    other = {"apiVersion": "v1", "kind": "\x1b[2J\nSecret"}
    result = modelfit("preview", "-f", "-", stdin=f"{json.dumps(evil)}\n{json.dumps(other)}")
    assert result.code == 1
    assert all(line.isprintable() and line.startswith("modelfit: ") for line in result.err.splitlines())
    assert result.err.count("\n") == 2


def test_a_merge_key_may_be_overridden(modelfit: Run) -> None:
    document = "apiVersion: v1\nkind: Pod\nmetadata: {labels: &l {a: b, c: d}, annotations: {<<: *l, a: x}}\n"
    pod = yaml.safe_load(modelfit("preview", "-f", "-", stdin=document).out)
    assert pod["metadata"]["annotations"] == {"a": "x", "c": "d"}


def test_a_sequence_of_json_texts_is_parsed(modelfit: Run) -> None:
    text = json.dumps(yaml.safe_load(POD.replace("llmfit.ai/model-fit", "a")))
    assert len(list(yaml.safe_load_all(modelfit("preview", "-f", "-", stdin=f"{text}\n{text}").out))) == 2


def test_all_files_are_previewed(modelfit: Run, tmp_path: Path) -> None:
    paths = []
    for name in ("one", "two"):
        path = tmp_path / f"{name}.yaml"
        path.write_text(
            f"{{apiVersion: v1, kind: Pod, metadata: {{name: {name}}}, spec: {{containers: [{{name: a}}]}}}}"
        )
        paths += ["-f", str(path)]
    printed = list(yaml.safe_load_all(modelfit("preview", *paths).out))
    assert [each["metadata"]["name"] for each in printed] == ["one", "two"]


def test_an_exempt_pod_is_reported(modelfit: Run) -> None:
    disabled = POD.replace("metadata:", "metadata:\n  labels: {llmfit.ai/inject: disabled}", 1)
    result = modelfit("preview", "-f", "-", stdin=disabled)
    assert result.code == 0
    assert "not injected: the pod is labelled llmfit.ai/inject: disabled" in result.err


@pytest.mark.parametrize("config", ["excludedNamespaces: [models]", "includedNamespaces: [other]"])
def test_a_pod_in_an_excluded_namespace_is_printed_unchanged(modelfit: Run, tmp_path: Path, config: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(config)
    arguments = ("preview", "-f", "-", "--config", str(path))
    result = modelfit(*arguments, stdin=POD)
    assert (result.code, list(yaml.safe_load_all(result.out))) == (0, [yaml.safe_load(POD)])
    assert result.err == 'modelfit: Pod llama: not injected: the settings exclude the namespace "models"\n'
    without_fit = modelfit(*arguments, stdin=POD.replace("llmfit.ai/model-fit", "example.com/note"))
    assert (without_fit.code, without_fit.err) == (0, "")
    without_namespace = modelfit(*arguments, stdin=POD.replace("  namespace: models\n", ""))
    assert len(list(yaml.safe_load_all(without_namespace.out))) == 2


@pytest.mark.parametrize(
    "text", ["0X1F", "0B1", "0O17", "-0X1", "0_x1f", "0x_1f", "1_000", "+1", ".5", "1e3", "1E+3", "y", "N", "1.2.3"]
)
def test_a_text_that_kubectl_reads_as_another_type_is_quoted(modelfit: Run, text: str) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"hostname": text}}
    printed = modelfit("preview", "-f", "-", stdin=json.dumps(pod)).out
    assert f"hostname: '{text}'" in printed


@pytest.mark.parametrize("text", ["0o_", "0x_", "0b_"])
def test_a_number_prefix_without_digits_is_a_text(modelfit: Run, text: str) -> None:
    pod = f"{{apiVersion: v1, kind: Pod, metadata: {{name: a}}, spec: {{hostname: {text}}}}}"
    printed = json.loads(modelfit("preview", "-f", "-", "-o", "json", stdin=pod).out)
    assert printed["spec"]["hostname"] == text


DENIED = {
    "one error": builders.pod(annotations={"llmfit.ai/device-count": "two"}),
    "errors of every kind": builders.pod(
        '{"min_vram_gb": "8", "ram_gb": -1}',
        annotations={"llmfit.ai/device-count": "0", "llmfit.ai/profile": "amiga", "llmfit.ai/containers": "nobody"},
        nodeName="node-1",
    ),
    "a device-plugin GPU": builders.pod(containers=[builders.container(resources={"limits": {"nvidia.com/gpu": 1}})]),
}


@pytest.mark.parametrize("kind", builders.WORKLOADS)
@pytest.mark.parametrize("case", DENIED)
def test_a_workload_is_denied_with_the_webhooks_message(case: str, kind: str, modelfit: Run) -> None:
    workload = builders.workload(kind, DENIED[case])
    decision = builders.validate(workload, kind=builders.kind_of(workload))
    path = "spec.jobTemplate.spec.template." if kind == "CronJob" else "spec.template."
    assert decision.message.startswith(path)
    result = modelfit("preview", "-f", "-", stdin=json.dumps(workload))
    assert (result.code, result.out) == (1, "")
    assert result.err == f"modelfit: {kind} llama: {decision.reason}: {decision.message}\n"


@pytest.mark.parametrize("kind", builders.WORKLOADS)
def test_a_workload_gets_the_webhooks_warnings(kind: str, modelfit: Run) -> None:
    workload = builders.workload(kind, builders.pod(schedulerName="volcano"))
    _, warning = builders.validate(workload, kind=builders.kind_of(workload)).warnings
    text = warning.removeprefix(f"modelfit: {kind} llama: ")
    assert text.startswith("spec.")
    assert ".template.spec.schedulerName" in text
    assert f"Warning: {kind} llama: {text}\n" in modelfit("preview", "-f", "-", stdin=json.dumps(workload)).err


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ([], "object.spec.template.metadata: want an object"),
        (
            {"annotations": {"llmfit.ai/model-fit": 8}},
            'spec.template.metadata.annotations["llmfit.ai/model-fit"]: want',
        ),
    ],
)
def test_the_error_for_a_malformed_pod_template_has_its_path(metadata: object, message: str, modelfit: Run) -> None:
    template = {"metadata": metadata, "spec": {}}
    workload = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {}}
    result = modelfit("preview", "-f", "-", stdin=json.dumps(workload | {"spec": {"template": template}}))
    assert (result.code, result.out) == (2, "")
    assert f"Deployment web: {message}" in result.err


def test_with_several_files_messages_name_the_file(modelfit: Run, tmp_path: Path) -> None:
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


def test_ignored_annotations_cause_a_warning(modelfit: Run) -> None:
    """Also without a fit, where an API server does not call the webhook."""
    idle = builders.pod(None, annotations={"llmfit.ai/profile": "amd", "llmfit.ai/device_count": "2"})
    for workload, path in ((idle, ""), (builders.workload("Job", idle), "spec.template.")):
        result = modelfit("preview", "-f", "-", stdin=json.dumps(workload))
        assert result.code == 0
        prefix = f"Warning: {workload['kind']} llama: {path}metadata.annotations: "
        assert f"{prefix}llmfit.ai/profile does nothing without llmfit.ai/model-fit\n" in result.err
        assert f'{prefix}"llmfit.ai/device_count" is not known and does nothing; known are ' in result.err
    assert modelfit("preview", "-f", "-", stdin=json.dumps(builders.pod(None))).err == ""
