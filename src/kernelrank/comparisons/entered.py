r"""Censored times with entry times (left truncation): an event is compared with those who had entered before it.

The pair of the event i and an item j of its query counts where ``entry_j < t_i`` and j lasts longer than ``t_i``. As
every entry is before its time, the items that had not entered are among those that last longer, so the sum over the
partners of i is that over all later items less that over the items with ``entry_j ≥ t_i``; and the sum over the events
that j is compared with is that over all earlier events less that over those with ``t_i ≤ entry_j``:

    ``(L V)_i = q w_i [e_i (R_i V_i - Σ_partners w_j V_j) + (E_i V_i - Σ_events e_h w_h V_h)]``,

with R and E the same sums of the weights, ``e_i = δ_i c_i``. Times and entries are sorted together. From the last to
the first, a running sum gains each item at its time and loses it at its entry; from the first to the last, another one
gains each event. So a product costs O(m) time a column.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Float, Index, Matrix, as_columns, is_sparse, row_slices
from kernelrank.base.compiled import compiled
from kernelrank.base.labels import Queries
from kernelrank.comparisons.graph import COLUMNS, FactorisedComparisons
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
    One sort, then O(m) time for each product and column. A full kernel needs the root, O(m³ / 3).

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
        nothing, ones = np.zeros((len(event), 0)), (self.weight > 0).astype(np.float64)
        partners = np.where(self._edge * ones > 0, self._swept(nothing, ones)[0][0], 0.0)
        self.n_pairs = round(float(partners.sum()))
        per_query = np.bincount(queries.codes, weights=partners, minlength=self.n_queries)
        self.n_idle_queries = int((per_query == 0).sum())
        self._R, self._E = self._swept(nothing, self.weight)[0]
        total, compared = (
            np.bincount(queries.codes, weights=values, minlength=self.n_queries).astype(np.float64)
            for values in (self.weight, self._edge * self.weight * self._R)
        )
        self._c = compared_pair_weight(query_weight, total, compared)
        self._factor: Float = self._c[queries.codes] * self.weight

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
    def _steps(self) -> tuple[Index, NDArray[np.int8]]:
        """The sorted times and entries: whose each is, and its kind (see `_sweep`), shape (2 m,)."""
        m = self.n_items
        # Events before censored items at the same time, and both before entries at that time.
        listed = np.concatenate([np.flatnonzero(self.event), np.flatnonzero(~self.event), np.arange(m, 2 * m)])
        values, codes = np.append(self.scores[:, 0], self.entry), np.tile(self.queries.codes, 2)
        order = listed[np.argsort(values[listed], kind="stable")]
        if self.n_queries > 1:
            order = order[np.argsort(codes[order], kind="stable")]
        item, values, codes = order % m, values[order], codes[order]
        kind = np.where(order >= m, 2, np.where(self.event[item], 0, 1)).astype(np.int8)
        starts = np.append(True, codes[1:] != codes[:-1])
        new = starts | np.append(True, (values[1:] != values[:-1]) | (kind[1:] != kind[:-1]))
        return item, kind + np.int8(4) * new + np.int8(8) * starts

    def _swept(self, V: Float, weight: Float) -> tuple[Float, Float]:
        """Return the sums of some weights over the partners and the events of each item, (2, m), and L V (m, k)."""
        degrees, product = np.zeros((2, len(V))), np.zeros(V.shape)
        _sweep(np.ascontiguousarray(V, dtype=np.float64), weight, self._edge, *self._steps, degrees, product)
        return degrees, product

    def apply(self, V: Float) -> Float:
        """Return ``L V``; means of queries are subtracted first, which changes nothing but rounding errors."""
        _, product = self._swept(as_columns(V), self.weight)
        product *= self._factor[:, None]
        return product.reshape(V.shape)

    def diagonal(self) -> Float:
        """Return ``q w_i (e_i R_i + E_i)``."""
        found: Float = np.maximum(self._factor * (self._edge * self._R + self._E), 0.0)
        return found

    def target(self) -> Float:
        """Return ``M N``: each item gains the weight of the events before it, and loses that of its partners."""
        found: Float = (self._factor * (self._E - self._edge * self._R))[:, None]
        return found

    def root_target(self) -> Float:
        """Return T with ``Cᵀ T = M N``."""
        return FactorisedComparisons.root_target(self)

    def largest_magnitude(self) -> float:
        """Return the bound of y' of the unit cost: a step of one for each item."""
        return float(self.n_items)

    def gram(self, Phi: Matrix) -> Float:
        """Return ``Φᵀ L Φ``, columns of L Φ at a time; rows of Φ are centred in blocks."""
        n = Phi.shape[1]
        total = np.zeros((n, n))
        centre = np.asarray(Phi.mean(axis=0), dtype=np.float64).ravel()
        for start in range(0, n, COLUMNS):
            columns = slice(start, start + COLUMNS)
            if is_sparse(Phi):
                total[:, columns] = Phi.T @ self.apply(Phi[:, columns].toarray())
                continue
            product = self.apply(np.asarray(Phi[:, columns], dtype=np.float64))
            for rows in row_slices(Phi):
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


@compiled
def _sweep(
    V: Float, weight: Float, edge: Float, item: Index, kind: NDArray[np.int8], degrees: Float, product: Float
) -> None:
    """Add up R and E, and the products without their factors, in two passes over the sorted times and entries.

    kind: 0 for an event, 1 for a censored time, 2 for an entry; + 4 at the first of equal ones, + 8 at that of a query.
    """
    n, k = len(item), V.shape[1]
    mean, total, waiting = np.zeros(k), np.zeros(k), np.zeros(k)
    stop = n
    for start in range(n - 1, -1, -1):
        if not kind[start] & 8:
            continue
        mean[:] = 0.0
        for p in range(start, stop):
            if kind[p] & 3 < 2:
                for c in range(k):
                    mean[c] += V[item[p], c]
        mean *= 2.0 / (stop - start)
        # From the last to the first: the partners of the events. What is equal to an event joins after it.
        total[:] = 0.0
        waiting[:] = 0.0
        r = r_waiting = 0.0
        for p in range(stop - 1, start - 1, -1):
            i, what = item[p], kind[p] & 3
            w = -weight[i] if what == 2 else weight[i]
            if what == 0:
                degrees[0, i] = r
                for c in range(k):
                    product[i, c] += edge[i] * (r * (V[i, c] - mean[c]) - total[c])
            r_waiting += w
            for c in range(k):
                waiting[c] += w * (V[i, c] - mean[c])
            if kind[p] & 4:
                r += r_waiting
                r_waiting = 0.0
                for c in range(k):
                    total[c] += waiting[c]
                    waiting[c] = 0.0
        # From the first to the last: the events that an item is compared with, those before its time, not its entry.
        total[:] = 0.0
        r = 0.0
        for p in range(start, stop):
            i, what = item[p], kind[p] & 3
            if kind[p] & 4:
                r += r_waiting
                r_waiting = 0.0
                for c in range(k):
                    total[c] += waiting[c]
                    waiting[c] = 0.0
            sign = -1.0 if what == 2 else 1.0
            degrees[1, i] += sign * r
            for c in range(k):
                product[i, c] += sign * (r * (V[i, c] - mean[c]) - total[c])
            if what == 0:
                w = edge[i] * weight[i]
                r_waiting += w
                for c in range(k):
                    waiting[c] += w * (V[i, c] - mean[c])
        stop = start
