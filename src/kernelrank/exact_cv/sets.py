"""Any sets of items left out, possibly overlapping: the identity that all the others are cases of.

By `kernelrank.exact_cv.problem` the model without U has the residuals r on it, ``Γ_UU r = e_U``, and the dual
coefficients ``a' = e - Γ_{:U} r``. So

    ``f'_U = K_{U:} a' = N_U diag(d) (b - Q_Uᵀ r)``

in the factors Q, N, d, b of `kernelrank.exact_cv.problem`. Two ways to the held-out scores, then:

* ``y - r`` and a constant for each query, the mean of the other form over the items of U in that query. It subtracts
  nothing that grows with ``1/λ``, so it is used while λ is at most the trace of the problem's matrix;
* the last formula itself, which does not subtract scores from scores, where λ is larger and f tiny relative to y.

For whole queries this uses only that L is block diagonal by query, so it holds for every scored graph. Sets with small
pivots are refitted, or use the dual form if that is cheaper.

For a set of many more items than there are columns, the small system is larger than the whole problem: there, too, the
model is trained again, which costs less.

Items with the same row have the same score by any model, and rounding must not order them: duplicates that are held out
together get the score of the first. Other items can have the same score by one model: with features that are whole
numbers, or that none of the training items has. Scores that differ by no more than 1e-8 of the range of their set are
made equal.

Accuracy: as training itself (`kernelrank.solvers.precision`). Where duplicates are held out together and λ is
tiny, a system has a pivot p that is small relative to its diagonal, and its set is off by about ε / p. Both errors are
reported.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from kernelrank.base.arrays import Float, Index, blocks
from kernelrank.base.compiled import compiled
from kernelrank.base.labels import ItemSets
from kernelrank.comparisons import Comparisons
from kernelrank.exact_cv.basis import leave_basis_out
from kernelrank.exact_cv.problem import FEW_ALPHAS, PIVOT, Decomposition, Problem, refit_without
from kernelrank.features import Features, ReducedSet, lose_the_basis
from kernelrank.solvers.precision import report_error

SET_BYTES = 2**23
"""The size of a block of sets."""

DUAL_LIMIT = 5_000
"""The largest number of items for which sets that lost digits in the primal may take the dual form."""


SPECTRUM, OVERHEAD = 7.0, 1.2e7
"""What many λ cost beside a product of matrices of the size of the problem, and what a training costs beside its
arithmetic, in multiplications."""


FEW_REFITS = 10
"""Refits that cost up to this many decompositions of the dual form are preferred to it."""


def leave_sets_out(problem: Problem, sets: ItemSets, alphas: Float, *, dual: bool = False) -> Float:
    """Return the scores of each set by the model trained without it.

    One decomposition, then O(u² s + u³) time for a set of u items and each alpha, with s the size of the decomposition.
    Memory: that of the decomposition, the result, and blocks of 8 MiB.

    Shapes: alphas (n,); returns (total, k, n).
    """
    all_zero = problem.nothing_to_compare(sets)
    learnable = ~all_zero.all(axis=1)
    if isinstance(problem.features, ReducedSet) and not problem.keep_basis:
        learnable &= ~lose_the_basis(sets, problem.features.basis)
    trained = _cheaper_to_train(problem.features, sets, len(alphas)) & learnable
    scores = np.zeros((len(sets.items), problem.truth.shape[1], len(alphas)))
    if isinstance(problem.features, ReducedSet):
        trained |= _by_basis(problem, problem.features, sets, learnable & ~trained, alphas, scores)
    else:
        trained |= _by_identity(problem, sets, learnable & ~trained, alphas, scores, dual=dual)
    refitted = problem.with_kernel_matrix() if np.count_nonzero(trained) > 1 else problem
    for number in np.flatnonzero(trained):
        place = slice(sets.bounds[number], sets.bounds[number + 1])
        scores[place] = refit_without(refitted, sets.items[place], alphas)
    scores[np.repeat(all_zero, sets.sizes, axis=0)] = 0.0
    share_scores(problem.features.duplicate_of[sets.items], sets, scores)
    settle_ties(sets, scores)
    return scores


def share_scores(duplicate_of: Index, sets: ItemSets, scores: Float) -> None:
    """Return the items of a set that have the same row the score of the first of them."""
    places = np.flatnonzero(duplicate_of >= 0)
    if len(places) == 0:
        return
    owner = np.repeat(np.arange(len(sets), dtype=np.int64), sets.sizes)[places]
    keys = owner * (int(duplicate_of.max()) + 1) + duplicate_of[places]
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    scores[places] = scores[places[first[group]]]


def settle_ties(sets: ItemSets, scores: Float, size: Float | float = 0.0) -> None:
    """Make scores of a set equal that differ by rounding only; the array is overwritten.

    Shapes: scores (total, outputs, n), size (outputs, n).
    """
    for u in np.flatnonzero(np.bincount(sets.sizes)).tolist():
        if u < 2:
            continue
        places = sets.places(np.flatnonzero(sets.sizes == u), u)
        low, high = (u - 1) // 10, u - 1 - (u - 1) // 10
        for rows in blocks(len(places), 8 * u * scores[0].size, SET_BYTES):
            found = scores[places[rows]]
            ascending = np.sort(found, axis=1)
            first, last = ascending[:, low], ascending[:, high]
            # Beside the scores themselves, no smaller differences count.
            rounded = 64.0 * float(np.finfo(np.float64).eps) * np.maximum(np.abs(first), np.abs(last))
            # Scores of one set that differ by no more than this share of their range are equal but for rounding. The
            # smallest alphas of an automatic grid leave about nine digits.
            step = np.maximum(1e-8 * np.maximum(last - first, size), rounded)[:, None]
            gap = np.diff(ascending, axis=1)
            tied = (gap > 0.0) & (gap <= step)
            if not tied.any():
                continue
            columns = np.nonzero(tied.any(axis=1))
            values = np.moveaxis(found, 1, -1)[columns]  # (columns, u)
            values = _settled(values, np.moveaxis(step, 1, -1)[columns])
            np.moveaxis(found, 1, -1)[columns] = values
            scores[places[rows]] = found


def _settled(values: Float, step: Float) -> Float:
    """Give each run of small steps, shape (columns, u), the value that it begins with, unless it goes far."""
    order = np.argsort(values, axis=1, kind="stable")
    ascending = np.take_along_axis(values, order, axis=1)
    starts = np.ones(values.shape, dtype=bool)
    starts[:, 1:] = np.diff(ascending, axis=1) > step
    begin = np.maximum.accumulate(np.where(starts, np.arange(values.shape[1]), 0), axis=1)
    level = np.take_along_axis(ascending, begin, axis=1)
    ends = np.ones(values.shape, dtype=bool)
    ends[:, :-1] = starts[:, 1:]
    group = np.cumsum(starts).reshape(values.shape) - 1
    # Scores in small steps that go farther than so many steps are different, and stay so.
    far = (ascending - level > 4.0 * step)[ends][group]
    settled = np.empty_like(values)
    np.put_along_axis(settled, order, np.where(far, ascending, level), axis=1)
    return settled


def _cheaper_to_train(features: Features, sets: ItemSets, n_alphas: int) -> NDArray[np.bool_]:
    """Return which sets are so large that training without them costs less than solving their systems."""
    columns = features.primal
    if columns is None:
        return np.zeros(len(sets), dtype=bool)
    u, r, m = sets.sizes.astype(np.float64), float(columns.n_columns), float(features.n_items)
    if features.basis is not None:
        m *= 2.0  # kernels and their map come first
    training = m * (r + 30.0) * r + (r**3 if n_alphas == 1 else SPECTRUM * r**3) + OVERHEAD
    solving = 1.5 * n_alphas * u**2 * (r + u / 3.0)
    if features.basis is None:
        # What it costs to write the system of a set down, in multiplications for each of its entries.
        written = 400.0 * u**2 * (n_alphas if n_alphas <= FEW_ALPHAS else 1)
        in_columns = u**2 * (r + u / 3.0) + 2.0 * n_alphas * (u**2 + r**3)
        solving = written + np.where(u > r, in_columns, solving)
    return np.asarray((u > SMALL) & (solving > training))


def _by_basis(
    problem: Problem, features: ReducedSet, sets: ItemSets, wanted: NDArray[np.bool_], alphas: Float, scores: Float
) -> NDArray[np.bool_]:
    """Fill in the scores of the wanted sets of a reduced set by the constraint; return which are to be trained."""
    direct = wanted & problem.graph.separable(sets)
    trained = wanted & ~direct
    if direct.any():
        places, part = sets.part(np.flatnonzero(direct))
        scores[places], trained[direct] = leave_basis_out(
            features, problem.graph, part, alphas, keep_basis=problem.keep_basis, spectra=problem.spectra
        )
    return trained


def _by_identity(
    problem: Problem, sets: ItemSets, wanted: NDArray[np.bool_], alphas: Float, scores: Float, *, dual: bool
) -> NDArray[np.bool_]:
    """Fill in the scores of the wanted sets by a decomposition; return which are to be trained."""
    scale = problem.scale(sets)
    trained = wanted & np.isnan(scale)
    with np.errstate(invalid="ignore"):
        chosen = np.flatnonzero(wanted & (scale > 0))
    if len(chosen) == 0:
        return trained
    untrusted = _by_decomposition(problem, sets, chosen, scale, alphas, scores, dual=dual)
    again = np.flatnonzero(untrusted)
    m, n = problem.features.n_items, problem.features.n_columns or problem.features.n_items
    if len(again) * n**2 > FEW_REFITS * m**2 and not dual and m <= DUAL_LIMIT:
        places, part = sets.part(again)
        found = np.zeros((len(places), *scores.shape[1:]))
        untrusted[again] = _by_identity(problem, part, np.ones(len(part), dtype=bool), alphas, found, dual=True)
        scores[places] = found
    return trained | untrusted


def _by_decomposition(
    problem: Problem, sets: ItemSets, chosen: Index, scale: Float, alphas: Float, scores: Float, *, dual: bool
) -> NDArray[np.bool_]:
    """Fill in the scores of the chosen sets; return the sets whose pivots are not to be trusted."""
    untrusted = np.zeros(len(sets), dtype=bool)
    kappas, kappa_of = np.unique(scale[chosen], return_inverse=True)
    lams = alphas / kappas[:, None]
    smallest = np.full(len(alphas), np.inf)  # pivots of the other sets, where λ is small
    outputs = np.arange(scores.shape[1])[:, None]

    def hold_out(at: _Shared | _EachItsOwn, group: Index, own_kappa: Index, served: Index) -> None:
        for rows, places, found, pivots in _held_out(problem, at, sets, group, own_kappa):
            small = pivots.min(axis=1) < PIVOT[at.decomposition.primal]
            untrusted[group[rows]] |= small
            # In the dual form the error of held-out scores is 3 to 6 times what their pivots tell, and 34 times that in
            # the worst of many problems. With this margin no estimate was too small by more than 2.1.
            margin = 1.0 if at.decomposition.primal else 16.0
            watched = np.where(at.residual_form(own_kappa[rows]), pivots / margin, np.inf)[~small]
            smallest[served] = np.minimum(smallest[served], watched.min(axis=0, initial=np.inf))
            if len(served) == len(alphas):
                scores[places] = found
            else:
                scores[places[..., None, None], outputs, served] = found

    for decomposition, numbers in problem.decompositions(lams.ravel(), scores=True, dual=dual):
        least = np.full(len(alphas), np.inf)
        np.minimum.at(least, numbers % len(alphas), lams.ravel()[numbers])
        decomposition.report_errors(alphas[least < np.inf], least[least < np.inf])
        # From so many sets for each λ on, they share what is computed for it; below, every set has its own.
        if decomposition.values is not None and len(numbers) == lams.size and len(chosen) < 4 * len(kappas):
            hold_out(_EachItsOwn(problem, decomposition, lams), chosen, kappa_of, np.arange(len(alphas)))
            continue
        for number in range(len(kappas)):
            served = numbers[numbers // len(alphas) == number] % len(alphas)
            if len(served):
                group = chosen[kappa_of == number]
                shared = _Shared(problem, decomposition, lams[number, served])
                hold_out(shared, group, np.zeros(len(group), dtype=np.int64), served)
    for alpha, pivot in zip(alphas, smallest, strict=True):
        report_error(float(alpha), float(np.finfo(np.float64).eps / pivot))
    return untrusted


class _Shared:
    """One row of λ for all sets: what depends on them is computed once.

    Shapes: lams (n,).
    """

    def __init__(self, problem: Problem, decomposition: Decomposition, lams: Float) -> None:
        self.decomposition, self.lams = decomposition, lams
        self.d = decomposition.shrinkage(lams)
        self.e = decomposition.coefficients(self.d)  # (m, k, n)
        self.e[problem.uncompared] = 0.0
        self.set_bytes = 0

    def residual_form(self, _: Index) -> NDArray[np.bool_]:
        """Return for which λ the scores are ``y - r``, shape (1, n)."""
        return np.asarray(self.lams[None] <= self.decomposition.trace)

    def system(self, _: Index, items: Index) -> tuple[Float, Float]:
        """Return d (1, s, n) and e_U (sets, u, k, n)."""
        return self.d[None], self.e[items]


class _EachItsOwn:
    """A row of λ for each κ, where hardly two sets share one.

    Shapes: lams (kappas, n).
    """

    def __init__(self, problem: Problem, decomposition: Decomposition, lams: Float) -> None:
        self.uncompared, self.decomposition, self.lams = problem.uncompared, decomposition, lams
        self.target = decomposition.graph.target()
        self.set_bytes = 8 * decomposition.left.shape[1] * lams.shape[1] * (1 + self.target.shape[1])

    def residual_form(self, kappa_of: Index) -> NDArray[np.bool_]:
        """Return for which λ the scores are ``y - r``, shape (sets, n)."""
        return np.asarray(self.lams[kappa_of] <= self.decomposition.trace)

    def system(self, kappa_of: Index, items: Index) -> tuple[Float, Float]:
        """Return d (sets, s, n) and e_U (sets, u, k, n)."""
        lams, decomposition = self.lams[kappa_of], self.decomposition
        d = decomposition.shrinkage(lams.ravel()).reshape(-1, *lams.shape).transpose(1, 0, 2)
        rotated = decomposition.rotated
        scaled = (d[:, :, None] * rotated[:, :, None]).reshape(len(items), len(rotated), -1)
        e = (decomposition.sign * (decomposition.left[items] @ scaled)).reshape(*items.shape, -1, lams.shape[1])
        if decomposition.primal:
            e += self.target[items][..., None]
        e[self.uncompared[items]] = 0.0
        return np.ascontiguousarray(d), e


def _held_out(
    problem: Problem, at: _Shared | _EachItsOwn, sets: ItemSets, chosen: Index, kappa_of: Index
) -> Iterator[tuple[Index, Index, Float, Float]]:
    """Hold out sets of one size together, a block at a time.

    Yields which of the chosen sets they are, where their items lie, their scores (sets, u, k, n), and the smallest
    relative pivots (sets, n).
    """
    decomposition = at.decomposition
    width, results = decomposition.left.shape[1], decomposition.rotated.shape[1] * at.lams.shape[-1]
    for size in np.flatnonzero(np.bincount(sets.sizes[chosen])).tolist():
        same = np.flatnonzero(sets.sizes[chosen] == size)
        places = sets.places(chosen[same], size)
        row_bytes = 8 * size * max(width * (size + 1) // 2 if size <= SMALL else width, results)
        for rows in blocks(len(places), row_bytes + at.set_bytes, SET_BYTES):
            items = sets.items[places[rows]]
            d, r = at.system(kappa_of[same[rows]], items)
            systems = SetSystems(problem.base, problem.uncompared, items, decomposition.left, decomposition.sign)
            pivots = systems.solve(r, d)
            with np.errstate(over="ignore", invalid="ignore"):  # sets whose pivots are too small are trained again
                found = _scores(problem, decomposition, systems, r, d, at.residual_form(kappa_of[same[rows]]))
            yield same[rows], places[rows], found, pivots


def _scores(
    problem: Problem,
    decomposition: Decomposition,
    systems: SetSystems,
    r: Float,
    d: Float,
    residual_form: NDArray[np.bool_],
) -> Float:
    """Return the held-out scores from what is missed, shape (sets, u, k, n)."""
    items, same, uncompared = systems.items, systems.same, systems.uncompared
    missed: Float = problem.truth[items][..., None] - r
    in_parts = uncompared.any() or not (same is None or same.all())
    if same is not None and not in_parts:
        missed += _mean_scores(decomposition, systems, r, d) - missed.mean(axis=1, keepdims=True)
    # What is not y - r and one constant is predicted, item by item.
    direct = np.flatnonzero(in_parts | ~residual_form.all(axis=0))
    if len(direct) == 0:
        return missed
    f = np.empty((*items.shape, r.shape[2], len(direct)))
    for k in range(r.shape[2]):
        rest = decomposition.rotated[:, k, None] - systems.Q.transpose(0, 2, 1) @ r[:, :, k, direct]
        rest *= d[..., direct]
        f[:, :, k] = decomposition.right[items] @ rest
    if same is not None and in_parts:
        weight = same & ~uncompared[:, None, :]
        weight = weight / np.maximum(weight.sum(axis=-1, keepdims=True), 1)
        missed += np.einsum("qij,qjkn->qikn", weight, f - missed, optimize=True)
    by_residual = residual_form[:, None, None, direct] & ~uncompared[..., None, None]
    missed[..., direct] = np.where(by_residual, missed[..., direct], f)
    return missed


def _mean_scores(decomposition: Decomposition, systems: SetSystems, r: Float, d: Float) -> Float:
    """Return the mean of ``f'_U`` over each set, shape (sets, 1, k, n): one product where the sets share d."""
    N = decomposition.mean_right(systems.items)[:, None]
    means = np.empty((len(N), 1, *r.shape[2:]))
    weight = _rows_times(N * systems.Q, d)  # (sets, u, n)
    for k in range(r.shape[2]):
        means[:, :, k] = _rows_times(N * decomposition.rotated[:, k], d)
        means[:, 0, k] -= np.einsum("qun,qun->qn", weight, r[:, :, k])
    return means


