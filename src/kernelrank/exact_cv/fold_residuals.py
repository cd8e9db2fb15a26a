"""Fold residuals: how far every fold is from the scores that all others predict for it, linear in the scores.

See `kernelrank.exact_cv.transduction` for T and its two forms.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kernelrank.arrays import Float, Index, block_rows, blocks
from kernelrank.comparisons import ScoredQueries
from kernelrank.errors import InvalidInputError
from kernelrank.exact_cv.decomposition import Decomposition, decompose
from kernelrank.exact_cv.dual_inverse import PIVOT, SetSystems
from kernelrank.exact_cv.set_holdout import SET_BYTES
from kernelrank.exact_cv.shortcut_rules import Problem
from kernelrank.item_sets import ItemSets
from kernelrank.progress import track
from kernelrank.solvers.automatic import DIRECT_LIMIT
from kernelrank.solvers.rounding import report_error

__all__ = ["Fold", "FoldResiduals"]


@dataclass(frozen=True)
class Fold:
    """A fold: its items, and which of them are unscored."""

    items: Index
    places: Index  # of the unscored ones among `items`
    columns: Index  # their numbers among all unscored items


@dataclass(frozen=True)
class FoldResiduals:
    """T: ``T_UU = C_U`` and, for W outside the fold U, ``T_UW = sign B_U Q_Wᵀ``.

    Parameters
    ----------
    graph : ScoredQueries
    folds : list of Fold
    unscored : ndarray of int64, shape (v,)
    primal : bool
    sign : float
    left, right : ndarray, shape (m, s)
        B and Q.
    """

    graph: ScoredQueries
    folds: list[Fold]
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
        graph = problem.graph
        assert isinstance(graph, ScoredQueries)
        ((decomposition, _),) = decompose(problem.features, graph, np.array([alpha]), scores=False, dual=dual)
        report_error(alpha, decomposition.relative_error(alpha))
        first, second, sign = _products(decomposition, alpha)
        left, roots, ones = np.empty_like(first), _Roots(graph), np.ones(first.shape[1])
        batches = list(_batches(folds, first.shape[1]))
        for numbers in track(batches, len(batches), "folds"):
            items = folds.items[folds.places(numbers, int(folds.sizes[numbers[0]]))]
            systems = SetSystems(graph, problem.uncompared, items, first, sign, second)
            solved = [systems.solve_one(q, ones, rows) for q, rows in enumerate(systems.Q)]
            pivots = np.array([pivot for _, pivot in solved])
            if pivots.min() < PIVOT[decomposition.primal]:
                if decomposition.primal and graph.n_items <= DIRECT_LIMIT:
                    return cls.of(problem, folds, alpha, unscored, dual=True)
                raise InvalidInputError(
                    f"alpha={alpha:g} is too small for the residuals of fold {numbers[np.argmin(pivots)]} to be "
                    "computed: beside the kernel it is lost in rounding. Take a larger alpha, or scale the items down"
                )
            left[items] = roots.of(items) @ np.stack([solution for solution, _ in solved])
        read = _read_folds(folds, unscored, graph.n_items)
        return cls(graph, read, unscored, decomposition.primal, sign, left, second)

    def at(self, scores: Float) -> Float:
        """Return ``T y``, shape (m, k)."""
        total = self.right.T @ scores
        residuals = self.graph.centre(scores)
        for fold in self.folds:
            outside = total - self.right[fold.items].T @ scores[fold.items]
            residuals[fold.items] += self.sign * (self.left[fold.items] @ outside)
        return residuals

    @cached_property
    def _roots(self) -> _Roots:
        return _Roots(self.graph)

    def own_root(self, fold: Fold) -> Float:
        """Return the columns of ``C_U`` that belong to unscored items, shape (u, unscored items of the fold)."""
        root: Float = self._roots.of(fold.items[None])[0][:, fold.places]
        return root

    @cached_property
    def unscored_right(self) -> Float:
        """The rows of Q at the unscored items, shape (v, s)."""
        return self.right[self.unscored]

    def rows(self) -> Iterator[tuple[Index, Float]]:
        """Yield items and their rows of ``T_V``, some folds at a time."""
        batch: list[Fold] = []
        enough = block_rows(len(self.unscored))
        for fold in self.folds:
            batch.append(fold)
            if sum(len(held.items) for held in batch) >= enough:
                yield self._batch_rows(batch)
                batch = []
        if batch:
            yield self._batch_rows(batch)

    def _batch_rows(self, batch: list[Fold]) -> tuple[Index, Float]:
        items = np.concatenate([fold.items for fold in batch])
        rows = (self.sign * self.left[items]) @ self.unscored_right.T
        start = 0
        for fold in batch:
            own = np.arange(start, start + len(fold.items))
            if len(fold.columns):
                rows[np.ix_(own, fold.columns)] = self.own_root(fold)
            start += len(own)
        return items, rows


def _products(decomposition: Decomposition, alpha: float) -> tuple[Float, Float, float]:
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


def _batches(folds: ItemSets, width: int) -> Iterator[Index]:
    """Yield the numbers of folds of one size, as many as fit into a block."""
    for size in np.unique(folds.sizes):
        same = np.flatnonzero(folds.sizes == size).astype(np.int64)
        for part in blocks(len(same), 8 * int(size) * max(width, int(size)), SET_BYTES):
            yield same[part]


def _read_folds(folds: ItemSets, unscored: Index, n_items: int) -> list[Fold]:
    column_of = np.full(n_items, -1, dtype=np.int64)
    column_of[unscored] = np.arange(len(unscored))
    read = []
    for items in folds:
        columns = column_of[items]
        places = np.flatnonzero(columns >= 0).astype(np.int64)
        read.append(Fold(items, places, columns[places]))
    return read


class _Roots:
    """``C_U`` of folds of one size: ``√(c W w_i) (δ_ij - w_j / W)`` inside a query of the total weight W."""

    def __init__(self, graph: ScoredQueries) -> None:
        self.codes = graph.queries.codes
        total: Float = np.bincount(self.codes, graph.weight, graph.n_queries).astype(np.float64)
        self.scale = np.sqrt((graph.pair_weight * total)[self.codes] * graph.weight)
        self.share = graph.weight / np.where(total > 0, total, 1.0)[self.codes]

    def of(self, items: Index) -> Float:
        """Return the roots of folds with the items (folds, u), shape (folds, u, u)."""
        codes = self.codes[items]
        root = np.where(codes[:, :, None] == codes[:, None, :], -self.share[items][:, None, :], 0.0)
        diagonal = np.arange(items.shape[1])
        root[:, diagonal, diagonal] += 1.0
        root *= self.scale[items][:, :, None]
        return np.asarray(root)
