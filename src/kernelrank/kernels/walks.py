r"""Walks: the summed weights of all walks between the vertices of graphs.

The weight of a walk is the product of the weights of its edges, and with the adjacency matrix A, whose spectral radius
is below one, the weights of all walks of length one or more sum to

    W = A + A² + … = (I - A)⁻¹ - I,      so that      W = A + A W.

No graph needs a dense inverse. Strong components s are taken in an order where edges lead to components o that are
done, or stay inside:

    (I - A_ss) W_s = A_s + A_so W_o.

A vertex on no cycle has A_ss = 0, and its row is a sum of rows that are there already: a graph without cycles takes one
multiplication for each edge and vertex that can be reached through it. Rows are sparse, and an entry is zero exactly
where no walk leads.

The spectral radius of A is the largest of those of its A_ss. Where no weight is negative, it is below one if and only
if I - A_ss is an M-matrix, that is if all pivots of elimination without exchanges are positive [BP94]; these are the
pivots that solve the system. Where a weight in A_ss is negative, its eigenvalues decide, and rows are exchanged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelrank.arrays import Float, Index
from kernelrank.compiled import compiled
from kernelrank.errors import InvalidInputError
from kernelrank.kernels.packed_graphs import PackedGraphs
from kernelrank.kernels.strong_components import strong_components

__all__ = ["Walks", "sum_walks"]

EPSILON = float(np.finfo(np.float64).eps)


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
    >>> walks.columns[:2], 3 * walks.values[:2]
    (array([1, 0]), array([2., 1.]))
    """
    component = strong_components(graphs.edge_bounds, graphs.targets)
    signed = _signed_components(graphs, component)
    starts, stops, columns, values, failed = _sum_walks(
        graphs.edge_bounds, graphs.targets, graphs.weights, component, np.argsort(component, kind="stable"), signed
    )
    if failed >= 0:
        raise _diverges(graphs, failed)
    if not np.isfinite(values).all():
        vertex = int(np.flatnonzero(starts <= np.flatnonzero(~np.isfinite(values))[0])[-1])
        raise InvalidInputError(f"{graphs.name_of(vertex)}: the weights of its walks overflow")
    return Walks(starts, stops, columns, values)


def _diverges(graphs: PackedGraphs, vertex: int) -> InvalidInputError:
    return InvalidInputError(
        f"{graphs.name_of(vertex)}: the spectral radius of its weights is not below 1, so that the weights of its "
        "walks have no sum; use smaller weights on its cycles"
    )


def _signed_components(graphs: PackedGraphs, component: Index) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Mark the components with a negative weight inside, after their spectral radius was checked."""
    signed = np.zeros(component.max(initial=-1) + 1, dtype=np.bool_)
    if not (graphs.weights < 0).any():
        return signed
    sources = np.repeat(np.arange(len(component)), np.diff(graphs.edge_bounds))
    inside = component[sources] == component[graphs.targets]
    signed[component[sources[inside & (graphs.weights < 0)]]] = True
    for number in np.flatnonzero(signed):
        members = np.flatnonzero(component == number)
        edges = inside & (component[sources] == number)
        A = np.zeros((len(members), len(members)))
        np.add.at(
            A,
            (np.searchsorted(members, sources[edges]), np.searchsorted(members, graphs.targets[edges])),
            graphs.weights[edges],
        )
        if not np.abs(np.linalg.eigvals(A)).max() < 1:
            raise _diverges(graphs, int(members[0]))
    return signed


@compiled
def _sum_walks(
    bounds: Index,
    targets: Index,
    weights: Float,
    component: Index,
    order: Index,
    signed: np.ndarray[tuple[int], np.dtype[np.bool_]],
) -> tuple[Index, Index, Index, Float, int]:
    """Return the rows of W, component by component, and a vertex where the sum diverges or -1."""
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
        # A_s + A_so W_o, over the columns that are reached, and I - A_ss.
        rows = np.zeros((k, r))
        for m in range(k):
            v = members[m]
            for e in range(bounds[v], bounds[v + 1]):
                t, w = targets[e], weights[e]
                rows[m, place[t]] += w
                if component[t] != number:
                    for i in range(starts[t], stops[t]):
                        rows[m, place[columns[i]]] += w * values[i]
        if k > 1 or place[members[0]] >= 0:
            # No walk that has left the component comes back, so that its own columns hold A_ss.
            B = np.eye(k)
            for j in range(k):
                B[:, j] -= rows[:, place[members[j]]]
            for j in range(k):
                if signed[number]:
                    p = j + np.argmax(np.abs(B[j:, j]))
                    for i in range(k):
                        B[j, i], B[p, i] = B[p, i], B[j, i]
                    for i in range(r):
                        rows[j, i], rows[p, i] = rows[p, i], rows[j, i]
                elif not B[j, j] > 4 * k * EPSILON:
                    return starts, stops, columns, values, members[0]
                for m in range(j + 1, k):
                    factor = B[m, j] / B[j, j]
                    if factor != 0:
                        B[m, j:] -= factor * B[j, j:]
                        rows[m] -= factor * rows[j]
            for j in range(k - 1, -1, -1):
                for m in range(j + 1, k):
                    if B[j, m] != 0:
                        rows[j] -= B[j, m] * rows[m]
                rows[j] /= B[j, j]
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
    return starts, stops, columns[:used].copy(), values[:used].copy(), -1
