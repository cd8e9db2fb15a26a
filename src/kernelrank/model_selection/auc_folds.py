"""Folds for an AUC: stratified by class, groups kept together."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, check_cv
from sklearn.utils import check_random_state

from kernelrank.base.arrays import Index, RandomStateLike
from kernelrank.errors import InvalidInputError
from kernelrank.metrics.two_classes import TwoClasses, shared_groups

__all__ = ["auc_folds"]


def auc_folds(cv: Any, X: Any, classes: TwoClasses, groups: Index | None, random_state: RandomStateLike) -> list[Index]:
    """Return the items of each fold.

    Parameters
    ----------
    cv : int, "leave_one_out", splitter or iterable
        A number deals the shuffled items of each class out in turn, so that folds differ by at most one item; with
        groups, scikit-learn's `StratifiedGroupKFold`. "leave_one_out" makes each item, or group, its own fold.
    X : array-like
    classes : TwoClasses
    groups : ndarray of int64, shape (m,), or None
    random_state : int, RandomState or None

    Returns
    -------
    list of ndarray of int64

    Examples
    --------
    >>> classes = TwoClasses.read([0, 0, 0, 0, 1, 1], 6)
    >>> [classes.labels[fold].tolist() for fold in auc_folds(2, None, classes, None, 0)]
    [[1, 0, 0], [1, 0, 0]]
    """
    m = len(classes.labels)
    units = np.arange(m) if groups is None else groups
    if isinstance(cv, str) and cv == "leave_one_out":
        folds = [np.flatnonzero(units == unit) for unit in range(int(units.max()) + 1)]
    elif isinstance(cv, Integral) and not isinstance(cv, bool):
        folds = _deal(int(cv), classes, shared_groups(groups), random_state)
    else:
        with warnings.catch_warnings():
            # Whether groups were kept whole is checked below, whatever the splitter does with them.
            warnings.filterwarnings("ignore", message="The groups parameter is ignored", category=UserWarning)
            splits = check_cv(cv, classes.labels, classifier=True).split(X, classes.labels, groups)
            folds = [np.asarray(test, dtype=np.int64) for _, test in splits]
    for number, fold in enumerate(folds):
        kept = np.delete(classes.positive, fold)
        if kept.all() or not kept.any():
            raise InvalidInputError(f"fold {number} holds out all items of a class: use fewer or stratified folds")
        if groups is not None and set(groups[fold]) & set(np.delete(groups, fold)):
            raise InvalidInputError(
                f"fold {number} splits a group between training and test: use a splitter that keeps groups together"
            )
    return folds


def _deal(n_folds: int, classes: TwoClasses, groups: Index | None, random_state: RandomStateLike) -> list[Index]:
    m = len(classes.labels) if groups is None else int(groups.max()) + 1
    if not 2 <= n_folds <= m:
        raise InvalidInputError(f"cv must be at least 2 and at most {m}, the number of items or groups, got {n_folds}")
    if groups is None:
        random = check_random_state(random_state)
        order = np.concatenate([random.permutation(classes.positives), random.permutation(classes.negatives)])
        return [order[start::n_folds] for start in range(n_folds)]
    with warnings.catch_warnings():
        # A class with fewer items than folds is no mistake here: such folds are counted and left out, or pooled.
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        splitter = StratifiedGroupKFold(n_folds, shuffle=True, random_state=random_state)
        splits = list(splitter.split(np.zeros((len(groups), 1)), classes.positive, groups))
    return [test.astype(np.int64) for _, test in splits if len(test)]
