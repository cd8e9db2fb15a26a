r"""The jackknife variance of a leave-pair-out AUC: leave-pair-out without each item or group in turn.

Beside the items that are scored, whose variance is that of the components of `kernelrank.metrics.auc_interval`, V,
leave-pair-out has a second source of variation: one item is in the training set of nearly all models. Repeating the
whole leave-pair-out without each item k in turn gives ``A_(-k)``, and

    ``V_J = Σ_classes (n_c - 1) / n_c Σ_{k in c} (A_(-k) - mean_c)²``

sees both. Where items come in groups, group k, with a share ``u_k`` of the positive items and ``v_k`` of the negative
ones, leaves as a whole. What the AUC loses on average is then linear in these shares, and no variation: with H the
projection onto the span of u and v,

    ``V_J = Σ_k (1 - H_kk) ρ_k²``,   ``ρ = (I - H)(A_(-·) - A)``.

For groups of one item H takes the means of the classes, and this is the formula above; for groups that are all made
alike it is the usual ``(G - 1) / G Σ_k (A_(-k) - mean)²``.

But the part of A that is quadratic in the items, which is all that there is without signal, enters ``V_J`` twice in
expectation [ES81]_, and V not at all. So the variance used is their mean, ``(V + V_J) / 2``.

Training without a group k, and without the two groups of a pair, is training without the latter from what remains of
k: the dual inverse without k (`kernelrank.exact_cv.dual_inverse`), and then the groups U of the pair,
``Γ⁽ᵏ⁾_UU r = e⁽ᵏ⁾_U``, whose items differ by ``f_i - f_j = (y_i - y_j) - (r_i - r_j)``.
One Γ serves all sets of one size: RLS has one for every size, that of λ, and one ranking in which every pair counts the
same that of ``λ / (m - u)`` where u items leave. Without groups every item is a group of its own; only the sign of the
difference is asked for, so nothing is divided: constant time for each of the P N (m - 2) triples.

For any other estimator, and for groups whose Γ has lost its digits, the sets are held out literally.

References
----------
.. [ES81] Efron and Stein (1981). The jackknife estimate of variance. Annals of Statistics 9.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelrank.arrays import Float, Index
from kernelrank.compiled import compiled
from kernelrank.exact_cv import Problem
from kernelrank.exact_cv.decomposition import decompose
from kernelrank.exact_cv.dual_inverse import PIVOT, DualInverse, SmallPivotError
from kernelrank.metrics.two_classes import TwoClasses
from kernelrank.model_selection.holdout import holdout, takes_shortcut
from kernelrank.model_selection.holdout_data import HoldoutData
from kernelrank.queries import Queries

__all__ = ["MOST_TRIPLES", "aucs_without", "jackknife_variance", "triples_are_cheap"]

MOST_TRIPLES = 500_000_000
"""Up to this many triples the jackknife is worth its time without being asked for: some seconds."""

SPAN = 1e-12
"""How small a direction of the shares counts as none, beside the largest."""


def jackknife_variance(without: Float, auc: float, positives: Float, negatives: Float) -> float:
    """Return ``V_J`` from the AUCs without each item or group.

    Parameters
    ----------
    without : ndarray, shape (units,)
    auc : float
        The AUC with all of them.
    positives, negatives : ndarray, shape (units,)
        How many items of each class an item or group is.

    Returns
    -------
    float
    """
    shares = np.stack([positives / positives.sum(), negatives / negatives.sum()], axis=1)
    basis, values, _ = np.linalg.svd(shares, full_matrices=False)
    basis = basis[:, values > SPAN * values[0]]
    change = without - auc
    rest = change - basis @ (basis.T @ change)
    return float(np.sum((1.0 - np.sum(basis**2, axis=1)) * rest**2))


def triples_are_cheap(estimator: Any, X: Any, classes: TwoClasses, groups: Index | None = None) -> bool:
    """Tell whether the AUCs without each item or group come from one decomposition, in seconds."""
    if not takes_shortcut(estimator) or not classes.has(classes.pairs_need(groups) + 1, groups):
        return False
    units = _units(classes, groups)
    positive = int(classes.positive.sum())
    work = positive * (units.n_items - positive) * (len(units) - 1) * int(units.sizes.max())
    if work > MOST_TRIPLES:
        return False
    problem = _problem(estimator, X, classes)
    # Taking groups out of one more Γ costs as much as m³ / 8 triples.
    more = (len(_totals(problem, units, classes)) - 1) * units.n_items**3 // 8
    return _has_shortcut(problem) and work + more <= MOST_TRIPLES


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
    O(m³) time and m × m memory for RLS and one ranking of RankRLS, which takes as much again for each further size of
    the sets that leave; P N (n_groups - 2) hold-outs otherwise.
    """
    if takes_shortcut(estimator):
        problem = _problem(estimator, X, classes)
        if _has_shortcut(problem):
            try:
                found = _by_downdates(problem, float(estimator.alpha), classes, _units(classes, groups))
            except SmallPivotError:
                found = np.array([np.nan])
            if np.isfinite(found).all():
                return found
    return _by_sets(estimator, X, classes, groups, options)


