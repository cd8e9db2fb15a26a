"""Queries: which items belong together, by any labels; weighted means over a partition of the items."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelrank.base.arrays import Float, Index, Matrix, is_sparse
from kernelrank.base.labels import label_vector, number_labels, rank_by_first, refuse_missing
from kernelrank.errors import InvalidInputError

__all__ = ["Grouping", "Queries"]

FEW_COLUMNS, FEW_NUMBERS = 4, 20_000
"""Up to so many columns and numbers, counting column by column costs less than a sparse matrix would to make."""


@dataclass(frozen=True, eq=False)
class Queries:
    """A partition of m items into queries, numbered in the order of their first item.

    Parameters
    ----------
    codes : ndarray of int64, shape (m,)
        The number of each item's query.
    labels : ndarray, shape (n_queries,)
        What the user calls each query.

    Examples
    --------
    >>> queries = Queries.from_labels(["b", "a", "b"], 3)
    >>> queries.codes, queries.sizes
    (array([0, 1, 0]), array([2, 1]))
    """

    codes: NDArray[np.int64]
    labels: NDArray[Any]

    @classmethod
    def from_labels(cls, qid: Any, n_items: int, *, name: str = "qid") -> Queries:
        """Read query labels: any hashable type, in any order, from a list, an array or a data frame column.

        Time O(m) when the items of each query are contiguous, O(m log m) otherwise; memory O(m).

        Parameters
        ----------
        qid : sequence or None
            One label per item; None puts all items into one query.
        n_items : int
            How many items there are.
        name : str, default="qid"
            What an error message calls the labels.

        Returns
        -------
        Queries
        """
        if qid is None:
            return cls(np.zeros(n_items, dtype=np.int64), np.full(min(n_items, 1), None, dtype=object))
        values = label_vector(qid, name)
        if len(values) != n_items:
            raise InvalidInputError(f"{name} has {len(values)} entries, but there are {n_items} items")
        refuse_missing(values, f"{name} is missing for item {{}}: every item needs a query")
        return cls(*number_labels(values, name))

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def n_items(self) -> int:
        """The number of items, m."""
        return len(self.codes)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """The number of items in each query."""
        return np.bincount(self.codes, minlength=len(self)).astype(np.int64)

    @cached_property
    def contiguous(self) -> bool:
        """Whether the items of each query are contiguous, in the order of the codes."""
        return bool(np.all(self.codes[1:] >= self.codes[:-1]))

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Item numbers sorted by query, items of one query in their own order."""
        if self.contiguous:
            return np.arange(self.n_items, dtype=np.int64)
        # Transposing the items' indicator matrix is a counting sort, which is stable and linear.
        ones, pointers = np.ones(self.n_items, dtype=np.int8), np.arange(self.n_items + 1)
        indicator = sparse.csc_array((ones, self.codes, pointers), shape=(len(self), self.n_items))
        order: NDArray[np.int64] = indicator.tocsr().indices.astype(np.int64)
        return order

    @cached_property
    def bounds(self) -> NDArray[np.int64]:
        """Where each query begins in `order`; one more entry, m, closes the last."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)

    def __iter__(self) -> Iterator[NDArray[np.int64]]:
        """Yield the item numbers of each query."""
        for start, stop in zip(self.bounds[:-1], self.bounds[1:], strict=True):
            yield self.order[start:stop]

    def subset(self, items: NDArray[np.int64]) -> Queries:
        """Keep some items only; queries left without an item disappear."""
        kept, first, codes = np.unique(self.codes[items], return_index=True, return_inverse=True)
        rank = rank_by_first(first)
        labels = np.empty(len(kept), dtype=self.labels.dtype)
        labels[rank] = self.labels[kept]
        return Queries(rank[codes], labels)


class Grouping:
    """A partition of m weighted items, queries or the score levels inside them.

    Parameters
    ----------
    codes : ndarray of int64, shape (m,)
        The group of each item, from 0 to `count` - 1.
    count : int
        How many groups there are.
    weight : ndarray, shape (m,)
        The weight of each item.

    Examples
    --------
    >>> import numpy as np
    >>> groups = Grouping(np.array([0, 1, 0]), 2, np.array([1.0, 1.0, 3.0]))
    >>> groups.means(np.array([[0.0], [5.0], [4.0]])).ravel()
    array([3., 5.])
    """

    def __init__(self, codes: Index, count: int, weight: Float) -> None:
        self.codes = codes
        self.count = count
        self.weight = weight

    @cached_property
    def total(self) -> Float:
        """The weight of each group, shape (count,)."""
        return np.bincount(self.codes, weights=self.weight, minlength=self.count).astype(np.float64)

    @cached_property
    def _inverse_total(self) -> Float:
        return np.divide(1.0, self.total, out=np.zeros(self.count), where=self.total > 0)

    @cached_property
    def uniform(self) -> bool:
        """Whether all weights are one."""
        return bool(np.all(self.weight == 1.0))

    @cached_property
    def _indicator(self) -> Matrix:
        """The weights as a sparse matrix, count × m, made at its first use: a pairwise loss has none for it."""
        shape = len(self.codes), self.count
        return sparse.csr_array((self.weight, self.codes, np.arange(len(self.codes) + 1)), shape=shape).T.tocsr()

    def sums(self, V: Matrix) -> Matrix:
        """Return the weighted sums ``Σ_{i in g} w_i V_i`` (count × k), sparse when V is. Time O(nnz of V)."""
        if self.count > 1:
            few = not is_sparse(V) and V.shape[1] <= FEW_COLUMNS and V.size <= FEW_NUMBERS
            return self._count(V) if few else self._indicator @ V
        if is_sparse(V):
            return sparse.csr_array((self.weight @ V)[None])
        # Not a product: waking BLAS threads for one short column costs more than the sum.
        total: Float = V.sum(axis=0) if self.uniform else np.einsum("i,ij->j", self.weight, V)
        return total[None]

    def _count(self, V: Matrix) -> Float:
        """Return the sums column by column."""
        sums = np.empty((self.count, V.shape[1]))
        for k in range(V.shape[1]):
            sums[:, k] = np.bincount(self.codes, weights=self.weight * V[:, k], minlength=self.count)
        return sums

    def means(self, V: Matrix) -> Float:
        """Return the weighted means (count × k), dense; a group without weight has mean zero."""
        sums = self.sums(V)
        means: Float = (sums.toarray() if is_sparse(sums) else sums) * self._inverse_total[:, None]
        return means

    def subtract_means(self, V: Float) -> Float:
        """Return a copy of V with the mean of each item's group taken away."""
        return self.spread_minus(V, self.means(V))

    def spread_minus(self, V: Float, values: Float) -> Float:
        """Return ``V_i - values_{g(i)}``."""
        return V - (values if self.count == 1 else values[self.codes])
