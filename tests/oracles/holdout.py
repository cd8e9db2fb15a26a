"""Holding out as its definition says: clone, delete, refit, predict; and the same with fifty digits, pair by pair."""

from __future__ import annotations

import mpmath
import numpy as np
from sklearn.base import clone

from kernelrank.errors import NothingToCompareError
from kernelrank.kernels import Kernel
from tests.oracles.pairs import scored_edges


def retrained_scores(estimator, X, y, held, alpha, qid=None, weight=None):
    """The scores of `held` by a clone trained on everything else; zero where nothing is left to compare."""
    kept = np.setdiff1d(np.arange(len(y)), held)
    precomputed = estimator.kernel == "precomputed"
    train, rows = (X[kept][:, kept], X[held][:, kept]) if precomputed else (X[kept], X[held])
    model = clone(estimator).set_params(alpha=alpha)
    try:
        model.fit(
            train,
            y[kept],
            qid=None if qid is None else qid[kept],
            sample_weight=None if weight is None else weight[kept],
        )
    except NothingToCompareError:
        return np.zeros((len(held), *y.shape[1:]))
    return model.predict(rows)


def holdout_tolerance(estimator, X, y, held, alpha, expected, qid=None, weight=None):
    """How far the held-out scores of one output may be from retraining.

    1e-8 of the largest score of the retrained model, or what rounding K and L in their last digits does to it where
    that is more: ε (1 + ‖K‖‖L‖ / alpha). Scores that cancel to nothing have no size to be measured by: they may be off
    by what is left of the sums that they are made of.
    """
    kept = np.setdiff1d(np.arange(len(y)), held)
    K = X[kept][:, kept] if estimator.kernel == "precomputed" else Kernel(estimator.kernel).matrix(X[kept])
    w = np.ones(len(kept)) if weight is None else weight[kept]
    if type(estimator).__name__ == "RLS":
        L, target = np.diag(w), w * y[kept]
    else:
        names = ("cost", "ties", "query_weight")
        options = {name: getattr(estimator, name) for name in names}
        edges = scored_edges(y[kept], None if qid is None else qid[kept], weight=w, **options)
        L, target = edges.laplacian(), edges.target()
    norm_K, norm_L, epsilon = np.linalg.norm(K, 2), np.linalg.norm(L, 2), np.finfo(float).eps
    trained = K @ np.linalg.solve(L @ K + alpha * np.eye(len(K)), target)
    largest = max(np.abs(expected).max(), np.abs(trained).max())
    allowed = largest * max(1e-8, 8 * epsilon * (1.0 + norm_K * norm_L / alpha))
    if largest > 1e-6 * np.abs(y).max() * min(1.0, norm_K * norm_L / alpha):
        return allowed
    return max(allowed, 4 * epsilon * norm_K * np.linalg.norm(target) / alpha, 1e-10 * np.abs(y).max())


def retrained_difference(estimator, X, y, i, j, alpha, weight=None):
    scores = retrained_scores(estimator, X, y, np.array([i, j]), alpha, weight=weight)
    return scores[0] - scores[1]


def exact_scores(estimator, K, y, held, alpha, qid=None, weight=None, digits=50, scored=None):
    """The same with many digits, from a kernel matrix of mpmath numbers and the pairs one at a time.

    The scores are those of the items held out, unless others are given.
    """
    with mpmath.workdps(digits):
        kept = [int(i) for i in range(len(y)) if i not in set(np.asarray(held).tolist())]
        L, target = _laplacian(estimator, kept, y, qid, weight)
        size = len(kept)
        inner = mpmath.matrix(size, size)
        for a in range(size):
            for b in range(size):
                inner[a, b] = K[kept[a]][kept[b]]
        dual = mpmath.lu_solve(L * inner + mpmath.mpf(alpha) * mpmath.eye(size), target)
        return np.array(
            [
                float(sum(K[int(u)][kept[b]] * dual[b] for b in range(size)))
                for u in (held if scored is None else scored)
            ]
        )


def exact_linear_kernel(X):
    rows = [[mpmath.mpf(float(x)) for x in row] for row in X]
    with mpmath.workdps(50):
        return [[sum(a * b for a, b in zip(u, v, strict=True)) for v in rows] for u in rows]


def exact_kernel(K):
    return [[mpmath.mpf(float(value)) for value in row] for row in K]


def _laplacian(estimator, kept, y, qid, weight):
    """The Laplacian of the kept items and the right-hand side, built edge by edge."""
    size = len(kept)
    w = [mpmath.mpf(1 if weight is None else float(weight[i])) for i in kept]
    s = [mpmath.mpf(float(y[i])) for i in kept]
    L, target = mpmath.zeros(size), mpmath.zeros(size, 1)
    if type(estimator).__name__ == "RLS":
        for a in range(size):
            L[a, a], target[a] = w[a], w[a] * s[a]
        return L, target
    query = [0 if qid is None else qid[i] for i in kept]
    cost = "magnitude" if estimator.cost == "auto" else estimator.cost
    for label in set(query):
        items = [a for a in range(size) if query[a] == label]
        total = sum(w[a] for a in items)
        ties_out = estimator.ties == "exclude" or cost != "magnitude"
        pairs = [(a, b) for a in items for b in items if b < a and not (ties_out and s[a] == s[b])]
        copies = sum(0 if ties_out else w[a] * (w[a] - 1) / 2 for a in items if w[a] > 1)
        divisor = {"pairs": 1, "items": total, "queries": sum(w[a] * w[b] for a, b in pairs) + copies}
        for a, b in pairs:
            z = s[a] - s[b]
            edge = w[a] * w[b] / divisor[estimator.query_weight]
            if cost == "unit":
                z = mpmath.sign(z)
            elif cost == "relative":
                edge /= z**2
            for i, j, sign in ((a, b, 1), (b, a, -1)):
                L[i, i] += edge
                L[i, j] -= edge
                target[i] += sign * edge * z
    return L, target
