"""Query weights: what counts the same, every pair, every item or every query.

A query counts once where each of its pairs is divided by the weight of all pairs that are compared in it [PTAJB09]_
(2.4). The pair (i, j) weighs ``w_i w_j``. Of the ``W²`` that all ordered pairs of a query weigh, some are not compared:

* with ties left out, ``Σ_g W_g²``: each score level with itself;
* with ties included, each item with itself. An item of weight k is k copies, which are compared with each other, so
  that is ``k`` of its ``k²``. Less than one copy has none beside it: ``w²`` for a weight below one.

Hence ``c_q = 2 / (W_q² - Σ_g W_g²)`` or ``2 / (W_q² - Σ_i min(w_i, w_i²))``, which is ``1 / (n_q choose 2)`` without
weights. A weight of k is the same as k copies, and weights of one or less may be scaled as one likes.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from kernelrank.arrays import Float

__all__ = ["QUERY_WEIGHTS", "QueryWeight", "compared_pair_weight", "item_squares", "pair_weight"]

QueryWeight: TypeAlias = Literal["pairs", "items", "queries"]
QUERY_WEIGHTS: tuple[QueryWeight, ...] = ("pairs", "items", "queries")

ROUNDING = 1e-14
"""Pairs that weigh less than this share of ``W_q²`` are the rounding of none."""


def pair_weight(query_weight: QueryWeight, total: Float, uncompared: Float) -> Float:
    """Return ``c_q``, the weight of one pair in each query.

    Parameters
    ----------
    query_weight : {"pairs", "items", "queries"}
        ``c_q`` is 1, ``1 / W_q``, or one over the weight of the pairs that are compared.
    total : ndarray, shape (n_queries,)
        ``W_q``, the number of items in each query; with item weights, their sum.
    uncompared : ndarray, shape (n_queries,)
        How much of ``W_q²`` is not compared: the sums of `item_squares` over a query with ties included, of squared
        level weights with ties left out.

    Returns
    -------
    ndarray, shape (n_queries,)

    Examples
    --------
    >>> import numpy as np
    >>> sizes = np.array([4.0, 1.0])
    >>> pair_weight("queries", sizes, sizes)
    array([0.16666667, 0.        ])
    """
    if query_weight != "queries":
        return compared_pair_weight(query_weight, total, total)
    ordered_pairs = total**2 - uncompared
    return np.divide(2.0, ordered_pairs, out=np.zeros_like(total), where=ordered_pairs > ROUNDING * total**2)


def compared_pair_weight(query_weight: QueryWeight, total: Float, compared: Float) -> Float:
    """Return ``c_q`` as `pair_weight` does, where the weight of the pairs that are compared is known.

    Parameters
    ----------
    query_weight : {"pairs", "items", "queries"}
    total : ndarray, shape (n_queries,)
        ``W_q``.
    compared : ndarray, shape (n_queries,)
        The weight of all pairs of each query, each pair once.

    Returns
    -------
    ndarray, shape (n_queries,)

    Examples
    --------
    >>> import numpy as np
    >>> compared_pair_weight("queries", np.array([4.0]), np.array([5.0]))
    array([0.2])
    """
    if query_weight == "pairs":
        return np.ones_like(total)
    divisor = total if query_weight == "items" else compared
    return np.divide(1.0, divisor, out=np.zeros_like(total), where=divisor > 0)


def item_squares(weight: Float) -> Float:
    """Return how much of each item's ``w²`` is no pair of two copies: ``min(w, w²)``.

    Examples
    --------
    >>> import numpy as np
    >>> item_squares(np.array([0.5, 1.0, 3.0]))
    array([0.25, 1.  , 3.  ])
    """
    return np.minimum(weight, weight**2)
