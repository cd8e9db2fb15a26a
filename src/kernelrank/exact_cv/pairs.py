"""Leave-pair-out [PABS08]: every pair held out from one ranking, or from RLS, in constant time each.

This is the identity of `kernelrank.exact_cv.problem` for ``U = {i, j}``. The difference of the two held-out
scores needs no intercept, and the 2 × 2 system ``Γ_UU r = e_U`` is solved by hand:

    ``f_i - f_j = (y_i - y_j) - (r_i - r_j)
    = (y_i - y_j) - [(Γ_jj + Γ_ij) e_i - (Γ_ij + Γ_ii) e_j] / (Γ_ii Γ_jj - Γ_ij²)``.

With m items in one query, all pairs counting the same, the model trained without two of them is ridge regression with
an intercept at ``λ' = λ / (m - 2)``: one Γ serves all pairs. Its entries cost a product of two rows each; Γ is formed
in blocks of rows, of which only the columns with lower scores are needed: with two classes, the positive × negative
block and the diagonal. For one λ and most pairs, all of Γ is an inverse and costs less than that. For a linear kernel
the rows are as short as there are features, if these are fewer than items.

There ``λ' Γ`` is a difference, which loses digits for a pair that alone determines a direction of the features; with
nearly as many features as items, every pair does. A few such pairs are refitted. If there are more, the dual form is
used for up to 5,000 items; beyond that, and beyond a thousand such pairs, the error of one is about ε over its
determinant.

Two items with the same row have the same score by any model: their difference is set to zero, without rounding errors.

**Weights.** If item weights differ and every pair or every query has equal weight, each pair has its own λ' and its own
Γ. With a kernel, equal weight of pairs and weights that are all small beside their sum, Γ is a short power series of λ'
(`SeriesPairs`). Otherwise each pair is a set of two, solved by itself (`_one_by_one`). So are pairs with ties left
out, or with unit or relative cost, which have no shortcut: the levels of the other items change.

A **reduced set** is evaluated without the basis items of each pair (the part “Basis pairs”), also in
constant time.

Items without a score, or of weight zero, are left out: pairs are held out from the problem of the others. A pair with
such an item is solved by itself, if its difference is requested.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from kernelrank.base.arrays import Float, Index
from kernelrank.base.compiled import compiled
from kernelrank.base.labels import ItemSets
from kernelrank.comparisons.scored import ScoredComparisons
from kernelrank.exact_cv.basis import BasisPlaces
from kernelrank.exact_cv.pair_forms import (
    BLOCK_BYTES,
    DifferingPairs,
    ItemPairs,
    PairForm,
    ResidualPairs,
    SmootherPairs,
    Workspace,
    difference_places,
    row_blocks,
    settle_differences,
    store_pairs,
    tie_share,
    tied_numbers,
)
from kernelrank.exact_cv.problem import PIVOT, Decomposition, DualInverse, Problem, refit_without
from kernelrank.exact_cv.sets import DUAL_LIMIT, FEW_REFITS, leave_sets_out
from kernelrank.features import Features, ReducedSet
from kernelrank.solvers.automatic import DIRECT_LIMIT
from kernelrank.solvers.precision import report_error


def leave_pair_out(
    problem: Problem, pairs: ItemPairs, alphas: Float, *, differences: bool = True
) -> tuple[Float, Float]:
    """Hold out pairs, each scored by the model trained without both items.

    All pairs: O(m³) once for a kernel, then O(m² s) for each alpha, s being m or, for a linear kernel, the number of
    features if that is smaller, and O(m² k) for k outputs. Memory: the factors, two matrices of up to 64 MiB or one
    block of 16 MiB, and the differences if wanted. A list of pairs takes O(s + k) time for each.

    Shapes: alphas (n,); returns difference (k, n, pairs), or (k, n, 0), returns accuracy (k, n).

    Returns accuracy: The share of the pairs with different scores in the right order; NaN for an output without such
    pairs.
    """
    problem = problem.near_origin
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
    dual = problem.graph.n_items <= DUAL_LIMIT
    if found is None:
        # Refits cost less than the dual form up to this number: one takes O(m s²) time, that form O(m³).
        features = problem.features
        room = min(1000.0, FEW_REFITS * (features.n_items / features.size) ** 2) if dual else 1000.0
        found = _by_decomposition(problem, pairs, alphas, kappa, difference, threshold=PIVOT[True], room=room)
    if found is None:
        found = _by_decomposition(problem, pairs, alphas, kappa, difference, threshold=-np.inf, dual=dual)
    assert found is not None
    agreement, left = found
    for number, places in left:
        tie = tie_share(problem.trace * kappa / float(alphas[number]), problem.graph.n_items)
        for place, i, j in zip(places, *pairs.at(places), strict=True):
            scores = refit_without(problem, np.array([i, j]), alphas[number : number + 1])[..., 0]
            truth = problem.truth[i] - problem.truth[j]
            apart = settle_differences(scores[0] - scores[1], truth, tie)
            agreement[number] += np.sign(apart) * np.sign(truth)
            if differences:
                difference[number, :, place] = apart
    return difference.transpose(1, 0, 2), agreement.T


def _by_inverse(
    problem: Problem, pairs: ItemPairs, alphas: Float, kappa: float, difference: Float
) -> tuple[Float, list[tuple[int, Index]]] | None:
    """Do what `_by_decomposition` does from all of Γ; None unless that is the cheapest form and keeps the digits."""
    m = problem.graph.n_items
    # The share of all ordered pairs from which all of Γ costs less than the block that they need, for one λ.
    if problem.features.primal is not None or 6 * pairs.n_pairs < m * m or len(alphas) > 1:
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
    room: float = np.inf,
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
                form = SmootherPairs(decomposition, lam, threshold, room, *common)
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
    truth = (problem.truth[first] - problem.truth[second]).T  # (k, pairs)
    scale = np.nan_to_num(problem.scale(sets), nan=1.0)
    ties = tie_share(problem.trace * scale / alphas[:, None], problem.graph.n_items)
    difference = settle_differences((scores[0::2] - scores[1::2]).transpose(1, 2, 0), truth[:, None], ties)
    right = np.sign(truth)
    right[:, ~problem.scored[first] | ~problem.scored[second]] = 0.0
    return difference, (np.sign(difference) * right[:, None]).sum(axis=-1), np.abs(right).sum(axis=-1)


# Pair series ----------------------------------------------------------------------------------------------------------
#
# Held-out pairs of items with different weights: the dual inverse as a power series, one for all pairs.

MOST_TERMS = 12
"""The largest number of terms; with more of them a system for each pair costs as much."""


class SeriesPairs:
    """Held-out pairs of items with different weights, each at its own λ, from one power series of the dual inverse.

    Without items of the weights ``w_i`` and ``w_j``, the λ of one ranking is ``λ / κ`` with ``κ = W - w_i - w_j``,
    which differs little from pair to pair. About ``λ_0 = λ / κ_0``, with ``u = 1 - κ_0 / κ``,

        ``Γ = Σ_k u^k Q diag(d_k) Qᵀ``,   ``d_k = (λ_0 / (μ + λ_0))^k / (μ + λ_0)``,

    and as many terms as `terms_of_series` says leave nothing but rounding, for all terms of Γ are positive.
    """

    def __init__(
        self,
        decomposition: Decomposition,
        lam: float,
        n_terms: int,
        order: Index,
        truth: Float,
        duplicate_of: Index,
    ) -> None:
        graph = decomposition.graph
        assert isinstance(graph, ScoredComparisons)
        assert decomposition.values is not None
        self.weight, self.total = graph.weight[order], float(graph.weight.sum())
        self.middle = middle_scale(graph.weight)
        shrunk = 1.0 / (decomposition.values + lam / self.middle)
        self.d = shrunk * (lam / self.middle * shrunk) ** np.arange(n_terms)[:, None]  # (terms, s)
        self.left = decomposition.left[order]
        self.diagonal = self.d @ (self.left**2).T
        scaled = self.d[:, :, None] * decomposition.rotated
        self.e = np.ascontiguousarray((self.left @ scaled).transpose(2, 0, 1))  # (k, terms, m)
        self.y = np.ascontiguousarray(truth[order].T)
        self.tied = tied_numbers(duplicate_of[order])
        self.tie = float(tie_share(decomposition.trace * self.middle / lam, len(order)))

    def all_pairs(self, pairs: DifferingPairs, agreement: Float, difference: Float) -> Index | None:
        """As in `PairForm`."""
        offset, difference = difference_places(pairs, difference)
        known = pairs.end, offset, self.diagonal, self.e, self.y, self.tied, self.tie, agreement, difference
        for rows in row_blocks(pairs, len(self.d)):
            columns = int(pairs.end[rows.start])
            G = (self.left[rows] * self.d[:, None, :]) @ self.left[columns:].T
            _pairs_by_series(G, rows.start, columns, self.weight, self.total, self.middle, *known)
        return np.zeros(0, dtype=np.int64)

    def listed(self, pairs: Index, agreement: Float, difference: Float) -> Index | None:  # noqa: ARG002
        """Leave a list of pairs to the caller."""
        return None


def middle_scale(weight: Float) -> float:
    """Return κ_0, in the middle of the κ of all pairs."""
    two = np.sort(weight)
    return float(weight.sum() - (two[0] + two[1] + two[-1] + two[-2]) / 2.0)


def terms_of_series(weight: Float) -> int:
    """Return how many terms a series needs so that what is left is below the rounding of its sum."""
    two, total = np.sort(weight), float(weight.sum())
    middle = middle_scale(weight)
    ends = total - np.array([two[0] + two[1], two[-1] + two[-2]])
    if ends.min() <= 0.0:
        return MOST_TERMS + 1
    widest = float(np.abs(1.0 - middle / ends).max())
    least = 1e-17  # the largest term that may be left out, relative to the first
    return MOST_TERMS + 1 if widest >= 0.5 else int(np.ceil(np.log(least) / np.log(max(widest, least))))


@compiled
def _pairs_by_series(
    G: Float,
    start: int,
    columns: int,
    weight: Float,
    total: float,
    middle: float,
    end: Index,
    offset: Index,
    gamma: Float,
    e: Float,
    y: Float,
    tied: Index,
    least: float,
    agreement: Float,
    difference: Float,
) -> None:
    """Hold out the pairs of a block of rows of Γ, which is a power series.

    Shapes: G (terms, rows, m - columns), weight (m,), gamma (terms, m), e (k, terms, m).
    """
    k, m = y.shape
    last = G.shape[0] - 1
    for p in range(G.shape[1]):
        i = start + p
        first = max(end[i], 0)
        shift, to = max(first - columns, 0), max(offset[i], 0)
        for c in range(k):
            right = 0
            for b in range(m - first):
                j = first + b
                u = 1.0 - middle / (total - weight[i] - weight[j])
                g, gamma_i, gamma_j = G[last, p, shift + b], gamma[last, i], gamma[last, j]
                e_i, e_j = e[c, last, i], e[c, last, j]
                for term in range(last - 1, -1, -1):
                    g = g * u + G[term, p, shift + b]
                    gamma_i = gamma_i * u + gamma[term, i]
                    gamma_j = gamma_j * u + gamma[term, j]
                    e_i = e_i * u + e[c, term, i]
                    e_j = e_j * u + e[c, term, j]
                missed = (gamma_j + g) * e_i - (g + gamma_i) * e_j
                determinant = gamma_i * gamma_j - g * g
                truth = y[c, i] - y[c, j]
                found = truth - missed / (determinant + int(determinant == 0.0))
                found = 0.0 if tied[j] == tied[i] or abs(found) <= least * abs(truth) else found
                difference[c, to + b] = found
                sign = found * truth
                right += int(sign > 0.0) - int(sign < 0.0)
            agreement[c] += right


# Basis pairs ----------------------------------------------------------------------------------------------------------
#
# Pairs held out from a reduced set at one λ, with their basis items removed: constant time for each pair.
#
# In the features ``Φ = K_MR U⁻¹`` of the basis, with ``A = Φᵀ L Φ + λ I``, ``A⁻¹ = B diag(d) Bᵀ`` and ``Q = L Φ B``,
# the smoother of `kernelrank.exact_cv.pair_forms` is ``H = Q diag(d) Qᵀ`` and ``h = H y``. A model without the basis
# items S has ``b_S = 0``: its weights are orthogonal to the rows S of ``U⁻¹``, which are ``β = (U⁻¹)_S B`` beside Q.
# The constraint removes these directions from A⁻¹, and so
#
#     ``H⁽ˢ⁾ = H - E_S N_SS⁻¹ E_Sᵀ``,   ``h⁽ˢ⁾ = h - E_S N_SS⁻¹ g_S``,
#
# with ``E = Q diag(d) βᵀ`` (m × r), ``N = β diag(d) βᵀ`` and ``g = β diag(d) Qᵀ y`` for the whole basis. A pair has two
# basis items at most. Cholesky's factor of ``N_SS`` turns the two corrections into squares, and then the pair is held
# out as any other, ``P = L_UU - H⁽ˢ⁾_UU``.
#
# If the basis is singular, a remaining item may span the direction of a removed one. If no remaining item depends on
# the removed item, its direction is lost. For all other pairs, `KernelMap.lost_directions` computes β pair by pair, and
# also for two nearly identical items, whose second direction is a difference.


class LostDirections:
    """The directions that the basis no longer spans without the items of a pair, for any λ."""

    def __init__(self, features: ReducedSet, n_items: int, *, keep_basis: bool) -> None:
        self.map = features.map
        self.rows = solve_triangular(self.map.U, np.eye(self.map.rank), check_finite=False)  # (rank, rank): U⁻¹
        self.places = BasisPlaces.of(features, n_items)
        if keep_basis:
            nowhere = np.full(n_items, -1, dtype=np.int64)
            self.places = BasisPlaces(nowhere, nowhere)
        replaced = np.abs(self.map.dependence).max(axis=1, initial=0.0) > 0.0
        self.may_be_replaced = np.append(replaced, False)[self.places.column_of]
        self._known: dict[tuple[int, int], Float | None] = {}

    def of(self, i: int, j: int) -> Float | None:
        """Return the lost directions in the features, shape (at most 2, rank), or None if rounding errors hide them."""
        if (i, j) not in self._known:
            columns, gone = self.places.columns(np.array([i, j])), self.places.left(np.array([i, j]))
            self._known[i, j] = self.map.lost_directions(columns, gone, self.rows[columns])
        return self._known[i, j]


class BasisPairs(SmootherPairs):
    """The smoother of a reduced set, from which the basis items of each pair are removed.

    O(m r²) time for each λ, and O(r + k) for each pair.
    """

    def __init__(
        self,
        lost: LostDirections,
        decomposition: Decomposition,
        lam: float,
        threshold: float,
        order: Index,
        truth: Float,
        duplicate_of: Index,
    ) -> None:
        super().__init__(decomposition, lam, threshold, np.inf, order, truth, duplicate_of)
        self.lost, self.order, self.B = lost, order, decomposition.basis
        self.rotated = decomposition.rotated
        beta = lost.rows @ self.B
        size = np.sqrt((beta**2) @ self.d)
        beta /= np.where(size > 0.0, size, 1.0)[:, None]
        # One more row and column of zeros, for items that are not in the basis.
        self.E, self.N = np.zeros((len(order), len(beta) + 1)), np.zeros((len(beta) + 1, len(beta) + 1))
        self.E[:, :-1] = (self.first * self.d) @ beta.T
        self.N[:-1, :-1] = (beta * self.d) @ beta.T
        self.g = np.vstack([(beta * self.d) @ self.rotated, np.zeros((1, self.rotated.shape[1]))])
        self.column = lost.places.column_of[order]
        self.special = lost.may_be_replaced[order]

    def all_pairs(self, pairs: DifferingPairs, agreement: Float, difference: Float) -> Index | None:
        """As in `PairForm`."""
        m, doubtful = len(pairs.order), []
        # About what the arrays of a pair take that is held out among many.
        step = max(1, BLOCK_BYTES // (300 * m))
        for start in range(0, int(np.searchsorted(pairs.end, m)), step):
            rows, columns = np.arange(start, min(start + step, m)), int(pairs.end[start])
            H = (self.first[rows] * self.d) @ self.second[columns:].T
            p, q = np.nonzero(np.arange(columns, m) >= pairs.end[rows][:, None])
            found, small = self._differences(rows[p], columns + q, H[p, q])
            first = int(pairs.offset[start])
            doubtful.append(np.flatnonzero(small) + first)
            truth = self.y[rows[p]] - self.y[columns + q]
            store_pairs(truth, found, slice(first, first + len(p)), agreement, difference)
        return np.concatenate(doubtful)

    def _terms(self, i: Index, j: Index, x: Float) -> tuple[Float, Float, Float, Float, Float, NDArray[np.bool_]]:
        """Return H_ij, H_ii, H_jj, h_i and h_j without the basis items of each pair, and where these are not known."""
        c_i, c_j = self.column[i], self.column[j]
        rho = self.N[c_i, c_j]
        # Where the squared correlation of two basis items is less than one by so little, a pair is solved by itself.
        alone = (rho * rho > 1.0 - 1e-2) | self.special[i] | self.special[j]
        root = np.sqrt(np.where(alone, 1.0, 1.0 - rho * rho))
        a, b, g = np.empty((2, len(i))), np.empty((2, len(i))), np.empty((2, len(i), self.g.shape[1]))
        for target, values, last in ((a, self.E[i, c_i], self.E[i, c_j]), (b, self.E[j, c_i], self.E[j, c_j])):
            target[0], target[1] = values, (last - rho * values) / root
        g[0], g[1] = self.g[c_i], (self.g[c_j] - rho[:, None] * self.g[c_i]) / root[:, None]
        unknown = np.zeros(len(i), dtype=bool)
        for place in np.flatnonzero(alone):
            unknown[place] = not self._remove_directions(int(i[place]), int(j[place]), a, b, g, int(place))
        h_i, h_j = (self.h[of] - np.einsum("cp,cpk->pk", of_pair, g) for of, of_pair in ((i, a), (j, b)))
        squares = (a * b).sum(axis=0), (a * a).sum(axis=0), (b * b).sum(axis=0)
        return x - squares[0], self.eta[i] - squares[1], self.eta[j] - squares[2], h_i, h_j, unknown

    def _remove_directions(self, i: int, j: int, a: Float, b: Float, g: Float, place: int) -> bool:
        """Fill in the corrections of a pair by what the basis loses without it; tell whether that is known."""
        for corrections in (a, b, g):
            corrections[:, place] = 0.0
        directions = self.lost.of(int(self.order[i]), int(self.order[j]))
        if directions is None or len(directions) == 0:
            return directions is not None
        root, n = np.sqrt(self.d), len(directions)
        beta = (directions @ self.B) * root
        beta /= np.linalg.norm(beta, axis=1)[:, None]
        if n == 2:  # what the second adds to the first, formed so that it keeps its digits
            beta[1] -= (beta[1] @ beta[0]) * beta[0]
            length = np.linalg.norm(beta[1])
            # The smallest part of a direction that is orthogonal to the other one; below, a pair is left to the caller.
            if length < 1e-6:
                return False
            beta[1] /= length
            beta[1] -= (beta[1] @ beta[0]) * beta[0]
        a[:n, place], b[:n, place] = beta @ (root * self.first[i]), beta @ (root * self.first[j])
        g[:n, place] = beta @ (root[:, None] * self.rotated)
        return True
