"""The pairs of scored items, listed: for a loss that needs each of them."""

from __future__ import annotations

import numpy as np

from kernelrank.base.arrays import Float, Index
from kernelrank.base.labels import Queries
from kernelrank.errors import InvalidInputError, NothingToCompareError

__all__ = ["MOST_PAIRS", "list_score_pairs"]

MOST_PAIRS = 20_000_000
"""The largest number of pairs that is listed: 480 MB with their weights."""


def list_score_pairs(scores: Float, queries: Queries, weight: Float | None) -> tuple[Index, Float | None]:
    """List the pairs of items in one query with different scores, the higher item first.

    Parameters
    ----------
    scores : ndarray, shape (m,)
    queries : Queries
    weight : ndarray, shape (m,), optional
        Item weights; a pair has their product.

    Returns
    -------
    (ndarray of int64, shape (l, 2), and ndarray, shape (l,), or None)

    Notes
    -----
    O(Σ n_q²) time, O(l) memory.

    Examples
    --------
    >>> list_score_pairs(np.array([1.0, 3.0, 1.0]), Queries.from_labels(None, 3), None)[0].tolist()
    [[1, 0], [1, 2]]
    """
    possible = sum(n * (n - 1) // 2 for n in queries.sizes.tolist())
    if possible > MOST_PAIRS:
        raise InvalidInputError(
            f"expected at most {MOST_PAIRS:,} pairs; the queries have up to {possible:,}. Use RankSVM or RankRLS, "
            "which build no list of pairs, or fit_pairs with a sample of the pairs"
        )
    found = []
    for items in queries:
        y = scores[items]
        high, low = np.nonzero(y[:, None] > y)
        found.append(np.column_stack([items[high], items[low]]))
    pairs = np.concatenate(found) if found else np.zeros((0, 2), dtype=np.int64)
    if len(pairs) == 0:
        single = int((queries.sizes == 1).sum())
        raise NothingToCompareError(
            f"nothing to compare: no query has two items with different scores ({len(queries)} queries, "
            f"{single} of them with one item, the others with ties only)"
        )
    return pairs, None if weight is None else weight[pairs[:, 0]] * weight[pairs[:, 1]]
