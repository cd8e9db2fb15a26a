"""The pairwise accuracy of every query for many columns of scores at once."""

from __future__ import annotations

import numpy as np

from kernelrank.arrays import Float, Index
from kernelrank.compiled import compiled

__all__ = ["SMALL_QUERY", "query_accuracies"]

SMALL_QUERY = 100
"""Up to this mean number of partners of an item, looking at every pair is faster than sorting once for each column."""


@compiled
def query_accuracies(truth: Float, scores: Float, bounds: Index) -> Float:
    """Return the share of the pairs of each query that each column of scores has in the right order.

    Parameters
    ----------
    truth : ndarray, shape (m,)
        True scores, the items of a query together; NaN where there is none.
    scores : ndarray, shape (m, n)
    bounds : ndarray of int64, shape (n_queries + 1,)
        Where each query begins.

    Returns
    -------
    ndarray, shape (n, n_queries)
        A tied prediction counts a half; NaN for a query without two different true scores.

    Notes
    -----
    O(n Σ q²) time for queries of q items.
    """
    n = scores.shape[1]
    values = np.full((n, len(bounds) - 1), np.nan)
    right = np.empty(n)
    for query in range(len(bounds) - 1):
        right[:] = 0.0
        count = 0
        for i in range(bounds[query], bounds[query + 1]):
            for j in range(bounds[query], i):
                low, high = (j, i) if truth[i] > truth[j] else (i, j)
                if not truth[high] > truth[low]:
                    continue
                count += 1
                for c in range(n):
                    right[c] += (scores[high, c] > scores[low, c]) + 0.5 * (scores[high, c] == scores[low, c])
        if count > 0:
            for c in range(n):
                values[c, query] = right[c] / count
    return values
