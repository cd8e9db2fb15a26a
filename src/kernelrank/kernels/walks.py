r"""Walks: the summed weights of all walks between the vertices of graphs.

The weight of a walk is the product of the weights of its edges, and with the adjacency matrix A, whose spectral radius
is below one, the weights of all walks of length one or more sum to

    W = A + A² + … = (I - A)⁻¹ - I,      so that      W = A + A W.

No graph needs a dense inverse. Strong components s are taken in an order where edges lead to components o that are
done, or stay inside:

    (I - A_ss) W_s = A_s + A_so W_o.

A vertex on no cycle has A_ss = 0, and its row is a sum of rows that are there already: a graph without cycles takes one
multiplication for each edge and vertex that can be reached through it. Rows are sparse, and an entry is zero exactly
where no walk leads, unless weights of both signs cancel.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelrank.base.arrays import Float, Index
from kernelrank.base.compiled import compiled
from kernelrank.errors import InvalidInputError
from kernelrank.kernels.cycles import invert_cycles
from kernelrank.kernels.packed_graphs import PackedGraphs
from kernelrank.kernels.strong_components import strong_components

__all__ = ["Walks", "sum_walks"]


@dataclass(frozen=True)
class Walks:
    """The rows of W for all vertices of packed graphs: row v holds entries ``starts[v]`` to ``stops[v]``.

    Parameters
    ----------
    starts, stops : ndarrays of int64, shape (n_vertices,)
    columns : ndarray of int64
        The vertices that walks lead to, in no order.
    values : ndarray of float64
        Their summed weights, none of them zero.
    """

    starts: Index
    stops: Index
    columns: Index
    values: Float


def sum_walks(graphs: PackedGraphs) -> Walks:
    """Sum the weights of all walks in each graph.

    Time O(edges × vertices reached) and O(k³ + k² reached) for a strong component of k vertices; memory O(nonzeros).

    Parameters
    ----------
    graphs : PackedGraphs

    Returns
    -------
    Walks

    Raises
    ------
    InvalidInputError
        When the sum does not converge, for a spectral radius is one or more; the message names the graph.

    Examples
    --------
    >>> from kernelrank.kernels import LabelledGraph
    >>> from kernelrank.kernels.packed_graphs import LabelCodes
    >>> cycle = LabelledGraph([(), ()], [0, 1], [1, 0], [0.5, 0.5])
    >>> walks = sum_walks(PackedGraphs.of([cycle], LabelCodes()))
    >>> 3 * walks.values
    array([2., 1., 1., 2.])
    """
    component = strong_components(graphs.edge_bounds, graphs.targets)
    order = np.argsort(component, kind="stable")
    block_starts, inverses = invert_cycles(graphs, component, order)
    starts, stops, columns, values = _sum_walks(
        graphs.edge_bounds, graphs.targets, graphs.weights, component, order, block_starts, inverses
    )
    if not np.isfinite(values).all():
        entry = np.argmin(np.isfinite(values))
        vertex = int(np.argmax((starts <= entry) & (entry < stops)))
        raise InvalidInputError(
            f"{graphs.name_of(vertex)}: the sum of the weights of its walks overflows: use smaller weights"
        )
    return Walks(starts, stops, columns, values)


@compiled
def _sum_walks(
    bounds: Index,
    targets: Index,
    weights: Float,
    component: Index,
    order: Index,
    block_starts: Index,
    inverses: Float,
) -> tuple[Index, Index, Index, Float]:
    """Return the fields of `Walks`."""
    n = len(order)
    starts, stops = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    columns, values = np.empty(4 * n + 16, dtype=np.int64), np.empty(4 * n + 16)
    used = 0
    place = np.full(n, -1, dtype=np.int64)  # of a column among those that the component reaches
    reached = np.empty(n, dtype=np.int64)
    first = 0
    while first < n:
        number = component[order[first]]
        last = first + 1
        while last < n and component[order[last]] == number:
            last += 1
        members = order[first:last]
        k = last - first
        first = last
        r = 0
        for v in members:
            for e in range(bounds[v], bounds[v + 1]):
                t = targets[e]
                if place[t] < 0:
                    place[t] = r
                    reached[r] = t
                    r += 1
                if component[t] != number:
                    for i in range(starts[t], stops[t]):
                        c = columns[i]
                        if place[c] < 0:
                            place[c] = r
                            reached[r] = c
                            r += 1
        # A_s + A_so W_o, in the columns that are reached.
        rows = np.zeros((k, r))
        for m in range(k):
            v = members[m]
            for e in range(bounds[v], bounds[v + 1]):
                t, w = targets[e], weights[e]
                rows[m, place[t]] += w
                if component[t] != number:
                    for i in range(starts[t], stops[t]):
                        rows[m, place[columns[i]]] += w * values[i]
        if block_starts[number] >= 0:
            inverse = inverses[block_starts[number] : block_starts[number] + k * k].reshape((k, k))
            rows = np.dot(inverse, rows)
        if used + k * r > len(columns):
            more = max(k * r, len(columns))
            columns = np.concatenate((columns, np.empty(more, dtype=np.int64)))
            values = np.concatenate((values, np.empty(more)))
        for m in range(k):
            starts[members[m]] = used
            for i in range(r):
                if rows[m, i] != 0:
                    columns[used], values[used] = reached[i], rows[m, i]
                    used += 1
            stops[members[m]] = used
        for i in range(r):
            place[reached[i]] = -1
    return starts, stops, columns[:used].copy(), values[:used].copy()
