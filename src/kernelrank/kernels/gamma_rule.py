"""Rules that choose gamma from the items: scikit-learn's "scale", and one over the median squared distance."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from sklearn.utils import check_random_state

from kernelrank.base.arrays import Float, Matrix, RandomStateLike, is_sparse, largest_value, row_slices
from kernelrank.errors import InvalidInputError

__all__ = ["GAMMA_RULES", "GammaLike", "gamma_by_rule"]

GammaLike: TypeAlias = float | Literal["scale", "median"] | None
GAMMA_RULES: tuple[str, ...] = ("scale", "median")

MOST_ITEMS = 1000
"""The median is that of all pairs of so many items, drawn at random where there are more."""


def gamma_by_rule(rule: str, X: Matrix, random_state: RandomStateLike = None, *, manhattan: bool = False) -> float:
    """Return gamma by a rule ("scale" or "median"), without using labels.

    Parameters
    ----------
    rule : {"scale", "median"}
        "scale" is ``1 / (n_features * X.var())``, as in scikit-learn's `SVC`. "median" is one over the median squared
        distance between two different items. Either is one where all items are the same.
    X : array or sparse matrix, shape (m, n)
    random_state : int, RandomState or None, default=None
        Random seed for drawing 1,000 items for the median, if there are more.
    manhattan : bool, default=False
        Whether the median is that of Manhattan distances, for the Laplacian kernel, instead of squared ones.

    Returns
    -------
    float

    Notes
    -----
    O(m n) time, or O(nnz); the median takes O(n) for each of up to half a million pairs.

    Examples
    --------
    >>> X = np.array([[0.0], [2.0], [4.0], [4.0]])
    >>> gamma_by_rule("median", X), round(gamma_by_rule("scale", X), 3)
    (0.25, 0.364)
    """
    if rule not in GAMMA_RULES:
        raise InvalidInputError(f"gamma must be a number, None, {', '.join(map(repr, GAMMA_RULES))}; got {rule!r}")
    with np.errstate(over="ignore", invalid="ignore"):
        scale = rule == "scale"
        width = X.shape[1] * _variance(X) if scale else _median_distance(X, random_state, manhattan=manhattan)
    if not np.isfinite(width):
        raise InvalidInputError(
            f"X has values as large as {largest_value(X):.3g}: gamma={rule!r} adds up their squares, which "
            "overflow (limit 1.8e+308). Divide X by a constant, or scale its columns"
        )
    return 1.0 / width if width > 0 else 1.0


def _variance(X: Matrix) -> float:
    """Return the variance of all entries, those that are not stored being zero."""
    if is_sparse(X):
        count = X.shape[0] * X.shape[1]
        values = X.data.astype(np.float64)
        mean = values.sum() / count
        return float((((values - mean) ** 2).sum() + (count - len(values)) * mean**2) / count)
    mean = float(np.mean(X, dtype=np.float64))
    squares = sum(float(((X[rows].astype(np.float64) - mean) ** 2).sum()) for rows in row_slices(X))
    return float(squares / (X.shape[0] * X.shape[1]))


def _median_distance(X: Matrix, random_state: RandomStateLike, *, manhattan: bool) -> float:
    """Return the median over pairs of items that differ, of up to `MOST_ITEMS` items."""
    if X.shape[0] > MOST_ITEMS:
        X = X[np.sort(check_random_state(random_state).choice(X.shape[0], MOST_ITEMS, replace=False))]
    X = X.astype(np.float64)
    if not is_sparse(X):
        X -= X.mean(axis=0)  # distances are computed from squared lengths, which are small here
    from sklearn.metrics.pairwise import euclidean_distances, manhattan_distances

    distances: Float = manhattan_distances(X) if manhattan else euclidean_distances(X, squared=True)
    first, second = np.triu_indices(X.shape[0], 1)
    between = distances[first, second]
    largest = float(between.max(initial=0.0))
    if not np.isfinite(largest):
        return largest
    # Rounding is all that duplicates differ by.
    between = between[between > 1e-12 * largest]
    return float(np.median(between)) if len(between) else 0.0
