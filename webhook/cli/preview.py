"""Show the pods of a manifest as the webhook would admit them, each followed by
its ResourceClaim.

Makes the same decision as the webhook, without a cluster. For a Deployment,
StatefulSet, DaemonSet, ReplicaSet, ReplicationController, Job or CronJob, one
of its pods is shown. In a cluster, the claim also has the pod as its owner, and
the last ten characters of its name differ for every pod. If any pod would be
denied, only the errors are printed.

Pods in a namespace that the settings exclude are shown unchanged.

Objects of other kinds are not shown. If one of them contains an annotation of a
pod, such as llmfit.ai/model-fit, its path is printed.

exit codes: 0 all pods are admitted, 1 a pod would be denied, 2 invalid input or
usage, 3 an annotation is in an object whose pods are not shown.

examples:
  modelfit preview -f deployment.yaml
  kustomize build . | modelfit preview -f - -o json
"""

import argparse
import copy
from collections import Counter
from collections.abc import Sequence

from webhook.cli import REFUSED, UsageError, inputs, manifests, outputs, rendered_pods, write_stderr
from webhook.cli.rendered_pods import RenderedPod
from webhook.cli.unread_objects import UnreadObject
from webhook.core import claims
from webhook.core.admission import decide, exemptions, json_patch, pods
from webhook.core.admission.decision import Decision
from webhook.core.admission.exemptions import InjectedNamespaces
from webhook.core.admission_config import AdmissionConfig
from webhook.core.claims import device_request
from webhook.errors import Denied, MalformedCall, quote
from webhook.json_tree import get_object
from webhook.reasons import Reason

NOT_PREVIEWED = 3
"""Exit code: an annotation of a pod is in an object of a kind that is not previewed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-f", dest="files", metavar="FILE", action="append", required=True,
        help="manifests; - is standard input; may be repeated",
    )  # fmt: skip
    parser.add_argument("--config", metavar="FILE", help="settings file, the same as the webhook's")
    parser.add_argument("-o", dest="output", choices=("yaml", "json"), default="yaml", help="format (default: yaml)")


def run(arguments: argparse.Namespace) -> int:
    """Prints pods and claims. Returns 1, and prints no manifest, if a pod would be denied; 3 if an annotation of a pod
    is in an object of another kind."""
    settings = inputs.load_settings(arguments.config)
    config = settings.admission_config()
    namespaces = InjectedNamespaces(settings.excluded_namespaces, settings.included_namespaces)
    rendered, others = _render_pods(arguments.files)
    documents: list[object] = []
    denied = False
    counts: Counter[tuple[str | None, str]] = Counter()
    for label, pod in rendered:
        # Without a namespace in the manifest, `kubectl -n` may name any.
        if pod.namespace and not namespaces.contains(pod.namespace):
            documents.append(pod.pod)
            if exemptions.find_exemption(get_object(pod.pod, "metadata")) is not Reason.NOT_ANNOTATED:
                write_stderr(
                    f"modelfit: {label}: not injected: the settings exclude the namespace {quote(pod.namespace)}"
                )
            continue
        counts[pod.namespace, pod.origin] += 1
        decision = _decide(label, pod, counts[pod.namespace, pod.origin], config)
        for warning in decision.warnings:
            write_stderr(f"Warning: {label}: {pod.qualify(warning)}")
        if decision.allowed:
            documents += _admit(pod, decision, config)
        else:
            denied = True
            errors = pod.qualify_errors(Denied(decision.reason, decision.errors))
            write_stderr(f"modelfit: {label}: {decision.reason}: {errors}")
        if decision.reason in exemptions.EXPLANATIONS:
            write_stderr(f"modelfit: {label}: not injected: {exemptions.EXPLANATIONS[decision.reason]}")
    annotated = _report_others(others)
    if denied:
        return REFUSED
    if documents:
        outputs.print_manifests(documents, arguments.output)
    return NOT_PREVIEWED if annotated else 0


def _render_pods(paths: Sequence[str]) -> tuple[list[tuple[str, RenderedPod]], list[tuple[str, UnreadObject]]]:
    """The pods of the files' objects, and the objects of other kinds, each with its label for messages."""
    rendered: list[tuple[str, RenderedPod]] = []
    others: list[tuple[str, UnreadObject]] = []
    for path in paths:
        file = inputs.display_name(path)
        for document in manifests.load_objects(path):
            try:
                pod = rendered_pods.render(document)
            except UsageError as error:
                raise UsageError(f"{file}: {error}") from None
            found = UnreadObject.from_object(document) if pod is None else pod
            label = f"{file}: {found.origin}" if len(paths) > 1 else found.origin
            if isinstance(found, UnreadObject):
                others.append((label, found))
            else:
                rendered.append((label, found))
    return rendered, others


def _report_others(others: Sequence[tuple[str, UnreadObject]]) -> bool:
    """Lists the objects of other kinds. Returns whether one of them contains an annotation of a pod."""
    for label, unread in others:
        for path in unread.annotation_paths:
            want = "want a pod or a built-in workload; preview the pods that the object creates"
            write_stderr(f"modelfit: {label}: {path}: not previewed; {want}")
    if others:
        kinds = map(inputs.quote_unprintable, dict.fromkeys(unread.kind for _, unread in others))
        write_stderr(f"modelfit: not previewed: {', '.join(kinds)}")
    return any(unread.annotation_paths for _, unread in others)


def _decide(label: str, pod: RenderedPod, number: int, config: AdmissionConfig) -> Decision:
    try:
        for warning in pod.template.misplacement_warnings() if pod.template else ():
            write_stderr(f"Warning: {label}: {warning}")
        return decide.mutate(pod.create_review(number), config)
    except MalformedCall as error:
        raise UsageError(f"{label}: {pod.qualify(str(error))}") from None


def _admit(rendered: RenderedPod, decision: Decision, config: AdmissionConfig) -> list[object]:
    """The patched pod, and its claim if it gets one."""
    pod = json_patch.apply(copy.deepcopy(rendered.pod), decision.patch)
    if decision.claim is None:
        return [pod]
    request = device_request.from_annotations(pods.from_object(pod).annotations, config)
    return [pod, claims.build_manifest(request, name=decision.claim, namespace=rendered.namespace)]
