"""Evaluates the alert rules over scraped pages: the part of PromQL that the rules use.

As in Prometheus, an absent counter is not 0: `increase` ignores the first value of a series.
"""

import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from itertools import pairwise
from typing import TypeAlias

import promql_parser
from prometheus_client.parser import text_string_to_metric_families

Labels: TypeAlias = frozenset[tuple[str, str]]
Vector: TypeAlias = dict[Labels, float]
Points: TypeAlias = list[tuple[float, float]]

NAME = "__name__"
LOOKBACK = 300.0
"""Seconds for which a sample is current."""

_OPERATORS: Mapping[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {"<": operator.lt, ">": operator.gt}
_AGGREGATIONS: Mapping[str, Callable[[Iterable[float]], float]] = {"sum": sum, "max": max, "min": min}


class Prometheus:
    """Call `scrape` in order of time, then `alert`."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self._points: dict[Labels, Points] = {}

    def scrape(self, at: float, pages: Mapping[str, str]) -> None:
        """Stores the page of each pod at time `at` (seconds)."""
        self.times.append(at)
        for pod, page in pages.items():
            # With type comments the parser renames counters.
            samples = "".join(line for line in page.splitlines(keepends=True) if not line.startswith("#"))
            for family in text_string_to_metric_families(samples):
                for sample in family.samples:
                    labels = {NAME: sample.name, "namespace": "modelfit", "pod": pod, **sample.labels}
                    self._points.setdefault(frozenset(labels.items()), []).append((at, sample.value))

    def alert(self, rule: Mapping[str, str]) -> list[float]:
        """The times at which the rule fires, evaluated after each scrape."""
        expression = promql_parser.parse(rule["expr"])
        wait = promql_parser.parse_duration(rule["for"]).total_seconds() if "for" in rule else 0.0
        since: dict[Labels, float] = {}
        firing = []
        for at in self.times:
            found = self._value(expression, at)
            assert isinstance(found, dict), "an alert on a number"
            since = {labels: since.get(labels, at) for labels in found}
            if any(at - began >= wait for began in since.values()):
                firing.append(at)
        return firing

    def _value(self, node: promql_parser.Expr, at: float) -> float | Vector:
        match node:
            case promql_parser.NumberLiteral():
                return float(node.val)
            case promql_parser.ParenExpr():
                return self._value(node.expr, at)
            case promql_parser.VectorSelector():
                return self._instant(node, at)
            case promql_parser.AggregateExpr():
                return _aggregate(node, self._vector(node.expr, at))
            case promql_parser.BinaryExpr():
                return _binary(str(node.op), self._value(node.lhs, at), self._value(node.rhs, at))
            case promql_parser.Call():
                return self._call(node.func.name, node.args, at)
        raise ValueError(f"{node}: not supported")

    def _vector(self, node: promql_parser.Expr, at: float) -> Vector:
        value = self._value(node, at)
        assert isinstance(value, dict)
        return value

    def _call(self, name: str, arguments: list[promql_parser.Expr], at: float) -> float | Vector:
        match name:
            case "time":
                return at
            case "vector":
                value = self._value(arguments[0], at)
                assert isinstance(value, float)
                return {frozenset(): value}
            case "absent":
                return {} if self._vector(arguments[0], at) else {frozenset(): 1.0}
            case "histogram_quantile":
                quantile = self._value(arguments[0], at)
                assert isinstance(quantile, float)
                return _quantiles(quantile, self._vector(arguments[1], at))
            case "increase" | "rate":
                matrix = arguments[0]
                assert isinstance(matrix, promql_parser.MatrixSelector)
                seconds = matrix.range.total_seconds()
                found = {
                    _unnamed(labels): _increase([(t, v) for t, v in points if at - seconds < t <= at], at, seconds)
                    for labels, points in self._selected(matrix.vector_selector)
                }
                by = seconds if name == "rate" else 1.0
                return {labels: value / by for labels, value in found.items() if value is not None}
        raise ValueError(f"{name}: not supported")

    def _instant(self, selector: promql_parser.VectorSelector, at: float) -> Vector:
        at -= (selector.offset or timedelta()).total_seconds()
        last = max((each for each in self.times if at - LOOKBACK < each <= at), default=None)
        # A series that is missing from the last scrape is stale.
        return {
            _unnamed(labels): value
            for labels, points in self._selected(selector)
            for time, value in points
            if time == last
        }

    def _selected(self, selector: promql_parser.VectorSelector) -> Iterator[tuple[Labels, Points]]:
        for labels, points in self._points.items():
            held = dict(labels)
            if held[NAME] == selector.name and all(_matches(each, held) for each in selector.matchers.matchers):
                yield labels, points


def _matches(matcher: promql_parser.Matcher, labels: Mapping[str, str]) -> bool:
    held = labels.get(matcher.name, "")
    if str(matcher.op) == "MatchOp.Re":
        return re.fullmatch(str(matcher.value), held) is not None
    assert str(matcher.op) == "MatchOp.Equal", matcher
    return held == str(matcher.value)


def _unnamed(labels: Labels) -> Labels:
    return frozenset((name, value) for name, value in labels if name != NAME)


def _aggregate(node: promql_parser.AggregateExpr, vector: Vector) -> Vector:
    kept = set(node.modifier.labels) if node.modifier else set()
    groups: dict[Labels, list[float]] = {}
    for labels, value in vector.items():
        groups.setdefault(frozenset(each for each in labels if each[0] in kept), []).append(value)
    return {labels: _AGGREGATIONS[str(node.op)](values) for labels, values in groups.items()}


def _binary(op: str, left: float | Vector, right: float | Vector) -> float | Vector:
    if isinstance(left, dict) and isinstance(right, dict):
        if op == "or":
            return right | left
        assert op == "unless", op
        return {labels: value for labels, value in left.items() if labels not in right}
    if isinstance(left, dict) and isinstance(right, float):
        if op in _COMPARISONS:
            return {labels: value for labels, value in left.items() if _COMPARISONS[op](value, right)}
        return {labels: _OPERATORS[op](value, right) for labels, value in left.items()}
    if isinstance(right, dict) and isinstance(left, float):
        return {labels: _OPERATORS[op](left, value) for labels, value in right.items()}
    assert isinstance(left, float)
    assert isinstance(right, float)
    return _OPERATORS[op](left, right)


def _increase(points: Points, at: float, seconds: float) -> float | None:
    """As `extrapolatedRate` in promql/functions.go: extrapolates to the ends of the range if the points are close to
    them, and never below 0 at its start."""
    if len(points) < 2:
        return None
    values = [value for _, value in points]
    grown = values[-1] - values[0]
    grown += sum(before for before, after in pairwise(values) if after < before)
    (first, _), (last, _) = points[0], points[-1]
    covered = last - first
    step = covered / (len(points) - 1)
    to_start, to_end = first - (at - seconds), at - last
    to_start = to_start if to_start < step * 1.1 else step / 2
    to_end = to_end if to_end < step * 1.1 else step / 2
    if grown > 0:
        to_start = min(to_start, covered * values[0] / grown)
    return grown * (covered + to_start + to_end) / covered


def _quantiles(quantile: float, buckets: Vector) -> Vector:
    """The quantile per set of other labels; NaN if nothing was counted."""
    rest: dict[Labels, list[tuple[float, float]]] = {}
    for labels, count in buckets.items():
        others = frozenset(each for each in labels if each[0] != "le")
        rest.setdefault(others, []).append((float(dict(labels)["le"]), count))
    return {labels: _quantile(quantile, sorted(each)) for labels, each in rest.items()}


def _quantile(quantile: float, buckets: list[tuple[float, float]]) -> float:
    rank = quantile * buckets[-1][1]
    if rank == 0:
        return math.nan
    low, below = 0.0, 0.0
    for high, count in buckets:
        if count >= rank:
            return low if math.isinf(high) else low + (high - low) * (rank - below) / (count - below)
        low, below = high, count
    raise AssertionError("the last bucket has all observations")
