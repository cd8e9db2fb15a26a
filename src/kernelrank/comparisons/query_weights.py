"""Query weights: what counts the same, every pair, every item or every query."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from kernelrank.arrays import Float
from kernelrank.errors import InvalidInputError

__all__ = ["QUERY_WEIGHTS", "QueryWeight", "pair_weight"]

QueryWeight: TypeAlias = Literal["pairs", "items", "queries"]
QUERY_WEIGHTS: tuple[QueryWeight, ...] = ("pairs", "items", "queries")


def pair_weight(query_weight: QueryWeight, total: Float) -> Float:
    """Return ``c_q``, the weight of one pair in each query.

    Parameters
    ----------
    query_weight : {"pairs", "items", "queries"}
        ``c_q`` is 1, ``1 / W_q`` or ``1 / (W_q choose 2)``.
    total : ndarray, shape (n_queries,)
        ``W_q``, the number of items in each query; with item weights, their sum, so that a weight of k is the
        same as repeating the item k times.

    Returns
    -------
    ndarray, shape (n_queries,)

    Examples
    --------
    >>> import numpy as np
    >>> pair_weight("queries", np.array([4.0, 1.0]))
    array([0.16666667, 0.        ])
    """
    if query_weight == "pairs":
        return np.ones_like(total)
    if query_weight == "items":
        return np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
    if np.any((total > 0) & (total < 1)):
        q = int(np.argmax((total > 0) & (total < 1)))
        raise InvalidInputError(
            f"query_weight='queries' divides by (W choose 2), and the sample_weight of query number {q} sums to "
            f"W = {total[q]:g}, less than one item: scale sample_weight up"
        )
    return np.divide(2.0, total * (total - 1), out=np.zeros_like(total), where=total > 1)