def _units(classes: TwoClasses, groups: Index | None) -> Queries:
    """Return what leaves together: the groups, or every item alone."""
    codes = np.arange(len(classes.labels)) if groups is None else groups
    return Queries(codes, np.arange(int(codes.max()) + 1))


def _problem(estimator: Any, X: Any, classes: TwoClasses) -> Problem:
    return HoldoutData(estimator, X, classes.target(estimator)).problems[0][1]


def _has_shortcut(problem: Problem) -> bool:
    return problem.common_scale(3) is not None


def _totals(problem: Problem, units: Queries, classes: TwoClasses) -> list[int]:
    """Return how many items may leave, each number with a κ of its own; 0 stands for any where all share one."""
    if problem.graph.queries is None:
        return [0]
    sizes, counts = np.unique(units.sizes, return_counts=True)
    pairs = {int(s + t) for s, count in zip(sizes, counts, strict=True) for t in sizes if s != t or count > 1}
    if classes.has_mixed(units.codes):
        pairs |= set(sizes.tolist())
    return sorted({int(s) + pair for s in sizes for pair in pairs if int(s) + pair < units.n_items})


def _dual_inverse(problem: Problem, alpha: float, n_leaving: int) -> DualInverse:
    """Return the Γ that serves all sets of so many items."""
    scale = problem.common_scale(n_leaving)
    if scale is None:
        raise SmallPivotError(f"without {n_leaving} items nothing is left to compare")
    lams = np.array([alpha / scale])
    ((decomposition, _),) = decompose(problem.features, problem.base, lams, scores=False, dual=True)
    return decomposition.dual_inverse(float(lams[0]))


def _by_downdates(problem: Problem, alpha: float, classes: TwoClasses, units: Queries) -> Float:
    totals, sign = _totals(problem, units, classes), float(classes.sign)
    everyone = slice(None)
    if len(units) == units.n_items:
        order = np.concatenate([classes.positives, classes.negatives])
        inverse = _dual_inverse(problem, alpha, totals[0]).reordered(order)
        Gamma, e = inverse.rows(everyone), np.ascontiguousarray(inverse.coefficients[:, 0])
        y, duplicate_of = problem.truth[order, 0], problem.duplicate_of[order]
        found = np.empty(len(order))
        found[order] = _aucs_without_each(Gamma, e, y, duplicate_of, len(classes.positives), sign)
        return found
    order, bounds = units.order, units.bounds
    y, duplicate_of, positive = problem.truth[order, 0], problem.duplicate_of[order], classes.positive[order]
    wins = np.zeros(len(units))
    for total in totals:
        inverse = _dual_inverse(problem, alpha, total).reordered(order)
        # A matrix, of which groups leave one by one.
        inverse = DualInverse(inverse.coefficients, matrix=inverse.rows(everyone))
        for k in range(len(units)):
            rest = inverse.without(slice(int(bounds[k]), int(bounds[k + 1])))
            e = np.ascontiguousarray(rest.coefficients[:, 0])
            data = y, duplicate_of, positive, bounds
            wins[k] += _wins_without(rest.rows(everyone), e, *data, k, total, sign, PIVOT[False])
    positives = np.bincount(units.codes, weights=classes.positive, minlength=len(units))
    negatives = units.sizes - positives
    aucs: Float = wins / ((positives.sum() - positives) * (negatives.sum() - negatives))
    return aucs


