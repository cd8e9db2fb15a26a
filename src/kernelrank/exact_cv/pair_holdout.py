"""Leave-pair-out [PABS08]: every pair held out from one ranking, or from RLS, in constant time each.

This is the identity of `kernelrank.exact_cv.dual_inverse` for ``U = {i, j}``. The difference of the two held-out
scores needs no intercept, and the 2 × 2 system ``Γ_UU r = e_U`` is solved by hand:

    ``f_i - f_j = (y_i - y_j) - (r_i - r_j)
    = (y_i - y_j) - [(Γ_jj + Γ_ij) e_i - (Γ_ij + Γ_ii) e_j] / (Γ_ii Γ_jj - Γ_ij²)``.

With m items in one query, all pairs counting the same, the model trained without two of them is ridge regression with
an intercept at ``λ' = λ / (m - 2)``: one Γ serves all pairs. Its entries cost a product of two rows each; Γ is formed
in blocks of rows, of which only the columns with lower scores are needed: with two classes, the positive × negative
block and the diagonal. For one λ and most pairs, all of Γ is an inverse and costs less than that. For a linear kernel
the rows are as short as there are features, if these are fewer than items.

There ``λ' Γ`` is a difference, which loses digits for a pair that alone carries a direction of the features. Up to a
thousand such pairs are refitted. If there are more, up to 5,000 items take the dual form; beyond that, the error of
such a pair is about ε over its determinant.

Two items with the same row have the same score by any model: their difference is zero, and not what rounding makes of
it.

**Weights.** Where item weights differ and every pair or every query counts the same, each pair has its own λ' and
none shares a Γ with another: each is a set of two, solved by itself (`_one_by_one`). So are ties left out, unit and
relative cost, which have no shortcut: the levels of the other items change.

Items without a score, or of weight zero, take no part: pairs are held out from the problem of the others. A pair with
such an item is solved by itself, if its difference is asked for.
"""

from __future__ import annotations

import numpy as np

from kernelrank.arrays import Float, Index
from kernelrank.exact_cv.differing_pairs import DifferingPairs
from kernelrank.exact_cv.dual_inverse import PIVOT, DualInverse
from kernelrank.exact_cv.pair_loops import PairForm, ResidualPairs, SmootherPairs
from kernelrank.exact_cv.refit import refit_without
from kernelrank.exact_cv.set_holdout import DUAL_LIMIT, leave_sets_out
from kernelrank.exact_cv.shortcut_rules import Problem
from kernelrank.item_sets import ItemSets
from kernelrank.solvers.rounding import report_error

__all__ = ["leave_pair_out"]

MOST_PAIRS = 1 / 6
"""The share of all ordered pairs from which all of Γ costs less than the block that they need, for one λ."""


def leave_pair_out(
    problem: Problem, pairs: DifferingPairs | Index, alphas: Float, *, differences: bool = True
) -> tuple[Float, Float]:
    """Hold out pairs, each scored by the model trained without both items.

    Parameters
    ----------
    problem : Problem
        RLS, or one query.
    pairs : DifferingPairs, or ndarray of int64, shape (pairs, 2)
    alphas : ndarray, shape (n,)
    differences : bool, default=True
        Whether the differences are wanted, or their agreement with the true scores only.

    Returns
    -------
    difference : ndarray, shape (k, n, pairs), or (k, n, 0) if they are not wanted
    accuracy : ndarray, shape (k, n)
        The share of the pairs with different scores in the right order; NaN for an output without such pairs.

    Notes
    -----
    All pairs: O(m³) once for a kernel, then O(m² s) for each alpha, s being m or, for a linear kernel, the number of
    features if that is smaller, and O(m² k) for k outputs. Memory: the factors, one block of 16 MiB, and the
    differences if wanted. A list of pairs takes O(s + k) time for each.
    """
    found = _from_scored_items(problem, pairs, alphas, differences=differences)
    difference, agreement, counted = found or _hold_out(problem, pairs, alphas, differences=differences)
    accuracy = np.full(agreement.shape, np.nan)
    np.divide(agreement, 2.0 * counted[:, None], out=accuracy, where=counted[:, None] > 0)
    return (difference if differences else difference[..., :0]), accuracy + 0.5


