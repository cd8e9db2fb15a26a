"""Any sets of items left out, possibly overlapping: the identity that all the others are cases of.

RankRLS on queries (and RLS, without the intercepts) solves, with Ω the item weights and P the query indicators,

    ``[K + λ Ω⁻¹, P; Pᵀ, 0] [a; b] = [y; 0]``,   ``f = K a``,

and Γ, the leading block of the inverse, gives ``a = e = Γ y``. Training without U deletes rows and columns. By the rule
for the inverse of a submatrix, its dual coefficients are

    ``a' = e - Γ_{:U} r``   with   ``Γ_UU r = e_U``,

which vanish on U, and r is what the new model misses on U, intercept included: ``r = y_U - f'_U - b'``. So

    ``f'_U = K_{U:} a' = N_U diag(d) (b - Q_Uᵀ r)``

in the factors Q, N, d, b of `kernelrank.exact_cv.factors`. Two ways to the held-out scores, then:

* ``y - r`` and a constant for each query, the mean of the other form over the items of U in that query. It subtracts
  nothing that grows with ``1/λ``, so it is used while λ is at most the trace of the problem's matrix;
* the last formula itself, which does not subtract scores from scores, where λ is larger and f tiny beside y.

Where U takes a query whole, the constant of that query lies in the null space of ``Γ_UU`` and e_U is orthogonal to it;
adding any multiple of ``1 1ᵀ`` there leaves the solution that is wanted. For whole queries nothing was used but that L
is block diagonal by query, so it holds for every scored graph. Items that take no part have zero rows in Γ, and r is
zero there.

In the primal ``λ Γ_UU = L_UU - Q_U diag(d) Q_Uᵀ`` is a difference, and digits are lost where U alone carries a
direction of the features: its pivots get as small as ``λ / (μ + λ)``. They are watched, and such sets are refitted, or
take the dual form where that is cheaper.

A set of many more items than there are columns has a system that is larger than the whole problem: there, too, the
model is trained again, which costs less.

Items with the same row have the same score by any model, and rounding must not order them: what is held out together
shares the score of the first.

Accuracy: as training itself (`kernelrank.solvers.rounding`). Where duplicates are held out together and λ is tiny, a
system has a pivot p that is small beside its diagonal, and its set is off by about ε / p. Both errors are reported.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from kernelrank.arrays import Float, Index, blocks
from kernelrank.comparisons import ItemScores, RelativeScores, ScoredQueries
from kernelrank.exact_cv.factors import Factors
from kernelrank.exact_cv.leave_basis_out import leave_basis_out
from kernelrank.exact_cv.problem import Problem
from kernelrank.exact_cv.refit import refit_without
from kernelrank.exact_cv.small_systems import packed_products, solve_packed
from kernelrank.features import ColumnFeatures, Features, ReducedSet
from kernelrank.item_sets import ItemSets
from kernelrank.solvers.normal_equations import primal_is_smaller
from kernelrank.solvers.rounding import report_error

__all__ = ["DUAL_LIMIT", "PIVOT", "leave_sets_out"]

SMALL = 40
"""Sets of up to this many items go through the compiled loop, all λ at once."""

SET_BYTES = 2**23
"""The size of a block of sets."""

PIVOT = {True: 1e-5, False: 1e-14}
"""The smallest relative pivot that is trusted, in the primal and in the dual."""

DUAL_LIMIT = 5_000
"""The largest number of items for which sets that lost digits in the primal may take the dual form."""

SHARING = 4
"""From so many sets for each λ on, they share what is computed for it; below, every set has its own."""

SPECTRUM, OVERHEAD = 25.0, 1e6
"""What a spectrum costs beside a product of matrices of its size, and a training beside its arithmetic."""

FEW_REFITS = 10
"""Refits that cost up to this many decompositions of the dual form are preferred to it."""


def leave_sets_out(problem: Problem, sets: ItemSets, alphas: Float, *, dual: bool = False) -> Float:
    """Return the scores of each set by the model trained without it.

    Parameters
    ----------
    problem : Problem
    sets : ItemSets
    alphas : ndarray, shape (n,)
    dual : bool, default=False
        Whether to use the dual form even where the primal is smaller.

    Returns
    -------
    ndarray, shape (total, k, n)
        In the order of ``sets.items``.

    Notes
    -----
    One decomposition, then O(u² s + u³) time for a set of u items and each alpha, with s the size of the decomposition.
    Memory: that of the decomposition, the result, and blocks of 8 MiB.
    """
    if isinstance(problem.features, ReducedSet):
        scores = _by_basis(problem, problem.features, sets, alphas)
    else:
        scores = _by_identity(problem, sets, alphas, dual=dual)
    _share_scores(problem.twins[sets.items], sets, scores)
    return scores


def _share_scores(twin: Index, sets: ItemSets, scores: Float) -> None:
    """Give the items of a set that have the same row the score of the first of them."""
    places = np.flatnonzero(twin >= 0)
    if len(places) == 0:
        return
    owner = np.repeat(np.arange(len(sets), dtype=np.int64), sets.sizes)[places]
    keys = owner * (int(twin.max()) + 1) + twin[places]
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    scores[places] = scores[places[first[group]]]


def _by_identity(problem: Problem, sets: ItemSets, alphas: Float, *, dual: bool) -> Float:
    """Leave sets out by the factors where that is possible, by refitting elsewhere."""
    scores = np.zeros((len(sets.items), problem.truth.shape[1], len(alphas)))
    scale = problem.scale(sets)
    barren = problem.barren(sets)
    learnable = ~barren.all(axis=1)
    refitted = (np.isnan(scale) | _cheaper_to_train(problem.features, sets, len(alphas))) & learnable
    with np.errstate(invalid="ignore"):
        direct = (scale > 0) & learnable & ~refitted
    if direct.any():
        lost = _by_factors(problem, sets, np.flatnonzero(direct), scale, alphas, scores, dual=dual)
        again = np.flatnonzero(lost)
        m, n = problem.features.n_items, problem.features.n_columns or problem.features.n_items
        if len(again) * n**2 > FEW_REFITS * m**2 and not dual and m <= DUAL_LIMIT:
            places, part = sets.part(again)
            scores[places] = _by_identity(problem, part, alphas, dual=True)
        else:
            refitted |= lost
    _refit(problem, sets, np.flatnonzero(refitted), alphas, scores)
    scores[np.repeat(barren, sets.sizes, axis=0)] = 0.0
    return scores


def _cheaper_to_train(features: Features, sets: ItemSets, n_alphas: int) -> NDArray[np.bool_]:
    """Tell which sets are so large beside the columns that training without them costs less than their systems."""
    if not isinstance(features, ColumnFeatures) or not primal_is_smaller(features):
        return np.zeros(len(sets), dtype=bool)
    u, r, m = sets.sizes.astype(np.float64), float(features.n_columns), float(features.n_items)
    if isinstance(features, ReducedSet):
        m *= 2.0  # kernels and their map come first
    training = m * r**2 + (r**3 if n_alphas == 1 else SPECTRUM * r**3) + OVERHEAD
    return np.asarray((u > SMALL) & (n_alphas * u**2 * (r + u / 3.0) > training))


def _refit(problem: Problem, sets: ItemSets, numbers: Index, alphas: Float, scores: Float) -> None:
    """Fill in the scores of some sets by training without each of them."""
    for number in numbers:
        place = slice(sets.bounds[number], sets.bounds[number + 1])
        scores[place] = refit_without(problem, sets.items[place], alphas)


def _by_basis(problem: Problem, features: ReducedSet, sets: ItemSets, alphas: Float) -> Float:
    """Leave sets out of a reduced set with their basis items, or without; by the constraint where that is possible."""
    barren = problem.barren(sets)
    whole = np.ones(len(sets), dtype=bool)
    if not isinstance(problem.graph, ItemScores):
        assert isinstance(problem.graph, (ScoredQueries, RelativeScores))
        whole = sets.whole_queries(problem.graph.queries)
    scores = np.zeros((len(sets.items), problem.truth.shape[1], len(alphas)))
    refitted = ~whole | _cheaper_to_train(features, sets, len(alphas))
    if not refitted.all():
        # Sets that the constraint loses digits on are refitted as well.
        places, part = sets.part(np.flatnonzero(~refitted))
        found, lost = leave_basis_out(
            features, problem.graph, part, alphas, keep_basis=problem.keep_basis, spectra=problem.spectra
        )
        scores[places] = found
        refitted[~refitted] = lost
    if not problem.keep_basis:
        # A model without any basis item is zero.
        gone = np.add.reduceat(np.isin(sets.items, features.basis), sets.bounds[:-1]) == len(features.basis)
        scores[np.repeat(gone, sets.sizes)] = 0.0
        refitted &= ~gone
    _refit(problem, sets, np.flatnonzero(refitted & ~barren.all(axis=1)), alphas, scores)
    scores[np.repeat(barren, sets.sizes, axis=0)] = 0.0
    return scores


def _by_factors(
    problem: Problem, sets: ItemSets, chosen: Index, scale: Float, alphas: Float, scores: Float, *, dual: bool
) -> NDArray[np.bool_]:
    """Fill in the scores of the chosen sets; return which sets lost digits."""
    lost = np.zeros(len(sets), dtype=bool)
    kappas, kappa_of = np.unique(scale[chosen], return_inverse=True)
    lams = alphas / kappas[:, None]
    pivots = np.full(len(alphas), np.inf)
    for factors, numbers in problem.factors(lams.ravel(), scores=True, dual=dual):
        for number in np.unique(numbers % len(alphas)):
            smallest = lams.ravel()[numbers[numbers % len(alphas) == number]].min()
            report_error(float(alphas[number]), factors.relative_error(float(smallest)))
        if factors.values is not None and len(numbers) == lams.size and len(chosen) < SHARING * len(kappas):
            each = _EachItsOwn(problem, factors, lams)
            _hold_out(problem, sets, chosen, kappa_of, each, np.arange(len(alphas)), scores, lost, pivots)
            continue
        for number in range(len(kappas)):
            served = numbers[numbers // len(alphas) == number] % len(alphas)
            if len(served):
                shared = _Shared(problem, factors, lams[number, served])
                group = chosen[kappa_of == number]
                same = np.zeros(len(group), dtype=np.int64)
                _hold_out(problem, sets, group, same, shared, served, scores, lost, pivots)
    for alpha, pivot in zip(alphas, pivots, strict=True):
        report_error(float(alpha), float(np.finfo(np.float64).eps / pivot))
    return lost


class _Shared:
    """One row of λ for all sets: what depends on them is computed once.

    Parameters
    ----------
    problem : Problem
    factors : Factors
    lams : ndarray, shape (n,)
    """

    def __init__(self, problem: Problem, factors: Factors, lams: Float) -> None:
        self.factors = factors
        self.lams = lams
        self.d = factors.inverse(lams)
        self.e = factors.coefficients(self.d)  # (m, k, n)
        self.e[problem.idle] = 0.0
        self.set_bytes = 0

    def at(self, _: Index, items: Index) -> tuple[Float, Float, Float]:
        """Return λ (1, n), d (1, s, n) and e_U (sets, u, k, n)."""
        return self.lams[None], self.d[None], self.e[items]


class _EachItsOwn:
    """A row of λ for each κ, where hardly two sets share one.

    Parameters
    ----------
    problem : Problem
    factors : Factors
        With eigenvalues.
    lams : ndarray, shape (kappas, n)
    """

    def __init__(self, problem: Problem, factors: Factors, lams: Float) -> None:
        self.problem, self.factors, self.lams = problem, factors, lams
        self.target = factors.graph.target()
        self.set_bytes = 8 * factors.left.shape[1] * lams.shape[1] * (1 + self.target.shape[1])

    def at(self, kappa_of: Index, items: Index) -> tuple[Float, Float, Float]:
        """Return λ (sets, n), d (sets, s, n) and e_U (sets, u, k, n)."""
        lams, factors = self.lams[kappa_of], self.factors
        d = factors.inverse(lams.ravel()).reshape(-1, *lams.shape).transpose(1, 0, 2)
        scaled = (d[:, :, None] * factors.rotated[:, :, None]).reshape(len(items), len(factors.rotated), -1)
        e = (factors.sign * (factors.left[items] @ scaled)).reshape(*items.shape, -1, lams.shape[1])
        if factors.primal:
            e += self.target[items][..., None]
        e[self.problem.idle[items]] = 0.0
        return lams, np.ascontiguousarray(d), e


def _hold_out(
    problem: Problem,
    sets: ItemSets,
    chosen: Index,
    kappa_of: Index,
    at_lams: _Shared | _EachItsOwn,
    served: Index,
    scores: Float,
    lost: NDArray[np.bool_],
    pivots: Float,
) -> None:
    """Fill in the scores of some sets for some λ, sets of one size together; note which sets lost all digits.

    The smallest relative pivot of the other sets at each alpha is noted in `pivots`, where λ is small.
    """
    factors = at_lams.factors
    width, n_outputs = factors.left.shape[1], scores.shape[1]
    for size in np.unique(sets.sizes[chosen]).tolist():
        same = np.flatnonzero(sets.sizes[chosen] == size)
        places = sets.places(chosen[same], size)
        row_bytes = 8 * size * max(width * (size + 1) // 2 if size <= SMALL else width, len(served) * n_outputs)
        for rows in blocks(len(places), row_bytes + at_lams.set_bytes, SET_BYTES):
            items = sets.items[places[rows]]
            lams, d, e = at_lams.at(kappa_of[same[rows]], items)
            system = _System(problem, factors, items, d)
            r, own = system.solve(e)
            gone = own.min(axis=1) < PIVOT[factors.primal]
            lost[chosen[same[rows]]] |= gone
            small = np.where(lams <= factors.trace, own, np.inf)[~gone]
            pivots[served] = np.minimum(pivots[served], small.min(axis=0, initial=np.inf))
            with np.errstate(over="ignore", invalid="ignore"):  # sets that lost all digits are refitted
                found = system.scores(r, lams)
            scores[places[rows][..., None, None], np.arange(n_outputs)[:, None], served] = found


class _System:
    """``Γ_UU r = e_U`` for several sets U of one size and several λ.

    Parameters
    ----------
    problem : Problem
    factors : Factors
    items : ndarray of int64, shape (sets, u)
    d : ndarray, shape (1 or sets, s, n)
    """

    def __init__(self, problem: Problem, factors: Factors, items: Index, d: Float) -> None:
        self.problem, self.factors, self.items, self.d = problem, factors, items, d
        self.Q = factors.left[items]  # (sets, u, s)
        self.idle = problem.idle[items]
        graph = problem.base
        size = items.shape[1]
        self.same: NDArray[np.bool_] | None = None
        null = self.idle[..., None] * np.eye(size)
        if not isinstance(graph, ItemScores):
            assert isinstance(graph, (ScoredQueries, RelativeScores))
            codes = graph.queries.codes[items]
            self.same = codes[..., :, None] == codes[..., None, :]
            whole = self.same.sum(axis=-1) == graph.queries.sizes[codes]
            null += (self.same & whole[..., None]) / size
        self.null = null
        self.base = graph.submatrix(items) if factors.primal else np.zeros((len(items), size, size))

    def solve(self, r: Float) -> tuple[Float, Float]:
        """Return r, shape (sets, u, k, n), in the place of e_U, and the smallest relative pivots, shape (sets, n)."""
        if self.items.shape[1] <= SMALL:
            M = packed_products(self.Q) @ self.d
            return r, solve_packed(M, self.base, self.factors.sign, self.null, r)
        worst = np.empty((len(self.items), self.d.shape[2]))
        for q, number in np.ndindex(worst.shape):
            worst[q, number] = self._solve_large(q, number, r)
        return r, worst

    def _solve_large(self, q: int, number: int, r: Float) -> float:
        """Solve one system by LAPACK, in place; return its smallest relative pivot."""
        M = (self.Q[q] * self.d[q if len(self.d) > 1 else 0, :, number]) @ self.Q[q].T
        M = self.base[q] + self.factors.sign * M
        diagonal = np.diagonal(M)
        t = float(diagonal.mean())
        M = M + (t if t > 0 else 1.0) * self.null[q]
        floor = np.diagonal(self.base[q] if self.factors.primal else M).copy()
        floor[floor == 0.0] = np.diagonal(M)[floor == 0.0]
        R, failed_at = lapack.dpotrf(M, lower=1, clean=0)
        if failed_at > 0:
            return 0.0
        r[q, :, :, number], _ = lapack.dpotrs(R, r[q, :, :, number], lower=1)
        return float((np.diagonal(R) ** 2 / floor).min())

    def scores(self, r: Float, lams: Float) -> Float:
        """Return the held-out scores, shape (sets, u, k, n), for λ of shape (1 or sets, n)."""
        residual_form = lams <= self.factors.trace
        missed: Float = self.problem.truth[self.items][..., None] - r
        if self.same is None and residual_form.all() and not self.idle.any():
            return missed
        if self.same is not None and self.same.all() and residual_form.all() and not self.idle.any():
            mean = self._predict(self.factors.mean_right(self.items)[:, None], r)
            missed += mean - missed.mean(axis=1, keepdims=True)
            return missed
        f = self._predict(self.factors.right[self.items], r)
        if self.same is not None:
            weight = self.same & ~self.idle[:, None, :]
            weight = weight / np.maximum(weight.sum(axis=-1, keepdims=True), 1)
            missed += np.einsum("qij,qjkn->qikn", weight, f - missed, optimize=True)
        return np.where(residual_form[:, None, None] & ~self.idle[..., None, None], missed, f)

    def _predict(self, N: Float, r: Float) -> Float:
        """Return ``N diag(d) (b - Q_Uᵀ r)`` for rows N of each set, shape (sets, rows, k, n)."""
        Q_transposed = self.Q.transpose(0, 2, 1)
        f = np.empty((*N.shape[:2], *r.shape[2:]))
        for k in range(r.shape[2]):
            rest = self.factors.rotated[:, k, None] - Q_transposed @ r[:, :, k]
            rest *= self.d
            f[:, :, k] = N @ rest
        return f
