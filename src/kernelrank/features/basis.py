"""Basis selection: which items a reduced set is made of."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from kernelrank.arrays import Float, Index, Matrix
from kernelrank.errors import InvalidInputError
from kernelrank.kernels import Kernel
from kernelrank.queries import Queries

__all__ = ["SELECTIONS", "Selection", "by_leverage", "by_means", "by_query", "choose_basis", "uniformly"]

Selection: TypeAlias = Literal["uniform", "per_query", "k_means", "leverage"]
SELECTIONS: tuple[Selection, ...] = ("uniform", "per_query", "k_means", "leverage")


def uniformly(size: int, n_items: int, random_state: np.random.RandomState) -> Index:
    """Draw items without repetition, every item as likely as any other.

    Examples
    --------
    >>> uniformly(3, 3, np.random.RandomState(0))
    array([0, 1, 2])
    """
    _check_size(size, n_items)
    return np.sort(random_state.permutation(n_items)[:size]).astype(np.int64)


def by_query(size: int, queries: Queries, random_state: np.random.RandomState) -> Index:
    """Draw the same number of items from every query, as far as it has so many.

    The queries take turns, in random order; each gives one of its items that is not drawn yet. O(m log m).

    Examples
    --------
    >>> queries = Queries.from_labels(["a", "a", "a", "b"], 4)
    >>> sorted(queries.codes[by_query(2, queries, np.random.RandomState(0))].tolist())
    [0, 1]
    """
    _check_size(size, queries.n_items)
    shuffled = random_state.permutation(queries.n_items)
    turn_of_query = random_state.permutation(len(queries))
    by_code = shuffled[np.argsort(queries.codes[shuffled], kind="stable")]
    round_number = np.arange(queries.n_items) - np.repeat(queries.bounds[:-1], queries.sizes)
    turns = np.lexsort((turn_of_query[queries.codes[by_code]], round_number))
    return np.sort(by_code[turns[:size]]).astype(np.int64)


def by_leverage(
    size: int, kernel: Kernel, X: Matrix, random_state: np.random.RandomState, alpha: float | None = None
) -> Index:
    """Draw items with probability proportional to their approximate ridge leverage score.

    A pilot S of twice the size is drawn uniformly; the leverage of item i at the regularisation alpha is close to
    ``(k_ii - k_iS (K_SS + alpha I)⁻¹ k_Si) / alpha`` plus nothing for what the pilot explains. O(m size (n + size)).

    Parameters
    ----------
    size : int
    kernel : Kernel
    X : array or sparse matrix, shape (m, n)
    random_state : numpy.random.RandomState
    alpha : float, optional
        The mean of the kernel's diagonal over the size of the pilot, unless given.

    Returns
    -------
    ndarray of int64, ascending
    """
    m = X.shape[0]
    _check_size(size, m)
    pilot = uniformly(min(2 * size, m), m, random_state)
    items = X[pilot]
    K = kernel.matrix(items)
    level = float(np.trace(K)) / len(pilot) ** 2 if alpha is None else alpha
    K[np.diag_indices_from(K)] += level
    factor = cho_factor(K, lower=True, overwrite_a=True, check_finite=False)
    leverage = np.empty(m)
    for start in range(0, m, 4096):
        rows = slice(start, min(start + 4096, m))
        cross = kernel.matrix(X[rows], items)
        explained = np.einsum("ij,ij->i", cross, cho_solve(factor, cross.T, check_finite=False).T)
        leverage[rows] = (kernel.diagonal(X[rows]) - explained) / level
    leverage = np.maximum(leverage, np.finfo(np.float64).tiny)
    # Drawing without repetition in proportion to weights: the largest of log(u) / weight.
    keys = np.log(random_state.random_sample(m)) / leverage
    return np.sort(np.argpartition(-keys, size - 1)[:size]).astype(np.int64)


def by_means(size: int, X: Matrix, random_state: np.random.RandomState) -> Float:
    """Return the centres of k-means: basis items that need not be among the data. O(m size n) for each iteration."""
    from sklearn.cluster import KMeans  # takes a third of a second, and few ask for it

    _check_size(size, X.shape[0])
    centres: Float = KMeans(size, n_init=1, max_iter=20, random_state=random_state).fit(X).cluster_centers_
    return np.asarray(centres, dtype=np.float64)


def _check_size(size: int, n_items: int) -> None:
    if not 1 <= size <= n_items:
        raise InvalidInputError(f"expected basis between 1 and {n_items}, the number of items; got {size}")


def choose_basis(basis: int | Index, n_items: int, random_state: np.random.RandomState) -> Index:
    """Return the items of a basis: a number of them drawn uniformly without repetition, or those given.

    Parameters
    ----------
    basis : int or array of int
    n_items : int
        The number of training items.
    random_state : numpy.random.RandomState

    Returns
    -------
    ndarray of int64, ascending if drawn
    """
    if isinstance(basis, (int, np.integer)):
        return uniformly(int(basis), n_items, random_state)
    chosen = np.asarray(basis)
    if chosen.ndim != 1 or len(chosen) == 0 or chosen.dtype.kind not in "iu":
        raise InvalidInputError("basis must be an integer or a non-empty list of item numbers")
    if chosen.min() < 0 or chosen.max() >= n_items:
        wrong = chosen[(chosen < 0) | (chosen >= n_items)][0]
        raise InvalidInputError(f"basis has the item {wrong}, but the items go from 0 to {n_items - 1}")
    if len(np.unique(chosen)) != len(chosen):
        raise InvalidInputError("basis names an item twice")
    return chosen.astype(np.int64)
