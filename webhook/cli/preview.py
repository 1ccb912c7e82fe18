"""Show the pods of a manifest as the webhook would admit them, each followed by
its ResourceClaim.

Makes the same decision as the webhook, without a cluster. For a Deployment,
StatefulSet, DaemonSet, ReplicaSet, ReplicationController, Job or CronJob, one
of its pods is shown. In a cluster, the claim also has the pod as its owner, and
the last ten characters of its name differ for every pod. If any pod would be
denied, only the errors are printed.

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
from webhook.core import claims
from webhook.core.admission import decide, exemptions, json_patch, pods
from webhook.core.admission.decision import Decision
from webhook.core.admission_config import AdmissionConfig
from webhook.core.claims import device_request
from webhook.errors import Denied, MalformedCall


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-f", dest="files", metavar="FILE", action="append", required=True,
        help="manifests; - is standard input; may be repeated",
    )  # fmt: skip
    parser.add_argument("--config", metavar="FILE", help="settings file, the same as the webhook's")
    parser.add_argument("-o", dest="output", choices=("yaml", "json"), default="yaml", help="format (default: yaml)")


def run(arguments: argparse.Namespace) -> int:
    """Prints pods and claims. Returns 1, and prints no manifest, if a pod would be denied."""
    config = inputs.load_settings(arguments.config).admission_config()
    rendered, other_kinds = _render_pods(arguments.files)
    documents: list[object] = []
    denied = False
    counts: Counter[tuple[str | None, str]] = Counter()
    for label, pod in rendered:
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
    if other_kinds:
        kinds = map(inputs.quote_unprintable, dict.fromkeys(other_kinds))
        write_stderr(f"modelfit: not previewed: {', '.join(kinds)}")
    if denied:
        return REFUSED
    if documents:
        outputs.print_manifests(documents, arguments.output)
    return 0


def _render_pods(paths: Sequence[str]) -> tuple[list[tuple[str, RenderedPod]], list[str]]:
    """The pods of the files' objects, each with its label for messages, and the versions and kinds of other objects."""
    rendered: list[tuple[str, RenderedPod]] = []
    other_kinds: list[str] = []
    for path in paths:
        file = inputs.display_name(path)
        for document in manifests.load_objects(path):
            try:
                pod = rendered_pods.render(document)
            except UsageError as error:
                raise UsageError(f"{file}: {error}") from None
            if pod is None:
                other_kinds.append(f"{document['apiVersion']} {document['kind']}")
            else:
                rendered.append((f"{file}: {pod.origin}" if len(paths) > 1 else pod.origin, pod))
    return rendered, other_kinds


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
