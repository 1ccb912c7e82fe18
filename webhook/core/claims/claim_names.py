"""Names of claims: DNS labels, whatever the name of the model is."""

import hashlib
import re
from functools import lru_cache

from webhook import dns_names
from webhook.core.fits.requirements import ModelRequirements

_DIGEST = 10
"""Hexadecimal digits of the hash in a name."""
_SUFFIX = "-claim"
_MAX_SLUG = dns_names.MAX_LABEL - len(_SUFFIX) - 1 - _DIGEST
_FROM_REVIEW = re.compile(rf"{dns_names.LABEL}{_SUFFIX}-[0-9a-f]{{{_DIGEST}}}")


def from_model(requirements: ModelRequirements) -> str:
    """`llama-7b-claim`: the name in llmfit's documentation."""
    return f"{_slug(_model_prefix(requirements))}{_SUFFIX}"


def from_review(requirements: ModelRequirements, uid: str) -> str:
    """`llama-7b-claim-3f9a1c2e04`: unique per admission review, equal for equal reviews. At admission a pod has no
    uid, and a pod of a controller has no name; the review has a uid."""
    digest = hashlib.sha256(uid.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
    return f"{from_model(requirements)}-{digest}"


def is_from_review(name: object) -> bool:
    """Whether `from_review` can have returned this name."""
    return isinstance(name, str) and len(name) <= dns_names.MAX_LABEL and _FROM_REVIEW.fullmatch(name) is not None


def _model_prefix(requirements: ModelRequirements) -> str:
    """The first 1024 characters of the model's name: `_slug` caches its argument, and users control its length."""
    return (requirements.model or "")[:1024]


@lru_cache(maxsize=256)
def _slug(model: str) -> str:
    slug = re.sub("[^a-z0-9]+", "-", model.lower()).strip("-")
    return slug[:_MAX_SLUG].rstrip("-") or "model"