def _rows_times(A: Float, d: Float) -> Float:
    """Multiply the rows of each set, shape (sets, rows, s), by d, shape (1 or sets, s, n)."""
    return A @ d if len(d) > 1 else (A.reshape(-1, A.shape[2]) @ d[0]).reshape(*A.shape[:2], -1)


# Set systems ----------------------------------------------------------------------------------------------------------
#
# The systems ``Γ_UU r = e_U`` of many sets U and many λ: the residuals of held-out sets.
#
# The dual inverse Γ (`kernelrank.exact_cv.problem`) is never formed: its blocks are products of the rows of a
# decomposition's factors. Small sets of one size are solved together, all λ at once. Sets of more items than the
# factors have columns need systems of the size of the columns only.
#
# **Null directions.** Where U takes a query whole, the constant of that query lies in the null space of ``Γ_UU`` and
# e_U is orthogonal to it; adding any multiple of ``1 1ᵀ`` there leaves the solution that is wanted. Items that are
# compared with none have zero rows in Γ, and r is zero there.

SMALL = 40
"""Sets of up to this many items go through the compiled loop, all λ at once."""

CACHE_BYTES = 2**19
"""The size of the systems that are factorised in one go."""

COLUMNS = 100
"""Up to this many columns of Q, systems of that size go through the compiled loop."""

