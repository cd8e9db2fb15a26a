r"""The jackknife variance of a leave-pair-out AUC: leave-pair-out without each item or group in turn.

Beside the items that are scored, whose variance is that of the components of `kernelrank.metrics.auc_interval`, V,
leave-pair-out has a second source of variation: one item is in the training set of nearly all models. Repeating the
whole leave-pair-out without each item k in turn gives ``A_(-k)``, and

    ``V_J = Σ_classes (n_c - 1) / n_c Σ_{k in c} (A_(-k) - mean_c)²``

includes both. With groups, group k, with a share ``u_k`` of the positive items and ``v_k`` of the negative
ones, is left out as a whole. The mean change of the AUC is then linear in these shares, and is not variation: with H
the projection onto the span of u and v,

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

**A search.** If alpha is chosen inside every training set, the choice without k and a pair (a, b) depends on the
measure T of the search there, a sum over pairs or items. To second order in the held-out units, T follows from the sets
that the estimate itself holds out, and from sets of one unit and none:

    ``T(k, a, b) ≈ T(k, a) + T(k, b) + T(a, b) - T(k) - T(a) - T(b) + T()``,

which is exact for the number of pairs, and m times cheaper than measuring without every three. The chosen model is
then held out exactly. A choice is of higher than second order: over simulated cohorts of 30 to 100 items with true AUCs
from .5 to .85 the variance of A exceeds V by a fifth to a third of ``V_J - V``, so that ``(2 V + V_J) / 3`` is used,
with Student's quantile for the degrees of freedom of V; ``benchmarks/intervals_cover.py`` has the coverage.

For any other estimator, and for groups whose Γ is not accurate, the estimator is refitted.

References
----------
.. [ES81] Efron and Stein (1981). The jackknife estimate of variance. Annals of Statistics 9.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelrank.arrays import Float, Index
from kernelrank.exact_cv import Problem
from kernelrank.exact_cv.decomposition import decompose
from kernelrank.exact_cv.dual_inverse import PIVOT, DualInverse, SmallPivotError
from kernelrank.item_sets import ItemSets
from kernelrank.metrics.two_classes import TwoClasses
from kernelrank.model_selection.holdout import held_from, holdout
from kernelrank.model_selection.holdout_data import HoldoutData
from kernelrank.model_selection.jackknife_loops import wins_without, wins_without_each
from kernelrank.model_selection.search.nested_search import NestedSearch
from kernelrank.queries import Queries

__all__ = ["MOST_TRIPLES", "aucs_without", "jackknife_variance", "triples_are_cheap"]

MOST_TRIPLES = 500_000_000
"""Up to this many triples the jackknife is worth its time by default: some seconds."""

MOST_CHOICES = 40_000_000_000
"""Up to so many pairs are compared for the jackknife of a search by default: a minute."""

SINGLES = 100
"""What an item costs that is left out inside, beside a pair: its loop is not compiled."""

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


def triples_are_cheap(
    held: HoldoutData | NestedSearch | None, alpha: float, classes: TwoClasses, groups: Index | None = None
) -> bool:
    """Return whether the AUCs without each item or group come from one decomposition, in seconds."""
    if held is None or not classes.has(classes.pairs_need(groups) + 1, groups):
        return False
    units = _units(classes, groups)
    positive = int(classes.positive.sum())
    n_pairs = positive * (units.n_items - positive)
    work = n_pairs * (len(units) - 1) * int(units.sizes.max())
    candidates = _candidates(held, alpha)
    if not all(_has_shortcut(problem) for problem, _ in candidates):
        return False
    # Taking groups out of one more Γ costs as much as m³ / 8 triples.
    work += (len(_totals(candidates[0][0], units, classes)) - 1) * units.n_items**3 // 8
    if isinstance(held, HoldoutData):
        return work <= MOST_TRIPLES
    inner = n_pairs if held.plan_name == "leave_pair_out" else SINGLES * units.n_items
    chosen_without = len(units) * (len(units) + 1) // 2 * inner
    return len(candidates) * (work + chosen_without) <= MOST_CHOICES


def aucs_without(
    estimator: Any,
    X: Any,
    classes: TwoClasses,
    groups: Index | None = None,
    *,
    held: HoldoutData | NestedSearch | None = None,
    **options: Any,
) -> Float:
    """Return the leave-pair-out AUC without each item, or without each group.

    Parameters
    ----------
    estimator, X
        As in `estimate_auc`.
    classes : TwoClasses
    groups : ndarray of int64, shape (m,), optional
    held : HoldoutData or NestedSearch, optional
        The data to hold out from, if they are made already.
    options
        For `holdout`, where the estimator is refitted.

    Returns
    -------
    ndarray, shape (m,) or (n_groups,)

    Notes
    -----
    O(m³) time and m × m memory for RLS and one ranking of RankRLS, which takes as much again for each further size of
    the sets that leave; for each candidate of a search as much, and what its choices without every two items or groups
    cost. P N (n_groups - 2) hold-outs otherwise.
    """
    held = held or held_from(estimator, X, classes.target(estimator))
    if held is not None:
        candidates = _candidates(held, getattr(estimator, "alpha", np.nan))
        units = _units(classes, groups)
        chosen = _choices(held, units) if isinstance(held, NestedSearch) else None
        if all(_has_shortcut(problem) for problem, _ in candidates) and (len(candidates) == 1 or chosen is not None):
            try:
                found = _by_downdates(candidates, chosen, classes, units)
            except SmallPivotError:
                found = np.array([np.nan])
            if np.isfinite(found).all():
                return found
    return _by_sets(estimator, X, classes, groups, options)


def _candidates(held: HoldoutData | NestedSearch, alpha: float) -> list[tuple[Problem, float]]:
    """Return what a model is chosen from: a search has several."""
    if isinstance(held, HoldoutData):
        return [(held.problems[0][1], float(alpha))]
    return [(kernel.problem, float(value)) for kernel in held.kernels for value in kernel.alphas]


def _choices(nested: NestedSearch, units: Queries) -> NDArray[np.int16] | None:
    """Return the candidate that is chosen when units k, a and b have left, shape (units, units, units).

    What is measured without three units is taken from what is measured without two, one and none of them.
    """
    n, members = len(units), list(units)
    first, second = np.triu_indices(n, 1)
    pairs = [np.concatenate([members[a], members[b]]) for a, b in zip(first, second, strict=True)]
    parts = [nested.totals(_sets(part)) for part in ([np.zeros(0, dtype=np.int64)], members, pairs)]
    if any(part is None or np.isnan(part).any() for part in parts):
        return None
    none, one, two = (np.asarray(part) for part in parts)
    table = np.empty((n, n, none.shape[1]))
    table[first, second] = table[second, first] = two
    table[np.arange(n), np.arange(n)] = one
    rest = table - one[:, None] - one[None, :]
    chosen = np.empty((n, n, n), dtype=np.int16)
    for k in range(n):
        chosen[k] = (rest + table[k][:, None] + table[k][None, :] - one[k] + none[0]).argmax(axis=2)
        chosen[k, np.arange(n), np.arange(n)] = table[k].argmax(axis=1)  # both items of the pair are of one group
    return chosen


def _sets(parts: list[Index]) -> ItemSets:
    bounds = np.concatenate([[0], np.cumsum([len(items) for items in parts])]).astype(np.int64)
    return ItemSets(np.concatenate(parts), bounds)


def _units(classes: TwoClasses, groups: Index | None) -> Queries:
    """Return what leaves together: the groups, or every item alone."""
    codes = np.arange(len(classes.labels)) if groups is None else groups
    return Queries(codes, np.arange(int(codes.max()) + 1))


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


def _by_downdates(
    candidates: list[tuple[Problem, float]], chosen: NDArray[np.int16] | None, classes: TwoClasses, units: Queries
) -> Float:
    wins = np.zeros(len(units))
    alone = len(units) == units.n_items
    order = np.concatenate([classes.positives, classes.negatives]) if alone else units.order
    positive, sign, everyone = classes.positive[order], float(classes.sign), slice(None)
    if chosen is None:
        chosen = np.zeros((len(units), 0, 0), dtype=np.int16)  # the one candidate is chosen always
    elif alone:
        chosen = chosen[np.ix_(order, order, order)]
    most = 2 * int(units.sizes.max())
    R, items = np.empty((most + 1, most)), np.empty(most, dtype=np.int64)
    for number, (problem, alpha) in enumerate(candidates):
        for total in _totals(problem, units, classes):
            inverse = _dual_inverse(problem, alpha, total).reordered(order)
            # A matrix, of which items or groups leave one by one.
            inverse = DualInverse(inverse.coefficients, matrix=inverse.rows(everyone))
            y, duplicate_of = problem.truth[order, 0], problem.features.duplicate_of[order]
            if alone:
                e = np.ascontiguousarray(inverse.coefficients[:, 0])
                data = inverse.rows(everyone), e, y, duplicate_of
                wins[order] += wins_without_each(*data, int(positive.sum()), sign, chosen, number)
                continue
            for k in range(len(units)):
                if chosen.shape[1] and not np.any(chosen[k] == number):
                    continue
                rest = inverse.without(slice(int(units.bounds[k]), int(units.bounds[k + 1])))
                data = rest.rows(everyone), np.ascontiguousarray(rest.coefficients[:, 0]), y, duplicate_of
                which = chosen[k], number, R, items
                wins[k] += wins_without(*data, positive, units.bounds, k, total, sign, PIVOT[False], *which)
    positives = np.bincount(units.codes, weights=classes.positive, minlength=len(units))
    negatives = units.sizes - positives
    aucs: Float = wins / ((positives.sum() - positives) * (negatives.sum() - negatives))
    return aucs


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
