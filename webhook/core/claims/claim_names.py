"""Names of claims: DNS labels of at most 63 characters, whatever the model is called."""

import hashlib
import re
from functools import lru_cache

from webhook.core.fits.requirements import ModelRequirements

MAX_LABEL = 63
_DIGEST = 10
_INFIX = "-claim"
_LONGEST_SLUG = MAX_LABEL - len(_INFIX) - 1 - _DIGEST
_FOR_REVIEW = re.compile(rf"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?{_INFIX}-[0-9a-f]{{{_DIGEST}}}")


def from_model(requirements: ModelRequirements) -> str:
    """`llama-7b-claim`: the name that llmfit documents."""
    return f"{_slug(_start(requirements))}{_INFIX}"


def from_review(requirements: ModelRequirements, uid: str) -> str:
    """`llama-7b-claim-3f9a1c2e04`: unique to an admission, and the same for the same review. A pod has neither a uid
    nor, from a controller, a name when it is admitted; the review has."""
    digest = hashlib.sha256(uid.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
    return f"{_slug(_start(requirements))}{_INFIX}-{digest}"


def is_from_review(name: object) -> bool:
    """Whether `from_review` can have made this name."""
    return isinstance(name, str) and len(name) <= MAX_LABEL and _FOR_REVIEW.fullmatch(name) is not None


def _start(requirements: ModelRequirements) -> str:
    """As much of the model's name as counts: what is remembered must not be as large as anybody likes."""
    return (requirements.model or "")[:1024]


@lru_cache(maxsize=256)
def _slug(model: str) -> str:
    slug = re.sub("[^a-z0-9]+", "-", model.lower()).strip("-")
    return slug[:_LONGEST_SLUG].rstrip("-") or "model"
