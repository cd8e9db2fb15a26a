"""Basis selection: which items a reduced set is made of."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from sklearn.utils import check_random_state

from kernelrank.base.arrays import Float, Index, Matrix, RandomStateLike
from kernelrank.base.labels import ItemSets, Queries
from kernelrank.errors import EmptyBasisWarning, InvalidInputError
from kernelrank.kernels import Kernel

__all__ = [
    "SELECTIONS",
    "Selection",
    "basis_stream",
    "by_leverage",
    "by_means",
    "by_query",
    "choose_basis",
    "lose_the_basis",
    "uniformly",
]

Selection: TypeAlias = Literal["uniform", "per_query", "k_means", "leverage"]
SELECTIONS: tuple[Selection, ...] = ("uniform", "per_query", "k_means", "leverage")


BASIS_KEY = (0xBA515,)
"""What distinguishes the random numbers of a basis from all others that have the same seed."""


def basis_stream(random_state: RandomStateLike) -> np.random.RandomState:
    """Return the random numbers that a basis is drawn from.

    Shuffled folds with the same seed would be drawn from the same permutation of the items, so that a fold could be
    the basis itself. A seed always has the same stream; a RandomState gives another one at each call.

    Examples
    --------
    >>> bool(basis_stream(0).randint(1000) == basis_stream(0).randint(1000) != np.random.RandomState(0).randint(1000))
    True
    """
    if isinstance(random_state, Integral):
        seed = int(random_state)
        check_random_state(seed)  # in the words of scikit-learn
    else:
        seed = int(check_random_state(random_state).randint(2**31 - 1))
    return np.random.RandomState(np.random.MT19937(np.random.SeedSequence(seed, spawn_key=BASIS_KEY)))


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


def lose_the_basis(sets: ItemSets, basis: Index) -> NDArray[np.bool_]:
    """Return which sets hold out every basis item, so that the model without them is zero; warn if there are any.

    Examples
    --------
    >>> lose_the_basis(ItemSets.of([[0, 1], [1, 2]], 4), np.array([0, 3]))
    array([False, False])
    """
    empty = np.add.reduceat(np.isin(sets.items, basis), sets.bounds[:-1], dtype=np.int64) == len(basis)
    if empty.any():
        warnings.warn(
            f"{np.count_nonzero(empty):,} of {len(sets):,} held-out sets include all {len(basis):,} basis items: the "
            "model without them is zero, and so are its scores. Use a larger basis, another random_state, or smaller "
            "sets.",
            EmptyBasisWarning,
            stacklevel=2,
        )
    return np.asarray(empty, dtype=np.bool_)
