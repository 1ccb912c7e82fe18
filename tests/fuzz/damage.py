"""Changes to a review: to its structure, to the JSON inside its annotation, and to its bytes."""

import copy
import json
from random import Random
from typing import Any

from tests.core.builders import Json
from tests.fuzz import corpus

_TEXTS = corpus.texts()
_NUMBERS: list[object] = [0, -1, 1, 8, 0.001, 12.5, 1 << 40, 1 << 63, -(1 << 63), 1e308, 5e-324, -0.0]
_TOKENS = [
    "NaN", "-Infinity", "1e999", "1e-999999999", "0e99999", "-1", '"8"', "true", "null", "[]", "{}",
    "[" * 20 + "]" * 20,
    '{"a":' * 20 + "1" + "}" * 20, "[" * 2000, '"\\ud800"', "9" * 120, ",", "}", "{", ":", " ", '"', "\n",
]  # fmt: skip


def damaged(random: Random, reviews: list[Json]) -> bytes:
    """One of the reviews, changed in a few places, as a request body."""
    review = copy.deepcopy(random.choice(reviews))
    for _ in range(random.choice((0, 1, 1, 1, 2, 3, 5))):
        _change(random, review)
    if random.random() < 0.5:
        _change_fit(random, review)
    data = json.dumps(review, ensure_ascii=random.random() < 0.9).encode("utf-8", "replace")
    if random.random() < 0.05:
        data = _change_bytes(random, data)
    return data


def _change(random: Random, review: Json) -> None:
    """Replaces, removes, adds or duplicates a value at a random depth, mostly in the object."""
    request = review.get("request")
    target = request.get("object") if isinstance(request, dict) else None
    node: object = target if isinstance(target, dict) and random.random() < 0.95 else review
    while isinstance(node, (dict, list)) and node:
        key: Any = random.choice(list(node) if isinstance(node, dict) else range(len(node)))
        child = node[key]
        if not isinstance(child, (dict, list)) or not child or random.random() < 0.1:
            _change_at(random, node, key, child)
            return
        node = child


def _change_at(random: Random, node: Any, key: Any, child: object) -> None:
    match random.randrange(6):
        case 0:
            del node[key]
        case 1 if isinstance(node, dict):
            node[random.choice(_TEXTS)] = _like(random, child)
        case 2 if isinstance(node, list):
            node.insert(random.randrange(len(node) + 1), copy.deepcopy(child))
        case 3 if isinstance(child, dict):
            child[random.choice(_TEXTS)] = _value(random)
        case 4:
            node[key] = _value(random)
        case _:
            node[key] = _like(random, child)


def _like(random: Random, child: object) -> object:
    """A value of the same type, so that errors other than wrong types occur."""
    if isinstance(child, str):
        return random.choice(_TEXTS)
    if isinstance(child, dict):
        return random.choice([{}, {random.choice(_TEXTS): random.choice(_TEXTS)}, None])
    if isinstance(child, list):
        return random.choice([[], [*child, *copy.deepcopy(child)], None])
    return random.choice(_NUMBERS)


def _value(random: Random) -> object:
    kinds: list[object] = [
        None, True, False, [], {}, [None], [{}], {"name": "modelfit"}, [{"name": "modelfit"}], {"memory": "1e999999Gi"},
        {"requests": {"memory": None}}, {random.choice(_TEXTS): random.choice(_TEXTS)},
    ]  # fmt: skip
    return copy.deepcopy(random.choice([random.choice(kinds), random.choice(_TEXTS), random.choice(_NUMBERS)]))


def _change_fit(random: Random, review: Json) -> None:
    """Damages the text of the annotation, if there still is one."""
    target = _template(review)
    for key in ("metadata", "annotations"):
        target = target.get(key) if isinstance(target, dict) else None
    text = target.get("llmfit.ai/model-fit") if isinstance(target, dict) else None
    if not isinstance(target, dict) or not isinstance(text, str):
        return
    if random.random() < 0.5:
        text = _changed_members(random, text)
    for _ in range(random.choice((0, 0, 1, 2))):
        start = random.randrange(len(text) + 1)
        end = min(len(text), start + random.choice((0, 0, 1, 4, 40)))
        text = text[:start] + random.choice([*_TOKENS, random.choice(_TEXTS)]) + text[end:]
    target["llmfit.ai/model-fit"] = text


def _template(review: Json) -> object:
    """The object that has the annotation: the pod, or the pod template in a workload."""
    request = review.get("request")
    target: object = request.get("object") if isinstance(request, dict) else None
    while isinstance(target, dict) and isinstance(spec := target.get("spec"), dict):
        inner = spec.get("jobTemplate") or spec.get("template")
        if inner is None:
            break
        target = inner
    return target


def _changed_members(random: Random, text: str) -> str:
    """The fit with a member replaced by a token that need not be JSON."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(document, dict) or not document:
        return text
    key = random.choice(list(document))
    members = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in document.items() if name != key]
    members.append(f"{json.dumps(key)}: {random.choice(_TOKENS)}")
    return "{" + ", ".join(members) + "}"


def _change_bytes(random: Random, data: bytes) -> bytes:
    start = random.randrange(len(data) + 1)
    end = min(len(data), start + random.choice((0, 1, 2, 100)))
    noise = bytes(random.randrange(256) for _ in range(random.choice((0, 1, 3))))
    return data[:start] + noise + data[end:]
