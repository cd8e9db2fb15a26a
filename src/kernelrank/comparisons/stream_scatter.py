"""The scatter of queries that come in blocks: ``Φᵀ L Φ`` of items without scores, from one pass.

The Laplacian of all pairs in query q is ``c_q (n_q I - 11ᵀ)``, so the query gives ``c_q n_q S_q``, where ``S_q`` is the
scatter of its rows about their mean. Only the query that a block ends with can go on in the next one, and how many
items it will have is not known yet, so its moments are kept apart (`query_moments`) until another query begins.
"""

from __future__ import annotations

import numpy as np

from kernelrank.base.arrays import Float, GramSum, Index
from kernelrank.comparisons.moments import QueryMoments
from kernelrank.comparisons.scatter import subtract_query_means
from kernelrank.comparisons.scored import QueryWeight, pair_weight

__all__ = ["StreamScatter"]


class StreamScatter:
    """Adds up ``Φᵀ L Φ`` over blocks of rows, the rows of each query together.

    Parameters
    ----------
    n : int
        The number of columns.
    query_weight : {"pairs", "items", "queries"}
        Which units have equal weight.

    Notes
    -----
    O(k n²) time for a block of k rows; memory 3 n² numbers and a block, whatever the sizes of the queries.

    Examples
    --------
    >>> scatter = StreamScatter(1, "pairs")
    >>> scatter.add(np.array([[1.0], [3.0], [0.0]]), np.array([0, 0, 1]))
    >>> scatter.add(np.array([[5.0]]), np.array([1]))
    >>> scatter.gram(), scatter.n_pairs, scatter.n_queries
    (array([[29.]]), 2, 2)
    """

    def __init__(self, n: int, query_weight: QueryWeight) -> None:
        self.n = n
        self.query_weight: QueryWeight = query_weight
        self.n_items = self.n_queries = self.n_idle_queries = self.n_pairs = 0
        self.pair_weight = 0.0
        """The weight of all pairs together, ``Σ c_q (n_q choose 2)``."""
        self._whole = GramSum(n)
        self._large = np.zeros((n, n))
        self._code: int | None = None
        self._open = QueryMoments(n, 0)
        self._work = np.empty((0, n))

    def add(self, block: Float, codes: Index) -> None:
        """Add a block of rows to the sum.

        Parameters
        ----------
        block : ndarray, shape (k, n)
            Is overwritten.
        codes : ndarray of int64, shape (k,)
            The query of each row. The rows of a query are contiguous, in this block and across blocks.
        """
        if len(block) == 0:
            return
        bounds = np.append(np.flatnonzero(np.diff(codes, prepend=codes[0] - 1)), len(codes))
        first, last = 0, len(bounds) - 2
        if self._code is not None and codes[0] == self._code:
            self._add_open(block[: bounds[1]])
            first = 1
        if first > last:
            return
        self._close()
        self._add_whole(block[bounds[first] : bounds[last]], np.diff(bounds[first : last + 1]))
        self._code = int(codes[-1])
        self._add_open(block[bounds[last] :])

    def gram(self) -> Float:
        """Return ``Φᵀ L Φ``."""
        self._close()
        return np.asarray(self._whole.matrix() + self._large)

    def _add_whole(self, block: Float, sizes: Index) -> None:
        """Add queries whose items are all in this block."""
        if len(block) == 0:
            return
        if len(self._work) < len(block):
            self._work = np.empty_like(block)
        bounds = np.append(0, np.cumsum(sizes))
        subtract_query_means(block, bounds, np.ones(len(block)), self._work[: len(block)], block)
        block *= np.repeat(np.sqrt(self._count(sizes)), sizes)[:, None]
        self._whole.add(block)

    def _add_open(self, rows: Float) -> None:
        """Add items of a query that may go on in the next block."""
        self._open.add(rows, np.zeros((len(rows), 0)), np.ones(len(rows)))

    def _close(self) -> None:
        """Add the query that was left open, now that its size is known."""
        if self._code is not None:
            self._count(np.array([self._open.n_items]))
            self._large += self._open.scaled(self.query_weight)[0]
            self._code, self._open = None, QueryMoments(self.n, 0)

    def _count(self, sizes: Index) -> Float:
        """Count queries of some sizes, and return ``c_q n_q`` of each."""
        n_items = sizes.astype(np.float64)
        c = pair_weight(self.query_weight, n_items, n_items)
        pairs = sizes * (sizes - 1) // 2
        self.n_items += int(sizes.sum())
        self.n_queries += len(sizes)
        self.n_idle_queries += int((pairs == 0).sum())
        self.n_pairs += int(pairs.sum())
        self.pair_weight += float(c @ pairs)
        scale: Float = c * sizes
        return scale
