"""The comparisons of known cells: each with its score, or the cells of a query with each other.

With the counts w of the cells, regression has ``L = diag(w)``. A ranking has, for each query (a row, if the columns are
ranked) with the total count W, ``L = ω(W) (diag(w) - w wᵀ / W)``, and the root ``C v = √ω √w ∘ (v - v̄)`` with
``CᵀC = L``, v̄ the mean of v weighted by w. All are O(l) for l cells and keep no matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelrank.base.arrays import Float, Index
from kernelrank.dyads.known_cells import KnownCells
from kernelrank.dyads.problem import DyadicProblem
from kernelrank.errors import NothingToCompareError

__all__ = ["CellLaplacian"]


@dataclass(frozen=True)
class CellLaplacian:
    """L over known cells, by products.

    Parameters
    ----------
    count : ndarray, shape (l,)
        w.
    weight : ndarray, shape (l,)
        ``ω w`` of each cell: the diagonal of L but for what a query subtracts.
    query : ndarray of int, shape (l,), or None
        The query of each cell; None for regression.
    total : ndarray, shape (n_queries,)
        W; empty for regression.
    """

    count: Float
    weight: Float
    query: Index | None
    total: Float

    @classmethod
    def of_cells(cls, problem: DyadicProblem, cells: KnownCells) -> CellLaplacian:
        """Compare the known cells as a problem says."""
        if problem.ranked is None:
            return cls(cells.count, cells.count, None, np.zeros(0))
        query = cells.rows if problem.ranked == "columns" else cells.columns
        total: Float = np.bincount(query, weights=cells.count).astype(np.float64)
        if total.max(initial=0.0) < 2:
            side = "row" if problem.ranked == "columns" else "column"
            raise NothingToCompareError(f"no {side} has two known scores: there is nothing to compare")
        return cls(cells.count, cells.count * problem.omega(total)[query], query, total)

    def apply(self, V: Float) -> Float:
        """Return ``L V`` for columns (l, outputs)."""
        return self.weight[:, None] * (V - self._means(V))

    def centre(self, V: Float) -> Float:
        """Return ``C V``."""
        return np.sqrt(self.weight)[:, None] * (V - self._means(V))

    def centre_transpose(self, U: Float) -> Float:
        """Return ``Cᵀ U``."""
        root = np.sqrt(self.weight)[:, None]
        if self.query is None:
            return root * U
        scaled = np.divide(U, root, out=np.zeros_like(U), where=root > 0)
        return self.weight[:, None] * (scaled - self._means(scaled))

    def from_dual(self, A: Float) -> Float:
        """Return u with ``Cᵀ u = A``, where the coefficients of each query add up to zero."""
        root = np.sqrt(self.weight)[:, None]
        return np.divide(A, root, out=np.zeros_like(A), where=root > 0)

    def _means(self, V: Float) -> Float | float:
        """Return the mean of its query for each cell; zero for regression."""
        if self.query is None:
            return 0.0
        weighted = (self.count[:, None] * V).T
        sums = np.stack([np.bincount(self.query, weights=w, minlength=len(self.total)) for w in weighted], axis=1)
        means: Float = np.divide(sums, self.total[:, None], out=np.zeros_like(sums), where=self.total[:, None] > 0)
        return means[self.query]
