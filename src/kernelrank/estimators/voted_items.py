"""Items that are voted on: labels of any kind as numbers, and the features of the items."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from kernelrank.base.arrays import Float, Index, Matrix, is_sparse
from kernelrank.base.labels import label_vector, number_labels, number_two, refuse_missing
from kernelrank.errors import InvalidInputError

__all__ = ["named_features", "nearest_names", "number_votes", "standardised"]


def number_votes(winners: Any, losers: Any, known: NDArray[Any] | None = None) -> tuple[Index, NDArray[Any], Index]:
    """Return votes as pairs of item numbers, and the labels of all items.

    Parameters
    ----------
    winners, losers : sequence, shape (l,)
        Labels of any hashable kind.
    known : ndarray, shape (m,), optional
        The labels of all items, which fixes their numbers: any other label is an error. Otherwise items are numbered
        as they first occur, winners before losers.

    Returns
    -------
    (ndarray of int64 of shape (k, 2), ndarray of shape (m,), ndarray of int64 of shape (k,))
        The numbers of the items, their labels, and which votes these are: those between two different items.

    Examples
    --------
    >>> pairs, items, kept = number_votes(["tea", "milk", "tea"], ["coffee", "milk", "water"])
    >>> pairs.tolist(), items.tolist(), kept.tolist()
    ([[0, 1], [0, 2]], ['tea', 'coffee', 'water'], [0, 2])
    """
    columns = []
    for labels, name in ((winners, "winners"), (losers, "losers")):
        values = label_vector(labels, name)
        refuse_missing(values, f"{name} has no item in vote {{}}. Leave the vote out, or name the item.")
        columns.append(values)
    first, second = columns
    if len(first) != len(second):
        raise InvalidInputError(
            f"Expected one loser for each winner; got {len(first)} winners and {len(second)} losers."
        )
    if known is None:
        low, high, items = number_two(first, second, "winners")
    else:
        both = np.concatenate([column.astype(object) for column in (known, first, second)])
        codes, items = number_labels(both, "winners")
        m, end = len(known), len(known) + len(first)
        if len(items) > m:
            label = items[m]
            raise InvalidInputError(
                f"Expected votes on items of `features`; got {label!r}{nearest_names(label, known)}."
            )
        low, high, items = codes[m:end], codes[end:], known
    kept = np.flatnonzero(low != high)
    if len(kept) == 0 and len(low):
        raise InvalidInputError(
            f"Expected votes between two different items; got {len(low):,}, each on an item against itself."
        )
    if len(kept) < len(low) and known is None:
        return (*number_votes(first[kept], second[kept])[:2], kept)
    return np.column_stack([low, high])[kept], items, kept


def nearest_names(label: object, known: NDArray[Any]) -> str:
    """Return the known names that are spelt like a label, as the end of a message; nothing if there are none."""
    names = {str(name): name for name in known.tolist()}
    near = difflib.get_close_matches(str(label), list(names), n=3, cutoff=0.6)
    return f" (similar: {', '.join(repr(names[name]) for name in near)})" if near else ""


def named_features(features: Any) -> tuple[NDArray[Any], Matrix]:
    """Return labels of items and their features.

    Parameters
    ----------
    features : pandas.DataFrame, mapping or tuple
        A data frame whose index holds the labels, a mapping from labels to rows of numbers, or ``(labels, X)``.

    Returns
    -------
    (ndarray of shape (m,), array or sparse matrix of shape (m, n))

    Examples
    --------
    >>> named_features({"tea": [1.0, 0.0], "coffee": [0.0, 1.0]})[0].tolist()
    ['tea', 'coffee']
    """
    if isinstance(features, Mapping):
        labels, X = list(features), list(features.values())
    elif isinstance(features, tuple) and len(features) == 2:
        labels, X = features
    elif hasattr(features, "index") and hasattr(features, "columns"):
        labels, X = features.index, features
    else:
        raise InvalidInputError(
            "Expected features as a pandas data frame whose index holds the items, a mapping from items to rows, or "
            f"(items, X); got {type(features).__name__}."
        )
    names = label_vector(labels, "the items of features")
    refuse_missing(names, "features has no name for item {}. Name every item.")
    X = check_array(X, accept_sparse="csr", dtype=np.float64, input_name="features")
    if len(names) != X.shape[0]:
        raise InvalidInputError(
            f"Expected one row of features for each item; got {len(names)} items, {X.shape[0]} rows."
        )
    codes, distinct = number_labels(names, "the items of features")
    if len(distinct) < len(names):
        twice = distinct[int(np.argmax(np.bincount(codes) > 1))]
        raise InvalidInputError(f"Expected each item of features once; got {twice!r} more than once.")
    return names, X


def standardised(X: Matrix) -> Matrix:
    """Return features with mean zero and variance one; sparse ones keep their means, which affect no difference."""
    if is_sparse(X):
        mean = np.asarray(X.mean(axis=0)).ravel()
        variance = np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean**2
        return sparse.csr_array(X @ sparse.diags_array(_inverse_root(variance)))
    dense: Float = np.asarray(X)
    return np.asarray((dense - dense.mean(axis=0)) * _inverse_root(dense.var(axis=0)))


def _inverse_root(variance: Float) -> Float:
    """Return one over the standard deviation; constant columns become zeros."""
    constant = variance <= 1e-24 * variance.max(initial=0.0)
    return np.where(constant, 0.0, 1.0 / np.sqrt(np.where(constant, 1.0, variance)))
