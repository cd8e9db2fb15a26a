"""Leave-pair-out without each item in turn: what the jackknife variance of an AUC is made of.

Training without k, i and j is training without i and j from what remains of k: by the identity of
`kernelrank.exact_cv.leave_sets_out`, taking k out of Γ and e first,

    ``Γ' = Γ - Γ_:k Γ_k: / Γ_kk``,   ``e' = e - Γ_:k e_k / Γ_kk``,

and then the pair, ``Γ'_UU r = e'_U``. Only the sign of ``f_i - f_j = (y_i - y_j) - (r_i - r_j)`` is asked for, so
nothing is divided: constant time for each of the P N (m - 2) triples. One Γ serves them all, that of λ for RLS and of
``λ / (m - 3)`` for one ranking in which every pair counts the same.

For any other estimator, and for groups, the triples are held out literally.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelrank.arrays import Float, Index
from kernelrank.comparisons import ItemScores
from kernelrank.compiled import compiled
from kernelrank.estimators.held_out import HoldoutData
from kernelrank.exact_cv import ItemSets, Problem
from kernelrank.exact_cv.factors import factorise
from kernelrank.model_selection.holdout import holdout, takes_shortcut
from kernelrank.model_selection.two_classes import TwoClasses

__all__ = ["MOST_TRIPLES", "aucs_without", "triples_are_cheap"]

MOST_TRIPLES = 500_000_000
"""Up to this many triples the jackknife is worth its time without being asked for: some seconds."""


def triples_are_cheap(estimator: Any, X: Any, classes: TwoClasses) -> bool:
    """Tell whether the AUCs without each item come from one decomposition, in seconds."""
    positive = int(classes.positive.sum())
    negative = len(classes.labels) - positive
    if positive * negative * (len(classes.labels) - 1) > MOST_TRIPLES or min(positive, negative) < 3:
        return False
    return takes_shortcut(estimator) and _common_scale(_problem(estimator, X, classes)) is not None


def aucs_without(estimator: Any, X: Any, classes: TwoClasses, groups: Index | None = None, **options: Any) -> Float:
    """Return the leave-pair-out AUC without each item, or without each group.

    Parameters
    ----------
    estimator, X
        As in `estimate_auc`.
    classes : TwoClasses
    groups : ndarray of int64, shape (m,), optional
    options
        For `holdout`, where the estimator is refitted.

    Returns
    -------
    ndarray, shape (m,) or (n_groups,)

    Notes
    -----
    O(m³) time and m × m memory for RLS and one ranking of RankRLS; P N (m - 2) hold-outs otherwise.
    """
    if groups is None and takes_shortcut(estimator):
        problem = _problem(estimator, X, classes)
        kappa = _common_scale(problem)
        if kappa is not None:
            return _by_downdates(problem, float(estimator.alpha) / kappa, classes)
    return _by_sets(estimator, X, classes, groups, options)


def _problem(estimator: Any, X: Any, classes: TwoClasses) -> Problem:
    return HoldoutData(estimator, X, classes.target(estimator)).problems[0][1]


def _common_scale(problem: Problem) -> float | None:
    """Return the κ that all sets of three share, or None where there is no shortcut."""
    alike = isinstance(problem.graph, ItemScores) or problem.one_ranking
    if not alike or not problem.has_shortcut or problem.idle.any():
        return None
    return float(problem.scale(ItemSets.of([[0, 1, 2]], problem.graph.n_items))[0])


def _by_downdates(problem: Problem, lam: float, classes: TwoClasses) -> Float:
    order = np.concatenate([classes.positives, classes.negatives])
    ((factors, _),) = factorise(problem.features, problem.base, np.array([lam]), scores=False, dual=True)
    d = factors.inverse(np.array([lam]))
    left = factors.left[order]
    Gamma = (left * d[:, 0]) @ left.T
    e = factors.coefficients(d)[order, 0, 0]
    y = problem.truth[order, 0]
    found = np.empty(len(order))
    found[order] = _aucs_without_each(Gamma, e, y, problem.twins[order], len(classes.positives), float(classes.sign))
    return found


@compiled
def _aucs_without_each(Gamma: Float, e: Float, y: Float, twin: Index, n_positive: int, sign: float) -> Float:
    """Return the AUC without each item; the positive ones come first. Twins, which share a number, are tied."""
    m = len(e)
    found = np.empty(m)
    for k in range(m):
        inverse = 1.0 / Gamma[k, k]
        wins = 0.0
        for i in range(n_positive):
            if i == k:
                continue
            share = Gamma[i, k] * inverse
            g_ii = Gamma[i, i] - share * Gamma[i, k]
            e_i = e[i] - share * e[k]
            for j in range(n_positive, m):
                if j == k:
                    continue
                g_ij = Gamma[i, j] - share * Gamma[j, k]
                g_jj = Gamma[j, j] - Gamma[j, k] * Gamma[j, k] * inverse
                e_j = e[j] - Gamma[j, k] * inverse * e[k]
                missed = (g_jj + g_ij) * e_i - (g_ij + g_ii) * e_j
                difference = sign * ((y[i] - y[j]) * (g_ii * g_jj - g_ij * g_ij) - missed)
                if difference == 0.0 or (twin[i] >= 0 and twin[j] == twin[i]):
                    wins += 0.5
                elif difference > 0.0:
                    wins += 1.0
        positive = n_positive - 1 if k < n_positive else n_positive
        found[k] = wins / (positive * (m - 1 - positive))
    return found


def _by_sets(estimator: Any, X: Any, classes: TwoClasses, groups: Index | None, options: dict[str, Any]) -> Float:
    """Hold out every pair together with each item or group that is neither of them."""
    m = len(classes.labels)
    codes = np.arange(m) if groups is None else groups
    members = [np.flatnonzero(codes == code) for code in range(int(codes.max()) + 1)]
    y = classes.target(estimator)
    found = np.empty(len(members))
    for number, left_out in enumerate(members):
        pairs, sets = [], []
        for i in classes.positives[codes[classes.positives] != number]:
            for j in classes.negatives[codes[classes.negatives] != number]:
                leaving = members[codes[i]] if codes[i] == codes[j] else np.append(members[codes[i]], members[codes[j]])
                pairs.append((i, j))
                sets.append(np.append(leaving, left_out))
        wins = 0.0
        for (i, j), items, scores in zip(pairs, sets, holdout(estimator, X, y, sets, **options), strict=True):
            difference = classes.sign * (scores[items == i][0] - scores[items == j][0])
            wins += 0.5 * (np.sign(difference) + 1.0)
        found[number] = wins / len(pairs)
    return found
