"""Query folds: how cross-validation divides the queries, as the user says it."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold

from kernelrank.arrays import Index
from kernelrank.errors import InvalidInputError
from kernelrank.exact_cv import ItemSets
from kernelrank.queries import Queries

__all__ = ["read_folds"]


def read_folds(cv: int | Sequence[Any] | None, queries: Queries) -> ItemSets:
    """Divide the queries into folds.

    Parameters
    ----------
    cv : int, sequence of sequences of query labels, or None
        A number of folds of about as many items each, the folds themselves, or a fold for each query.
    queries : Queries
        At least two.

    Returns
    -------
    ItemSets
        A partition of the items into unions of whole queries.

    Notes
    -----
    O(m) time, and a sort of the queries by size for a number of folds.

    Examples
    --------
    >>> queries = Queries.from_labels(["a", "b", "b", "c"], 4)
    >>> [items.tolist() for items in read_folds([["a", "c"], ["b"]], queries)]
    [[0, 3], [1, 2]]
    """
    if cv is None:
        return ItemSets.of_queries(queries)
    if isinstance(cv, Integral):
        n_folds = int(cv)
        if not 2 <= n_folds <= len(queries):
            raise InvalidInputError(f"cv={cv} must be at least two and at most the number of queries, {len(queries)}")
        split = GroupKFold(n_folds).split(queries.codes, groups=queries.codes)
        return ItemSets.of([held for _, held in split], queries.n_items)
    assert not isinstance(cv, int)
    fold_of = _fold_of_queries(cv, queries)
    held_out = [np.flatnonzero(fold_of[queries.codes] == number) for number in range(len(cv))]
    return ItemSets.of(held_out, queries.n_items)


def _fold_of_queries(cv: Sequence[Any], queries: Queries) -> Index:
    """Return the number of each query's fold; every query must be in exactly one, and no fold empty or all there is."""
    if isinstance(cv, str) or any(isinstance(fold, str) or not hasattr(fold, "__iter__") for fold in cv):
        raise InvalidInputError(
            f"cv must be a number, or a list of lists of query labels such as [['a', 'b'], ['c']], got {cv!r}"
        )
    number_of = {label: number for number, label in enumerate(queries.labels.tolist())}
    fold_of = np.full(len(queries), -1, dtype=np.int64)
    for number, fold in enumerate(cv):
        labels = fold.tolist() if isinstance(fold, np.ndarray) else list(fold)
        if len(labels) in (0, len(queries)):
            raise InvalidInputError(f"cv[{number}] has {len(labels)} of the {len(queries)} queries: some, not all")
        for label in labels:
            if label not in number_of:
                raise InvalidInputError(f"cv[{number}] has the query {label!r}, which is not in qid")
            if fold_of[number_of[label]] >= 0:
                raise InvalidInputError(f"the query {label!r} is named twice in cv")
            fold_of[number_of[label]] = number
    if np.any(fold_of < 0):
        missing = queries.labels.tolist()[int(np.argmax(fold_of < 0))]
        raise InvalidInputError(f"the query {missing!r} is in no fold: every query must be in one")
    return fold_of