UNEVEN = 1e-5
"""Where a pivot of the base is smaller than this part of its diagonal entry, no system is derived from its factor."""


class SetSystems:
    """``Γ_UU r = e_U`` for several sets U of one size and several λ, from the factors of a decomposition.

    Shapes: uncompared (m,), items (sets, u), left (m, s), right (m, s).

    sign: +1 where ``Γ = Q diag(d) Qᵀ``, -1 where ``λ Γ = L - Q diag(d) Q'ᵀ``.
    """

    def __init__(
        self,
        graph: Comparisons,
        uncompared: NDArray[np.bool_],
        items: Index,
        left: Float,
        sign: float,
        right: Float | None = None,
    ) -> None:
        self.items, self.sign = items, sign
        self.Q = left[items]  # (sets, u, s)
        self.right = self.Q if right is None or right is left else right[items]
        self.uncompared = uncompared[items]
        size = items.shape[1]
        self.same: NDArray[np.bool_] | None = None
        self.null = self.uncompared[..., None] * np.eye(size)
        if graph.queries is not None:
            codes = graph.queries.codes[items]
            self.same = codes[..., :, None] == codes[..., None, :]
            whole = self.same.sum(axis=-1) == graph.queries.sizes[codes]
            self.null += (self.same & whole[..., None]) / size
        self.base = graph.submatrix(items) if sign < 0 else np.zeros((len(items), size, size))

    def solve(self, e: Float, d: Float) -> Float:
        """Overwrite e_U by r, shape (sets, u, k, n); return the smallest relative pivots, shape (sets, n).

        Shapes: e (sets, u, k, n), d (1 or sets, s, n).
        """
        u, n, symmetric = self.items.shape[1], d.shape[2], self.right is self.Q
        more_items = self.sign < 0 and u > self.Q.shape[2]
        if symmetric and more_items and n > 1:
            return self._solve_in_columns(e, d)
        if symmetric and not more_items and u <= SMALL:
            return self._solve_together(e, d)
        pivots = np.empty((len(self.items), d.shape[2]))
        for q in range(len(pivots)):
            self._solve_each(q, e, d, pivots)
        return pivots

    def _solve_each(self, q: int, e: Float, d: Float, pivots: Float) -> None:
        """Solve the systems of one set, λ by λ."""
        own = d[q if len(d) > 1 else 0]
        for number in range(own.shape[1]):
            e[q, :, :, number], pivots[q, number] = self.solve_one(q, own[:, number], e[q, :, :, number])

    def _solve_together(self, e: Float, d: Float) -> Float:
        """Do what `solve` does for small sets, all λ in one product and in one factorisation.

        Sets are taken a few at a time, so that their systems stay in the processor's cache.
        """
        n_sets, u, _k, n = e.shape
        first, second = np.tril_indices(u)
        corners, d = _corners(u), self.sign * d
        raised = self._raised_base().reshape(n_sets, -1).take(u * first + second, axis=1)
        null = self.null.reshape(n_sets, -1).take(u * first + second, axis=1)
        pivots, lifted = np.empty((n_sets, n)), self.sign > 0 and bool(null.any())
        for part in blocks(n_sets, 8 * len(first) * (n + self.Q.shape[2]), CACHE_BYTES):
            products = self.Q[part].take(first, axis=1)
            products *= self.Q[part].take(second, axis=1)
            if len(d) > 1:
                systems = np.matmul(products, d[part])
            else:  # one product for all sets
                flat = products.reshape(-1, products.shape[2]) @ d[0]
                systems = flat.reshape(len(products), len(first), n)
            if self.sign < 0:
                systems += raised[part, :, None]
                diagonal = raised[part][:, corners, None]
            else:
                if lifted:
                    mean = systems[:, corners].mean(axis=1, keepdims=True)
                    systems += null[part, :, None] * np.where(mean > 0.0, mean, 1.0)
                diagonal = systems[:, corners]
            pivots[part] = _solve_packed(systems, e[part], diagonal)
        return pivots

    def _raised_base(self) -> Float:
        """Return the base with its null space raised to the size of its diagonal, shape (sets, u, u)."""
        t = np.trace(self.base, axis1=1, axis2=2) / self.base.shape[1]
        raised: Float = self.base + np.where(t > 0.0, t, 1.0)[:, None, None] * self.null
        return raised

    def _solve_in_columns(self, e: Float, d: Float) -> Float:
        """Do what `solve` does for sets with more items than Q has columns. Each λ needs a system of s equations only.

        With ``B = R Rᵀ``, the base and what lifts its null space, and ``V = R⁻¹ Q_U``, the matrix of a set is
        ``R (I - V diag(d) Vᵀ) Rᵀ``, and by Woodbury's formula the inverse of the inner matrix is
        ``I + V √d (I - √d VᵀV √d)⁻¹ √d Vᵀ``: one factorisation of u × u for all λ.
        """
        n_sets, u, k, n = e.shape
        s, root, pivots = self.Q.shape[2], np.sqrt(d), np.empty((n_sets, n))
        B = self._raised_base()
        both = np.concatenate([self.Q, e.reshape(n_sets, u, -1)], axis=2)
        factors = {}
        for q in range(n_sets):
            factor, failed_at = lapack.dpotrf(B[q], lower=1, clean=0)
            if failed_at > 0 or (np.diagonal(factor) ** 2 < UNEVEN * np.diagonal(B[q])).any():
                self._solve_each(q, e, d, pivots)
            else:
                factors[q] = factor
                both[q], _info = lapack.dtrtrs(factor, both[q], lower=1)
        even = np.array(list(factors), dtype=np.int64)
        V, z = both[even, :, :s], both[even, :, s:]
        if len(d) > 1:
            root = root[even]
        inner = (V.transpose(0, 2, 1) @ z).reshape(len(even), s, k, n) * root[:, :, None]
        pivots[even] = _solve_scaled(V.transpose(0, 2, 1) @ V, root, inner)
        inner *= root[:, :, None]
        z += V @ inner.reshape(len(even), s, k * n)
        for q, own in zip(factors, z, strict=True):
            r, _info = lapack.dtrtrs(factors[q], own, lower=1, trans=1)
            e[q] = r.reshape(u, k, n)
        return pivots

    def solve_one(self, q: int, d: Float, e: Float) -> tuple[Float, float]:
        """Solve the system of one set for one λ; return r (u, k), and the smallest relative pivot: 0 where it fails."""
        M = self.base[q] + self.sign * ((self.Q[q] * d) @ self.right[q].T)
        mean = float(np.diagonal(M).mean())
        M += (mean if mean > 0 else 1.0) * self.null[q]
        floor = np.diagonal(self.base[q] if self.sign < 0 else M).copy()
        floor[floor == 0.0] = np.diagonal(M)[floor == 0.0]
        factor, failed_at = lapack.dpotrf(M, lower=1, clean=0)
        if failed_at > 0:
            return e, 0.0
        r, _info = lapack.dpotrs(factor, e, lower=1)
        return r, float((np.diagonal(factor) ** 2 / floor).min())

    def matrices(self) -> tuple[Float, Float]:
        """Return the raised matrices of all sets where d is one, and their smallest relative pivots: 0 if any fails.

        Shapes: returns (sets, u, u), (sets,).
        """
        M = self.base + self.sign * (self.Q @ self.right.transpose(0, 2, 1))
        mean = np.trace(M, axis1=1, axis2=2) / M.shape[1]
        M += np.where(mean > 0, mean, 1.0)[:, None, None] * self.null
        own = np.diagonal(M, axis1=1, axis2=2)
        floor = np.diagonal(self.base, axis1=1, axis2=2) if self.sign < 0 else own
        try:
            factors = np.linalg.cholesky(M)
        except np.linalg.LinAlgError:
            return M, np.zeros(len(M))
        squares = np.diagonal(factors, axis1=1, axis2=2) ** 2
        return M, np.asarray((squares / np.where(floor == 0.0, own, floor)).min(axis=1))


