"""Transduction as its definition says: retrain for every fold with the candidate scores, and minimise the error."""

from __future__ import annotations

import itertools

import mpmath
import numpy as np

from tests.oracles.pairs import fit_weights, scored_edges


def objective(candidate, Phi, y, qid, unscored, folds, alpha, anchor, query_weight="pairs", weight=None):
    """The cross-validated squared error of all pairs, and the anchor: every fold is trained without, pair by pair."""
    scores = np.array(y, dtype=float)
    scores[unscored] = candidate
    weight = np.ones(len(y)) if weight is None else weight
    total = 0.0
    for held in folds:
        predicted = retrained(Phi, scores, qid, held, alpha, query_weight, weight)
        edges = scored_edges(scores[held], qid[held], query_weight=query_weight, weight=weight[held])
        total += np.sum(edges.w2 * (edges.z - (predicted[edges.h] - predicted[edges.j])) ** 2)
    inductive = retrained(Phi, scores, qid, unscored, alpha, query_weight, weight)
    return total + anchor * np.sum((candidate - inductive) ** 2)


def retrained(Phi, scores, qid, held, alpha, query_weight="pairs", weight=None):
    """The scores of `held` by a model trained on everything else."""
    kept = np.setdiff1d(np.arange(len(scores)), held)
    weight = np.ones(len(scores)) if weight is None else weight
    edges = scored_edges(scores[kept], qid[kept], query_weight=query_weight, weight=weight[kept])
    return Phi[held] @ fit_weights(Phi[kept], edges, alpha)


def minimise(function, size):
    """The minimum of a quadratic function from its values alone: a parabola through enough points is the function."""
    unit = np.eye(size)
    at_zero = function(np.zeros(size))
    plus, minus = np.array([function(e) for e in unit]), np.array([function(-e) for e in unit])
    hessian = np.diag(plus + minus - 2 * at_zero)
    for i, j in itertools.combinations(range(size), 2):
        hessian[i, j] = hessian[j, i] = function(unit[i] + unit[j]) - plus[i] - plus[j] + at_zero
    return np.linalg.solve(hessian, (minus - plus) / 2)


def exact_transduction(K, y, qid, unscored, folds, alpha, anchors, query_weight="pairs", digits=50):
    """The minimum with many digits: residuals of every pair as rows, by retraining with one unit score at a time.

    Returns the transduced scores, (v, anchors), and the inductive ones.
    """
    with mpmath.workdps(digits):
        m, kernel = len(y), mpmath.matrix([[mpmath.mpf(float(k)) for k in row] for row in K])
        columns = [int(i) for i in unscored]
        truth = mpmath.matrix([mpmath.mpf(0 if i in columns else float(y[i])) for i in range(m)])
        inductive = _hat(kernel, qid, columns, alpha, query_weight) * truth
        at_inductive = truth.copy()
        for place, i in enumerate(columns):
            at_inductive[i] = inductive[place]
        normal, gradient = mpmath.zeros(len(columns)), mpmath.zeros(len(columns), 1)
        for held in folds:
            residual = -_hat(kernel, qid, held, alpha, query_weight)
            for place, i in enumerate(held):
                residual[place, int(i)] += 1
            # All that the pairs of a query need are its residuals: their differences, weighted.
            for a, b in itertools.combinations(range(len(held)), 2):
                if qid[held[a]] != qid[held[b]]:
                    continue
                row = [residual[a, k] - residual[b, k] for k in range(m)]
                missed = sum(r * s for r, s in zip(row, at_inductive, strict=True))
                c = _pair_weight(query_weight, list(qid).count(qid[held[a]]))
                for p, i in enumerate(columns):
                    gradient[p] += c * row[i] * missed
                    for q, j in enumerate(columns):
                        normal[p, q] += c * row[i] * row[j]
        found = []
        for anchor in anchors:
            delta = mpmath.lu_solve(normal + mpmath.mpf(float(anchor)) * mpmath.eye(len(columns)), -gradient)
            found.append([float(inductive[p] + delta[p]) for p in range(len(columns))])
        return np.array(found).T, np.array([float(value) for value in inductive])


def _hat(kernel, qid, held, alpha, query_weight):
    """The matrix from all scores to those of `held` by the model trained on the others: K_UŪ (L K + λ I)⁻¹ L."""
    held = [int(i) for i in held]
    kept = [i for i in range(kernel.rows) if i not in held]
    L = mpmath.zeros(len(kept))
    for a, b in itertools.combinations(range(len(kept)), 2):
        if qid[kept[a]] == qid[kept[b]]:
            c = _pair_weight(query_weight, list(qid).count(qid[kept[a]]))
            L[a, a] += c
            L[b, b] += c
            L[a, b] -= c
            L[b, a] -= c
    inner = mpmath.matrix([[kernel[i, j] for j in kept] for i in kept])
    across = mpmath.matrix([[kernel[i, j] for j in kept] for i in held])
    small = across * mpmath.inverse(L * inner + mpmath.mpf(alpha) * mpmath.eye(len(kept))) * L
    full = mpmath.zeros(len(held), kernel.rows)
    for a in range(len(held)):
        for b, j in enumerate(kept):
            full[a, j] = small[a, b]
    return full


def _pair_weight(query_weight, size):
    return {
        "pairs": mpmath.mpf(1),
        "items": mpmath.mpf(1) / size,
        "queries": mpmath.mpf(2) / (size * (size - 1)) if size > 1 else mpmath.mpf(0),
    }[query_weight]
