"""Transduction: scores for unscored queries that minimise the cross-validation error over all queries [PSBS07]_.

Let V be the items of the unscored queries, y the scores of all items with candidates at V, and U a fold: a query or a
union of queries. Choose the candidates that minimise

    ``Σ_U (y_U - f_U)ᵀ L_UU (y_U - f_U) + γ ‖y_V - f_V‖²``,

where ``f_U`` are the scores of U by the model trained on everything else, candidates included, ``f_V`` those of V by
the model trained on the scored queries alone (the inductive prediction), and γ is called anchor.

**The residuals are linear.** Training is linear in y, so ``C_U (y_U - f_U)`` is ``T_U y``, with ``CᵀC = L``. For W
outside the fold, `kernelrank.exact_cv.problem` with ``M = λ Γ`` gives

    ``T_UU = C_U``,   ``T_UW = C_U (M_UU)⁻¹ M_UW``,

(its residuals are ``(M_UU)⁻¹ M_U: y``, and their own scores enter as they are). M comes in two forms, so that nothing
is lost by subtraction at either end:

* ``M = Q diag(d) Qᵀ`` in the dual while λ is at most the trace of the problem's matrix;
* ``M = L - Q' diag(d) Qᵀ`` in the primal, and in the dual for larger λ, where scores are tiny relative to residuals: L
has
  no entry between a fold and the rest, so that ``M_UW`` is a product again and keeps all its digits.

In both, ``T_UW = ± B_U Q_Wᵀ``: T has identity-like blocks on its diagonal, and products of short rows elsewhere.

**One more decomposition.** With δ the difference between the candidates and the inductive prediction, and ρ the
residuals at the latter, the objective is ``‖ρ + T_V δ‖² + γ ‖δ‖²``, so

    ``δ = -(T_Vᵀ T_V + γ I)⁻¹ T_Vᵀ ρ``,

and the spectrum of ``T_Vᵀ T_V`` serves every γ. The paper's closed form (12) is this with its slips mended: `CLK` is
``K L K``, R has λ and not ½λ, and the second factor of G is ``P_ŪU``. It needs no E, F or G here.

**What is not determined.** A constant added to the scores of a query changes no residual, so δ, which lies in the range
of ``T_Vᵀ``, sums to zero in every query. In each query the mean of the transduced scores is exactly the mean of the
inductive ones. Items that are left out (of weight zero, or alone in their query) keep their inductive score.

**More unscored items than twice the columns.** In the primal ``T_V = A - B Q_Vᵀ`` with ``A`` block diagonal by fold.
In the singular vectors of its blocks, ``A_U = X diag(σ) Yᵀ``, with ``B̂ = Xᵀ B``, ``Q̂ = Yᵀ Q_V`` and ``D = σ² + γ``,

    ``T_Vᵀ T_V + γ I = diag(D) + [σB̂, Q̂] [0, -I; -I, BᵀB] [σB̂, Q̂]ᵀ``,

which the Woodbury identity turns into one symmetric system of twice as many unknowns as there are columns n,

    ``[-(S + B̂ᵀ diag(γ/D) B̂), B̂ᵀ diag(σ/D) Q̂ - I; ·, Q̂ᵀ diag(1/D) Q̂]``,

for each γ: its blocks on the diagonal are semidefinite sums. S is ``BᵀB`` over what the blocks do not reach, which is
the scored folds. Nothing m × m or |V| × |V| is formed.

Accuracy: T as training itself, ε times the largest eigenvalue over λ; δ as any least-squares problem whose residuals
do not vanish, ε times ``σ_max² / (σ_min² + γ)`` of ``T_V``. In the primal, digits are lost if a fold alone determines a
direction of the features; its pivots are checked, and the dual form is used in that case.

.. [PSBS07] Pahikkala, Suominen, Boberg and Salakoski (2007). Transductive ranking via pairwise regularized
   least-squares. MLG 2007.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import eigh, lapack

from kernelrank.base.arrays import Float, Index, block_rows, blocks
from kernelrank.base.labels import ItemSets
from kernelrank.base.progress import track
from kernelrank.comparisons import ScoredQueries
from kernelrank.errors import InvalidInputError
from kernelrank.exact_cv.problem import PIVOT, Decomposition, Problem, decompose, refit_without
from kernelrank.exact_cv.sets import SET_BYTES, SetSystems
from kernelrank.solvers.automatic import DIRECT_LIMIT
from kernelrank.solvers.precision import one_warning


@one_warning("predictions")
def transduce(problem: Problem, unscored: Index, folds: ItemSets, alpha: float, anchors: Float) -> tuple[Float, Float]:
    """Return the scores of the unscored items for every anchor, and the inductive prediction.

    With s the smaller of the numbers of items m and of columns, one factorisation of size s and a training, O(s²) for
    each item and O(u² s + u³) for a fold of u items. Then, unless v exceeds twice the columns, O(m v s + m v²) and one
    decomposition of size v, after which an anchor costs O(v²): a Cholesky factorisation for one anchor, eigenvectors
    for several. Otherwise O(u³) for a fold and O(v s² + s³) for each anchor. Memory: two m × s arrays and the smaller
    of v² and 4 s².

    Shapes: unscored (v,), anchors (n,); returns scores (v, outputs, n), returns inductive (v, outputs).
    """
    assert isinstance(problem.graph, ScoredQueries)
    refuse_size(problem)
    inductive = refit_without(problem, unscored, np.array([alpha]))[:, :, 0]
    guess = problem.truth.copy()
    guess[unscored] = inductive
    residuals = FoldResiduals.of(problem, folds, alpha, unscored)
    rho = residuals.at(less_means(guess, problem.graph))
    corrections = (BlockMinimum if residuals.by_columns else DenseMinimum).of(residuals, rho).corrections(anchors)
    return inductive[:, :, None] + corrections, inductive


def refuse_size(problem: Problem) -> None:
    """Raise an error where the problem is too large to be decomposed."""
    size = problem.features.size
    if size > DIRECT_LIMIT:
        raise InvalidInputError(
            f"transduction decomposes a matrix of size min(items, columns) = {size:,}; the limit is {DIRECT_LIMIT:,}. "
            "Set basis, or use fewer items"
        )


def less_means(values: Float, graph: ScoredQueries) -> Float:
    """Take the mean of each query away, which no residual depends on, so that large levels do not cost digits."""
    sums = np.zeros((graph.n_queries, values.shape[1]))
    np.add.at(sums, graph.queries.codes, values)
    less: Float = values - (sums / graph.queries.sizes[:, None])[graph.queries.codes]
    return less


@dataclass(frozen=True)
class TransductionFold:
    """A fold: its items, and which of them are unscored."""

    items: Index
    places: Index  # of the unscored ones among `items`
    columns: Index  # their numbers among all unscored items


@dataclass(frozen=True)
class FoldResiduals:
    """T: ``T_UU = C_U`` and, for W outside the fold U, ``T_UW = sign B_U Q_Wᵀ``.

    Shapes: unscored (v,), left, right (m, s).
    """

    graph: ScoredQueries
    folds: list[TransductionFold]
    unscored: Index
    primal: bool
    sign: float
    left: Float
    right: Float

    @classmethod
    def of(
        cls, problem: Problem, folds: ItemSets, alpha: float, unscored: Index, *, dual: bool = False
    ) -> FoldResiduals:
        """Factorise the problem, and solve one small system for each fold."""
        alphas = np.array([alpha])
        ((decomposition, _),) = decompose(problem.features, problem.graph, alphas, scores=False, dual=dual)
        decomposition.report_errors(alphas, alphas)
        found = cls.of_decomposition(decomposition, problem, folds, alpha, unscored)
        return found or cls.of(problem, folds, alpha, unscored, dual=True)

    @classmethod
    def of_decomposition(
        cls, decomposition: Decomposition, problem: Problem, folds: ItemSets, alpha: float, unscored: Index
    ) -> FoldResiduals | None:
        """Solve one small system for each fold; None where the primal form loses the digits of one."""
        systems = FoldSystems.of(decomposition, problem, folds, alpha)
        if systems is None:
            return None
        left, graph = np.empty_like(systems.first), systems.graph
        with closing(track(systems.batches, len(systems.batches), "folds")) as bar:
            for items, root, matrices in bar:
                left[items] = root @ np.linalg.solve(matrices, systems.first[items])
        read = _read_folds(folds, unscored, graph.n_items)
        return cls(graph, read, unscored, decomposition.primal, systems.sign, left, systems.second)

    @property
    def by_columns(self) -> bool:
        """Whether the minimum takes systems of twice as many unknowns as there are columns, and nothing v × v."""
        return self.primal and len(self.unscored) > 2 * self.right.shape[1]

    def at(self, scores: Float) -> Float:
        """Return ``T y``, shape (m, k)."""
        total = self.right.T @ scores
        residuals = self.graph.centre(scores)
        for fold in self.folds:
            outside = total - self.right[fold.items].T @ scores[fold.items]
            residuals[fold.items] += self.sign * (self.left[fold.items] @ outside)
        return residuals

    @cached_property
    def _roots(self) -> Roots:
        return Roots(self.graph)

    def own_root(self, fold: TransductionFold) -> Float:
        """Return the columns of ``C_U`` that belong to unscored items, shape (u, unscored items of the fold)."""
        root: Float = self._roots.of(fold.items[None])[0][:, fold.places]
        return root

    @cached_property
    def unscored_right(self) -> Float:
        """The rows of Q at the unscored items, shape (v, s)."""
        return self.right[self.unscored]

    def rows(self) -> Iterator[tuple[Index, Float]]:
        """Yield items and their rows of ``T_V``, some folds at a time."""
        batch: list[TransductionFold] = []
        enough = block_rows(len(self.unscored))
        for fold in self.folds:
            batch.append(fold)
            if sum(len(held.items) for held in batch) >= enough:
                yield self._batch_rows(batch)
                batch = []
        if batch:
            yield self._batch_rows(batch)

    def _batch_rows(self, batch: list[TransductionFold]) -> tuple[Index, Float]:
        items = np.concatenate([fold.items for fold in batch])
        rows = (self.sign * self.left[items]) @ self.unscored_right.T
        start = 0
        for fold in batch:
            own = np.arange(start, start + len(fold.items))
            if len(fold.columns):
                rows[np.ix_(own, fold.columns)] = self.own_root(fold)
            start += len(own)
        return items, rows


@dataclass(frozen=True)
class FoldSystems:
    """M as the product ``sign Q' Qᵀ`` of rows, and for folds of one size their items, roots ``C_U`` and ``M_UU``.

    Shapes: first, second (m, s); batches (folds, u), (folds, u, u), (folds, u, u).
    """

    graph: ScoredQueries
    first: Float
    second: Float
    sign: float
    batches: list[tuple[Index, Float, Float]]

    @classmethod
    def of(cls, decomposition: Decomposition, problem: Problem, folds: ItemSets, alpha: float) -> FoldSystems | None:
        """Form the matrices; None where the primal form loses the digits of a fold."""
        graph = problem.graph
        assert isinstance(graph, ScoredQueries)
        first, second, sign = fold_products(decomposition, alpha)
        roots, batches = Roots(graph), []
        for numbers in same_sizes(folds, first.shape[1]):
            items = folds.items[folds.places(numbers, int(folds.sizes[numbers[0]]))]
            matrices, pivots = SetSystems(graph, problem.uncompared, items, first, sign, second).matrices()
            if pivots.min() < PIVOT[decomposition.primal]:
                if decomposition.primal and graph.n_items <= DIRECT_LIMIT:
                    return None
                raise InvalidInputError(
                    f"alpha={alpha:g} is too small for the residuals of fold {numbers[np.argmin(pivots)]} to be "
                    "computed: it is lost in rounding. Use a larger alpha, or scale the features down"
                )
            batches.append((items, roots.of(items), matrices))
        return cls(graph, first, second, sign, batches)


def fold_products(decomposition: Decomposition, alpha: float) -> tuple[Float, Float, float]:
    """Return Q' and Q (m × s), with the roots of d taken into both, and the sign of their product in M."""
    if not decomposition.primal and alpha <= decomposition.trace:
        first = second = decomposition.left
        d, sign = decomposition.shrinkage(np.array([alpha]))[:, 0], 1.0
    else:
        first, second, d = decomposition.smoother(alpha)
        sign = -1.0
    if np.all(d == 1.0):
        return first, second, sign
    root = np.sqrt(d)
    scaled = first * root
    return scaled, scaled if second is first else second * root, sign


