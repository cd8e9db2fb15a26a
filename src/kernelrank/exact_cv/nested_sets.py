r"""Sets inside sets: the hold-out scores of what remains without each set, from one Γ for each alpha.

Without the outer set U the dual inverse is a Schur complement (`kernelrank.exact_cv.dual_inverse`), and an inner set V
of the other items has the residuals r with ``Γ'_VV r = e'_V``. If U or V contains a whole query, Γ is singular along
the constant of that query; a multiple of ``1 1ᵀ`` added there changes nothing, for ``Γ 1 = 0`` along it. So V is scored
up to a constant for each query, ``f_V = y_V - r``, and exactly where there are no intercepts.

This is valid if holding out U and V does not change λ for the other items: for items of RLS, and for whole queries.

**Documents inside folds.** With RLS, or with one ranking in which every item counts the same, λ is the same whatever
leaves, so that one Γ serves folds, documents, and documents without folds. What the model without F predicts for F is
``y_F - (Γ_FF)⁻¹ e_F``; the same identity for `DualInverse.without` gives what the model without F and a document U
predicts for U:

    ``f_U = y_U - (Γ⁽ᶠ⁾_UU)⁻¹ e⁽ᶠ⁾_U``.

So a whole nested cross-validation, folds outside and documents inside, costs one inverse for each alpha, m³ operations,
and for each fold a triangular system of its size. Literal nesting would cost a decomposition for each fold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.linalg import lapack

from kernelrank.base.arrays import Float, Index
from kernelrank.base.compiled import compiled
from kernelrank.base.labels import ItemSets, Queries
from kernelrank.comparisons import ItemScores, ScoredQueries
from kernelrank.errors import InvalidInputError
from kernelrank.exact_cv.dual_inverse import PIVOT, DualInverse
from kernelrank.exact_cv.problem import Problem
from kernelrank.exact_cv.sets import DUAL_LIMIT, settle_ties, share_scores
from kernelrank.features import FullKernel
from kernelrank.kernels import Kernel

__all__ = ["NestedHoldout", "inner_scores"]


def inner_scores(
    problem: Problem, outer: ItemSets, inner: ItemSets, alphas: Float
) -> Iterator[tuple[ItemSets, Float | None]]:
    """Hold out the inner sets from the items outside each outer set.

    Parameters
    ----------
    problem : Problem
    outer : ItemSets
    inner : ItemSets
        A partition of the items: each item alone, or each query.
    alphas : ndarray, shape (n,)

    Yields
    ------
    left : ItemSets
        The inner sets without the items of the outer set.
    scores : ndarray, shape (total, outputs, n), or None
        None where the outer set has no shortcut, fewer than two inner sets are left, or rounding took its digits.

    Notes
    -----
    O(m³) time once; for each outer set of u items and each alpha O(u² m) and for each inner set of v items
    O(v² (s + u) + v³).
    """
    queries = problem.graph.queries
    small = problem.graph.n_items <= DUAL_LIMIT
    allowed = np.full(len(outer), small and problem.has_shortcut)
    if queries is not None:
        allowed &= outer.whole_queries(queries) & bool(inner.whole_queries(queries).all())
    inverses = list(_inverses(problem, alphas)) if allowed.any() else []
    for items, may in zip(outer, allowed, strict=True):
        left = inner.without(items)
        may = may and len(left) > 1  # from one set, nothing is left to train on
        yield left, _scores_without(problem, inverses, items, left, len(alphas)) if may else None


def _inverses(problem: Problem, alphas: Float) -> Iterator[tuple[int, Float, Float, float]]:
    """Yield the number of each alpha, with Γ (m, m), e (outputs, m), and how large scores are beside y, at most."""
    for decomposition, numbers in problem.decompositions(alphas, scores=False, dual=True):
        for number in numbers:
            inverse = decomposition.dual_inverse(float(alphas[number]))
            share = min(1.0, decomposition.trace / float(alphas[number]))
            yield int(number), inverse.rows(slice(None)), np.ascontiguousarray(inverse.coefficients.T), share


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

    Parameters
    ----------
    K : ndarray, shape (m, m)
        The kernel matrix, symmetric and positive semidefinite.
    y : ndarray, shape (m,)
        The scores of the items.
    groups : sequence, shape (m,)
        The group of each item, such as its document: any labels.
    alpha : float
    intercept : bool, default=False
        False is RLS, True is RankRLS.

    Attributes
    ----------
    dual_coef : ndarray, shape (m,)
        The coefficients of the model of all items.
    intercept : float
        Its intercept: the constant that makes the mean error zero, and zero for RLS.

    Notes
    -----
    Time O(m³), memory one m × m array in addition to K.

    Examples
    --------
    >>> K, y = np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0])
    >>> holdout = NestedHoldout(K, y, ["a", "a", "b"], alpha=1.0)
    >>> holdout.leave_group_out().round(3)
    array([0.9, 1.8, 2.5])
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

        Parameters
        ----------
        fold : ndarray of int, optional
            Items that no model is trained on.

        Returns
        -------
        ndarray, shape (m,)
            NaN for the items of the fold.

        Notes
        -----
        Time O(f² m + f m u + m u²) for a fold of f items and groups of u items.
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
