"""The shift of queries: the mean over a query is subtracted from sparse columns that all its items store.

A Laplacian does not see a constant that is added to a query, but rounding does: the sums of squares of a column that is
large relative to its variation inside the queries, such as a date or a property of the query itself, cancel to noise.
Dense rows are moved by the mean of their query. Sparse ones would fill up, but where all items of a query store a
column they would not; and where some do not, zeros among large numbers are variation enough.
"""

from __future__ import annotations

import numpy as np

from kernelrank.base.arrays import Float, Index, Sparse
from kernelrank.base.compiled import compiled
from kernelrank.base.labels import Queries

__all__ = ["shift_queries"]


def shift_queries(Phi: Sparse, queries: Queries, weight: Float) -> Sparse:
    """Return sparse features less the means of what whole queries store.

    Parameters
    ----------
    Phi : sparse matrix, shape (m, n)
    queries : Queries
    weight : ndarray, shape (m,)
        Item weights; items of weight zero are left out.

    Returns
    -------
    sparse matrix, shape (m, n)
        With the same entries stored; Phi itself where no query stores a column as a whole.

    Notes
    -----
    O(nnz) time, and as many numbers of memory. Where columns are stored here and there, a few items of each query tell
    that there is nothing to do.

    Examples
    --------
    >>> from scipy import sparse
    >>> Phi = sparse.csr_array([[7.0, 1.0], [9.0, 0.0]])
    >>> shift_queries(Phi, Queries.from_labels(None, 2), np.ones(2)).toarray()
    array([[-1.,  1.],
           [ 1.,  0.]])
    """
    rows = Phi.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    if not _any_whole(rows.indices, rows.indptr, queries.order, queries.bounds, weight, rows.shape[1]):
        return Phi
    data = np.array(rows.data, dtype=np.float64)
    _subtract_means(data, rows.indices, rows.indptr, queries.order, queries.bounds, weight, rows.shape[1])
    return type(rows)((data, rows.indices, rows.indptr), shape=rows.shape)


@compiled
def _any_whole(indices: Index, indptr: Index, order: Index, bounds: Index, weight: Float, n_columns: int) -> bool:
    """Return whether any query of two items or more stores a column in all of them."""
    # The last item, counted over all queries, up to which each column was in every item of the query.
    seen = np.full(n_columns, -1, dtype=np.int64)
    for q in range(len(bounds) - 1):
        first, last, left = bounds[q], bounds[q], 1
        for place in range(bounds[q], bounds[q + 1]):
            i = order[place]
            if weight[i] <= 0.0:
                continue
            left = 0
            for entry in range(indptr[i], indptr[i + 1]):
                column = indices[entry]
                if last == first or seen[column] == last:
                    seen[column] = last + 1
                    left += 1
            last += 1
            if left == 0:
                break
        if left > 0 and last - first > 1:
            return True
    return False


@compiled
def _subtract_means(
    data: Float, indices: Index, indptr: Index, order: Index, bounds: Index, weight: Float, n_columns: int
) -> None:
    """Change the stored entries of columns that all items of a query with a weight store."""
    count = np.zeros(n_columns, dtype=np.int64)
    total = np.zeros(n_columns)
    for q in range(len(bounds) - 1):
        items = order[bounds[q] : bounds[q + 1]]
        n_items, mass = 0, 0.0
        for i in items:
            if weight[i] > 0.0:
                n_items += 1
                mass += weight[i]
                for place in range(indptr[i], indptr[i + 1]):
                    count[indices[place]] += 1
                    total[indices[place]] += weight[i] * data[place]
        for i in items:
            for place in range(indptr[i], indptr[i + 1]):
                if n_items > 0 and count[indices[place]] == n_items:
                    data[place] -= total[indices[place]] / mass
        for i in items:
            for place in range(indptr[i], indptr[i + 1]):
                count[indices[place]] = 0
                total[indices[place]] = 0.0
