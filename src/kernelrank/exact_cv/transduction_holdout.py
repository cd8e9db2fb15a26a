"""Scored queries held out inside transduction: what they would get if they were unscored too.

With the residuals T of `kernelrank.exact_cv.transduction` and ``N = TᵀT``, the scores of all unscored items V minimise
a quadratic function whose matrix is ``N_VV + γ I``. T depends on the folds, on alpha and on the items, not on which
scores are known. So if the scored set q is held out, and ``V' = V ∪ q``, the same N serves again:

    ``δ = -(N_V'V' + γ I)⁻¹ g``,   ``g = N_V': guess``,

where guess has the known scores outside V', and on V' the inductive prediction by the other scored items. By the Schur
complement of V, the part of δ that belongs to q takes a system of its own size only:

    ``(N_qq + γ I - N_qV (N_VV + γ I)⁻¹ N_Vq) δ_q = -(g_q - N_qV (N_VV + γ I)⁻¹ g_V)``.

**T as one product.** With M as there, ``T_U: = C_U (M_UU)⁻¹ M_U:`` for every fold U, but ``T_UU = C_U``.

**One reduction for all anchors.** ``N_VV = P J Pᵀ`` with J tridiagonal: an anchor takes a tridiagonal system for each
scored item and each right-hand side.

**More unscored items than twice the columns.** Then nothing m × m is formed. With ``T = A - B Qᵀ`` as there, and
``F = [Aᵀ B, Q]``, the system of a set that is a whole fold is, by the Woodbury identity,

    ``(A_qᵀ A_q + γ I + F_q X F_qᵀ) δ_q = -(g_q - F_q X F_Vᵀ D⁻¹ g_V)``,   ``D = blockdiag(A_UᵀA_U)_V + γ I``,

where X is the inverse of the matrix of twice as many unknowns as columns that `BlockMinimum` solves with, for V alone.

**The inductive predictions** come from one decomposition of the scored items. By the factors of
`kernelrank.exact_cv.problem`, the model without q predicts ``N diag(d) (b - Q_qᵀ r)``, where N has a row for each item,
and ``Γ_qq r = e_q``.

Accuracy: as in `kernelrank.exact_cv.transduction`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from scipy.linalg import lapack

from kernelrank.base.arrays import Float, Index, blocks
from kernelrank.base.labels import ItemSets
from kernelrank.base.progress import track
from kernelrank.comparisons import ScoredQueries
from kernelrank.errors import InvalidInputError
from kernelrank.exact_cv.problem import PIVOT, Decomposition, Problem, decompose, refit_without
from kernelrank.exact_cv.sets import SET_BYTES, SetSystems, settle_ties
from kernelrank.exact_cv.transduction import (
    BlockMinimum,
    FoldResiduals,
    FoldSystems,
    Roots,
    less_means,
)
from kernelrank.solvers.automatic import DIRECT_LIMIT


def hold_out_inside(
    problem: Problem, unscored: Index, folds: ItemSets, sets: ItemSets, alphas: Float, anchors: Float
) -> Float:
    """Return the scores of each set of scored items if it is unscored too, for every anchor and alpha.

    One decomposition of all items and one of the scored ones for all alphas. Then for each alpha, with m items, v of
    them unscored and t scored, O(m³) time, and for each anchor O(v t) and O(v u² + u³) for a set of u items. Memory:
    some m × m arrays. With n columns, v > 2 n and no fold of scored and unscored queries, an alpha and an anchor take
    O(m n² + n³) and O(u n² + u³) for a set, and the memory is m numbers for each column and each set.

    Shapes: unscored (v,), alphas (n,), anchors (g,); returns (g, total, outputs, n).
    """
    if problem.features.primal is None:
        _refuse_items(problem.graph.n_items)
    inductive = InductiveWithout.of(problem, unscored, sets, alphas)
    known = less_means(problem.truth, _scored_queries(problem))
    held = np.empty((len(anchors), len(sets.items), known.shape[1], len(alphas)))
    minima = _minima(problem, unscored, folds, sets, alphas)
    with closing(track(minima, len(alphas), "alphas")) as bar:
        for number, minimum_of in bar:
            guess = np.repeat(known[:, None], len(sets), axis=1)
            predicted, own = inductive.at(number)
            guess[unscored] = predicted
            for place, (start, stop) in enumerate(_bounds(sets)):
                guess[sets.items[start:stop], place] = own[start:stop]
            minimum = minimum_of(less_means(guess.reshape(len(guess), -1), _scored_queries(problem)))
            for place, anchor in enumerate(anchors):
                held[place, :, :, number] = own + minimum.corrections(float(anchor))
    nothing = np.repeat(inductive.nothing, sets.sizes, axis=0)
    held[:, nothing] = 0.0
    for scores in held:
        settle_ties(sets, scores)
    return held


def _minima(
    problem: Problem, unscored: Index, folds: ItemSets, sets: ItemSets, alphas: Float
) -> Iterator[tuple[int, Callable[[Float], HeldMinimum | HeldBlocks]]]:
    """Yield the number of each alpha, and what makes its minimum from the inductive predictions (m, sets k)."""
    order = np.concatenate([unscored, sets.items])  # of the rows and columns of N
    whole = len(folds) == len(sets) + len(folds.without(sets.items))
    for decomposition, numbers in decompose(problem.features, problem.graph, alphas, scores=False):
        decomposition.report_errors(alphas[numbers], alphas[numbers])
        by_columns = whole and decomposition.primal and len(unscored) > 2 * decomposition.left.shape[1]
        for number in numbers.tolist():
            alpha = float(alphas[number])
            if by_columns:
                T = FoldResiduals.of_decomposition(decomposition, problem, folds, alpha, unscored)
                if T is not None:
                    yield number, partial(HeldBlocks.of, T, sets)
                    continue
            _refuse_items(problem.graph.n_items)
            N = None if by_columns else _normal_matrix(problem, decomposition, order, folds, alpha)
            if N is None:
                one = alphas[[number]]
                ((dual, _),) = decompose(problem.features, problem.graph, one, scores=False, dual=True)
                dual.report_errors(one, one)
                N = _normal_matrix(problem, dual, order, folds, alpha)
            assert N is not None
            yield number, partial(HeldMinimum.of, N, order, sets)


def _refuse_items(n_items: int) -> None:
    if n_items > DIRECT_LIMIT:
        raise InvalidInputError(
            f"holding out inside transduction takes a matrix of size {n_items:,}, the number of items; the limit is "
            f"{DIRECT_LIMIT:,}. Use fewer items, or TransductiveRankRLS"
        )


def _scored_queries(problem: Problem) -> ScoredQueries:
    assert isinstance(problem.graph, ScoredQueries)
    return problem.graph


# The matrix N ---------------------------------------------------------------------------------------------------------


def _normal_matrix(
    problem: Problem, decomposition: Decomposition, order: Index, folds: ItemSets, alpha: float
) -> Float | None:
    """Return N for one alpha; None where the primal form loses the digits of a fold."""
    systems = FoldSystems.of(decomposition, problem, folds, alpha)
    if systems is None:
        return None
    first, second = systems.first, systems.second
    rows = first[order]
    M = rows @ (rows if second is first else second[order]).T
    T, start, place_of = np.empty_like(M), 0, np.argsort(order)
    for items, root, matrices in systems.batches:
        places = place_of[items]
        solved = systems.sign * np.linalg.solve(matrices, root.transpose(0, 2, 1)).transpose(0, 2, 1)
        for own, left, block in zip(places, solved, root, strict=True):
            T[start : start + len(own)] = left @ M[own]
            T[start : start + len(own), own] = block
            start += len(own)
    N: Float = T.T @ T
    return N


# The minimum for each set ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class HeldMinimum:
    """The matrix of the unscored items in tridiagonal form, and what the sets bring.

    Shapes: diagonal (v,), beside (v - 1,), both (v, t + sets * k), own (t, t), g (v + t, sets, k).

    both: ``Pᵀ N_VS`` for the t items of all sets, and ``Pᵀ g_V``, a column for each set and output.
    """

    sets: ItemSets
    diagonal: Float
    beside: Float
    both: Float
    own: Float
    g: Float

    @classmethod
    def of(cls, N: Float, order: Index, sets: ItemSets, scores: Float) -> HeldMinimum:
        """Reduce N at the unscored items, which come first; then come those of the sets."""
        v, g = len(order) - len(sets.items), (N @ scores[order]).reshape(len(N), len(sets), -1)
        both = np.asfortranarray(np.concatenate([N[:v, v:], g[:v].reshape(v, -1)], axis=1))
        lwork, _ = lapack.dsytrd_lwork(v, lower=1)
        inner = np.array(N[:v, :v].T, order="F")
        reflectors, diagonal, beside, tau, _ = lapack.dsytrd(inner, lower=1, lwork=int(lwork), overwrite_a=1)
        beside = beside if v > 1 else np.zeros(1)  # LAPACK's interface takes no empty array
        if v > 2:
            both[1:], _, _ = lapack.dormqr("L", "T", reflectors[1:, :-1], tau, both[1:], 64 * both.shape[1])
        return cls(sets, diagonal, beside, both, N[v:, v:], g)

    def corrections(self, anchor: float) -> Float:
        """Return δ at the items of every set, shape (t, k)."""
        k, t = self.g.shape[2], len(self.sets.items)
        v = len(self.g) - t
        largest = max(float(self.diagonal.max()), float(np.diagonal(self.own).max()))
        anchor = _above_rounding(anchor, largest, len(self.g))
        solved = self._solve(anchor).T
        of_items, of_right = solved[:t], solved[t:].reshape(len(self.sets), k, v)
        coupling, delta = self.both[:, :t].T, np.empty((t, k))
        for size in np.unique(self.sets.sizes).tolist():
            same = np.flatnonzero(self.sets.sizes == size)
            for part in blocks(len(same), 8 * size * v, SET_BYTES):
                numbers = same[part]
                places = self.sets.places(numbers, size)
                across, right = coupling[places], of_right[numbers].transpose(0, 2, 1)
                systems = self.own[places[:, :, None], places[:, None, :]]
                systems -= across @ of_items[places].transpose(0, 2, 1)
                systems += anchor * np.eye(size)
                delta[places] = np.linalg.solve(systems, across @ right - self.g[v + places, numbers[:, None]])
        return delta

    def _solve(self, anchor: float) -> Float:
        """Return ``(J + γ I)⁻¹`` times the coupling and the right-hand sides."""
        diagonal, beside, _ = lapack.dpttrf(self.diagonal + anchor, self.beside)
        solved, _ = lapack.dpttrs(diagonal, beside, self.both)
        return np.asarray(solved)


def _above_rounding(anchor: float, largest: float, m: int) -> float:
    """Raise an anchor above rounding: N has the constants of the queries in its null space."""
    return max(anchor, 100.0 * m * float(np.finfo(np.float64).eps) * largest)


@dataclass(frozen=True)
class HeldBlocks:
    """The same for sets that are whole folds, where columns are few; nothing m × m is formed.

    Shapes: F (t, 2 n), g (t, k), own (for each size of sets: sets, u, u).
    """

    sets: ItemSets
    unscored: BlockMinimum
    F: Float
    g: Float
    own: dict[int, Float]

    @classmethod
    def of(cls, T: FoldResiduals, sets: ItemSets, scores: Float) -> HeldBlocks:
        """Turn the folds of unscored items, and form the blocks of the sets."""
        rho = T.at(scores)
        roots, n_sets, outputs = Roots(T.graph), len(sets), rho.shape[1] // len(sets)
        summed = (T.left.T @ rho).reshape(-1, n_sets, outputs)
        F, g = np.empty((len(sets.items), 2 * T.left.shape[1])), np.empty((len(sets.items), outputs))
        own = {}
        for size in np.unique(sets.sizes).tolist():
            numbers = np.flatnonzero(sets.sizes == size)
            places = sets.places(numbers, size)
            items = sets.items[places]
            B, Q, C = T.left[items], T.right[items], roots.of(items)
            A_t = (C + B @ Q.transpose(0, 2, 1)).transpose(0, 2, 1)
            missed = rho.reshape(len(rho), n_sets, outputs)[items, numbers[:, None]]
            outside = summed[:, numbers].transpose(1, 0, 2) - B.transpose(0, 2, 1) @ missed
            g[places] = C.transpose(0, 2, 1) @ missed - Q @ outside
            F[places] = np.concatenate([A_t @ B, Q], axis=2)
            own[size] = A_t @ A_t.transpose(0, 2, 1)
        return cls(sets, BlockMinimum.of(T, rho), F, g, own)

    def corrections(self, anchor: float) -> Float:
        """Return δ at the items of every set, shape (t, k)."""
        largest = float(np.max([np.diagonal(own, axis1=1, axis2=2).max() for own in self.own.values()]))
        largest = max(largest, float(self.unscored.sigma.max() ** 2))
        anchor = _above_rounding(anchor, largest, len(self.unscored.sigma) + len(self.F))
        solved, _, _ = self.unscored.inner(anchor, self.F.T)
        t, delta = len(self.F), np.empty_like(self.g)
        rest, X = solved[:, :-t].reshape(len(solved), len(self.sets), -1), solved[:, -t:]
        for size, own in self.own.items():
            numbers = np.flatnonzero(self.sets.sizes == size)
            places = self.sets.places(numbers, size)
            F = self.F[places]
            systems = own + anchor * np.eye(size) + F @ X[:, places].transpose(1, 0, 2)
            delta[places] = np.linalg.solve(systems, -self.g[places] - F @ rest[:, numbers].transpose(1, 0, 2))
        return delta


def _bounds(sets: ItemSets) -> list[tuple[int, int]]:
    bounds = sets.bounds.tolist()
    return list(pairwise(bounds))


# Inductive predictions ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class InductiveWithout:
    """What the model trained on the scored items without a set predicts for the unscored items and for that set.

    Shapes: nothing (sets, k).

    parts: For each alpha the decomposition, the rows (v, s) of its N at the unscored items, d (s,), and the residuals
        (t, k).
    refitted: Predictions of models that were trained again, by set.
    nothing: Whether a set leaves nothing to compare, so that the prediction is zero.
    """

    sets: ItemSets
    parts: dict[int, tuple[Decomposition, Float, Float, Float]]
    refitted: dict[int, Float]
    nothing: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]

    @classmethod
    def of(cls, problem: Problem, unscored: Index, sets: ItemSets, alphas: Float) -> InductiveWithout:
        """Decompose the problem of the scored items, and solve a small system for each set and alpha."""
        rest, rows = problem.without(unscored)
        scored = np.setdiff1d(np.arange(problem.graph.n_items), unscored)
        own = ItemSets(np.searchsorted(scored, sets.items).astype(np.int64), sets.bounds)
        parts, small = {}, np.zeros(len(sets), dtype=bool)
        for decomposition, numbers in decompose(rest.features, rest.graph, alphas, scores=True):
            decomposition.report_errors(alphas[numbers], alphas[numbers])
            features = rest.features
            if decomposition.primal:
                assert features.columns is not None
                coefficients = features.columns.from_primal(decomposition.basis)
            else:
                coefficients = features.from_dual(decomposition.left)
            N = features.predict(rows, coefficients)
            d = decomposition.shrinkage(alphas[numbers])
            e = decomposition.coefficients(d)
            e[rest.uncompared] = 0.0
            missed = np.empty((len(own.items), *e.shape[1:]))
            for size in np.unique(own.sizes).tolist():
                same = np.flatnonzero(own.sizes == size)
                places = own.places(same, size)
                items = own.items[places]
                systems = SetSystems(rest.graph, rest.uncompared, items, decomposition.left, decomposition.sign)
                r = e[items]
                small[same] |= systems.solve(r, d[None]).min(axis=1) < PIVOT[decomposition.primal]
                missed[places] = r
            for place, number in enumerate(numbers.tolist()):
                parts[number] = (decomposition, N, d[:, place], missed[..., place])
        refitted = {}
        for number in np.flatnonzero(small).tolist():
            both = np.concatenate([unscored, sets.items[sets.bounds[number] : sets.bounds[number + 1]]])
            refitted[number] = refit_without(problem, both, alphas)
        return cls(own, parts, refitted, rest.nothing_to_compare(own))

    def at(self, number: int) -> tuple[Float, Float]:
        """Return the predictions for one alpha: of the unscored items (v, sets, k), and of the sets (t, k)."""
        decomposition, N, d, missed = self.parts[number]
        s, k = decomposition.rotated.shape
        rest = np.repeat(decomposition.rotated[:, None], len(self.sets), axis=1)
        held = np.empty_like(missed)
        for q, (start, stop) in enumerate(_bounds(self.sets)):
            items = self.sets.items[start:stop]
            rest[:, q] -= decomposition.left[items].T @ missed[start:stop]
            rest[:, q] *= d[:, None]
            rest[:, q, self.nothing[q]] = 0.0
            held[start:stop] = decomposition.right[items] @ rest[:, q]
        found = (N @ rest.reshape(s, -1)).reshape(len(N), len(self.sets), k)
        for q, predicted in self.refitted.items():
            found[:, q] = predicted[: len(N), :, number]
            held[self.sets.bounds[q] : self.sets.bounds[q + 1]] = predicted[len(N) :, :, number]
        return found, held