def _hold_out(
    problem: Problem, pairs: DifferingPairs | Index, alphas: Float, *, differences: bool
) -> tuple[Float, Float, Float]:
    """Return differences (k, n, pairs), agreements (k, n), and how many pairs differ (k,)."""
    kappa = problem.common_scale(2)
    if kappa is None or not problem.differences_survive(2):
        return _one_by_one(problem, pairs, alphas)
    difference, agreement = _all_at_once(problem, pairs, alphas, kappa, differences=differences)
    return difference, agreement, _count_differing(problem.truth, pairs)


def _from_scored_items(
    problem: Problem, pairs: DifferingPairs | Index, alphas: Float, *, differences: bool
) -> tuple[Float, Float, Float] | None:
    """Hold the pairs out from the items that have a weight; None where all have, or nothing is won by it."""
    scored = problem.scored
    if scored.all() or not problem.any_items_may_leave or np.count_nonzero(scored) < 4:
        return None
    items = np.flatnonzero(scored)
    chosen: DifferingPairs | Index
    if isinstance(pairs, DifferingPairs):
        chosen, n_pairs = pairs.among(items), pairs.n_pairs
        n_chosen = chosen.n_pairs
    else:
        chosen, n_pairs = np.searchsorted(items, pairs[scored[pairs].all(axis=1)]), len(pairs)
        n_chosen = len(chosen)
    if n_chosen == 0:
        return None
    difference, agreement, counted = _hold_out(problem.part(items), chosen, alphas, differences=differences)
    if n_chosen == n_pairs or not differences:
        return difference, agreement, counted
    first, second = pairs.items() if isinstance(pairs, DifferingPairs) else (pairs[:, 0], pairs[:, 1])
    inside = scored[first] & scored[second]
    every = np.empty((*difference.shape[:2], n_pairs))
    every[..., inside] = difference
    every[..., ~inside] = _one_by_one(problem, np.stack([first[~inside], second[~inside]], axis=1), alphas)[0]
    return every, agreement, counted


def _all_at_once(
    problem: Problem, pairs: DifferingPairs | Index, alphas: Float, kappa: float, *, differences: bool
) -> tuple[Float, Float]:
    """Return differences (k, n, pairs) and agreements (k, n) where one Γ serves all pairs."""
    n_pairs = pairs.n_pairs if isinstance(pairs, DifferingPairs) else len(pairs)
    kept = n_pairs if differences or not isinstance(pairs, DifferingPairs) else 0
    difference = np.empty((len(alphas), problem.truth.shape[1], kept))
    found = _by_inverse(problem, pairs, alphas, kappa, difference)
    if found is None:
        found = _by_decomposition(problem, pairs, alphas, kappa, difference, threshold=PIVOT[True])
    if found is None:
        dual = problem.graph.n_items <= DUAL_LIMIT
        found = _by_decomposition(problem, pairs, alphas, kappa, difference, threshold=-np.inf, dual=dual)
    assert found is not None
    agreement, left = found
    for number, places in left:
        items = pairs.at(places) if isinstance(pairs, DifferingPairs) else (pairs[places, 0], pairs[places, 1])
        for place, i, j in zip(places, *items, strict=True):
            scores = refit_without(problem, np.array([i, j]), alphas[number : number + 1])[..., 0]
            agreement[number] += np.sign(scores[0] - scores[1]) * np.sign(problem.truth[i] - problem.truth[j])
            if kept:
                difference[number, :, place] = scores[0] - scores[1]
    return difference.transpose(1, 0, 2), agreement.T