def same_sizes(folds: ItemSets, width: int) -> Iterator[Index]:
    """Yield the numbers of folds of one size, as many as fit into a block."""
    for size in np.unique(folds.sizes):
        same = np.flatnonzero(folds.sizes == size).astype(np.int64)
        for part in blocks(len(same), 8 * int(size) * max(width, int(size)), SET_BYTES):
            yield same[part]


def _read_folds(folds: ItemSets, unscored: Index, n_items: int) -> list[TransductionFold]:
    column_of = np.full(n_items, -1, dtype=np.int64)
    column_of[unscored] = np.arange(len(unscored))
    read = []
    for items in folds:
        columns = column_of[items]
        places = np.flatnonzero(columns >= 0).astype(np.int64)
        read.append(TransductionFold(items, places, columns[places]))
    return read


class Roots:
    """``C_U`` of folds of one size: ``√(c W w_i) (δ_ij - w_j / W)`` inside a query of the total weight W."""

    def __init__(self, graph: ScoredQueries) -> None:
        self.codes = graph.queries.codes
        total: Float = np.bincount(self.codes, graph.weight, graph.n_queries).astype(np.float64)
        self.scale = np.sqrt((graph.pair_weights * total)[self.codes] * graph.weight)
        self.share = graph.weight / np.where(total > 0, total, 1.0)[self.codes]

    def of(self, items: Index) -> Float:
        """Return the roots of folds with the items (folds, u), shape (folds, u, u)."""
        codes = self.codes[items]
        root = np.where(codes[:, :, None] == codes[:, None, :], -self.share[items][:, None, :], 0.0)
        diagonal = np.arange(items.shape[1])
        root[:, diagonal, diagonal] += 1.0
        root *= self.scale[items][:, :, None]
        return np.asarray(root)


