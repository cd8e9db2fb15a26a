"""Pair levels: the pairs of a graph as levels of items, which a pairwise loss sweeps over without listing them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelrank.base.arrays import Float, Index
from kernelrank.base.labels import Queries

__all__ = ["PairLevels"]


@dataclass(frozen=True)
class PairLevels:
    """The pairs (h, l) of one query with ``level_h > level_l``, of weight ``c_q upper_h lower_l``.

    Parameters
    ----------
    queries : Queries
    levels : ndarray of int64, shape (m,)
        The level of each item in its query, from zero.
    n_levels : ndarray of int64, shape (n_queries,)
    upper, lower : ndarray, shape (m,)
        What an item weighs as the higher and as the lower one of a pair.
    pair_weights : ndarray, shape (n_queries,)
        c.
    total : float
        The weight of all pairs.

    Examples
    --------
    >>> queries, ones = Queries.from_labels(None, 2), np.ones(2)
    >>> PairLevels(queries, np.array([0, 1]), np.array([2]), ones, ones, np.ones(1), 1.0).symmetric
    True
    """

    queries: Queries
    levels: Index
    n_levels: Index
    upper: Float
    lower: Float
    pair_weights: Float
    total: float

    @property
    def symmetric(self) -> bool:
        """Whether every item weighs the same on both sides."""
        return self.lower is self.upper or bool(np.array_equal(self.lower, self.upper))

    def placed(self, items: Index) -> PairLevels:
        """Return the same pairs where entry k of the arrays belongs to the item ``items[k]``."""
        place = np.empty_like(items)
        place[items] = np.arange(len(items))
        sides = self.upper[place], self.lower[place]
        return PairLevels(self.queries, self.levels[place], self.n_levels, *sides, self.pair_weights, self.total)
