"""Show the pods of a manifest as they would be admitted, each followed by the
ResourceClaim that it would get.

Runs the same decision as the webhook, without a cluster. Deployments,
StatefulSets, DaemonSets, ReplicaSets, Jobs and CronJobs are shown as a pod that
they would make. In a cluster the claim also has the pod as its owner, and the
last ten characters of its name differ for every pod.

examples:
  modelfit preview -f deployment.yaml
  kustomize build . | modelfit preview -f - -o json
"""

import argparse
import copy

from webhook.cli import REFUSED, UsageError, inputs, outputs, workloads
from webhook.core import claims, decide, demand, patch
from webhook.core.decide import Decision
from webhook.core.policy import Policy
from webhook.errors import MalformedCall


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-f", dest="file", metavar="FILE", required=True, help="manifests; - is standard input")
    parser.add_argument("--config", metavar="FILE", help="settings, the same file as the webhook's")
    parser.add_argument("-o", dest="output", choices=("yaml", "json"), default="yaml", help="format (default: yaml)")


def run(arguments: argparse.Namespace) -> int:
    """Prints pods and claims. 1 where a pod would be refused: then nothing is printed."""
    policy = inputs.settings(arguments.config).policy()
    documents: list[object] = []
    refused, passed_over = False, []
    for document in inputs.manifests(arguments.file):
        made = workloads.pod(document)
        if made is None:
            passed_over.append(str(document["kind"]))
            continue
        try:
            decision = decide.mutate(made.review(), policy)
        except MalformedCall as error:
            raise UsageError(f"{inputs.label(arguments.file)}: {made.origin}: {error}") from None
        for warning in decision.warnings:
            outputs.say(f"Warning: {made.origin}: {warning}")
        if decision.allowed:
            documents += _admitted(made, decision, policy)
        else:
            refused = True
            outputs.say(f"modelfit: {made.origin}: {decision.reason}: {decision.message}")
    if passed_over:
        outputs.say(f"modelfit: passed over what makes no pods: {', '.join(dict.fromkeys(passed_over))}")
    if refused:
        return REFUSED
    if not documents:
        raise UsageError(f"{inputs.label(arguments.file)}: no pod, and nothing that makes pods")
    outputs.manifests(documents, arguments.output)
    return 0


def _admitted(made: workloads.Made, decision: Decision, policy: Policy) -> list[object]:
    """The pod after the patch, and its claim if it gets one."""
    pod = patch.applied(copy.deepcopy(made.pod), decision.patch)
    if decision.claim is None:
        return [pod]
    metadata = pod["metadata"]
    annotations = metadata["annotations"] if isinstance(metadata, dict) else {}
    asked = demand.read(annotations, policy)
    return [pod, claims.manifest(asked, name=decision.claim, namespace=made.namespace)]
