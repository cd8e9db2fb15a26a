"""Scored comparisons: graphs that are made of the scores of the items, and which items such a graph can lose.

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
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from kernelrank.arrays import Float, Index
from kernelrank.comparisons.base import Comparisons, NamedValues
from kernelrank.comparisons.query_weights import QueryWeight
from kernelrank.item_sets import ItemSets
from kernelrank.queries import Queries

__all__ = ["ScoredComparisons", "from_origin", "score_origins"]


class ScoredComparisons(Comparisons):
    """A graph whose right-hand side comes from scores: ``M N = L y'``.

    A subclass gives what `Comparisons` needs but for the two forms of the right-hand side and `without`.

    Parameters
    ----------
    scores : ndarray, shape (m, outputs)
        The scores y.
    queries : Queries, optional
        Which items belong together; None where no item is compared with another, and every constant counts.
    weight : ndarray, shape (m,), optional
        Item weights, one unless given; zero for an item that takes no part, such as one without a score.
    """

    scores: Float
    """The scores as they were given, shape (m, outputs)."""

    weight: Float
    """Item weights, shape (m,)."""

    event: NDArray[np.bool_] | None = None
    """Which scores are times of an event, shape (m,): an item without the event lasts longer than its score. None
    where all scores are what they say."""

    query_weight: QueryWeight = "pairs"
    """What counts the same: every pair, every item or every query."""

    def __init__(self, scores: Float, queries: Queries | None = None, *, weight: Float | None = None) -> None:
        self.scores = scores
        self.queries = queries
        self.weight = np.ones(len(scores)) if weight is None else weight
        self.n_items = len(scores)
        self.n_queries = 1 if queries is None else len(queries)

    @property
    def pair_weights(self) -> Float:
        """``c_q``, the weight of one pair of each query beside the weights of its items, shape (n_queries,).

        Zero where no item is compared with another.
        """
        return np.zeros(self.n_queries)

    @property
    def parts_merge(self) -> bool:
        """Whether a query is known by its weight, means and scatter, so that its items may come in several batches."""
        return False

    @property
    def options(self) -> dict[str, Any]:
        """The other keywords of the constructor: what `without` hands on."""
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
        """Whether every set of items has a scale: RLS, and one query with ties included."""
        return self.queries is None


def score_origins(scores: Float, queries: Queries, weight: Float) -> Float:
    """Return the origin of each query and output.

    Parameters
    ----------
    scores : ndarray, shape (m, outputs)
    queries : Queries
    weight : ndarray, shape (m,)
        Item weights; items of weight zero take no part.

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
