"""Folds of queries, by a hash of their labels: every partition computes the fold of a query by itself."""

from __future__ import annotations

from collections.abc import Hashable
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Index

__all__ = ["fold_of"]


def fold_of(labels: NDArray[Any], n_folds: int) -> Index:
    """Return the fold of each query; the same label has the same fold in any partition, process or run.

    Parameters
    ----------
    labels : ndarray, shape (q,)
        Query labels. Integers are mixed by splitmix64, others hashed by their representation.
    n_folds : int

    Returns
    -------
    ndarray of int64, shape (q,)

    Notes
    -----
    O(q) time. Folds are about as large as any other where there are many queries.

    Examples
    --------
    >>> fold_of(np.arange(8), 3), fold_of(np.array(["a", "b", "c"]), 3)
    (array([1, 2, 1, 0, 1, 2, 2, 0]), array([2, 0, 0]))
    """
    if labels.dtype == object and all(isinstance(label, int) for label in labels):
        labels = np.array(labels.tolist(), dtype=np.int64) if _fits(labels) else labels
    if labels.dtype.kind in "iub":
        return (_mixed(labels) % np.uint64(n_folds)).astype(np.int64)
    return np.array([_hash(label) % n_folds for label in labels.tolist()], dtype=np.int64)


def _fits(labels: NDArray[Any]) -> bool:
    return all(-(2**63) <= label < 2**63 for label in labels)


def _mixed(labels: NDArray[Any]) -> NDArray[np.uint64]:
    """Return splitmix64 of integers."""
    z = labels.astype(np.int64).view(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _hash(label: Hashable) -> int:
    # 1.0 is the same label as 1.
    text = repr(int(label)) if isinstance(label, float) and label.is_integer() else repr(label)
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
