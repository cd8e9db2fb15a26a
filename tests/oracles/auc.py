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


def newcombe_variance(auc, n_positive, n_negative):
    """The variance of an AUC of exponential scores [HM82], with Newcombe's mean of the two class sizes."""
    n = (n_positive + n_negative) / 2
    both_positive, both_negative = auc / (2 - auc), 2 * auc**2 / (1 + auc)
    spread = (n - 1) * (both_positive - auc**2) + (n - 1) * (both_negative - auc**2)
    return (auc * (1 - auc) + spread) / (n_positive * n_negative)


def win_rates(positive, negative):
    """The win rate of each positive item, and of each negative one the share of positive items above it."""
    above = [[heaviside(p - n) for n in negative] for p in positive]
    return np.array([np.mean(row) for row in above]), np.array([np.mean(column) for column in zip(*above, strict=True)])


def delong_covariance(positives, negatives):
    """DeLong's covariance matrix of several AUCs of the same items: S10 / P + S01 / N, entry by entry."""
    rates = [win_rates(p, n) for p, n in zip(positives, negatives, strict=True)]
    found = np.zeros((len(rates), len(rates)))
    for r, (a_r, b_r) in enumerate(rates):
        for s, (a_s, b_s) in enumerate(rates):
            for left, right in ((a_r, a_s), (b_r, b_s)):
                n = len(left)
                found[r, s] += np.sum((left - left.mean()) * (right - right.mean())) / (n - 1) / n
    return found


def obuchowski_covariance(scores, positive, groups):
    """Obuchowski's covariance matrix of several AUCs of clustered items, from sums over the items of each cluster.

    With I10 clusters that have positive items, I01 that have negative ones and I in all, M and N items, X_i and Y_i the
    sums of (win rate - AUC) over the positive and the negative items of cluster i, the entry of markers r and s is

        I10 / ((I10 - 1) M²) Σ X_ir X_is + I01 / ((I01 - 1) N²) Σ Y_ir Y_is
        + I / ((I - 1) M N) Σ (X_ir Y_is + Y_ir X_is).
    """
    M, N = int(positive.sum()), int((~positive).sum())
    names = sorted(set(groups.tolist()))
    X, Y = [], []
    for marker in scores:
        a, b = win_rates(marker[positive], marker[~positive])
        A = a.mean()
        X.append([sum(value - A for value, g in zip(a, groups[positive], strict=True) if g == name) for name in names])
        Y.append([sum(value - A for value, g in zip(b, groups[~positive], strict=True) if g == name) for name in names])
    I_all, I10, I01 = len(names), len(set(groups[positive].tolist())), len(set(groups[~positive].tolist()))
    X, Y = np.array(X), np.array(Y)
    return (
        I10 / ((I10 - 1) * M**2) * X @ X.T
        + I01 / ((I01 - 1) * N**2) * Y @ Y.T
        + I_all / ((I_all - 1) * M * N) * (X @ Y.T + Y @ X.T)
    )
