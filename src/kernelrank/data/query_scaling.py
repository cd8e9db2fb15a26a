"""Columns scaled inside each query, as LETOR's baselines are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from kernelrank.base.arrays import Float
from kernelrank.base.labels import Queries
from kernelrank.data.items import Items
from kernelrank.errors import FileFormatError

__all__ = ["scale_items_by_query", "scale_within_queries"]


def scale_within_queries(X: Any, qid: Any) -> Float:
    """Scale the columns of every query to 0 to 1; a column that is constant inside a query becomes 0 there.

    O(m n) time; the result is dense, for a zero need not stay one.

    Parameters
    ----------
    X : array-like or sparse matrix, shape (m, n_features)
    qid : sequence, shape (m,)

    Returns
    -------
    ndarray, shape (m, n_features)

    Examples
    --------
    >>> scale_within_queries([[1.0, 5.0], [3.0, 5.0], [-2.0, 0.0], [-1.0, 8.0]], ["a", "a", "b", "b"]).tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [1.0, 1.0]]
    """
    dense = np.array(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
    for members in Queries.from_labels(qid, len(dense)):
        part = dense[members]
        low, high = part.min(axis=0), part.max(axis=0)
        dense[members] = (part - low) / np.where(high > low, high - low, 1.0)
    return dense


def scale_items_by_query(items: Items) -> Items:
    """Return the items of a file with their columns scaled inside each query."""
    if items.qid is None:
        raise FileFormatError("Expected queries; the file has none. Name the query column.", items.path)
    return replace(items, X=scale_within_queries(items.X, items.qid))
