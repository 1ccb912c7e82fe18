"""Convert llmfit JSON to a ResourceClaim or ResourceClaimTemplate manifest.

Reads the output of llmfit (list and fit rows, plan, claim, info) and the fields
of the llmfit.ai/model-fit annotation.

examples:
  llmfit --json plan Qwen/Qwen3-8B --context 8192 | modelfit convert
  echo '{"model": "llama-7b", "min_vram_gb": 8}' | modelfit convert -o json
  modelfit convert fit.json --kind template --profile example --name llama
"""

import argparse
import dataclasses
import re
from typing import get_args

from webhook import dns_names
from webhook.cli import REFUSED, UNUSABLE, UsageError, inputs, outputs, write_stderr
from webhook.core import claims
from webhook.core.admission_config import Placement
from webhook.core.claims import device_request
from webhook.core.claims.device_request import DeviceRequest, Field
from webhook.core.fits import model_fit
from webhook.errors import Denied, quote
from webhook.settings import Settings

LLMFIT_API_VERSION = "v1alpha2"
"""The format in llmfit's documentation, which no cluster accepts. It has both amounts, even without GPU memory."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", nargs="?", default="-", help="llmfit JSON; - (default) is standard input"
    )
    parser.add_argument("--kind", choices=("claim", "template"), default="claim", help="what to write (default: claim)")
    parser.add_argument(
        "--api-version",
        choices=claims.API_VERSIONS,
        default="v1",
        help="version of resource.k8s.io (default: v1); v1alpha2 is the format in llmfit's documentation, which no"
        " cluster accepts",
    )
    parser.add_argument("--profile", metavar="P", help="device profile (default: from the settings)")
    parser.add_argument(
        "--device-count",
        metavar="N",
        help="number of devices, or auto for the counts in the fit, as in the annotation for the device count"
        " (default: 1)",
    )
    parser.add_argument(
        "--placement",
        choices=get_args(Placement),
        help="tightest: smaller devices first (default: from the settings)",
    )
    parser.add_argument("--config", metavar="FILE", help="settings file, the same as the webhook's")
    parser.add_argument("--name", metavar="N", help="name of the object (default: MODEL-claim)")
    parser.add_argument("--namespace", metavar="NS", help="namespace of the object (default: not set)")
    parser.add_argument("-o", dest="output", choices=("yaml", "json"), default="yaml", help="format (default: yaml)")


def run(arguments: argparse.Namespace) -> int:
    """Prints the manifest. Returns 1 if the model needs no claim, 2 if the input is invalid."""
    settings = inputs.load_settings(arguments.config)
    name = _check_dns_name("--name", arguments.name, "subdomain", dns_names.SUBDOMAIN, dns_names.MAX_SUBDOMAIN)
    namespace = _check_dns_name("--namespace", arguments.namespace, "label", dns_names.LABEL, dns_names.MAX_LABEL)
    for flag, value in (("--device-count", arguments.device_count), ("--placement", arguments.placement)):
        if value is not None and arguments.api_version == LLMFIT_API_VERSION:
            raise UsageError(f"{flag}: no such field in {LLMFIT_API_VERSION}; want another --api-version")
    text = inputs.read_text(arguments.file)
    try:
        request = _device_request(text, arguments, settings)
    except Denied as denied:
        write_stderr(f"modelfit: {denied.reason}: {denied}")
        return UNUSABLE
    for warning in request.requirements.warnings:
        write_stderr(f"Warning: {warning}")
    if request.requirements.cpu_only and arguments.api_version != LLMFIT_API_VERSION:
        write_stderr(f"modelfit: {_no_claim_message(request)}")
        return REFUSED
    manifest = claims.build_manifest(
        request,
        name=name or claims.claim_names.from_model(request.requirements),
        namespace=namespace,
        kind=arguments.kind,
        api_version=arguments.api_version,
    )
    outputs.print_manifests([manifest], arguments.output)
    return 0


def _device_request(text: str, arguments: argparse.Namespace, settings: Settings) -> DeviceRequest:
    config = settings.admission_config()
    if arguments.placement is not None:
        config = dataclasses.replace(config, placement=arguments.placement)
    return device_request.from_fields(
        lambda: model_fit.parse(text, f"{inputs.display_name(arguments.file)}: $"),
        Field(config.profile if arguments.profile is None else arguments.profile, "--profile"),
        Field("1" if arguments.device_count is None else arguments.device_count, "--device-count"),
        config,
    )


def _no_claim_message(request: DeviceRequest) -> str:
    memory = request.requirements.memory_quantity
    hint = f"; set resources.requests.memory: {memory} on its container" if memory else ""
    return f"the model needs no GPU memory, so it needs no claim{hint}"


def _check_dns_name(flag: str, name: str | None, kind: str, pattern: str, max_length: int) -> str | None:
    """The name. Raises UsageError if the API server would reject it."""
    if name is None or (len(name) <= max_length and re.fullmatch(pattern, name)):
        return name
    characters = f"lower-case letters, digits, dashes{' and dots' if kind == 'subdomain' else ''}"
    raise UsageError(f"{flag}: {quote(name)}; want a DNS {kind} of at most {max_length} characters: {characters}")
