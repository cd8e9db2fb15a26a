"""Generators: random rankings and preferences with a known truth."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from kernelrank.errors import InvalidInputError

RandomState = int | np.random.RandomState | np.random.Generator | None


def make_ranking(
    n_queries: int = 20,
    n_items: int | tuple[int, int] = 20,
    n_features: int = 10,
    *,
    n_levels: int | None = None,
    noise: float = 0.1,
    n_informative: int | None = None,
    query_shift: float = 0.0,
    density: float | None = None,
    qid_type: Literal["int", "str"] = "int",
    shuffle: bool = False,
    return_coef: bool = False,
    random_state: RandomState = None,
) -> Any:
    """Generate items in queries, with scores that are linear in the features plus noise.

    The score of an item is ``x·w + shift of its query + noise``, where the features are standard normal and
    ``x·w`` has variance one. Time and memory O(m · n_features), or O(stored values) with a density.

    Parameters
    ----------
    n_queries : int, default=20
    n_items : int or (int, int), default=20
        Items in each query, or the smallest and the largest number of them.
    n_features : int, default=10
    n_levels : int, optional
        Replace the scores by this many levels of relevance, 0 the lowest, with about the same number of items
        in each over all queries.
    noise : float, default=0.1
        The standard deviation of the noise; that of the signal is one.
    n_informative : int, optional
        How many features have a coefficient that is not zero; all of them by default.
    query_shift : float, default=0.0
        The standard deviation of a constant that is added to the scores of each query. It changes no order
        within a query and misleads regression.
    density : float, optional
        Make X a `scipy.sparse.csr_array` with this share of values that are not zero.
    qid_type : {"int", "str"}, default="int"
        Whether queries are called 0, 1, 2 or q0, q1, q2.
    shuffle : bool, default=False
        Mix the items of all queries.
    return_coef : bool, default=False
        Return w as well.
    random_state : int, RandomState, Generator or None, default=None

    Returns
    -------
    X : ndarray or csr_array, shape (m, n_features)
    y : ndarray of float64, shape (m,)
    qid : ndarray of int64 or str, shape (m,)
    coef : ndarray of float64, shape (n_features,)
        Only with `return_coef`.

    Examples
    --------
    >>> X, y, qid = make_ranking(n_queries=3, n_items=(2, 4), n_levels=3, random_state=0)
    >>> X.shape, sorted(set(y.tolist())), qid
    ((10, 10), [0.0, 1.0, 2.0], array([0, 0, 0, 0, 1, 1, 1, 2, 2, 2]))
    """
    low, high = (n_items, n_items) if isinstance(n_items, (int, np.integer)) else n_items
    informative = n_features if n_informative is None else n_informative
    _require(n_queries >= 1, "n_queries must be at least 1", n_queries)
    _require(1 <= low <= high, "n_items must be at least 1, or a range of such numbers", n_items)
    _require(n_features >= 1, "n_features must be at least 1", n_features)
    _require(1 <= informative <= n_features, "n_informative must be from 1 to n_features", n_informative)
    _require(n_levels is None or n_levels >= 2, "n_levels must be at least 2", n_levels)
    _require(0 <= noise < np.inf, "noise must be finite, zero or more", noise)
    _require(0 <= query_shift < np.inf, "query_shift must be finite, zero or more", query_shift)
    _require(density is None or 0 < density <= 1, "density must be above 0 and at most 1", density)
    _require(qid_type in ("int", "str"), "qid_type must be 'int' or 'str'", qid_type)
    generator = _generator(random_state)
    sizes = generator.integers(low, high, size=n_queries, endpoint=True)
    codes = np.repeat(np.arange(n_queries), sizes)
    m = len(codes)
    X = generator.standard_normal((m, n_features)) if density is None else _sparse(generator, m, n_features, density)
    coef = _coefficients(generator, n_features, informative) / np.sqrt(density or 1.0)
    y = X @ coef + query_shift * generator.standard_normal(n_queries)[codes] + noise * generator.standard_normal(m)
    if n_levels is not None:
        rank = np.argsort(np.argsort(y, kind="stable"), kind="stable")
        y = (rank * n_levels // m).astype(np.float64)
    if shuffle:
        order = generator.permutation(m)
        X, y, codes = X[order], y[order], codes[order]
    qid = codes if qid_type == "int" else np.array([f"q{query}" for query in range(n_queries)])[codes]
    return (X, y, qid, coef) if return_coef else (X, y, qid)


def make_preferences(
    n_items: int = 100,
    n_features: int = 10,
    n_pairs: int = 1000,
    *,
    noise: float = 0.1,
    magnitudes: bool = False,
    weights: bool = False,
    return_coef: bool = False,
    random_state: RandomState = None,
) -> Any:
    """Generate items with features, and noisy preferences between random pairs.

    The utility of an item is ``x·w`` with variance one. Item a is preferred to b when ``u(a) − u(b) + e`` is
    positive, with logistic e of the given scale: the model of Bradley and Terry, in which a wins with
    probability ``1 / (1 + exp(−(u(a) − u(b)) / noise))``. Pairs are drawn independently, so that the same pair
    may occur several times, with either winner. Time and memory O(n_items · n_features + n_pairs).

    Parameters
    ----------
    n_items : int, default=100
    n_features : int, default=10
    n_pairs : int, default=1000
    noise : float, default=0.1
        The scale of e; with zero, all preferences follow the utilities.
    magnitudes : bool, default=False
        Return ``|u(a) − u(b) + e|`` as well.
    weights : bool, default=False
        Return a weight for each pair as well, from 1.0 to 5.0 at random.
    return_coef : bool, default=False
        Return w as well.
    random_state : int, RandomState, Generator or None, default=None

    Returns
    -------
    X : ndarray of float64, shape (n_items, n_features)
    pairs : ndarray of int64, shape (n_pairs, 2)
        Column 0 is preferred to column 1.
    magnitude, weight : ndarray of float64, shape (n_pairs,)
        Only with `magnitudes` and `weights`.
    coef : ndarray of float64, shape (n_features,)
        Only with `return_coef`.

    Examples
    --------
    >>> X, pairs, coef = make_preferences(5, 3, 4, noise=0.0, return_coef=True, random_state=0)
    >>> utility = X @ coef
    >>> bool((utility[pairs[:, 0]] > utility[pairs[:, 1]]).all())
    True
    """
    _require(n_items >= 2, "n_items must be at least 2", n_items)
    _require(n_features >= 1, "n_features must be at least 1", n_features)
    _require(n_pairs >= 1, "n_pairs must be at least 1", n_pairs)
    _require(0 <= noise < np.inf, "noise must be finite, zero or more", noise)
    generator = _generator(random_state)
    X = generator.standard_normal((n_items, n_features))
    coef = _coefficients(generator, n_features, n_features)
    first = generator.integers(n_items, size=n_pairs)
    second = (first + generator.integers(1, n_items, size=n_pairs)) % n_items
    utility = X @ coef
    difference = utility[first] - utility[second] + noise * generator.logistic(size=n_pairs)
    first_wins = difference >= 0
    pairs = np.column_stack([np.where(first_wins, first, second), np.where(first_wins, second, first)])
    results: list[NDArray[Any]] = [X, pairs]
    if magnitudes:
        results.append(np.abs(difference))
    if weights:
        results.append(generator.integers(1, 5, size=n_pairs, endpoint=True).astype(np.float64))
    if return_coef:
        results.append(coef)
    return tuple(results)


def _require(condition: bool, message: str, value: object) -> None:
    if not condition:
        raise InvalidInputError(f"{message}, got {value!r}")


def _generator(random_state: RandomState) -> np.random.Generator:
    """Return a Generator; a RandomState moves on, so that two calls with the same one differ."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**32, size=4, dtype=np.uint32))
    return np.random.default_rng(random_state)


def _coefficients(generator: np.random.Generator, n_features: int, n_informative: int) -> NDArray[np.float64]:
    """Return a random direction of length one in some of the features."""
    coef = np.zeros(n_features)
    chosen = generator.choice(n_features, size=n_informative, replace=False)
    coef[chosen] = generator.standard_normal(n_informative)
    return coef / np.linalg.norm(coef)


def _sparse(generator: np.random.Generator, m: int, n_features: int, density: float) -> csr_array:
    """Draw a matrix whose cells are normal with probability `density`; the gaps between them are geometric."""
    n_cells = m * n_features
    expected = n_cells * density
    cells = np.zeros(0, dtype=np.int64)
    last = -1
    while last < n_cells:
        gaps = generator.geometric(density, size=int(expected + 4 * np.sqrt(expected)) + 10)
        more = last + np.cumsum(gaps)
        cells, last = np.concatenate([cells, more]), int(more[-1])
    cells = cells[cells < n_cells]
    rows, columns = np.divmod(cells, n_features)
    bounds = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=m))])
    return csr_array((generator.standard_normal(len(cells)), columns, bounds), shape=(m, n_features))
