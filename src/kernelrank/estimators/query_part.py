"""A part of a query: what a batch knows of it, ready to be merged with what comes later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kernelrank.arrays import Float
from kernelrank.comparisons import ScoredQueries
from kernelrank.comparisons.query_weights import QueryWeight, item_squares, pair_weight
from kernelrank.features import ColumnFeatures

__all__ = ["QueryPart"]


@dataclass(frozen=True)
class QueryPart:
    """The statistics of one mergeable query, or of a part of it.

    Parameters
    ----------
    n_items : int
        How many items have a positive weight.
    weight : float
        W.
    features, scores : ndarray, shapes (r,), (k,)
        The means of φ and y, the latter from its origin.
    origin : ndarray, shape (k,)
        What was taken from y.
    scatter, moment : ndarray, shapes (r, r), (r, k)
        S and s.
    uncompared : float
        How much of W² is not compared; see `kernelrank.comparisons.query_weights`.
    """

    n_items: int
    weight: float
    features: Float
    scores: Float
    origin: Float
    scatter: Float
    moment: Float
    uncompared: float

    @classmethod
    def of(cls, features: ColumnFeatures, graph: ScoredQueries, items: Any) -> Self:
        """Return the statistics of the items of one query in a batch."""
        weight = graph.weight[items]
        Phi = np.asarray(features.rows(items), dtype=np.float64)
        scores, origin = graph.magnitudes[items], graph.origins[graph.queries.codes[items[0]]]
        total = float(weight.sum())
        share = weight / total if total > 0 else weight
        mean, level = share @ Phi, share @ scores
        centred = (Phi - mean) * weight[:, None]
        scatter, moment = centred.T @ (Phi - mean), centred.T @ (scores - level)
        n_items, uncompared = int(np.count_nonzero(weight)), float(item_squares(weight).sum())
        return cls(n_items, total, mean, level, origin, scatter, moment, uncompared)

    @property
    def n_pairs(self) -> int:
        """How many pairs are compared."""
        return self.n_items * (self.n_items - 1) // 2

    def factor(self, query_weight: QueryWeight) -> float:
        """Return ``c_q W``."""
        c = pair_weight(query_weight, np.array([self.weight]), np.array([self.uncompared]))
        return float(c[0] * self.weight)

    def merged(self, other: QueryPart) -> QueryPart:
        """Return the statistics of both parts together."""
        total = self.weight + other.weight
        between, share = (self.weight * other.weight / total, other.weight / total) if total > 0 else (0.0, 0.0)
        delta = other.features - self.features
        difference = (other.origin - self.origin) + (other.scores - self.scores)
        return QueryPart(
            self.n_items + other.n_items,
            total,
            self.features + share * delta,
            self.scores + share * difference,
            self.origin,
            self.scatter + other.scatter + between * np.outer(delta, delta),
            self.moment + other.moment + between * np.outer(delta, difference),
            self.uncompared + other.uncompared,
        )
