"""Show the pods of a manifest as they would be admitted, each followed by the
ResourceClaim that it would get.

Runs the same decision as the webhook, without a cluster. Deployments,
StatefulSets, DaemonSets, ReplicaSets, ReplicationControllers, Jobs and CronJobs
are shown as a pod that they would make. In a cluster the claim also has the pod
as its owner, and the last ten characters of its name differ for every pod.
Where one pod would be refused, nothing is printed: never half a manifest.

examples:
  modelfit preview -f deployment.yaml
  kustomize build . | modelfit preview -f - -o json
"""

import argparse
import copy
from collections import Counter
from collections.abc import Sequence

from webhook.cli import REFUSED, UsageError, inputs, manifests, outputs, rendered_pods, say
from webhook.core import claims
from webhook.core.admission import decide, json_patch, pods
from webhook.core.admission.decide import Decision
from webhook.core.admission_config import AdmissionConfig
from webhook.core.claims import device_request
from webhook.errors import Denied, MalformedCall
from webhook.reasons import Reason

_LEFT_ALONE = (Reason.DISABLED, Reason.MIRROR_POD, Reason.BEING_DELETED)
"""Reasons to say: the pod is annotated, and its author may wonder."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-f", dest="files", metavar="FILE", action="append", required=True,
        help="manifests; - is standard input; may be given several times",
    )  # fmt: skip
    parser.add_argument("--config", metavar="FILE", help="settings, the same file as the webhook's")
    parser.add_argument("-o", dest="output", choices=("yaml", "json"), default="yaml", help="format (default: yaml)")


def run(arguments: argparse.Namespace) -> int:
    """Prints pods and claims. 1 where a pod would be refused: then nothing is printed."""
    config = inputs.settings(arguments.config).admission_config()
    made, others = _pods(arguments.files)
    documents: list[object] = []
    refused = False
    met: Counter[tuple[str | None, str]] = Counter()
    for whose, each in made:
        met[each.namespace, each.origin] += 1
        decision = _decision(whose, each, met[each.namespace, each.origin], config)
        for warning in decision.warnings:
            say(f"Warning: {whose}: {each.located(warning)}")
        if decision.allowed:
            documents += _admitted(each, decision, config)
        else:
            refused = True
            say(f"modelfit: {whose}: {decision.reason}: {each.refused(Denied(decision.reason, decision.faults))}")
        if decision.reason in _LEFT_ALONE:
            say(f"modelfit: {whose}: left alone: {decision.reason.sentence}")
    if others:
        say(f"modelfit: not previewed: {', '.join(map(inputs.printable, dict.fromkeys(others)))}")
    if refused:
        return REFUSED
    if documents:
        outputs.manifests(documents, arguments.output)
    return 0


def _pods(paths: Sequence[str]) -> tuple[list[tuple[str, rendered_pods.RenderedPod]], list[str]]:
    """The pods that the files' objects are or make, each with what messages call it, and the versions and kinds of the
    other objects."""
    made: list[tuple[str, rendered_pods.RenderedPod]] = []
    others: list[str] = []
    for path in paths:
        for document in manifests.read(path):
            try:
                found = rendered_pods.pod(document)
            except UsageError as error:
                raise UsageError(f"{inputs.label(path)}: {error}") from None
            if found is None:
                others.append(f"{document['apiVersion']} {document['kind']}")
            else:
                made.append((f"{inputs.label(path)}: {found.origin}" if len(paths) > 1 else found.origin, found))
    return made, others


def _decision(whose: str, made: rendered_pods.RenderedPod, number: int, config: AdmissionConfig) -> Decision:
    try:
        for warning in made.template.directions() if made.template else ():
            say(f"Warning: {whose}: {warning}")
        return decide.mutate(made.review(number), config)
    except MalformedCall as error:
        raise UsageError(f"{whose}: {made.located(str(error))}") from None


def _admitted(made: rendered_pods.RenderedPod, decision: Decision, config: AdmissionConfig) -> list[object]:
    """The pod after the patch, and its claim if it gets one."""
    pod = json_patch.applied(copy.deepcopy(made.pod), decision.patch)
    if decision.claim is None:
        return [pod]
    asked = device_request.from_annotations(pods.view(pod).annotations, config)
    return [pod, claims.build_manifest(asked, name=decision.claim, namespace=made.namespace)]
