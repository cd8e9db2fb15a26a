"""AUC estimation by its definitions: every model is trained literally, every pair compared in a loop."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone


def score(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def scores_without(estimator, X, y, held):
    """Train on all other items and score those held out."""
    kept = [i for i in range(len(y)) if i not in set(held)]
    return score(clone(estimator).fit(X[kept], y[kept]), X[list(held)])


def together(items, groups):
    """The items, and all that share a group with one of them."""
    items = list(items)
    if groups is None:
        return items
    return items + [k for k in range(len(groups)) if k not in items and groups[k] in {groups[i] for i in items}]


def heaviside(difference):
    return 1.0 if difference > 0 else 0.5 if difference == 0 else 0.0


def auc(positive, negative):
    return float(np.mean([heaviside(p - n) for p in positive for n in negative]))


def leave_pair_out(estimator, X, y, positive, groups=None, without=()):
    """The mean over all positive × negative pairs, each scored by the model trained without both."""
    wins = []
    for i in np.flatnonzero(positive):
        for j in np.flatnonzero(~positive):
            if i in without or j in without:
                continue
            held = together([i, j], groups)
            f = scores_without(estimator, X, y, held + [k for k in without if k not in held])
            wins.append(heaviside(f[0] - f[1]))
    return float(np.mean(wins))


def averaged(estimator, X, y, positive, folds):
    aucs = []
    for fold in folds:
        if 0 < positive[fold].sum() < len(fold):
            f = scores_without(estimator, X, y, fold)
            aucs.append(auc(f[positive[fold]], f[~positive[fold]]))
    return float(np.mean(aucs))


def pooled(estimator, X, y, positive, folds):
    f = np.empty(len(y))
    for fold in folds:
        f[fold] = scores_without(estimator, X, y, fold)
    return auc(f[positive], f[~positive])


def tournament_wins(estimator, X, y):
    wins = np.zeros(len(y))
    for i in range(len(y)):
        for j in range(i):
            f = scores_without(estimator, X, y, [i, j])
            wins[i] += heaviside(f[0] - f[1])
            wins[j] += heaviside(f[1] - f[0])
    return wins


def component_variance(positive, negative):
    """DeLong's variance of an AUC, from the scores by loops."""
    a = [np.mean([heaviside(p - n) for n in negative]) for p in positive]
    b = [np.mean([heaviside(p - n) for p in positive]) for n in negative]
    return float(np.var(a, ddof=1) / len(a) + np.var(b, ddof=1) / len(b))


def jackknife_variance(without):
    """The jackknife variance of a sample, from the values without each of its units."""
    n, mean = len(without), sum(without) / len(without)
    return (n - 1) / n * sum((value - mean) ** 2 for value in without)