def _solve_scaled(G: Float, root: Float, e: Float) -> Float:
    """Overwrite e by the solutions of ``(I - √d G √d) x = e`` for every set and λ; return the smallest pivots.

    Shapes: G (sets, s, s), root (1 or sets, s, n), e (sets, s, k, n); returns (sets, n).
    """
    n_sets, s, _k, n = e.shape
    pivots = np.zeros((n_sets, n))
    if s > COLUMNS:
        for q, number in np.ndindex(n_sets, n):
            own = root[q if len(root) > 1 else 0, :, number]
            factor, failed_at = lapack.dpotrf(np.eye(s) - own[:, None] * G[q] * own, lower=1, clean=0)
            if failed_at == 0:
                e[q, :, :, number], _info = lapack.dpotrs(factor, e[q, :, :, number], lower=1)
                pivots[q, number] = np.diagonal(factor).min() ** 2
        return pivots
    first, second = np.tril_indices(s)
    scale = root[:, first] * -root[:, second]
    for part in blocks(n_sets, 8 * len(first) * n, CACHE_BYTES):
        systems = G[part, first, second][..., None] * (scale[part] if len(root) > 1 else scale)
        systems[:, _corners(s)] += 1.0
        pivots[part] = _solve_packed(systems, e[part], np.ones((1, s, 1)))
    return pivots


