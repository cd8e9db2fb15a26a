"""Folds of items, stratified by score."""

from __future__ import annotations

import numpy as np

from kernelrank.base.arrays import Float, Index
from kernelrank.errors import InvalidInputError

__all__ = ["deal_items"]


def deal_items(y: Float, n_folds: int, random: np.random.RandomState) -> list[Index]:
    """Assign items to folds, stratified by score or class.

    Parameters
    ----------
    y : ndarray, shape (m,)
    n_folds : int
    random : numpy.random.RandomState

    Returns
    -------
    list of ndarray of int64

    Examples
    --------
    >>> folds = deal_items(np.array([0, 1, 0, 1, 0, 0]), 2, np.random.RandomState(0))
    >>> [int(np.array([0, 1, 0, 1, 0, 0])[fold].sum()) for fold in folds]
    [1, 1]
    """
    if not 2 <= n_folds <= len(y):
        raise InvalidInputError(f"Expected from 2 to {len(y)} folds, the number of items; got {n_folds}.")
    order = np.lexsort((random.permutation(len(y)), y))
    fold_of = np.empty(len(y), dtype=np.int64)
    for start in range(0, len(y), n_folds):
        block = order[start : start + n_folds]
        fold_of[block] = random.permutation(n_folds)[: len(block)]
    return [np.flatnonzero(fold_of == fold) for fold in range(n_folds)]