@compiled
def _aucs_without_each(Gamma: Float, e: Float, y: Float, duplicate_of: Index, n_positive: int, sign: float) -> Float:
    """Return the AUC without each item; the positive ones come first. Items with the same row are tied."""
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
                if difference == 0.0 or (duplicate_of[i] >= 0 and duplicate_of[j] == duplicate_of[i]):
                    wins += 0.5
                elif difference > 0.0:
                    wins += 1.0
        positive = n_positive - 1 if k < n_positive else n_positive
        found[k] = wins / (positive * (m - 1 - positive))
    return found


@compiled
def _wins_without(
    Gamma: Float,
    e: Float,
    y: Float,
    duplicate_of: Index,
    positive: NDArray[np.bool_],
    bounds: Index,
    left_out: int,
    total: int,
    sign: float,
    pivot: float,
) -> float:
    """Return how many pairs are in order, each without its groups; items stand by group, and equal rows are tied.

    `total` chooses the sets by how many items leave with the group that is left out; 0 takes all. NaN where a pivot is
    smaller than `pivot` beside its diagonal entry.
    """
    sizes = bounds[1:] - bounds[:-1]
    most = 2 * sizes.max()
    R, r, items = np.empty((most, most)), np.empty(most), np.empty(most, dtype=np.int64)
    wins = 0.0
    for a in range(len(sizes)):
        for b in range(a, len(sizes)):
            within = sizes[a]
            u = within if a == b else within + sizes[b]
            if a == left_out or b == left_out or (total > 0 and u + sizes[left_out] != total):
                continue
            if u == 2 and a != b and positive[bounds[a]] == positive[bounds[b]]:
                continue
            for i in range(u):
                items[i] = bounds[a] + i if i < within else bounds[b] + i - within
            for i in range(u):  # Cholesky's factor, and the forward substitution along with it
                for j in range(i + 1):
                    value = Gamma[items[i], items[j]]
                    for c in range(j):
                        value -= R[i, c] * R[j, c]
                    if j < i:
                        R[i, j] = value / R[j, j]
                    elif value < pivot * Gamma[items[i], items[i]]:
                        return np.nan
                    else:
                        R[i, i] = np.sqrt(value)
                r[i] = e[items[i]]
                for c in range(i):
                    r[i] -= R[i, c] * r[c]
                r[i] /= R[i, i]
            for i in range(u - 1, -1, -1):
                for c in range(i + 1, u):
                    r[i] -= R[c, i] * r[c]
                r[i] /= R[i, i]
            for i in range(u):
                for j in range(u):
                    apart = a == b or (i < within) != (j < within)
                    if not apart or not positive[items[i]] or positive[items[j]]:
                        continue
                    difference = sign * ((y[items[i]] - y[items[j]]) - (r[i] - r[j]))
                    if difference == 0.0 or (
                        duplicate_of[items[i]] >= 0 and duplicate_of[items[i]] == duplicate_of[items[j]]
                    ):
                        wins += 0.5
                    elif difference > 0.0:
                        wins += 1.0
    return wins


def _by_sets(estimator: Any, X: Any, classes: TwoClasses, groups: Index | None, options: dict[str, Any]) -> Float:
    """Hold out every pair together with each item or group that is neither of them."""
    units = _units(classes, groups)
    codes, members = units.codes, list(units)
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