# Anchored minimum -----------------------------------------------------------------------------------------------------
#
# The minimum over scores of unscored queries, for every anchor.
#
# Minimises ``‖ρ + T_V δ‖² + γ ‖δ‖²``; see the top of this file.


@dataclass(frozen=True)
class DenseMinimum:
    """``δ = -(N + γ I)⁻¹ g`` with ``N = T_Vᵀ T_V`` (v × v) and ``g = T_Vᵀ ρ`` (v × k)."""

    N: Float
    g: Float

    @classmethod
    def of(cls, residuals: FoldResiduals, rho: Float) -> DenseMinimum:
        """Add up N and g: O(m v s + m v²) time."""
        v = len(residuals.unscored)
        N, g = np.zeros((v, v)), np.zeros((v, rho.shape[1]))
        for items, rows in residuals.rows():
            N += rows.T @ rows
            g += rows.T @ rho[items]
        return cls(N, g)

    def corrections(self, anchors: Float) -> Float:
        """Return δ for every anchor, shape (v, k, n): a Cholesky factorisation for one, a spectrum for several."""
        if len(anchors) == 1:
            shifted = self.N.copy()
            shifted[np.diag_indices_from(shifted)] += anchors[0]
            factor, failed_at = lapack.dpotrf(shifted, lower=1, clean=0, overwrite_a=1)
            if failed_at == 0:
                delta, _ = lapack.dpotrs(factor, -self.g, lower=1)
                return np.asarray(delta[:, :, None])
        values, vectors = eigh(self.N, driver="evd", check_finite=False)
        shrunk = (vectors.T @ -self.g)[:, :, None] / (np.maximum(values, 0.0)[:, None, None] + anchors)
        return np.asarray((vectors @ shrunk.reshape(len(values), -1)).reshape(shrunk.shape))


