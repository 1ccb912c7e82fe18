"""Convert llmfit JSON to a ResourceClaim or ResourceClaimTemplate manifest.

Takes what llmfit prints (list and fit rows, plan, claim, info) and the fields
of the llmfit.ai/model-fit annotation.

examples:
  llmfit --json plan Qwen/Qwen3-8B --context 8192 | modelfit convert
  echo '{"model": "llama-7b", "min_vram_gb": 8}' | modelfit convert -o json
  modelfit convert fit.json --kind template --profile example --name llama
"""

import argparse
import re

from webhook import dns_names
from webhook.cli import REFUSED, UNUSABLE, UsageError, inputs, outputs, say
from webhook.core import claims
from webhook.core.claims import device_request
from webhook.core.fits import model_fit
from webhook.errors import Denied, quote
from webhook.settings import Settings

DOCUMENTED = "v1alpha2"
"""llmfit's documented manifest, which states both amounts, none of GPU memory too: it is never sent to a cluster."""

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_MAX_NAME = 253


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", nargs="?", default="-", help="llmfit JSON; - (default) is standard input"
    )
    parser.add_argument("--kind", choices=("claim", "template"), default="claim", help="what to write (default: claim)")
    parser.add_argument(
        "--api-version",
        choices=claims.API_VERSIONS,
        default="v1",
        help="version of resource.k8s.io (default: v1); v1alpha2 is llmfit's documented manifest, for export only",
    )
    parser.add_argument("--profile", metavar="P", help="device profile (default: the configured one, nvidia)")
    parser.add_argument("--config", metavar="FILE", help="settings, the same file as the webhook's")
    parser.add_argument("--name", metavar="N", help="name of the object (default: MODEL-claim)")
    parser.add_argument("--namespace", metavar="NS", help="namespace of the object (default: none, so kubectl's)")
    parser.add_argument("-o", dest="output", choices=("yaml", "json"), default="yaml", help="format (default: yaml)")


def run(arguments: argparse.Namespace) -> int:
    """Prints the manifest. 1 where the model needs none, 2 where the input cannot be used."""
    settings = inputs.settings(arguments.config)
    name = _checked("--name", arguments.name, _MAX_NAME)
    namespace = _checked("--namespace", arguments.namespace, dns_names.MAX_LABEL)
    text = inputs.text(arguments.file)
    try:
        asked = _demand(text, arguments, settings)
    except Denied as refusal:
        say(f"modelfit: {refusal.reason}: {refusal}")
        return UNUSABLE
    for warning in asked.requirements.warnings:
        say(f"Warning: {warning}")
    if asked.requirements.cpu_only and arguments.api_version != DOCUMENTED:
        say(f"modelfit: {_no_claim(asked)}")
        return REFUSED
    document = claims.build_manifest(
        asked,
        name=name or claims.claim_names.from_model(asked.requirements),
        namespace=namespace,
        kind=arguments.kind,
        api_version=arguments.api_version,
    )
    outputs.manifests([document], arguments.output)
    return 0


def _demand(text: str, arguments: argparse.Namespace, settings: Settings) -> device_request.DeviceRequest:
    config = settings.admission_config()
    name = config.profile if arguments.profile is None else arguments.profile
    profile = device_request.find_profile(name, config, "--profile")
    return device_request.for_profile(model_fit.parse(text, f"{inputs.label(arguments.file)}: $"), profile, config)


def _no_claim(asked: device_request.DeviceRequest) -> str:
    memory = asked.requirements.memory_quantity
    advice = f"; set resources.requests.memory: {memory} on its container" if memory else ""
    return f"the model needs no GPU memory, so there is nothing to claim{advice}"


def _checked(flag: str, name: str | None, longest: int) -> str | None:
    """A DNS subdomain (or label) that the API server will take."""
    if name is None:
        return None
    dotted = longest == _MAX_NAME
    parts = name.split(".") if dotted else [name]
    if len(name) > longest or not all(_LABEL.fullmatch(part) for part in parts):
        accepted = f"lower-case letters, digits, dashes{' and dots' if dotted else ''}, none of these marks at an end"
        raise UsageError(f"{flag}: {quote(name)}; want at most {longest} characters: {accepted}")
    return name
