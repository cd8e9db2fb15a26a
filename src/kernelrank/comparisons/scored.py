"""Scored comparisons: graphs that are made of scores, and which items they can hold out without refitting.

When items are held out, the graph on the others poses a new problem. A graph says how much of it is known already:

* **Separable sets.** Where no item of a set is compared with an item outside it, L is block diagonal, and what remains
  is a block of L: the problem without the set has the same λ.
* **A scale.** Where the problem is ridge regression with item weights, the weights of what remains may all be those of
  one graph, `shortcut_graph`, times a number κ, which depends on the set: its problem at ``λ / κ``.

A graph that says neither is trained again without each set, which is right for every graph.

**The origin of the scores of a query** is taken away before anything else is done with them. A constant added to the
scores of a query changes no difference, but rounding sees it: a mean of numbers near 10¹² is known to 10⁻⁴ only. So the
scores of each query are moved towards zero first, and without any rounding: with g the distance between floating-point
numbers at the largest score, the origin is the score nearest to zero, rounded towards zero to a multiple of g. Every
score is a multiple of its own, smaller distance and at least as large as the origin, so the difference is a
floating-point number. What is left is not larger than the scores vary, up to g. Where scores have both signs, or one is
zero, there is nothing to move.

**Query weights** say what counts the same: every pair, every item or every query. A query counts once where each of its
pairs is divided by the weight of all pairs that are compared in it [PTAJB09]_ (2.4). The pair (i, j) weighs
``w_i w_j``. Of the ``W²`` that all ordered pairs of a query weigh, some are not compared:

* with ties left out, ``Σ_g W_g²``: each score level with itself;
* with ties included, each item with itself. An item of weight k is k copies, which are compared with each other, so
  that is ``k`` of its ``k²``. Less than one copy has none beside it: ``w²`` for a weight below one.

Hence ``c_q = 2 / (W_q² - Σ_g W_g²)`` or ``2 / (W_q² - Σ_i min(w_i, w_i²))``, which is ``1 / (n_q choose 2)`` without
weights. A weight of k is the same as k copies, and weights of one or less may be scaled as one likes.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Float, Index
from kernelrank.base.labels import ItemSets, Queries
from kernelrank.comparisons.graph import Comparisons, NamedValues

__all__ = [
    "QUERY_WEIGHTS",
    "QueryWeight",
    "ScoredComparisons",
    "compared_pair_weight",
    "from_origin",
    "item_squares",
    "pair_weight",
    "score_origins",
]

QueryWeight: TypeAlias = Literal["pairs", "items", "queries"]
QUERY_WEIGHTS: tuple[QueryWeight, ...] = ("pairs", "items", "queries")

ROUNDING = 1e-14
"""Pairs that weigh less than this share of ``W_q²`` are the rounding of none."""


class ScoredComparisons(Comparisons):
    """A graph whose right-hand side comes from scores: ``M N = L y'``.

    A subclass implements all of `Comparisons` except the two forms of the right-hand side and `without`.

    Parameters
    ----------
    scores : ndarray, shape (m, outputs)
        The scores y.
    queries : Queries, optional
        Which items belong together; None if no item is compared with another, so that constants matter.
    weight : ndarray, shape (m,), optional
        Item weights, one unless given; zero for an item that is left out, such as one without a score.
    """

    scores: Float
    """The scores as they were given, shape (m, outputs)."""

    weight: Float
    """Item weights, shape (m,)."""

    event: NDArray[np.bool_] | None = None
    """Which scores are times of an event, shape (m,): an item without the event lasts longer than its score. None
    where all scores are what they say."""

    query_weight: QueryWeight = "pairs"
    """Which units have equal weight: pairs, items or queries."""

    def __init__(self, scores: Float, queries: Queries | None = None, *, weight: Float | None = None) -> None:
        self.scores = scores
        self.queries = queries
        self.weight = np.ones(len(scores)) if weight is None else weight
        self.n_items = len(scores)
        self.n_queries = 1 if queries is None else len(queries)

    @property
    def pair_weights(self) -> Float:
        """``c_q``, the weight of one pair of each query, without the weights of its items, shape (n_queries,).

        Zero where no item is compared with another.
        """
        return np.zeros(self.n_queries)

    @property
    def parts_merge(self) -> bool:
        """Whether a query is known by its weight, means and scatter, so that its items may come in several batches."""
        return False

    @property
    def options(self) -> dict[str, Any]:
        """The other keywords of the constructor, which `without` passes on."""
        return {}

    @cached_property
    def origins(self) -> Float:
        """The constant that `magnitudes` lack in each query and output, shape (n_queries, outputs)."""
        if self.queries is None:
            return np.zeros((1, self.scores.shape[1]))
        return score_origins(self.scores, self.queries, self.weight)

    @cached_property
    def magnitudes(self) -> Float:
        """The scores y' with ``M N = L y'``: from the origin of each query."""
        return self.scores if self.queries is None else from_origin(self.scores, self.queries, self.origins)

    def largest_magnitude(self) -> float:
        """Return the largest absolute value of y'."""
        return float(np.abs(self.magnitudes).max(initial=0.0))

    def given(self) -> tuple[NamedValues, NamedValues]:
        """Return y and the item weights, by the names of the parameters of `fit`."""
        return ("y", self.scores), ("sample_weight", self.weight)

    def target(self) -> Float:
        """Return ``L y'``."""
        return self.apply(self.magnitudes)

    def root_target(self) -> Float:
        """Return ``C y'``."""
        return self.centre(self.magnitudes)

    def without(self, items: Index) -> Self:
        """Drop some items; the weight of a query follows its new size."""
        kept = self._kept(items)
        queries = () if self.queries is None else (self.queries.subset(kept),)
        return type(self)(self.scores[kept], *queries, weight=self.weight[kept], **self.options)

    def separable(self, sets: ItemSets) -> NDArray[np.bool_]:
        """Return for each set of items whether it is a union of whole queries.

        Parameters
        ----------
        sets : ItemSets

        Returns
        -------
        ndarray of bool, shape (sets,)
        """
        return np.ones(len(sets), dtype=bool) if self.queries is None else sets.whole_queries(self.queries)

    def scale_without(self, sets: ItemSets) -> Float:
        """Return κ for each set of items: without it, the problem is that of `shortcut_graph` at ``λ / κ``.

        Parameters
        ----------
        sets : ItemSets

        Returns
        -------
        ndarray, shape (sets,)
            One for sets that are separable; NaN where there is no shortcut.
        """
        return np.where(self.separable(sets), 1.0, np.nan)

    def shortcut_graph(self) -> ScoredComparisons:
        """Return the graph that `scale_without` refers to: this one, unless a query may lose some of its items."""
        return self

    @property
    def loses_any_items(self) -> bool:
        """Whether every set of items has a shortcut: RLS, and one query with ties included."""
        return self.queries is None


