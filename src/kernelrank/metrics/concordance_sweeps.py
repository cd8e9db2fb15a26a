r"""Concordance sweeps: how many of the known orders of each item its score agrees with, without visiting the pairs.

The items of a stratum are swept from the latest time to the earliest. A Fenwick tree over the ranks of the scores holds
the weights of the items that are known to last longer than those that come next. Tied events are asked before any of
them enters. A second sweep, from the earliest time on, gives the share of the later item of each pair.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Float, Index
from kernelrank.base.compiled import compiled, sort_queries
from kernelrank.base.labels import Queries

__all__ = ["KnownOrders"]


@dataclass(frozen=True)
class KnownOrders:
    """The weight of the pairs of each item, and of those that the scores have in the right order.

    Parameters
    ----------
    right, pairs : ndarray, shape (m,)
        Over all pairs of an item, either side; a tied score counts a half.
    stratum_right, stratum_pairs : ndarray, shape (n_strata,)
        Over the pairs of each stratum, each pair once.
    n_pairs, n_tied_scores : int
        How many pairs there are, and in how many the scores are tied.

    Examples
    --------
    >>> strata = Queries.from_labels(None, 3)
    >>> time, event, ones = np.array([1.0, 2.0, 3.0]), np.array([True, False, True]), np.ones(3)
    >>> orders = KnownOrders.of(time, event, np.array([0.2, 0.1, 0.7]), strata, ones, ones)
    >>> orders.stratum_right, orders.stratum_pairs, orders.pairs
    (array([1.]), array([2.]), array([2., 1., 1.]))
    """

    right: Float
    pairs: Float
    stratum_right: Float
    stratum_pairs: Float
    n_pairs: int
    n_tied_scores: int

    @classmethod
    def of(
        cls, time: Float, event: NDArray[np.bool_], score: Float, strata: Queries, weight: Float, event_weight: Float
    ) -> KnownOrders:
        """Sweep over all strata: O(m log m) time, O(m) memory.

        Parameters
        ----------
        time, score, weight, event_weight : ndarray, shape (m,)
        event : ndarray of bool, shape (m,)
        strata : Queries
        """
        by_stratum, bounds = strata.order, strata.bounds
        order = by_stratum[sort_queries(np.ascontiguousarray(time[by_stratum]), bounds)]
        new = _begins(time[order], bounds)
        if not new.all():
            order = order[np.argsort(2 * np.cumsum(new) + ~event[order], kind="stable")]
        place = np.empty(len(time), dtype=np.int64)
        place[order] = np.arange(len(time))
        edge = np.where(event, event_weight, 0.0)[order]
        group = np.cumsum(new | ~event[order] | np.append(True, ~event[order][:-1]))
        group[edge == 0.0] *= -1  # such an item is never the earlier one of a pair
        rank = _ranks(score, by_stratum, bounds)
        out = np.zeros((2, len(time)))
        sums = np.zeros((2, len(bounds) - 1))
        counts = np.zeros(2, dtype=np.int64)
        tree = np.zeros((2, int(strata.sizes.max(initial=0)) + 1))
        _sweep(rank[order], group, weight[order], edge * weight[order], bounds, tree, out, sums, counts)
        return cls(out[0][place], out[1][place], sums[0], sums[1], int(counts[0]), int(counts[1]))


def _begins(values: Float, bounds: Index) -> NDArray[np.bool_]:
    new = np.ones(len(values), dtype=bool)
    new[1:] = values[1:] != values[:-1]
    new[bounds[:-1][np.diff(bounds) > 0]] = True
    return new


def _ranks(score: Float, by_stratum: Index, bounds: Index) -> NDArray[np.int32]:
    """Return the rank of each score in its stratum from one on, equal scores alike."""
    order = by_stratum[sort_queries(np.ascontiguousarray(score[by_stratum]), bounds)]
    number = np.cumsum(_begins(score[order], bounds))
    first = number[np.minimum(bounds[:-1], len(score) - 1)]
    ranks = np.empty(len(score), dtype=np.int32)
    ranks[order] = 1 + number - np.repeat(first, np.diff(bounds))
    return ranks


@compiled
def _sweep(
    rank: NDArray[np.int32],
    group: Index,
    weight: Float,
    lower: Float,
    bounds: Index,
    tree: Float,
    out: Float,
    sums: Float,
    counts: Index,
) -> None:
    """Fill in the right and all pairs of each item; row 0 of the tree holds weights, row 1 numbers of items."""
    for q in range(len(bounds) - 1):
        start, stop = bounds[q], bounds[q + 1]
        n = 0
        for i in range(start, stop):
            n = max(n, rank[i])
        tree[:, : n + 1] = 0.0
        inside, number = 0.0, 0.0
        i = stop - 1
        while i >= start:
            first = i
            while first > start and group[first - 1] == group[i] and group[i] > 0:
                first -= 1
            if group[i] > 0:
                for k in range(first, i + 1):
                    below, up_to, below_n, up_to_n = 0.0, 0.0, 0.0, 0.0
                    j = rank[k] + 0
                    while j > 0:
                        up_to += tree[0, j]
                        up_to_n += tree[1, j]
                        j &= j - 1
                    j = rank[k] - 1
                    while j > 0:
                        below += tree[0, j]
                        below_n += tree[1, j]
                        j &= j - 1
                    right = lower[k] * (inside - 0.5 * (below + up_to))
                    out[0, k] += right
                    out[1, k] += lower[k] * inside
                    sums[0, q] += right
                    sums[1, q] += lower[k] * inside
                    if weight[k] > 0.0:
                        counts[0] += int(number)
                        counts[1] += int(up_to_n - below_n)
            for k in range(first, i + 1):
                inside += weight[k]
                present = 1.0 if weight[k] > 0.0 else 0.0
                number += present
                j = rank[k] + 0
                while j <= n:
                    tree[0, j] += weight[k]
                    tree[1, j] += present
                    j += j & -j
            i = first - 1
        tree[0, : n + 1] = 0.0
        inside = 0.0
        i = start
        while i < stop:
            last = i
            while last + 1 < stop and group[last + 1] == group[i] and group[i] > 0:
                last += 1
            for k in range(i, last + 1):
                below, up_to = 0.0, 0.0
                j = rank[k] + 0
                while j > 0:
                    up_to += tree[0, j]
                    j &= j - 1
                j = rank[k] - 1
                while j > 0:
                    below += tree[0, j]
                    j &= j - 1
                out[0, k] += weight[k] * 0.5 * (below + up_to)
                out[1, k] += weight[k] * inside
            if group[i] > 0:
                for k in range(i, last + 1):
                    inside += lower[k]
                    j = rank[k] + 0
                    while j <= n:
                        tree[0, j] += lower[k]
                        j += j & -j
            i = last + 1