def _corners(u: int) -> Index:
    """Return where the diagonal stands in a packed lower triangle of u rows."""
    rows = np.arange(u)
    return np.asarray(rows * (rows + 3) // 2)


def _solve_packed(M: Float, e: Float, diagonal: Float) -> Float:
    """Overwrite e by the solutions of ``M x = e`` for every set and λ; return the smallest relative pivots.

    Shapes: e (sets, u, k, n), diagonal (1 or sets, u, 1 or n); returns (sets, n).
    """
    (n_sets, u, k, n), size = e.shape, M.shape[1]
    both = np.empty((n_sets, size + k * u, n))
    both[:, :size] = M
    right = both[:, size:].reshape(n_sets, k, u, n)
    right[:] = e.transpose(0, 2, 1, 3)
    _factorise_and_solve(both, u, k)
    e[:] = right.transpose(0, 2, 1, 3)
    reciprocal = both[:, _corners(u)]
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        reciprocal *= reciprocal
        reciprocal *= diagonal
        return np.asarray(1.0 / reciprocal.max(axis=1))


@compiled
def _factorise_and_solve(M: Float, u: int, k: int) -> None:
    """Replace packed systems by Cholesky's factors, and the k rows of right-hand sides below them by the solutions.

    A right-hand side is eliminated forwards as one more row of the matrix would be. The innermost loops run over λ,
    whose numbers stand side by side, so that all λ are factorised together.
    """
    n = M.shape[2]
    for q in range(M.shape[0]):
        row = 0
        for i in range(u + k):
            other = 0
            for j in range(min(i + 1, u)):
                for c in range(j):
                    for a in range(n):
                        M[q, row + j, a] -= M[q, row + c, a] * M[q, other + c, a]
                other += j
                if j < i:
                    for a in range(n):
                        M[q, row + j, a] *= M[q, other, a]
                else:
                    for a in range(n):
                        M[q, other, a] = 1.0 / np.sqrt(max(M[q, other, a], 1e-300))
                other += 1
            row += min(i + 1, u)
        for _ in range(k):
            row -= u
            other = u * (u + 1) // 2
            for i in range(u - 1, -1, -1):  # backwards
                other -= i + 1
                for a in range(n):
                    M[q, row + i, a] *= M[q, other + i, a]
                for j in range(i):
                    for a in range(n):
                        M[q, row + j, a] -= M[q, other + j, a] * M[q, row + i, a]
