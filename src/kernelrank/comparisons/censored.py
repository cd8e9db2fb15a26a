r"""Censored times: every item that had the event is compared with all items that are known to last longer.

Item i has the time ``t_i`` and ``δ_i = 1`` if the event happened then, ``δ_i = 0`` if it was not observed until then
(censored). Sort a query by time, events before censored items where times are tied. Each event is joined to all later
items, and tied events are not joined. The pair of the event i and a later item j weighs ``q c_i w_i w_j``, with item
weights w, event weights c, the same for tied events, and the weight q of one pair of the query.

* **Eigenbasis.** Take a group g of tied events, or one censored item (δ = 0), with the weight ``W_g``, the weight
  ``W_l`` of all later items, and ``E = Σ c w`` over earlier events. Write ``L = S B S`` with ``S = diag(√w)``. Then B
  has the eigenvalue ``q(δ c (W_g + W_l) + E)`` on the Helmert vector of the group against the later items, and
  ``q(δ c W_l + E)`` on contrasts inside the group. Hence a root C by running sums, in O(m).
* **Unit cost**, every pair with magnitude one: ``(M N)_i = q w_i (E - δ_i c_i W_l)``, whose mean over the later items
  is ``q(E + δ c W_g)``. On the Helmert vector of g it is ``-q δ c (W_g + W_l)``, so ``M N = L y'`` where y' steps by
  ``ρ_g = δ c (W_g + W_l) / (δ c (W_g + W_l) + E)`` from the group g to the mean of the later items:
  ``y'_g = -ρ_g W_l / (W_g + W_l) + Σ_{h earlier} ρ_h W_h / (W_h + W_l(h))``.
* **Magnitude cost**: pairs in which both times are known. Censored items have no weight, and y' is the time.

The longer time is preferred: predictions grow with the time. The risk is their negative.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import (
    BLOCK_BYTES,
    Float,
    GramSum,
    Index,
    Matrix,
    as_columns,
    block_rows,
    dense_rows,
    is_sparse,
)
from kernelrank.base.compiled import compiled
from kernelrank.base.labels import Queries
from kernelrank.comparisons.graph import PairLevels
from kernelrank.comparisons.scored import QueryWeight, ScoredComparisons, compared_pair_weight, sorted_items
from kernelrank.errors import InvalidInputError


class CensoredTimes(ScoredComparisons):
    """All pairs of a query whose order is known although some times are censored.

    Parameters
    ----------
    scores : ndarray, shape (m, 1)
        The times.
    queries : Queries
        The strata: items are compared inside a query only.
    event : ndarray of bool, shape (m,)
        Whether the event happened at that time; otherwise the item is only known to last longer.
    weight : ndarray, shape (m,), optional
        Item weights w; items of weight zero are left out.
    event_weight : ndarray, shape (m,), optional
        c, the weight of all pairs in which the event is the earlier item; one unless given. Tied events of a query must
        have equal weights.
    cost : {"unit", "magnitude"}, default="unit"
        Whether every pair has the magnitude one, or the difference of the times; the latter is known for two events
        only.
    query_weight : {"pairs", "items", "queries"}, default="pairs"
        Which units have equal weight: pairs, items or queries.

    Notes
    -----
    One sort, then O(m) time for each product and column. Memory O(m).

    Examples
    --------
    >>> times, event = np.array([[1.0], [2.0], [3.0]]), np.array([True, False, True])
    >>> graph = CensoredTimes(times, Queries.from_labels(None, 3), event=event)
    >>> graph.n_pairs, graph.apply(np.array([0.0, 1.0, 5.0])).round(12)
    (2, array([-6.,  1.,  5.]))
    """

    queries: Queries
    event: NDArray[np.bool_]

    def __init__(
        self,
        scores: Float,
        queries: Queries,
        *,
        event: NDArray[np.bool_],
        weight: Float | None = None,
        event_weight: Float | None = None,
        cost: Literal["unit", "magnitude"] = "unit",
        query_weight: QueryWeight = "pairs",
    ) -> None:
        super().__init__(scores, queries, weight=weight)
        if scores.shape[1] != 1:
            raise ValueError("censored times support one output: pass one column")
        self.event, self.event_weight, self.cost = event, event_weight, cost
        self.query_weight: QueryWeight = query_weight
        self._order = self._sorted_items(scores[:, 0])
        event = event[self._order]
        taking_part = self.weight if cost == "unit" else self.weight * self.event
        self._edge: Float = event * (np.ones(1) if event_weight is None else event_weight[self._order])
        self._groups = GroupWeights.of(taking_part[self._order], self._grouped(event), queries.bounds, self._edge)
        self._check_tied_events(event)
        codes = queries.codes[self._order]
        with np.errstate(over="ignore", invalid="ignore"):  # whoever solves the problem checks its range
            total, self._compared = (
                np.bincount(codes, weights=values, minlength=len(queries)).astype(np.float64)
                for values in (self._groups.weight, self._edge * self._groups.weight * self._groups.later)
            )
            self._c = compared_pair_weight(query_weight, total, self._compared)
        self._count_pairs(event, codes)

    def _sorted_items(self, times: Float) -> Index:
        """Return the items by query, those of a query by time, and events first where times are tied."""
        order = sorted_items(times, self.queries)
        y, codes = times[order], self.queries.codes[order]
        new = np.ones(len(y), dtype=bool)
        new[1:] = (y[1:] != y[:-1]) | (codes[1:] != codes[:-1])
        return order[np.argsort(2 * np.cumsum(new) + ~self.event[order], kind="stable")]

    def _grouped(self, event: NDArray[np.bool_]) -> Index:
        """Return the numbers of the groups of the sorted items: tied events of a query, and each censored item."""
        times, codes = self.scores[self._order, 0], self.queries.codes[self._order]
        new = np.ones(self.n_items, dtype=bool)
        new[1:] = ~(event[1:] & event[:-1] & (times[1:] == times[:-1]) & (codes[1:] == codes[:-1]))
        return np.cumsum(new) - 1

    def _check_tied_events(self, event: NDArray[np.bool_]) -> None:
        """Raise an error if tied events have different weights."""
        if self.event_weight is None:
            return
        wrong = event & (self._edge != self._edge[self._groups.end])
        if wrong.any():
            place = int(np.argmax(wrong))
            first, second = (int(self._order[i]) for i in (place, self._groups.end[place]))
            raise InvalidInputError(
                f"Expected the same event weight for events at the same time; got {self.event_weight[first]:g} for "
                f"item {first} and {self.event_weight[second]:g} for item {second}, both at time "
                f"{self.scores[first, 0]:g}. Give tied events one weight."
            )

    def _count_pairs(self, event: NDArray[np.bool_], codes: Index) -> None:
        """Count pairs, and queries without one, among the items that have weight."""
        present = self._groups.weight > 0
        after_group = np.append(np.cumsum(present[::-1])[::-1], 0)[self._groups.end + 1]
        after_query = np.append(np.cumsum(present[::-1])[::-1], 0)[self.queries.bounds[1:]][codes]
        pairs = np.where(event & present & (self._edge > 0), after_group - after_query, 0)
        self.n_pairs = int(pairs.sum())
        self.n_idle_queries = int((np.bincount(codes, weights=pairs, minlength=self.n_queries) == 0).sum())

    @property
    def options(self) -> dict[str, Any]:
        """The cost and the weight of queries."""
        return {"cost": self.cost, "query_weight": self.query_weight}

    @property
    def pair_weights(self) -> Float:
        """The weight of one pair of each query, without those of its items and events, shape (n_queries,)."""
        return self._c

    def without(self, items: Index) -> Self:
        """Drop some items; the weight of a query follows its new size."""
        kept = self._kept(items)
        own: dict[str, Any] = {"event": self.event[kept], "weight": self.weight[kept]}
        if self.event_weight is not None:
            own["event_weight"] = self.event_weight[kept]
        return type(self)(self.scores[kept], self.queries.subset(kept), **own, **self.options)

    def pair_levels(self) -> PairLevels:
        """Return the pairs by levels: an event is below the items of all higher levels.

        A censored item has the level of the next event, below which it is not known to be.
        """
        groups, codes = self._groups, self.queries.codes[self._order]
        starts = (groups.place & FIRST > 0) & (self._edge > 0)
        number: Index = np.cumsum(starts) - starts  # the events that began before each item
        first: Index = number[self.queries.bounds[:-1]]
        level = number - np.repeat(first, self.queries.sizes) - (self._edge > 0) * (groups.place & FIRST == 0)
        counts = np.zeros(self.n_queries, dtype=np.int64)
        np.maximum.at(counts, codes, level + 1)
        upper, lower = groups.weight, self._edge * groups.weight
        total = float(self._c @ self._compared)
        return PairLevels(self.queries, level, counts, upper, lower, self._c, total).placed(self._order)

    @cached_property
    def _eigenvalues(self) -> tuple[Float, Float]:
        """The eigenvalues inside each item's group and between its group and the later items, without q."""
        groups = self._groups
        return self._edge * groups.later + groups.earlier, self._edge * (groups.whole + groups.later) + groups.earlier

    @cached_property
    def _item_c(self) -> Float:
        c: Float = self._c[self.queries.codes[self._order]]
        return c

    @cached_property
    def _root(self) -> HelmertRows:
        inside, between = self._eigenvalues
        return HelmertRows(self._groups, self._item_c * inside, self._item_c * between)

    @cached_property
    def magnitudes(self) -> Float:
        """The scores y' with ``M N = L y'``: times from the origin of each query, or steps for the unit cost."""
        if self.cost == "magnitude":
            return super().magnitudes
        groups, total = self._groups, self._groups.whole + self._groups.later
        scale = np.where(total * self._eigenvalues[1] > 0, total * self._eigenvalues[1], 1.0)
        step = self._edge * total / scale  # ρ / (W_g + W_l)
        before = np.append(0.0, np.cumsum(np.where(groups.place & LAST, step * groups.whole, 0.0)))
        first = np.searchsorted(groups.group, groups.group)
        start = before[np.repeat(self.queries.bounds[:-1], self.queries.sizes)]
        values = np.empty((self.n_items, 1))
        values[self._order, 0] = before[first] - start - step * groups.later
        return values

    def largest_magnitude(self) -> float:
        """Return a bound of y': for the unit cost each of m groups adds a step of one at most."""
        return float(self.n_items) if self.cost == "unit" else super().largest_magnitude()

    def centre(self, V: Float) -> Float:
        """Return ``C V`` in O(m k) time; the rows are in the order of the times."""
        return self._root.centre(np.ascontiguousarray(as_columns(V)[self._order])).reshape(V.shape)

    def centre_transpose(self, V: Float) -> Float:
        """Return ``Cᵀ V`` in O(m k) time."""
        product = np.empty((self.n_items, as_columns(V).shape[1]))
        product[self._order] = self._root.transpose(np.ascontiguousarray(as_columns(V), dtype=np.float64))
        return product.reshape(V.shape)

    def apply(self, V: Float) -> Float:
        """Return ``L V = Cᵀ C V`` in O(m k) time."""
        return self.centre_transpose(self.centre(V))

    def diagonal(self) -> Float:
        """Return ``q w_i (E + δ_i c_i W_l)``."""
        degrees = np.empty(self.n_items)
        degrees[self._order] = self._item_c * self._groups.weight * self._eigenvalues[0]
        return degrees

    def submatrix(self, items: Index) -> Float:
        """Return L restricted to sets of items; O(u²) time for each set."""
        place = np.empty(self.n_items, dtype=np.int64)
        place[self._order] = np.arange(self.n_items)
        at, codes = place[items], self.queries.codes[items]
        group, weight, edge = (values[at] for values in (self._groups.group, self._groups.weight, self._edge))
        below = group[..., :, None] < group[..., None, :]
        joined = np.where(below, edge[..., :, None], 0.0)
        joined += np.swapaxes(joined, -1, -2).copy()
        same = codes[..., :, None] == codes[..., None, :]
        block: Float = -joined * same * self._c[codes][..., None] * weight[..., :, None] * weight[..., None, :]
        diagonal = np.arange(items.shape[-1])
        block[..., diagonal, diagonal] = self.diagonal()[items]
        return block

    def gram(self, Phi: Matrix) -> Float:
        """Accumulate ``Φᵀ L Φ``: O(m n²) time; memory n² and some blocks, whatever m is."""
        return self._accumulate(Phi, np.zeros((self.n_items, 0)))[0]

    def normal_equations(self, Phi: Matrix) -> tuple[Float, Float]:
        """Return ``Φᵀ L Φ`` and ``Φᵀ M N`` from one pass over Φ."""
        return self._accumulate(Phi, self.root_target())

    def _accumulate(self, Phi: Matrix, T: Float) -> tuple[Float, Float]:
        """Add up ``BᵀB`` and ``BᵀT`` over blocks B of rows of ``C Φ``, from the latest times to the earliest."""
        n, m = Phi.shape[1], self.n_items
        step = min(block_rows(n, BLOCK_BYTES), m)
        total, right = GramSum(n), np.zeros((n, T.shape[1]))
        carried, out = np.zeros((3, n)), np.zeros((step + 1, n))
        taken = np.empty((step, n))
        gathers = isinstance(Phi, np.ndarray) and Phi.dtype == np.float64
        for start in reversed(range(0, m, step)):
            items = self._order[start : start + step]
            rows, block = out[: len(items) + 1], taken[: len(items)]
            if gathers:
                np.take(Phi, items, axis=0, mode="clip", out=block)
            else:
                block[:] = dense_rows(Phi, items)
            self._root.sweep(block, start, carried, rows)
            total.add(rows)
            if T.shape[1]:
                right += rows[:-1].T @ T[start : start + len(items)]
                right += np.outer(rows[-1], T[self._groups.end[start + len(items) - 1]])
        return total.matrix(), right

    def gram_diagonal(self, Phi: Matrix) -> Float:
        """Return the diagonal of ``Φᵀ L Φ`` from the squares of ``C Φ``, a block of columns at a time."""
        diagonal = np.empty(Phi.shape[1])
        step = max(1, BLOCK_BYTES // (8 * max(1, self.n_items)))
        for start in range(0, Phi.shape[1], step):
            part = Phi[:, start : start + step]
            V = np.asarray(part.toarray() if is_sparse(part) else part, dtype=np.float64)
            diagonal[start : start + step] = (self.centre(V) ** 2).sum(axis=0)
        return diagonal


# Helmert sweeps -------------------------------------------------------------------------------------------------------
#
# Helmert sweeps: each item against the items after it, from running sums.
#
# Items stand in an order, cut into queries, and neighbours form groups. Row by row, a sweep compares an item of a group
# with the rest of its group, and a whole group with all items after it, always by weighted means:
#
# * ``inside_i (v_i - mean of the rest of the group)``, in the place of item i, for all items of a group but the last;
# * ``between_g (mean of the group - mean of the later items)``, in the place of the last item of the group.
#
# These are the Helmert vectors. They are orthogonal in the coordinates scaled by √w, for any weights w.

FIRST, LAST, END = 1, 2, 4
"""An item is the first of its group, the last of its group, the last of its query."""


@dataclass(frozen=True)
class GroupWeights:
    """Groups of neighbouring items inside queries, and the weights around them. All arrays are in the given order.

    Shapes: weight (m,), group (m,), rest, whole, later (m,), earlier (m,), end (m,), place (m,).

    group: The number of each item's group, ascending; a group lies in one query.
    """

    weight: Float
    group: Index
    rest: Float
    whole: Float
    later: Float
    earlier: Float
    end: Index
    place: NDArray[np.int8]

    @classmethod
    def of(cls, weight: Float, group: Index, bounds: Index, edge: Float) -> GroupWeights:
        """Sum the weights around each item, query by query: O(m) time and memory.

        Shapes: weight (m,), group (m,), bounds (n_queries + 1,), edge (m,).
        """
        m = len(weight)
        place = np.zeros(m, dtype=np.int8)
        new = np.flatnonzero(np.diff(group, prepend=-1))
        place[new] += FIRST
        place[np.append(new, m)[1:] - 1] += LAST
        place[bounds[1:][np.diff(bounds) > 0] - 1] += END
        rest, whole, later, earlier = np.empty((4, m))
        end = np.empty(m, dtype=np.int64)
        _sum_around(weight, edge, place, bounds, rest, whole, later, earlier, end)
        return cls(weight, group, rest, whole, later, earlier, end, place)


class HelmertRows:
    """The root ``C`` of a Laplacian whose eigenvectors are the Helmert vectors, applied by sweeps.

    O(m k) time for k columns.

    Shapes: inside, between (m,).
    """

    def __init__(self, groups: GroupWeights, inside: Float, between: Float) -> None:
        w, rest, whole, later = groups.weight, groups.rest, groups.whole, groups.later
        self.groups = groups
        # v_i - mean, scaled to a unit vector, and by the root of its eigenvalue
        self._scale = np.where(
            groups.place & LAST,
            np.sqrt(between * whole * later * _inverse(whole + later)),
            np.sqrt(inside * w * rest * _inverse(w + rest)),
        )
        self._inverses = np.stack([_inverse(rest), _inverse(whole), _inverse(later)])

    def centre(self, V: Float) -> Float:
        """Return ``C V`` for V (m, k), C-contiguous."""
        out = np.zeros((len(V) + 1, V.shape[1]))
        self.sweep(V, 0, np.zeros((3, V.shape[1])), out)
        return out[:-1]

    def sweep(self, V: Float, start: int, carried: Float, out: Float) -> None:
        """Write the rows of the items from `start` on, V (n, k), into `out` (n + 1, k); go from the last block back.

        The last row of `out` is that of a group which began in the block before; `carried` (3, k) is what
        blocks hand on, zero for the first one.
        """
        groups, part = self.groups, slice(start, start + len(V))
        _rows(V, groups.weight[part], self._scale, self._inverses, groups.place, groups.end, start, carried, out)

    def transpose(self, U: Float) -> Float:
        """Return ``Cᵀ U`` for U (m, k), C-contiguous."""
        out, groups = np.empty_like(U), self.groups
        _transposed(U, groups.weight, self._scale, self._inverses, groups.place, groups.end, out)
        return out


def _inverse(values: Float) -> Float:
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


@compiled
def _sum_around(
    weight: Float,
    edge: Float,
    place: NDArray[np.int8],
    bounds: Index,
    rest: Float,
    whole: Float,
    later: Float,
    earlier: Float,
    end: Index,
) -> None:
    """Fill the arrays of `GroupWeights`."""
    for q in range(len(bounds) - 1):
        after = group = 0.0
        last = 0
        for i in range(bounds[q + 1] - 1, bounds[q] - 1, -1):
            if place[i] & 2:
                after += group
                group = 0.0
                last = i
            rest[i], later[i], end[i] = group, after, last
            group += weight[i]
        before = inside = 0.0
        for i in range(bounds[q], bounds[q + 1]):
            if place[i] & 1:
                before += inside
                inside = 0.0
                group = rest[i] + weight[i]
            earlier[i], whole[i] = before, group
            inside += edge[i] * weight[i]


@compiled
def _rows(
    V: Float,
    weight: Float,
    scale: Float,
    inverses: Float,
    place: NDArray[np.int8],
    end: Index,
    start: int,
    carried: Float,
    out: Float,
) -> None:
    """Write the rows of a block, last item first. Values count from the last item of their query."""
    n, k = V.shape
    origin, group, later = carried[0], carried[1], carried[2]
    out[n] = 0.0
    for local in range(n - 1, -1, -1):
        i = start + local
        if place[i] & 4:
            for j in range(k):
                origin[j] = V[local, j]
                group[j] = 0.0
                later[j] = 0.0
        w = weight[local]
        if place[i] & 2:
            for j in range(k):
                later[j] += group[j]
                group[j] = w * (V[local, j] - origin[j])
        else:
            a, mean = scale[i], inverses[0, i]
            for j in range(k):
                value = V[local, j] - origin[j]
                out[local, j] = a * (value - mean * group[j])
                group[j] += w * value
        if place[i] & 1:
            slot = min(end[i] - start, n)
            b, own, other = scale[end[i]], inverses[1, i], inverses[2, i]
            for j in range(k):
                out[slot, j] = b * (own * group[j] - other * later[j])
        elif place[i] & 2:
            out[local] = 0.0  # written when the group is complete, or in a later block


@compiled
def _transposed(
    U: Float, weight: Float, scale: Float, inverses: Float, place: NDArray[np.int8], end: Index, out: Float
) -> None:
    """Multiply by the transposed rows, first item first."""
    m, k = U.shape
    earlier, inside = np.zeros(k), np.zeros(k)
    first = True
    for i in range(m):
        if first:
            earlier[:] = 0.0
        if place[i] & 1:
            inside[:] = 0.0
        e, w = end[i], weight[i]
        own = scale[e] * inverses[1, i]
        for j in range(k):
            out[i, j] = w * (own * U[e, j] - earlier[j] - inside[j])
        if place[i] & 2:
            b = scale[i] * inverses[2, i]
            for j in range(k):
                earlier[j] += b * U[i, j]
        else:
            a, mean = scale[i], scale[i] * inverses[0, i]
            for j in range(k):
                out[i, j] += a * U[i, j]
                inside[j] += mean * U[i, j]
        first = (place[i] & 4) != 0
