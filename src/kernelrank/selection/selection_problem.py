"""The data of a selection: the items used, query by query, and their columns in root coordinates.

With ``CᵀC = L`` the problem is ridge regression of ``ỹ = C y`` on the columns of ``Z = C X``. Columns are centred block
by block, whether X is dense or sparse, and nothing else of X is ever made dense.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from kernelrank.base.arrays import Float, Index, Matrix, available_bytes, blocks, in_gigabytes, is_sparse
from kernelrank.base.labels import Queries
from kernelrank.comparisons import ItemScores, ScoredQueries
from kernelrank.comparisons.scored import QueryWeight
from kernelrank.errors import InvalidInputError

__all__ = ["SelectionProblem"]

BLOCK = 2**22
"""The size of a block of columns that is centred at once."""


@dataclass(frozen=True)
class SelectionProblem:
    """Items with positive weights, those of a query side by side.

    Parameters
    ----------
    X : array or CSC matrix, shape (items, n)
    rows : ndarray of int64, shape (m,), or None
        Which rows of X are used, in the order of the graph; None for all rows.
    graph : ScoredQueries or ItemScores
        What is compared.
    queries : Queries
        Which items belong together; each item by itself where no item is held out with another one.
    dtype : numpy dtype, default=float64
        The precision of whatever has as many numbers as X.
    """

    X: Matrix
    rows: Index | None
    graph: ScoredQueries | ItemScores
    queries: Queries
    dtype: DTypeLike = np.float64

    @classmethod
    def of_scores(
        cls,
        X: Matrix,
        scores: Float,
        queries: Queries,
        weight: Float | None,
        query_weight: QueryWeight,
        dtype: DTypeLike,
    ) -> SelectionProblem:
        """Compare all pairs of each query."""
        rows, scores, queries, weight = _ordered(scores, queries, weight)
        graph = ScoredQueries(scores, queries, weight=weight, query_weight=query_weight)
        return cls(X.tocsc() if is_sparse(X) else X, rows, graph, queries, dtype=dtype)

    @classmethod
    def of_items(
        cls, X: Matrix, scores: Float, queries: Queries, weight: Float | None, dtype: DTypeLike
    ) -> SelectionProblem:
        """Compare each item with its own score."""
        rows, scores, queries, weight = _ordered(scores, queries, weight)
        graph = ItemScores(scores, weight=weight)
        return cls(X.tocsc() if is_sparse(X) else X, rows, graph, queries, dtype=dtype)

    @property
    def n_items(self) -> int:
        """How many items are used."""
        return self.graph.n_items

    @property
    def n_columns(self) -> int:
        """How many columns X has."""
        return int(self.X.shape[1])

    def centred(self, columns: Index | slice) -> Float:
        """Return some columns of ``C X`` in double precision."""
        part = self.X[:, columns]
        values = np.asarray(part.toarray() if is_sparse(part) else part, dtype=np.float64)
        return self.graph.centre(values if self.rows is None else values[self.rows])

    def centred_blocks(self, columns: Index) -> list[tuple[slice, Index]]:
        """Cut columns into blocks: the place of each, and its columns."""
        return [(block, columns[block]) for block in blocks(len(columns), 8 * self.n_items, BLOCK)]

    def mean_square(self) -> float:
        """Return the mean over columns of their squared lengths in root coordinates: the scale of alpha. O(m n)."""
        total = 0.0
        for _, block in self.centred_blocks(np.arange(self.n_columns)):
            total += float((self.centred(block) ** 2).sum())
        return total / self.n_columns

    def empty(self, n_columns: int) -> NDArray[Any]:
        """Return an m × n_columns array of this precision."""
        return np.empty((self.n_items, n_columns), dtype=self.dtype)

    def require_memory(self, n_arrays: int, extra: int = 0) -> None:
        """Raise an error for a selection that needs more memory than there is.

        Parameters
        ----------
        n_arrays : int
            How many arrays of the shape of X are needed.
        extra : int, default=0
            How many bytes beside them.
        """
        needed = n_arrays * self.n_items * self.n_columns * np.dtype(self.dtype).itemsize + extra
        available = available_bytes()
        if available is not None and needed > available:
            sparse = " A sparse X is made dense in the process." if is_sparse(self.X) else ""
            raise InvalidInputError(
                f"Expected a selection that fits into memory; {self.n_items:,} items with {self.n_columns:,} columns "
                f"need {in_gigabytes(needed)}, and {in_gigabytes(available)} are available.{sparse} Select from fewer "
                "columns or items, or halve the need with dtype='float32'."
            )


def _ordered(
    scores: Float, queries: Queries, weight: Float | None
) -> tuple[Index | None, Float, Queries, Float | None]:
    """Drop items of weight zero, and sort the others by query; None if all rows stay as they are."""
    order = queries.order
    if weight is not None and np.any(weight == 0):
        order = order[weight[order] > 0]
    elif queries.contiguous:
        return None, scores, queries, weight
    return order, scores[order], queries.subset(order), None if weight is None else weight[order]