def score_origins(scores: Float, queries: Queries, weight: Float) -> Float:
    """Return the origin of each query and output.

    Parameters
    ----------
    scores : ndarray, shape (m, outputs)
    queries : Queries
    weight : ndarray, shape (m,)
        Item weights; items of weight zero are left out.

    Returns
    -------
    ndarray, shape (n_queries, outputs)

    Notes
    -----
    O(m) time and memory for each output.

    Examples
    --------
    >>> scores = np.array([[1e9 + 1.0], [1e9 + 3.0], [-2.0], [5.0]])
    >>> score_origins(scores, Queries.from_labels([0, 0, 1, 1], 4), np.ones(4)).ravel().tolist()
    [1000000001.0, 0.0]
    """
    if len(queries) == 0:
        return np.zeros((0, scores.shape[1]))
    values = scores if np.all(weight > 0) else np.where(weight[:, None] > 0, scores, np.nan)
    if len(queries) == 1:
        low, high = (extreme.reduce(values, axis=0)[None] for extreme in (np.fmin, np.fmax))
    else:
        values = values if queries.contiguous else values[queries.order]
        low, high = (extreme.reduceat(values, queries.bounds[:-1], axis=0) for extreme in (np.fmin, np.fmax))
    nearest = np.fmax(low, 0.0) + np.fmin(high, 0.0)  # one of the two is zero
    step = np.spacing(np.fmax(np.abs(low), np.abs(high)))
    origins: Float = np.trunc(nearest / step) * step
    origins[np.isnan(origins)] = 0.0  # queries without weight
    return origins


def from_origin(scores: Float, queries: Queries, origins: Float) -> Float:
    """Return the scores less the origins of their queries; the scores themselves where there is nothing to move."""
    if not origins.any():
        return scores
    moved: Float = scores - (origins if len(origins) == 1 else origins[queries.codes])
    return moved


def pair_weight(query_weight: QueryWeight, total: Float, uncompared: Float) -> Float:
    """Return ``c_q``, the weight of one pair in each query.

    Parameters
    ----------
    query_weight : {"pairs", "items", "queries"}
        ``c_q`` is 1, ``1 / W_q``, or one over the weight of the pairs that are compared.
    total : ndarray, shape (n_queries,)
        ``W_q``, the number of items in each query; with item weights, their sum.
    uncompared : ndarray, shape (n_queries,)
        How much of ``W_q²`` is not compared: the sums of `item_squares` over a query with ties included, of squared
        level weights with ties left out.

    Returns
    -------
    ndarray, shape (n_queries,)

    Examples
    --------
    >>> sizes = np.array([4.0, 1.0])
    >>> pair_weight("queries", sizes, sizes)
    array([0.16666667, 0.        ])
    """
    if query_weight != "queries":
        return compared_pair_weight(query_weight, total, total)
    ordered_pairs = total**2 - uncompared
    return np.divide(2.0, ordered_pairs, out=np.zeros_like(total), where=ordered_pairs > ROUNDING * total**2)


def compared_pair_weight(query_weight: QueryWeight, total: Float, compared: Float) -> Float:
    """Return ``c_q`` as `pair_weight` does, where the weight of the pairs that are compared is known.

    Parameters
    ----------
    query_weight : {"pairs", "items", "queries"}
    total : ndarray, shape (n_queries,)
        ``W_q``.
    compared : ndarray, shape (n_queries,)
        The weight of all pairs of each query, each pair once.

    Returns
    -------
    ndarray, shape (n_queries,)

    Examples
    --------
    >>> compared_pair_weight("queries", np.array([4.0]), np.array([5.0]))
    array([0.2])
    """
    if query_weight == "pairs":
        return np.ones_like(total)
    divisor = total if query_weight == "items" else compared
    return np.divide(1.0, divisor, out=np.zeros_like(total), where=divisor > 0)


def item_squares(weight: Float) -> Float:
    """Return the part of each item's ``w²`` that is not a pair of two copies: ``min(w, w²)``.

    Examples
    --------
    >>> item_squares(np.array([0.5, 1.0, 3.0]))
    array([0.25, 1.  , 3.  ])
    """
    return np.minimum(weight, weight**2)
