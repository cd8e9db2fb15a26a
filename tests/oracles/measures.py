"""Measures as their definitions say, one query at a time: every pair, every order of the ties."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, permutations, product

Order = tuple[int, ...]


def pairwise_accuracy(y, score, weight=None) -> float:
    """NaN where no pair of true scores differs."""
    weight = [1.0] * len(y) if weight is None else weight
    right = total = 0.0
    for i, j in combinations(range(len(y)), 2):
        if y[i] == y[j]:
            continue
        total += weight[i] * weight[j]
        if score[i] == score[j]:
            right += weight[i] * weight[j] / 2
        elif (y[i] > y[j]) == (score[i] > score[j]):
            right += weight[i] * weight[j]
    return right / total if total > 0 else math.nan


def kendall_tau(y, score) -> float:
    """NaN where no true scores differ, 0 where no predictions do."""

    def sign(a: float, b: float) -> int:
        return (a > b) - (a < b)

    pairs = list(combinations(range(len(y)), 2))
    true = [sign(y[i], y[j]) for i, j in pairs]
    predicted = [sign(score[i], score[j]) for i, j in pairs]
    if not any(true):
        return math.nan
    if not any(predicted):
        return 0.0
    together = sum(a * b for a, b in zip(true, predicted, strict=True))
    return together / math.sqrt(sum(map(abs, true)) * sum(map(abs, predicted)))


def orders(score: Sequence[float]) -> Iterator[Order]:
    """Every order of the items that falls by score."""
    levels = sorted(set(score), reverse=True)
    runs = [[i for i, s in enumerate(score) if s == level] for level in levels]
    for choice in product(*(permutations(run) for run in runs)):
        yield tuple(i for run in choice for i in run)


def by_tie_rule(value: Callable[[list[float]], float], y, score, ties: str) -> float:
    """A measure of lists under a tie rule: mean, worst, best or first over all orders."""
    if ties == "order":
        return value([y[i] for i in sorted(range(len(y)), key=lambda i: -score[i])])
    values = [value([y[i] for i in order]) for order in orders(score)]
    return {"average": sum(values) / len(values), "pessimistic": min(values), "optimistic": max(values)}[ties]


def ndcg(ranked: list[float], k: int | None, gain: str, discount: str = "log2") -> float:
    """NaN where every gain is 0."""

    def divisor(place: int) -> float:
        if discount == "log2":
            return math.log2(place + 1)
        return 1.0 if place < 2 else math.log2(place)

    def total(grades: list[float]) -> float:
        grades = grades[: k or len(grades)]
        gains = [2**y - 1 if gain == "exponential" else y for y in grades]
        return sum(g / divisor(p) for p, g in enumerate(gains, start=1))

    best = total(sorted(ranked, reverse=True))
    return total(ranked) / best if best > 0 else math.nan


def precision(ranked: list[float], k: int, relevant_from: float | None = None) -> float:
    relevant = _relevant(ranked, relevant_from)
    return sum(relevant[:k]) / k if any(relevant) else math.nan


def average_precision(ranked: list[float], k: int | None, relevant_from: float | None = None) -> float:
    relevant = _relevant(ranked, relevant_from)
    if not any(relevant):
        return math.nan
    found = [sum(relevant[:p]) / p for p in range(1, (k or len(ranked)) + 1) if relevant[p - 1 : p] == [True]]
    return sum(found) / sum(relevant)


def reciprocal_rank(ranked: list[float], k: int | None, relevant_from: float | None = None) -> float:
    relevant = _relevant(ranked, relevant_from)
    if not any(relevant):
        return math.nan
    place = relevant.index(True) + 1
    return 1 / place if place <= (k or len(ranked)) else 0.0


def expected_reciprocal_rank(ranked: list[float], k: int | None, max_grade: float) -> float:
    if not any(ranked):
        return math.nan
    value, onward = 0.0, 1.0
    for place, grade in enumerate(ranked[: k or len(ranked)], start=1):
        stop = (2**grade - 1) / 2**max_grade
        value += onward * stop / place
        onward *= 1 - stop
    return value


def magnitude_preserving_error(y, score) -> float:
    """NaN for one item."""
    pairs = list(combinations(range(len(y)), 2))
    if not pairs:
        return math.nan
    return sum(((y[i] - y[j]) - (score[i] - score[j])) ** 2 for i, j in pairs) / len(pairs)


def threshold_counts(y, score, threshold: float, relevant_from: float | None) -> tuple[float, float, float]:
    """Precision, recall and F1 of one query; NaN where nothing is relevant."""
    relevant = _relevant(y, relevant_from)
    if not any(relevant):
        return math.nan, math.nan, math.nan
    chosen = [s >= threshold for s in score]
    right = sum(r and c for r, c in zip(relevant, chosen, strict=True))
    precision = right / sum(chosen) if any(chosen) else 0.0
    recall = right / sum(relevant)
    return precision, recall, 2 * precision * recall / (precision + recall) if right else 0.0


def _relevant(ranked: list[float], relevant_from: float | None) -> list[bool]:
    return [y > 0 if relevant_from is None else y >= relevant_from for y in ranked]
