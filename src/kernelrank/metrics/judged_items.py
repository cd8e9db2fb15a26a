"""Judged items: true scores, predicted scores, queries and weights, checked once for all measures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelrank.base.arrays import Labels, is_structured
from kernelrank.base.labels import Queries
from kernelrank.errors import InvalidInputError

__all__ = ["FloatArray", "JudgedItems", "read_items"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class JudgedItems:
    """The input of a measure: one output of m items.

    Parameters
    ----------
    y : ndarray of float64, shape (m,)
        True scores.
    score : ndarray of float64, shape (m,)
        Predicted scores; larger means ranked higher.
    queries : Queries
        Which items are compared with each other.
    weight : ndarray of float64, shape (m,), or None
        Item weights; None stands for ones.

    Examples
    --------
    >>> (items,) = read_items([1, 0], [0.3, 0.1], None, None)
    >>> items.y, items.n_items
    (array([1., 0.]), 2)
    """

    y: FloatArray
    score: FloatArray
    queries: Queries
    weight: FloatArray | None

    @property
    def n_items(self) -> int:
        """The number of items, m."""
        return len(self.y)

    def order(self, *keys: NDArray[Any]) -> NDArray[np.intp]:
        """Item numbers sorted by query, then by the keys, then as they came; O(m log m)."""
        if len(self.queries) > 1:
            keys = (self.queries.codes, *keys)
        if len(keys) == 1:
            return np.argsort(keys[0], kind="stable")
        return np.lexsort(keys[::-1])


def read_items(
    y_true: ArrayLike, y_score: ArrayLike, qid: Labels | None, sample_weight: ArrayLike | None
) -> list[JudgedItems]:
    """Check the input of a measure and split it by output; O(m) for queries that are contiguous.

    Parameters
    ----------
    y_true, y_score : array-like, shape (m,) or (m, outputs)
        True and predicted scores.
    qid : sequence or None
        One query label per item; None puts all items into one query.
    sample_weight : array-like, shape (m,), or None
        Item weights, at least 0.

    Returns
    -------
    list of JudgedItems
        One per output.

    Raises
    ------
    InvalidInputError
        Naming the argument that cannot be used, and the item where that helps.
    """
    y, score = _columns(y_true, "y_true"), _columns(y_score, "y_score")
    if len(y) != len(score):
        raise InvalidInputError(f"y_true has {len(y)} items, but y_score has {len(score)}")
    if y.shape != score.shape:
        raise InvalidInputError(f"y_true has {y.shape[1]} outputs, but y_score has {score.shape[1]}")
    queries = Queries.from_labels(qid, len(y))
    weight = None if sample_weight is None else _weights(sample_weight, len(y))
    return [JudgedItems(y[:, j].copy(), score[:, j].copy(), queries, weight) for j in range(y.shape[1])]


def _columns(values: ArrayLike, name: str) -> FloatArray:
    """Read numbers as a float64 matrix with one column per output."""
    if hasattr(values, "toarray"):
        raise InvalidInputError(f"{name} is a sparse matrix: pass a dense array")
    array = np.asarray(values)
    if is_structured(array):
        raise InvalidInputError(f"{name} has times and events, which only the measure Concordance supports")
    if array.dtype.kind not in "biufO":
        raise InvalidInputError(f"{name} must hold real numbers, got {array.dtype}")
    try:
        array = array.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} must hold real numbers: {error}") from None
    if array.ndim not in (1, 2):
        raise InvalidInputError(f"{name} must have the shape (m,) or (m, outputs), got {array.shape}")
    if array.size == 0:
        raise InvalidInputError(f"{name} is empty: there is nothing to measure")
    array = array.reshape(len(array), -1)
    finite = np.isfinite(array)
    if not finite.all():
        item, output = (int(i) for i in np.argwhere(~finite)[0])
        raise InvalidInputError(f"{name} is {array[item, output]} for item {item}; every score must be finite")
    return array


def _weights(sample_weight: ArrayLike, n_items: int) -> FloatArray:
    weight = _columns(sample_weight, "sample_weight")
    if weight.shape[1] != 1:
        raise InvalidInputError(f"sample_weight must have one entry per item, got the shape {weight.shape}")
    if len(weight) != n_items:
        raise InvalidInputError(f"sample_weight has {len(weight)} entries, but there are {n_items} items")
    if (weight < 0).any():
        item = int(np.argmax(weight[:, 0] < 0))
        raise InvalidInputError(f"sample_weight is {weight[item, 0]} for item {item}; weights must be at least 0")
    return weight[:, 0].copy()
