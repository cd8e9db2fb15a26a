r"""Censored times with entry times (left truncation): an event is compared with those who had entered before it.

The pair of the event i and an item j of its query counts where ``entry_j < t_i`` and j lasts longer than ``t_i``. As
every entry is before its time, the items that had not entered are among those that last longer, so the sum over the
partners of i is that over all later items less that over the items with ``entry_j ≥ t_i``; and the sum over the events
that j is compared with is that over all earlier events less that over those with ``t_i ≤ entry_j``:

    ``(L V)_i = q w_i [e_i (R_i V_i - Σ_partners w_j V_j) + (E_i V_i - Σ_events e_h w_h V_h)]``,

with R and E the same sums of the weights, ``e_i = δ_i c_i``. Four prefix sums make a product: O(m) time a column.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import BLOCK_BYTES, Float, Index, Matrix, as_columns, block_rows, is_sparse
from kernelrank.base.labels import Queries
from kernelrank.comparisons.graph import FactorisedComparisons
from kernelrank.comparisons.scored import QueryWeight, ScoredComparisons, compared_pair_weight


class EnteredTimes(ScoredComparisons, FactorisedComparisons):
    """All pairs of an event and an item that lasted longer and had entered before it, each of magnitude one.

    Parameters
    ----------
    scores : ndarray, shape (m, 1)
        The times.
    queries : Queries
        The strata: items are compared inside a query only.
    event : ndarray of bool, shape (m,)
        Whether the event happened at that time.
    entry : ndarray, shape (m,)
        When each item came under observation, before its time.
    weight : ndarray, shape (m,), optional
        Item weights w.
    event_weight : ndarray, shape (m,), optional
        c, the weight of all pairs in which the event is the earlier item.
    query_weight : {"pairs", "items", "queries"}, default="pairs"
        Which units have equal weight.

    Notes
    -----
    Two sorts, then O(m) time for each product and column. A full kernel needs the root, O(m³ / 3).

    Examples
    --------
    >>> times, event, entry = np.array([[1.0], [2.0], [3.0]]), np.ones(3, dtype=bool), np.array([0.0, 1.5, 0.0])
    >>> graph = EnteredTimes(times, Queries.from_labels(None, 3), event=event, entry=entry)
    >>> graph.n_pairs, graph.apply(np.array([0.0, 1.0, 5.0]))
    (2, array([-5., -4.,  9.]))
    """

    queries: Queries
    event: NDArray[np.bool_]
    entry: Float

    def __init__(
        self,
        scores: Float,
        queries: Queries,
        *,
        event: NDArray[np.bool_],
        entry: Float,
        weight: Float | None = None,
        event_weight: Float | None = None,
        query_weight: QueryWeight = "pairs",
    ) -> None:
        super().__init__(scores, queries, weight=weight)
        self.event, self.entry, self.event_weight, self.query_weight = event, entry, event_weight, query_weight
        self._edge: Float = event * (np.ones(len(event)) if event_weight is None else event_weight)
        ones = (self.weight > 0).astype(np.float64)
        partners = np.where((self._edge > 0) & (ones > 0), self._partners(ones[:, None])[:, 0], 0.0)
        self.n_pairs = round(float(partners.sum()))
        per_query = np.bincount(queries.codes, weights=partners, minlength=self.n_queries)
        self.n_idle_queries = int((per_query == 0).sum())
        lower = self._edge * self.weight * self._partners(self.weight[:, None])[:, 0]
        total, compared = (
            np.bincount(queries.codes, weights=values, minlength=self.n_queries) for values in (self.weight, lower)
        )
        self._c = compared_pair_weight(query_weight, total.astype(np.float64), compared.astype(np.float64))

    @property
    def options(self) -> dict[str, Any]:
        """The weight of queries."""
        return {"query_weight": self.query_weight}

    @property
    def pair_weights(self) -> Float:
        """The weight of one pair of each query, without those of its items and events, shape (n_queries,)."""
        return self._c

    def without(self, items: Index) -> Self:
        """Drop some items; the weight of a query follows its new size."""
        kept = self._kept(items)
        own: dict[str, Any] = {name: getattr(self, name)[kept] for name in ("event", "entry", "weight")}
        if self.event_weight is not None:
            own["event_weight"] = self.event_weight[kept]
        return type(self)(self.scores[kept], self.queries.subset(kept), **own, **self.options)

    @cached_property
    def _places(self) -> dict[str, tuple[Index, Index, Index]]:
        """For each sum the order of the items, and between which of them it runs for each item."""
        time, m = self.scores[:, 0], self.n_items
        # Events before censored items at the same time, and both before entries at that time.
        kind = np.concatenate([np.where(self.event, 0, 1), np.full(m, 2)])
        values, codes = np.concatenate([time, self.entry]), np.tile(self.queries.codes, 2)
        order = np.lexsort((kind, values, codes))
        new = np.ones(2 * m, dtype=bool)
        parts = (values[order], codes[order], kind[order])
        new[1:] = np.any([part[1:] != part[:-1] for part in parts], axis=0)
        rank = np.empty(2 * m, dtype=np.int64)
        rank[order] = np.cumsum(new)
        mine, entered = rank[:m], rank[m:]
        by_time, by_entry = np.argsort(mine, kind="stable"), np.argsort(entered, kind="stable")
        first, last = (self.queries.bounds[:-1][self.queries.codes], self.queries.bounds[1:][self.queries.codes])
        times, entries = mine[by_time], entered[by_entry]
        return {
            "later": (by_time, np.searchsorted(times, mine, side="right"), last),
            "absent": (by_entry, np.searchsorted(entries, mine, side="right"), last),
            "earlier": (by_time, first, np.searchsorted(times, mine, side="left")),
            "before": (by_time, first, np.searchsorted(times, entered, side="left")),
        }

    def _sum(self, which: str, V: Float) -> Float:
        order, start, stop = self._places[which]
        sums = np.zeros((len(V) + 1, V.shape[1]))
        np.cumsum(V[order], axis=0, out=sums[1:])
        return sums[stop] - sums[start]

    def _partners(self, V: Float) -> Float:
        """Return the sums of V over the items that each item, if it is an event, is compared with."""
        return self._sum("later", V) - self._sum("absent", V)

    def _events(self, V: Float) -> Float:
        """Return the sums of V over the events that each item is compared with."""
        return self._sum("earlier", V) - self._sum("before", V)

    @cached_property
    def _degrees(self) -> tuple[Float, Float]:
        """R and E, shape (m, 1)."""
        weight = self.weight[:, None]
        return self._partners(weight), self._events(self._edge[:, None] * weight)

    @cached_property
    def _factor(self) -> Float:
        factor: Float = (self._c[self.queries.codes] * self.weight)[:, None]
        return factor

    def apply(self, V: Float) -> Float:
        """Return ``L V``; means of queries are subtracted first, which changes nothing but rounding errors."""
        columns = np.asarray(as_columns(V), dtype=np.float64)
        sizes = np.maximum(self.queries.sizes, 1)[:, None]
        sums = np.zeros((self.n_queries, columns.shape[1]))
        np.add.at(sums, self.queries.codes, columns)
        columns = columns - (sums / sizes)[self.queries.codes]
        weighted, edge = columns * self.weight[:, None], self._edge[:, None]
        R, E = self._degrees
        product = edge * (R * columns - self._partners(weighted)) + E * columns - self._events(edge * weighted)
        return (self._factor * product).reshape(V.shape)

    def diagonal(self) -> Float:
        """Return ``q w_i (e_i R_i + E_i)``."""
        R, E = self._degrees
        found: Float = (self._factor * (self._edge[:, None] * R + E))[:, 0]
        return np.maximum(found, 0.0)

    def target(self) -> Float:
        """Return ``M N``: each item gains the weight of the events before it, and loses that of its partners."""
        R, E = self._degrees
        found: Float = self._factor * (E - self._edge[:, None] * R)
        return found

    def root_target(self) -> Float:
        """Return T with ``Cᵀ T = M N``."""
        return FactorisedComparisons.root_target(self)

    def largest_magnitude(self) -> float:
        """Return the bound of y' of the unit cost: a step of one for each item."""
        return float(self.n_items)

    def gram(self, Phi: Matrix) -> Float:
        """Return ``Φᵀ L Φ``, columns of L Φ at a time; rows of Φ are centred in blocks."""
        m, n = Phi.shape
        total = np.empty((n, n))
        step = max(1, BLOCK_BYTES // (8 * max(1, m)))
        centre = np.asarray(Phi.mean(axis=0), dtype=np.float64).ravel()
        for start in range(0, n, step):
            columns = slice(start, start + step)
            part = Phi[:, columns]
            product = self.apply(np.asarray(part.toarray() if is_sparse(part) else part, dtype=np.float64))
            if is_sparse(Phi):
                total[:, columns] = Phi.T @ product
                continue
            total[:, columns] = 0.0
            size = block_rows(n, BLOCK_BYTES)
            for first in range(0, m, size):
                rows = slice(first, first + size)
                total[:, columns] += (Phi[rows] - centre).T @ product[rows]
        return (total + total.T) / 2.0

    def _dense_blocks(self) -> Iterator[tuple[Index, Float]]:
        for code in range(self.n_queries):
            items = self.queries.order[self.queries.bounds[code] : self.queries.bounds[code + 1]]
            time, event, entry = self.scores[items, 0], self.event[items], self.entry[items]
            longer = (time[None] > time[:, None]) | ((time[None] == time[:, None]) & ~event[None])
            W = longer * (entry[None] < time[:, None]) * (self._c[code] * self._edge[items])[:, None]
            W *= self.weight[items][:, None] * self.weight[items][None]
            yield items, W + W.T
