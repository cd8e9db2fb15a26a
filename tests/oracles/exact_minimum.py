"""RankSVM in fractions. With one feature the objective is a parabola between any two places where a margin is one."""

from __future__ import annotations

import itertools
from fractions import Fraction


def objective(X, edges, alpha, loss, w) -> Fraction:
    """The objective at w, without rounding; features, weights and alpha are taken as the numbers that they are."""
    w = [Fraction(v) for v in w]
    scores = [sum(Fraction(float(a)) * b for a, b in zip(row, w, strict=True)) for row in X]
    total = Fraction(alpha) * sum(v * v for v in w)
    for h, j, weight in zip(edges.h, edges.j, edges.w2, strict=True):
        short = max(1 - scores[h] + scores[j], Fraction(0))
        total += Fraction(float(weight)) * (short if loss == "hinge" else short * short)
    return total


def minimum(x, edges, alpha, loss) -> Fraction:
    """The least objective of all w, for one feature: at an end of a parabola or at its lowest point."""
    exact, alpha = [Fraction(float(v)) for v in x], Fraction(alpha)
    steps = [(exact[h] - exact[j], Fraction(float(v))) for h, j, v in zip(edges.h, edges.j, edges.w2, strict=True)]
    ends = sorted({1 / d for d, _ in steps if d})
    outside = [ends[0] - 1, *ends, ends[-1] + 1] if ends else [Fraction(-1), Fraction(1)]
    candidates = [*ends, Fraction(0)]
    for left, right in itertools.pairwise(outside):
        active = [(d, v) for d, v in steps if d * (left + right) / 2 < 1]
        curvature = alpha + sum(v * d * d for d, v in active) if loss == "squared_hinge" else 2 * alpha
        candidates.append(sum(v * d for d, v in active) / curvature)
    return min(objective([[v] for v in x], edges, alpha, loss, [w]) for w in candidates)
