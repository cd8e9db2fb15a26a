r"""Nested leave-pair-out without refits: leave-pair-out among the items outside each held-out set, to choose alpha.

To choose alpha by leave-pair-out without a set U, hold out U and two more items. With Γ at
``λ' = λ / κ(u + 2)``, where κ counts all held-out items, U is removed by a Schur complement, with the Cholesky factor R
of ``Γ_UU`` and ``W = R⁻¹ Γ_U:``,

    ``Γ' = Γ - WᵀW``,   ``e' = e - Wᵀ R⁻¹ e_U``,

and each pair of the others by the 2 × 2 system of `kernelrank.exact_cv.pairs`:

    ``f_i - f_j = (y_i - y_j) - [(Γ'_jj + Γ'_ij) e'_i - (Γ'_ij + Γ'_ii) e'_j] / (Γ'_ii Γ'_jj - Γ'_ij²)``.

Only its sign is needed, so there is no division, and Γ' is never stored: its rows are computed when they are needed.
One decomposition serves all sets and all alphas; u + 1 products and one comparison for every set, pair and alpha.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing

import numpy as np
from scipy.linalg import lapack

from kernelrank.base.arrays import Float, Index
from kernelrank.base.compiled import compiled
from kernelrank.base.labels import ItemSets, Queries
from kernelrank.base.progress import track
from kernelrank.comparisons import ItemScores, ScoredQueries
from kernelrank.errors import InvalidInputError
from kernelrank.exact_cv.pair_forms import DifferingPairs, tie_share
from kernelrank.exact_cv.problem import PIVOT, DualInverse, Problem
from kernelrank.exact_cv.sets import DUAL_LIMIT, settle_ties, share_scores
from kernelrank.features import FullKernel
from kernelrank.kernels import Kernel
from kernelrank.solvers.precision import EPSILON

SETS_AT_ONCE, SET_BYTES = 256, 2**25
"""How many sets a compiled call takes, so that the progress bar moves, and the size of their corrections."""


def inner_agreements(problem: Problem, outer: ItemSets, alphas: Float) -> Float | None:
    """Count the pairs that leave-pair-out orders correctly among the items outside each set.

    O(m³) time once, then for each alpha O(m³) for Γ, and O(u p) for each set of u items and p pairs.

    Shapes: alphas (n,); returns (sets, n).

    Returns: Pairs in the right order less those in the wrong order; NaN where rounding took the digits of a set. None
    where sets of one size have no common Γ, or where not all of them leave two different scores in all that remains.
    """
    if problem.truth.shape[1] != 1 or not problem.scored.all():
        return None
    problem = problem.near_origin
    sizes = np.unique(outer.sizes)
    found_scales = [problem.common_scale(int(size) + 2) for size in sizes]
    scales = [scale for scale in found_scales if scale is not None]
    levels, level_of = np.unique(problem.truth[:, 0], return_inverse=True)
    two_levels = len(levels) == 2 and problem.graph.queries is not None
    if len(scales) < len(sizes) or not (two_levels or problem.differences_survive(int(sizes.max()) + 2)):
        return None
    pairs = DifferingPairs.of(problem.truth)
    order, place = pairs.order, np.empty(len(pairs.order), dtype=np.int64)
    place[order] = np.arange(len(order))
    y, duplicate_of = problem.truth[order, 0], problem.features.duplicate_of[order]
    found = np.empty((2, len(outer), len(alphas)))
    calls = [-(-np.count_nonzero(outer.sizes == size) // _at_once(int(size), len(order))) for size in sizes]
    n_steps = len(alphas) * int(sum(calls))
    steps = _steps(problem, outer, sizes, scales, alphas)
    with closing(track(steps, n_steps, "choosing alpha without each set")) as shown:
        for inverse, numbers, alpha in shown:
            Gamma, e, trace_and_lam = inverse
            places = place[outer.items[outer.places(numbers, int(outer.sizes[numbers[0]]))]]
            data = Gamma, e, y, pairs.end, duplicate_of
            found[:, numbers, alpha] = _agreements(*data, places, *trace_and_lam)
    if two_levels:  # RLS without an intercept learns from items of one level, too
        found[:, _nothing_left(outer, level_of)] = 0.0
    total, doubt = found
    # An alpha that is not the best one whatever its doubtful pairs count may have any count below the best.
    least = np.max(total - doubt, axis=1, initial=-np.inf, where=~np.isnan(total))
    return np.where((doubt > 0.0) & (total + doubt >= least[:, None]), np.nan, total)


def _steps(
    problem: Problem, outer: ItemSets, sizes: Index, scales: list[float], alphas: Float
) -> Iterator[tuple[tuple[Float, Float, tuple[float, float]], Index, int]]:
    """Yield Γ, e, the trace and λ, items in descending order of their scores; some sets of one size; which alpha."""
    order = DifferingPairs.of(problem.truth).order
    for size, scale in zip(sizes, scales, strict=True):
        numbers = np.flatnonzero(outer.sizes == size)
        for decomposition, served in problem.decompositions(alphas / scale, scores=False, dual=True):
            for alpha in served:
                lam = float(alphas[alpha]) / scale
                inverse = decomposition.dual_inverse(lam).reordered(order)
                arrays = (
                    np.ascontiguousarray(inverse.rows(slice(None))),
                    np.ascontiguousarray(inverse.coefficients[:, 0]),
                    (decomposition.trace, lam),
                )
                step = _at_once(int(size), len(order))
                for start in range(0, len(numbers), step):
                    yield arrays, numbers[start : start + step], int(alpha)


def _at_once(size: int, m: int) -> int:
    """Return how many sets of one size go into one compiled call."""
    return max(1, min(SETS_AT_ONCE, SET_BYTES // (8 * max(size, 2) * m)))


def _nothing_left(outer: ItemSets, level_of: Index) -> Index:
    """Return the sets without which no pair leaves items of both levels: all models in there are zero."""
    number = np.repeat(np.arange(len(outer)), outer.sizes)
    high = np.bincount(number, weights=level_of[outer.items], minlength=len(outer))
    n_high, n_low = int(level_of.sum()), len(level_of) - int(level_of.sum())
    return np.flatnonzero((n_high - high <= 1) | (n_low - (outer.sizes - high) <= 1))


def _agreements(
    Gamma: Float, e: Float, y: Float, end: Index, duplicate_of: Index, sets: Index, trace: float, lam: float
) -> Float:
    """Return the agreement without each set, and by how much it may be wrong, shape (2, sets); y descends."""
    m, u = len(e), sets.shape[1]
    found = np.full((2, len(sets)), np.nan)
    if trace < 1e-8 * lam:  # scores are so small beside y that too few digits of y less what is missed are left
        return found
    W, gamma, rest, pivots = _corrections(Gamma, e, sets)
    H = Gamma if u <= 2 else np.empty((m, m))
    # Rounding of what leaves Γ with the set; and of the matrix that Γ is the inverse of, which moves scores, but leaves
    # Γ an inverse, so that a small determinant does not make it larger.
    span = EPSILON * float(y[0] - y[-1])
    noise, blur = 32.0 * span / pivots, 8.0 * span * trace * float(np.diagonal(Gamma).max())
    data = Gamma, y, end, duplicate_of, sets, W, gamma, rest, H
    # What is less than 1e-14 beside the true difference is rounding, too.
    _count_agreements(*data, max(float(tie_share(trace / lam, m)), 1e-14), noise, blur, *found)
    found[:, pivots < PIVOT[False]] = np.nan
    return found


def _corrections(Gamma: Float, e: Float, sets: Index) -> tuple[Float, Float, Float, Float]:
    """Take each set out of Γ and e.

    Row i of W follows from those before it: ``W_c`` has ``R_ic`` at the place of item i of the set.

    Shapes: returns W (sets, u, m), returns gamma, rest (sets, m), returns the smallest relative pivots (sets,).
    """
    (n_sets, u), m = sets.shape, len(e)
    W = np.zeros((n_sets, max(u, 2), m))
    gamma, rest = np.tile(np.diagonal(Gamma), (n_sets, 1)), np.tile(e, (n_sets, 1))
    smallest, number = np.ones(n_sets), np.arange(n_sets)
    for i in range(u):
        items = sets[:, i]
        row = Gamma[items]
        for c in range(i):
            row -= W[number, c, items][:, None] * W[:, c]
        squared = row[number, items]
        smallest = np.minimum(smallest, squared / Gamma[items, items])
        pivots = np.sqrt(np.where(smallest >= PIVOT[False], squared, 1.0))[:, None]
        row /= pivots
        W[:, i] = row
        gamma -= row * row
        rest -= rest[number, items][:, None] / pivots * row
    gamma[number[:, None], sets] = 0.0
    rest[number[:, None], sets] = 0.0
    return W, gamma, rest, smallest


@compiled
def _count_agreements(
    Gamma: Float,
    y: Float,
    end: Index,
    duplicate_of: Index,
    sets: Index,
    W_of: Float,
    gamma_of: Float,
    rest_of: Float,
    H: Float,
    tie: float,
    noise_of: Float,
    blur: float,
    found: Float,
    doubt: Float,
) -> None:
    """Fill in what `_agreements` returns, from what `_corrections` does; H gets all corrections but the last two.

    A pair may count otherwise (`doubt`) if its difference is about as large as what makes a tie, which other forms
    measure a little differently, or smaller than its own rounding while that is larger: noise times the entries of Γ,
    and blur.
    """
    m, u, n_corrections, diagonal = Gamma.shape[0], sets.shape[1], W_of.shape[1], np.diag(Gamma).copy()
    for number in range(sets.shape[0]):
        W, gamma, rest, noise = W_of[number], gamma_of[number], rest_of[number], noise_of[number]
        for a in range(m if u > 2 else 0):
            for b in range(m):
                H[a, b] = Gamma[a, b]
            for c in range(u - 2):
                for b in range(m):
                    H[a, b] -= W[c, a] * W[c, b]
        total, doubtful = 0, 0
        for a in range(m):
            first = end[a]
            if first == m or gamma[a] == 0.0:
                continue
            # Views that begin at zero: an index that cannot be negative lets the loop take several pairs at a time.
            g, below, e_b, y_b, size = H[a, first:], gamma[first:], rest[first:], y[first:], diagonal[first:]
            last, last_but_one = W[n_corrections - 1, first:], W[n_corrections - 2, first:]
            gamma_a, e_a, y_a, w, v = gamma[a], rest[a], y[a], W[n_corrections - 1, a], W[n_corrections - 2, a]
            right = 0
            for b in range(m - first):
                g_ab = g[b] - v * last_but_one[b] - w * last[b]
                determinant = gamma_a * below[b] - g_ab * g_ab
                missed = (below[b] + g_ab) * e_a - (g_ab + gamma_a) * e_b[b]
                truth = (y_a - y_b[b]) * determinant
                difference, least = truth - missed, tie * abs(truth)
                rounding = noise * (diagonal[a] * below[b] + gamma_a * size[b]) + blur * determinant
                unsure = (abs(difference) > 0.5 * least) | (rounding > least)
                doubtful += int(unsure & (abs(difference) <= max(rounding, 2.0 * least)))
                right += int(difference > least) - int(difference < -least)
            total += right
            # Items of the set have left, and duplicates are tied by any model: their counts are taken back.
            for i in range(u if duplicate_of[a] < 0 else m - first):
                b = sets[number, i] - first if duplicate_of[a] < 0 else i
                if b < 0 or (below[b] > 0.0 and duplicate_of[first + b] != duplicate_of[a]):
                    continue
                g_ab = g[b] - v * last_but_one[b] - w * last[b]
                determinant = gamma_a * below[b] - g_ab * g_ab
                missed = (below[b] + g_ab) * e_a - (g_ab + gamma_a) * e_b[b]
                truth = (y_a - y_b[b]) * determinant
                difference, least = truth - missed, tie * abs(truth)
                rounding = noise * (diagonal[a] * below[b] + gamma_a * size[b]) + blur * determinant
                unsure = (abs(difference) > 0.5 * least) | (rounding > least)
                doubtful -= int(unsure & (abs(difference) <= max(rounding, 2.0 * least)))
                total -= int(difference > least) - int(difference < -least)
        found[number], doubt[number] = total, 2.0 * doubtful


# Nested sets ----------------------------------------------------------------------------------------------------------
#
# Sets inside sets: the hold-out scores of what remains without each set, from one Γ for each alpha.
#
# Without the outer set U the dual inverse is a Schur complement (`kernelrank.exact_cv.problem`), and an inner set V of
# the other items has the residuals r with ``Γ'_VV r = e'_V``. If U or V contains a whole query, Γ is singular along the
# constant of that query; a multiple of ``1 1ᵀ`` added there changes nothing, for ``Γ 1 = 0`` along it. So V is scored
# up to a constant for each query, ``f_V = y_V - r``, and exactly where there are no intercepts.
#
# This is valid if holding out U and V does not change λ for the other items: for items of RLS, and for whole queries.
#
# **Documents inside folds.** With RLS, or with one ranking in which every item counts the same, λ is the same whatever
# leaves, so that one Γ serves folds, documents, and documents without folds. What the model without F predicts for F is
# ``y_F - (Γ_FF)⁻¹ e_F``; the same identity for `DualInverse.without` gives what the model without F and a document U
# predicts for U:
#
#     ``f_U = y_U - (Γ⁽ᶠ⁾_UU)⁻¹ e⁽ᶠ⁾_U``.
#
# So a whole nested cross-validation, folds outside and documents inside, costs one inverse for each alpha, m³
# operations, and for each fold a triangular system of its size. Literal nesting would cost a decomposition for each
# fold.


def inner_scores(
    problem: Problem, outer: ItemSets, inner: ItemSets, alphas: Float
) -> Iterator[tuple[ItemSets, Float | None]]:
    """Hold out the inner sets from the items outside each outer set.

    O(m³) time once; for each outer set of u items and each alpha O(u² m) and for each inner set of v items
    O(v² (s + u) + v³).

    Shapes: alphas (n,); yields scores (total, outputs, n).
    """
    queries = problem.graph.queries
    small = problem.graph.n_items <= DUAL_LIMIT
    allowed = np.full(len(outer), small and problem.has_shortcut)
    if queries is not None:
        allowed &= outer.whole_queries(queries) & bool(inner.whole_queries(queries).all())
    inverses = _inverses(problem, alphas) if allowed.any() else []
    allowed &= len(inverses) == len(alphas)
    for items, may in zip(outer, allowed, strict=True):
        left = inner.without(items)
        may = may and len(left) > 1  # from one set, nothing is left to train on
        yield left, _scores_without(problem, inverses, items, left, len(alphas)) if may else None


def _inverses(problem: Problem, alphas: Float) -> list[tuple[int, Float, Float, float]]:
    """Return the number of each alpha, with Γ (m, m), e (outputs, m), and how large scores are beside y, at most.

    Alphas that are so small that rounding of the kernel leaves Γ fewer than four digits are left out.
    """
    found = []
    for decomposition, numbers in problem.decompositions(alphas, scores=False, dual=True):
        for number in numbers:
            inverse = decomposition.dual_inverse(float(alphas[number]))
            Gamma, share = inverse.rows(slice(None)), min(1.0, decomposition.trace / float(alphas[number]))
            if 8.0 * EPSILON * decomposition.trace * np.diagonal(Gamma).max() < 1e-4:
                found.append((int(number), Gamma, np.ascontiguousarray(inverse.coefficients.T), share))
    return found


def _scores_without(
    problem: Problem, inverses: list[tuple[int, Float, Float, float]], outer: Index, left: ItemSets, n_alphas: int
) -> Float | None:
    queries = problem.graph.queries
    scores = np.empty((len(left.items), problem.truth.shape[1], n_alphas))
    compared = ~problem.uncompared
    outer = outer[compared[outer]]  # the rows of the others are zero
    compared[outer] = False
    alone = np.add.reduceat(compared[left.items], left.bounds[:-1], dtype=np.int64) == np.count_nonzero(compared)
    untrained = np.repeat(alone, left.sizes)  # nothing is compared without the set: the model is zero, and not rounding
    size = np.empty(scores.shape[1:])
    spread = np.ptp(np.quantile(problem.truth[left.items], [0.1, 0.9], axis=0), axis=0)
    for number, Gamma, e, share in inverses:
        size[:, number] = share * spread
        rows = Gamma[outer]
        block = rows[:, outer]
        if queries is not None and len(outer):
            block = block + np.diagonal(block).mean() * _same_query(queries.codes[outer])
        W, rest = rows, e
        if len(outer):
            factor, failed_at = lapack.dpotrf(block, lower=1)
            if failed_at > 0 or np.any(np.diagonal(factor) ** 2 < PIVOT[False] * np.diagonal(block)):
                return None
            W = np.ascontiguousarray(lapack.dtrtrs(factor, rows, lower=1)[0])
            rest = e - lapack.dtrtrs(factor, np.ascontiguousarray(e[:, outer].T), lower=1)[0].T @ W
        missed = _residuals(Gamma, rest, W, left.items, left.bounds, queries is not None, PIVOT[False])
        if not np.isfinite(missed).all():
            return None
        scores[:, :, number] = np.where(untrained[:, None], 0.0, problem.truth[left.items] - missed.T)
    duplicate_of = np.where(problem.uncompared, -1, problem.features.duplicate_of)  # no measure compares these either
    share_scores(duplicate_of[left.items], left, scores)
    known = compared[left.items]
    if not known.all():  # a score that no measure looks at is the mean of its set, and does not widen its range
        total = np.add.reduceat(np.where(known[:, None, None], scores, 0.0), left.bounds[:-1])
        count = np.add.reduceat(known, left.bounds[:-1], dtype=np.int64)
        scores[~known] = np.repeat(total / np.maximum(count, 1)[:, None, None], left.sizes, axis=0)[~known]
    settle_ties(left, scores, size)
    return scores


def _same_query(codes: Index) -> Float:
    """Return ``Σ_q 1_q 1_qᵀ`` over the queries of a set, each over its size."""
    same = (codes[:, None] == codes[None, :]).astype(np.float64)
    return np.asarray(same / same.sum(axis=1, keepdims=True))


def _residuals(Gamma: Float, e: Float, W: Float, items: Index, bounds: Index, whole: bool, pivot: float) -> Float:
    """Return r with ``(Γ - WᵀW)_VV r = e_V`` for each set V, shape (outputs, total); NaN where a pivot is too small.

    Where the sets are `whole` queries, the constant is added to the matrix. Items that are compared with none have zero
    rows, and r is zero there.
    """
    found = np.empty((len(e), len(items)))
    most = int(np.diff(bounds).max(initial=0))
    room = np.empty((most, most)), np.empty((most, len(W))), np.empty(most)
    _solve_sets(Gamma, e, W, items, bounds, whole, pivot, found, *room)
    return found


@compiled
def _solve_sets(
    Gamma: Float,
    e: Float,
    W: Float,
    items: Index,
    bounds: Index,
    whole: bool,
    pivot: float,
    found: Float,
    R: Float,
    columns: Float,
    diagonal: Float,
) -> None:
    """Fill in what `_residuals` returns; R, `columns` and `diagonal` are room for the largest set."""
    for number in range(len(bounds) - 1):
        start, u = bounds[number], bounds[number + 1] - bounds[number]
        mean = 0.0
        for i in range(u):
            for c in range(len(W)):
                columns[i, c] = W[c, items[start + i]]
            diagonal[i] = Gamma[items[start + i], items[start + i]]
            for j in range(i + 1):
                value = Gamma[items[start + i], items[start + j]]
                for c in range(len(W)):
                    value -= columns[i, c] * columns[j, c]
                R[i, j] = value
            mean += R[i, i] / u
        for i in range(u):
            for j in range(i + 1):
                value = R[i, j]
                if diagonal[i] == 0.0 and i == j:
                    value = 1.0
                elif whole and diagonal[i] > 0.0 and diagonal[j] > 0.0:
                    value += mean / u
                largest = value
                for c in range(j):
                    value -= R[i, c] * R[j, c]
                if j < i:
                    R[i, j] = value / R[j, j]
                else:
                    R[i, i] = np.sqrt(value) if value > pivot * largest else np.nan
        for k in range(len(e)):
            for i in range(u):
                found[k, start + i] = e[k, items[start + i]]
                for c in range(i):
                    found[k, start + i] -= R[i, c] * found[k, start + c]
                found[k, start + i] /= R[i, i]
            for i in range(u - 1, -1, -1):
                for c in range(i + 1, u):
                    found[k, start + i] -= R[c, i] * found[k, start + c]
                found[k, start + i] /= R[i, i]


class NestedHoldout:
    """Nested hold-outs of RLS, or of RankRLS with ``query_weight="items"``, for a kernel matrix.

    Time O(m³), memory one m × m array in addition to K.

    Shapes: K (m, m), y (m,), groups (m,), dual_coef (m,).
    """

    def __init__(self, K: Float, y: Float, groups: Sequence[str], alpha: float, *, intercept: bool = False) -> None:
        self._y = np.asarray(y, dtype=np.float64)
        m = len(self._y)
        self._codes = Queries.from_labels(groups, m, name="groups").codes
        graph: ItemScores | ScoredQueries = ItemScores(self._y[:, None])
        if intercept:
            graph = ScoredQueries(self._y[:, None], Queries.from_labels(None, m), query_weight="items")
        inverse = DualInverse.of(FullKernel(Kernel("precomputed"), K), graph, alpha)
        if inverse is None:
            raise InvalidInputError(
                f"the kernel matrix plus alpha={alpha!r} is not positive definite: use a larger alpha"
            )
        self._inverse = inverse
        self.dual_coef: Float = inverse.coefficients[:, 0]
        self.intercept = float(np.mean(self._y - K @ self.dual_coef)) if intercept else 0.0

    def leave_group_out(self, fold: Index | None = None) -> Float:
        """Score each item by the model without its group, and without the items of a fold.

        Time O(f² m + f m u + m u²) for a fold of f items and groups of u items.

        Shapes: returns (m,).

        Returns: NaN for the items of the fold.
        """
        kept, inverse = np.ones(len(self._y), dtype=bool), self._inverse
        if fold is not None and len(fold):
            kept[fold] = False
            inverse = inverse.without(fold)
        scores = np.full(len(self._y), np.nan)
        for items in self._groups(np.flatnonzero(kept)):
            scores[items] = self._y[items] - inverse.residuals(items)[:, 0]
        return scores

    def leave_fold_out(self, fold: Index) -> Float:
        """Score the items of a fold by the model without them, shape (items of the fold,). Time O(f³)."""
        return np.asarray(self._y[fold] - self._inverse.residuals(fold)[:, 0])

    def _groups(self, items: Index) -> Iterator[Index]:
        """Yield the items of each group, of those that are left."""
        order = items[np.argsort(self._codes[items], kind="stable")]
        yield from np.split(order, np.flatnonzero(np.diff(self._codes[order])) + 1)
