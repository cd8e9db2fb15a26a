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

There ``λ' Γ`` is a difference, which loses digits for a pair that alone determines a direction of the features. Up to a
thousand such pairs are refitted. If there are more, the dual form is used for up to 5,000 items; beyond that, the error
of such a pair is about ε over its determinant.

Two items with the same row have the same score by any model: their difference is set to zero, without rounding errors.

**Weights.** If item weights differ and every pair or every query has equal weight, each pair has its own λ' and its own
Γ. With a kernel, equal weight of pairs and weights that are all small beside their sum, Γ is a short power series of λ'
(`SeriesPairs`). Otherwise each pair is a set of two, solved by itself (`_one_by_one`). So are pairs with ties left
out, or with unit or relative cost, which have no shortcut: the levels of the other items change.

A **reduced set** is evaluated without the basis items of each pair (`kernelrank.exact_cv.basis_pairs`), also in
constant time.

Items without a score, or of weight zero, are left out: pairs are held out from the problem of the others. A pair with
such an item is solved by itself, if its difference is requested.
"""

from __future__ import annotations

import numpy as np

from kernelrank.base.arrays import Float, Index
from kernelrank.base.labels import ItemSets
from kernelrank.exact_cv.basis_pairs import BasisPairs, LostDirections
from kernelrank.exact_cv.dual_inverse import PIVOT, DualInverse
from kernelrank.exact_cv.item_pairs import DifferingPairs, ItemPairs, PairForm
from kernelrank.exact_cv.pair_forms import ResidualPairs, SmootherPairs, Workspace
from kernelrank.exact_cv.pair_series import MOST_TERMS, SeriesPairs, middle_scale, terms_of_series
from kernelrank.exact_cv.problem import Problem
from kernelrank.exact_cv.refit import refit_without
from kernelrank.exact_cv.sets import DUAL_LIMIT, leave_sets_out
from kernelrank.features import Features, ReducedSet
from kernelrank.solvers.automatic import DIRECT_LIMIT
from kernelrank.solvers.precision import report_error

__all__ = ["leave_pair_out"]

MOST_PAIRS = 1 / 6
"""The share of all ordered pairs from which all of Γ costs less than the block that they need, for one λ."""


def leave_pair_out(
    problem: Problem, pairs: ItemPairs, alphas: Float, *, differences: bool = True
) -> tuple[Float, Float]:
    """Hold out pairs, each scored by the model trained without both items.

    Parameters
    ----------
    problem : Problem
        RLS, or one query.
    pairs : ItemPairs
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
    features if that is smaller, and O(m² k) for k outputs. Memory: the factors, two matrices of up to 64 MiB or one
    block of 16 MiB, and the differences if wanted. A list of pairs takes O(s + k) time for each.
    """
    found = _from_scored_items(problem, pairs, alphas, differences=differences)
    difference, agreement, counted = found or _hold_out(problem, pairs, alphas, differences=differences)
    accuracy = np.full(agreement.shape, np.nan)
    np.divide(agreement, 2.0 * counted[:, None], out=accuracy, where=counted[:, None] > 0)
    return (difference if differences else difference[..., :0]), accuracy + 0.5


def _hold_out(problem: Problem, pairs: ItemPairs, alphas: Float, *, differences: bool) -> tuple[Float, Float, Float]:
    """Return differences (k, n, pairs), agreements (k, n), and how many pairs differ (k,)."""
    kappa = problem.common_scale(2, basis=_basis_may_leave(problem.features))
    if kappa is None or not problem.differences_survive(2):
        found = _by_series(problem, pairs, alphas, differences=differences)
        return _one_by_one(problem, np.stack(pairs.items(), axis=1), alphas) if found is None else found
    difference, agreement = _all_at_once(problem, pairs, alphas, kappa, differences=differences)
    return difference, agreement, pairs.n_differing(problem.truth)


def _basis_may_leave(features: Features) -> bool:
    """Whether there is a basis of which two items may leave, and which is small enough to be decomposed."""
    return features.basis is not None and len(features.basis) > 2 and features.size <= DIRECT_LIMIT


def _from_scored_items(
    problem: Problem, pairs: ItemPairs, alphas: Float, *, differences: bool
) -> tuple[Float, Float, Float] | None:
    """Hold the pairs out from the items that have a weight; None where all have, or nothing is won by it."""
    scored = problem.scored
    if scored.all() or not problem.any_items_may_leave or np.count_nonzero(scored) < 4:
        return None
    items = np.flatnonzero(scored)
    chosen = pairs.among(items)
    if chosen.n_pairs == 0:
        return None
    rest, _ = problem.without(np.flatnonzero(~scored))
    difference, agreement, counted = _hold_out(rest, chosen, alphas, differences=differences)
    if chosen.n_pairs == pairs.n_pairs or not differences:
        return difference, agreement, counted
    first, second = pairs.items()
    inside = scored[first] & scored[second]
    every = np.empty((*difference.shape[:2], pairs.n_pairs))
    every[..., inside] = difference
    every[..., ~inside] = _one_by_one(problem, np.stack([first[~inside], second[~inside]], axis=1), alphas)[0]
    return every, agreement, counted


def _all_at_once(
    problem: Problem, pairs: ItemPairs, alphas: Float, kappa: float, *, differences: bool
) -> tuple[Float, Float]:
    """Return differences (k, n, pairs) and agreements (k, n) where one Γ serves all pairs."""
    difference = np.empty((len(alphas), problem.truth.shape[1], pairs.n_pairs if differences else 0))
    found = _by_inverse(problem, pairs, alphas, kappa, difference)
    if found is None:
        found = _by_decomposition(problem, pairs, alphas, kappa, difference, threshold=PIVOT[True])
    if found is None:
        dual = problem.graph.n_items <= DUAL_LIMIT
        found = _by_decomposition(problem, pairs, alphas, kappa, difference, threshold=-np.inf, dual=dual)
    assert found is not None
    agreement, left = found
    for number, places in left:
        for place, i, j in zip(places, *pairs.at(places), strict=True):
            scores = refit_without(problem, np.array([i, j]), alphas[number : number + 1])[..., 0]
            agreement[number] += np.sign(scores[0] - scores[1]) * np.sign(problem.truth[i] - problem.truth[j])
            if differences:
                difference[number, :, place] = scores[0] - scores[1]
    return difference.transpose(1, 0, 2), agreement.T


def _by_inverse(
    problem: Problem, pairs: ItemPairs, alphas: Float, kappa: float, difference: Float
) -> tuple[Float, list[tuple[int, Index]]] | None:
    """Do what `_by_decomposition` does from all of Γ; None unless that is the cheapest form and keeps the digits."""
    m = problem.graph.n_items
    if problem.features.primal is not None or pairs.n_pairs < MOST_PAIRS * m * m or len(alphas) > 1:
        return None
    inverse = DualInverse.of(problem.features, problem.base, float(alphas[0]) / kappa, above_trace=False)
    if inverse is None:
        return None
    report_error(float(alphas[0]), inverse.error)
    agreement = np.zeros(difference.shape[:2])
    form = ResidualPairs(inverse.reordered(pairs.order), pairs.order, problem.truth, problem.features.duplicate_of)
    pairs.hold_out(form, agreement[0], difference[0])
    return agreement, []


def _by_decomposition(
    problem: Problem,
    pairs: ItemPairs,
    alphas: Float,
    kappa: float,
    difference: Float,
    *,
    threshold: float,
    dual: bool = False,
) -> tuple[Float, list[tuple[int, Index]]] | None:
    """Fill in the differences (n, k, pairs); return agreements (n, k) and the pairs left out, None if too many."""
    order = pairs.order
    common = order, problem.truth, problem.features.duplicate_of
    agreement = np.zeros(difference.shape[:2])
    left: list[tuple[int, Index]] = []
    lams = alphas / kappa
    features = problem.features
    lost = None
    if isinstance(features, ReducedSet):
        lost = LostDirections(features, problem.graph.n_items, keep_basis=problem.keep_basis)
    for decomposition, numbers in problem.decompositions(lams, scores=False, dual=dual):
        decomposition.report_errors(alphas[numbers], lams[numbers])
        in_order, workspace = decomposition.left[order], Workspace()
        for number in numbers:
            lam = float(lams[number])
            form: PairForm
            if lost is not None:
                form = BasisPairs(lost, decomposition, lam, threshold, *common)
            elif decomposition.primal or lam > decomposition.trace:
                form = SmootherPairs(decomposition, lam, threshold, *common)
            else:
                form = ResidualPairs(decomposition.dual_inverse(lam).reordered(order, in_order), *common, workspace)
            places = pairs.hold_out(form, agreement[number], difference[number])
            if places is None:
                return None
            if len(places):
                left.append((int(number), places))
    return agreement, left


def _by_series(
    problem: Problem, pairs: ItemPairs, alphas: Float, *, differences: bool
) -> tuple[Float, Float, Float] | None:
    """Hold out all pairs of items whose weights differ a little; None for other pairs and other forms."""
    weight, m = problem.graph.weight, problem.graph.n_items
    if (
        not isinstance(pairs, DifferingPairs)
        or problem.features.primal is not None
        or not problem.any_items_may_leave
        or problem.graph.queries is None
        or problem.graph.query_weight != "pairs"
        or problem.uncompared.any()
        or not problem.differences_survive(2)
        or m > DUAL_LIMIT
    ):
        return None
    n_terms = terms_of_series(weight)
    if n_terms > MOST_TERMS:
        return None
    common = pairs.order, problem.truth, problem.features.duplicate_of
    middle = alphas / middle_scale(weight)
    # So many values of λ are served by a spectrum, and not by a factorisation each.
    lams = (middle[:, None] * np.linspace(0.999, 1.001, 5)).ravel()
    for decomposition, numbers in problem.decompositions(lams, scores=False, dual=True):
        # Above the trace the scores are tiny relative to y, and no difference from y keeps all their digits.
        above = middle > decomposition.trace
        if decomposition.values is None or len(numbers) < len(lams) or above.all():
            return None
        decomposition.report_errors(alphas[~above], middle[~above])
        difference = np.empty((len(alphas), problem.truth.shape[1], pairs.n_pairs if differences else 0))
        agreement = np.zeros(difference.shape[:2])
        for number in np.flatnonzero(~above):
            form = SeriesPairs(decomposition, float(alphas[number]), n_terms, *common)
            pairs.hold_out(form, agreement[number], difference[number])
        if above.any():
            found, right, _ = _one_by_one(problem, np.stack(pairs.items(), axis=1), alphas[above])
            agreement[above] = right.T
            if differences:
                difference[above] = found.transpose(1, 0, 2)
        return difference.transpose(1, 0, 2), agreement.T, pairs.n_differing(problem.truth)
    return None


def _one_by_one(problem: Problem, pairs: Index, alphas: Float) -> tuple[Float, Float, Float]:
    """Hold out each pair as a set of two: O(s) time where Γ depends on the pair, a training where it is refitted."""
    first, second = pairs.T
    sets = ItemSets(pairs.ravel(), 2 * np.arange(len(pairs) + 1))
    scores = leave_sets_out(problem, sets, alphas)
    difference = (scores[0::2] - scores[1::2]).transpose(1, 2, 0)
    right = np.sign(problem.truth[first] - problem.truth[second]).T
    right[:, ~problem.scored[first] | ~problem.scored[second]] = 0.0
    return difference, (np.sign(difference) * right[:, None]).sum(axis=-1), np.abs(right).sum(axis=-1)
