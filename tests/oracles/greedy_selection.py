"""Greedy selection as its definition says: train again for every candidate and everything that is held out."""

from __future__ import annotations

import numpy as np

from tests.oracles.pairs import fit_regression, fit_weights, scored_edges

SAME = 1e-10


def leave_query_out(X, y, alpha, *, qid, weight, query_weight):
    """The squared errors of held-out differences, query by query, each model trained on the other queries."""
    total = 0.0
    for q in sorted(set(qid.tolist())):
        held, kept = np.flatnonzero(qid == q), np.flatnonzero(qid != q)
        left = scored_edges(y[kept], qid[kept], query_weight=query_weight, weight=weight[kept])
        f = X[held] @ fit_weights(X[kept], left, alpha)
        edges = scored_edges(y[held], query_weight=query_weight, weight=weight[held])
        total += float(edges.w2 @ (edges.z - (f[edges.h] - f[edges.j])) ** 2)
    return total


def leave_pair_out(X, y, alpha, *, qid=None, weight, query_weight):
    """The same, pair by pair, each model trained without the two items."""
    edges, total = scored_edges(y, qid, query_weight=query_weight, weight=weight), 0.0
    for h, j, z, w2 in zip(edges.h, edges.j, edges.z, edges.w2, strict=True):
        kept = np.setdiff1d(np.arange(len(y)), [h, j])
        left = scored_edges(y[kept], None if qid is None else qid[kept], query_weight=query_weight, weight=weight[kept])
        total += float(w2 * (z - (X[h] - X[j]) @ fit_weights(X[kept], left, alpha)) ** 2)
    return total


def leave_items_out(X, y, alpha, *, qid, weight):
    """Plain RLS: the squared errors of items, each group of them held out together."""
    total = 0.0
    for q in sorted(set(qid.tolist())):
        held, kept = np.flatnonzero(qid == q), np.flatnonzero(qid != q)
        f = X[held] @ fit_regression(X[kept], y[kept], alpha, weight[kept])
        total += float(weight[held] @ (y[held] - f) ** 2)
    return total


def leave_item_pairs_out(X, y, alpha, *, weight):
    """Plain RLS: the squared errors of differences, pair by pair."""
    total = 0.0
    for i in range(len(y)):
        for j in range(i):
            kept = np.setdiff1d(np.arange(len(y)), [i, j])
            w = fit_regression(X[kept], y[kept], alpha, weight[kept])
            total += float(weight[i] * weight[j] * (y[i] - y[j] - (X[i] - X[j]) @ w) ** 2)
    return total


def lowest(values):
    """The first of the lowest values; they are equal if they agree to ten digits."""
    values = np.asarray(values)
    return int(np.argmax(values <= values.min() * (1 + SAME)))


def select(error, X, n_features):
    """Return columns and errors: each time the column with which the error is lowest."""
    selected, errors = [], []
    for _ in range(n_features):
        candidates = [j for j in range(X.shape[1]) if j not in selected]
        values = [error(X[:, [*selected, j]]) for j in candidates]
        best = lowest(values)
        selected.append(candidates[best])
        errors.append(values[best])
    return selected, errors


def select_units(error, X, n_units, *, units=None, required=(), alphas=(1.0,), floating=False):
    """The same with groups of columns, columns that must be in, several alphas, and units that may leave again.

    `error` takes columns and an alpha. Returns the steps: units chosen, alpha, error.
    """
    units = [[j] for j in range(X.shape[1])] if units is None else units
    alphas = sorted(alphas, reverse=True)
    steps, chosen, best, alpha = [], [], {}, alphas[0]

    def value(numbers, alpha):
        return error(X[:, [column for number in numbers for column in units[number]]], alpha)

    def note():
        alpha = alphas[lowest([value(chosen, a) for a in alphas])]
        steps.append((tuple(chosen), alpha, value(chosen, alpha)))
        best[len(chosen)] = min(best.get(len(chosen), np.inf), steps[-1][2])
        return alpha

    while len(chosen) < n_units:
        free = [number for number in range(len(units)) if number not in chosen]
        free = [required[len(chosen)]] if len(chosen) < len(required) else free
        if not chosen:  # the first alpha is chosen with the first unit
            alpha = alphas[lowest([min(value([number], a) for number in free) for a in alphas])]
        newest = free[lowest([value([*chosen, number], alpha) for number in free])]
        chosen.append(newest)
        alpha = note()
        while floating and len(chosen) - 1 in best:
            leaving = [number for number in sorted(chosen) if number not in required and number != newest]
            values = [value([number for number in chosen if number != other], alpha) for other in leaving]
            if not leaving or not min(values) < best[len(chosen) - 1] * (1 - SAME):
                break
            chosen.remove(leaving[lowest(values)])
            alpha = note()
    return steps