@dataclass(frozen=True)
class BlockMinimum:
    """The same for ``T_V = A - B Q_Vᵀ`` in the singular vectors of the blocks of A; nothing v × v is formed.

    Shapes: sigma (v,), left, right (v, s), rest (s, s), g (v, k).
    """

    blocks: list[tuple[Index, Float]]
    sigma: Float
    left: Float
    right: Float
    rest: Float
    g: Float

    @classmethod
    def of(cls, residuals: FoldResiduals, rho: Float) -> BlockMinimum:
        """Turn every block into its singular vectors: O(u³ + u² s) time for a fold of u items."""
        B, Q = residuals.left, residuals.right
        v, s = len(residuals.unscored), Q.shape[1]
        blocks, sigma, g = [], np.empty(v), np.empty((v, rho.shape[1]))
        left, right = np.empty((v, s)), np.empty((v, s))
        scored = [fold.items for fold in residuals.folds if len(fold.columns) == 0]
        beyond_reach = B[np.concatenate(scored)] if scored else np.zeros((0, s))
        rest, summed = beyond_reach.T @ beyond_reach, B.T @ rho
        for fold in residuals.folds:
            B_U, rho_U, own = B[fold.items], rho[fold.items], fold.columns
            if len(own) == 0:
                continue
            Q_U, root = Q[fold.items[fold.places]], residuals.own_root(fold)
            X, sigma[own], Y_transposed = np.linalg.svd(root + B_U @ Q_U.T, full_matrices=False)
            left[own], right[own] = X.T @ B_U, Y_transposed @ Q_U
            if len(own) < len(fold.items):
                beyond = B_U - X @ left[own]
                rest += beyond.T @ beyond
            # Not by X and σ: where λ is large, residuals of scored items would drown those of unscored ones in them.
            outside = summed - B_U.T @ rho_U
            g[own] = Y_transposed @ (root.T @ rho_U) - right[own] @ outside
            blocks.append((own, Y_transposed.T))
        return cls(blocks, sigma, left, right, rest, g)

    def corrections(self, anchors: Float) -> Float:
        """Return δ for every anchor, shape (v, k, n)."""
        delta = np.empty((*self.g.shape, len(anchors)))
        for number, anchor in enumerate(anchors):
            rotated = self._solve(float(anchor))
            for own, Y in self.blocks:
                delta[own, :, number] = Y @ rotated[own]
        return delta

    def _solve(self, anchor: float) -> Float:
        """Return δ in the singular vectors for one anchor."""
        inner, plain, D = self.inner(anchor)
        s = self.left.shape[1]
        outer: Float = plain - (self.sigma[:, None] * (self.left @ inner[:s]) + self.right @ inner[s:]) / D
        return outer

    def inner(self, anchor: float, beside: Float | None = None) -> tuple[Float, Float, Float]:
        """Solve the system of twice the columns for one anchor; return solutions (2 s, k), ``-g / D`` and D (v, 1).

        beside: More right-hand sides (2 s, more), whose solutions are the last columns.
        """
        D, s = (self.sigma**2 + anchor)[:, None], self.left.shape[1]
        system = np.empty((2 * s, 2 * s))
        system[:s, :s] = -self.rest - self.left.T @ (self.left * (anchor / D))
        system[s:, :s] = self.right.T @ (self.left * (self.sigma[:, None] / D)) - np.eye(s)
        system[:s, s:] = system[s:, :s].T
        system[s:, s:] = self.right.T @ (self.right / D)
        plain = -self.g / D
        right = np.concatenate([self.left.T @ (self.sigma[:, None] * plain), self.right.T @ plain])
        _, _, solved, _ = lapack.dsysv(system, right if beside is None else np.hstack([right, beside]), lower=1)
        return np.asarray(solved), plain, D