def _by_inverse(
    problem: Problem, pairs: DifferingPairs | Index, alphas: Float, kappa: float, difference: Float
) -> tuple[Float, list[tuple[int, Index]]] | None:
    """Do what `_by_decomposition` does from all of Γ; None unless that is the cheapest form and keeps the digits."""
    m = problem.graph.n_items
    primal = problem.features.primal is not None
    if primal or not isinstance(pairs, DifferingPairs) or pairs.n_pairs < MOST_PAIRS * m * m or len(alphas) > 1:
        return None
    inverse = DualInverse.of(problem.features, problem.base, float(alphas[0]) / kappa, above_trace=False)
    if inverse is None:
        return None
    report_error(float(alphas[0]), inverse.error)
    agreement = np.zeros(difference.shape[:2])
    form = ResidualPairs(inverse.reordered(pairs.order), pairs.order, problem.truth, problem.duplicate_of)
    form.all_pairs(pairs, agreement[0], difference[0])
    return agreement, []


def _by_decomposition(
    problem: Problem,
    pairs: DifferingPairs | Index,
    alphas: Float,
    kappa: float,
    difference: Float,
    *,
    threshold: float,
    dual: bool = False,
) -> tuple[Float, list[tuple[int, Index]]] | None:
    """Fill in the differences (n, k, pairs); return agreements (n, k) and the pairs left out, None if too many."""
    order = pairs.order if isinstance(pairs, DifferingPairs) else np.arange(problem.graph.n_items)
    common = order, problem.truth, problem.duplicate_of
    agreement = np.zeros(difference.shape[:2])
    left: list[tuple[int, Index]] = []
    lams = alphas / kappa
    for decomposition, numbers in problem.decompositions(lams, scores=False, dual=dual):
        in_order = decomposition.left[order]
        for number in numbers:
            lam = float(lams[number])
            report_error(float(alphas[number]), decomposition.relative_error(lam))
            form: PairForm
            if decomposition.primal or lam > decomposition.trace:
                form = SmootherPairs(decomposition, lam, threshold, *common)
            else:
                form = ResidualPairs(decomposition.dual_inverse(lam).reordered(order, in_order), *common)
            if isinstance(pairs, DifferingPairs):
                places = form.all_pairs(pairs, agreement[number], difference[number])
            else:
                places = form.listed(pairs, agreement[number], difference[number])
            if places is None:
                return None
            if len(places):
                left.append((int(number), places))
    return agreement, left


def _count_differing(truth: Float, pairs: DifferingPairs | Index) -> Float:
    """Return for each output the number of pairs with different scores."""
    if not isinstance(pairs, DifferingPairs):
        return np.asarray((truth[pairs[:, 0]] != truth[pairs[:, 1]]).sum(axis=0), dtype=np.float64)
    m = len(truth)
    levels = [np.unique(column, return_counts=True)[1].astype(np.float64) for column in truth.T]
    return np.array([(m * m - (counts**2).sum()) / 2 for counts in levels])


def _one_by_one(problem: Problem, pairs: DifferingPairs | Index, alphas: Float) -> tuple[Float, Float, Float]:
    """Hold out each pair as a set of two: O(s) time where Γ depends on the pair, a training where it is refitted."""
    first, second = pairs.items() if isinstance(pairs, DifferingPairs) else (pairs[:, 0], pairs[:, 1])
    sets = ItemSets(np.stack([first, second], axis=1).ravel(), 2 * np.arange(len(first) + 1))
    scores = leave_sets_out(problem, sets, alphas)
    difference = (scores[0::2] - scores[1::2]).transpose(1, 2, 0)
    right = np.sign(problem.truth[first] - problem.truth[second]).T
    right[:, ~problem.scored[first] | ~problem.scored[second]] = 0.0
    return difference, (np.sign(difference) * right[:, None]).sum(axis=-1), np.abs(right).sum(axis=-1)
