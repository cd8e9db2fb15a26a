r"""The all-paths graph kernel: which labels of a graph are connected, and how strongly [APBPGS08].

With the summed weights W of all walks (see `walks`) and the labels L, where L_ak is one if vertex k has label a and
zero otherwise, a graph is the matrix

    G_ab = Σ_{k,l} L_ak W_kl L_bl        or        G_ab = max_{k,l} L_ak W_kl L_bl,

the sum in the article, the maximum in its errata [Air09] and in its published figures; and the kernel of two graphs is
``Σ_ab G'_ab G''_ab`` [GFW03]. So G itself, pair of labels by pair of labels, is an explicit and sparse feature vector.
The maximum is taken over all vertices, so that it is not below zero while some vertex lacks a label; here it never is.

One row of G is made at a time: the rows of W of the vertices with label a are added, or their maximum is taken, into
one number for each label b of the graph.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelrank.base.arrays import Float, Index
from kernelrank.base.compiled import compiled
from kernelrank.errors import InvalidInputError
from kernelrank.kernels.labelled_graphs import PackedGraphs

Combine: TypeAlias = Literal["max", "sum"]


@dataclass(frozen=True)
class WalkLengths:
    """Which walks count: their lengths, all from `shortest` on if `longest` is None, and a factor for each edge."""

    shortest: int = 1
    longest: int | None = None
    decay: float = 1.0


@dataclass(frozen=True)
class ConnectedLabels:
    """The matrices G of some graphs, as rows: each has a first label, and seconds with values.

    Shapes: row_bounds (n_graphs + 1,), firsts (n_rows,), entry_bounds (n_rows + 1,), seconds, values (n_entries,).

    firsts: The label a of each row, ascending in a graph.
    seconds, values: The labels b, ascending in a row, and G_ab, never zero.
    """

    row_bounds: Index
    firsts: NDArray[np.int32]
    entry_bounds: Index
    seconds: NDArray[np.int32]
    values: Float

    @property
    def graph_bounds(self) -> Index:
        """Where the entries of each graph begin."""
        return self.entry_bounds[self.row_bounds]

    def unit(self) -> ConnectedLabels:
        """Return the same divided by the norm of each G, so that the kernel is a cosine; a G of zeros stays."""
        bounds = self.graph_bounds
        filled = np.flatnonzero(np.diff(bounds))
        norms = np.sqrt(np.add.reduceat(self.values**2, bounds[filled])) if len(filled) else np.empty(0)
        values = self.values / np.repeat(norms, np.diff(bounds)[filled])
        return replace(self, values=values)

    @classmethod
    def join(cls, parts: Iterable[ConnectedLabels]) -> ConnectedLabels:
        """Put the graphs of several parts one after the other; a field of the parts is freed when it is joined."""
        fields: dict[str, list[NDArray[Any]]] = {field: [] for field in cls.__dataclass_fields__}
        for part in parts:
            for field, arrays in fields.items():
                arrays.append(getattr(part, field))
        return cls(
            _joined_bounds(fields.pop("row_bounds")),
            np.concatenate([np.empty(0, np.int32), *fields.pop("firsts")]),
            _joined_bounds(fields.pop("entry_bounds")),
            np.concatenate([np.empty(0, np.int32), *fields.pop("seconds")]),
            np.concatenate([np.empty(0), *fields.pop("values")]),
        )


def _joined_bounds(bounds: list[Index]) -> Index:
    counts = [np.diff(some) for some in bounds]
    return np.concatenate([[0], np.cumsum(np.concatenate([np.empty(0, np.int64), *counts]))])


def connect_labels(graphs: PackedGraphs, combine: Combine, lengths: WalkLengths | None = None) -> ConnectedLabels:
    """Return the matrix G of each graph.

    Time that of `sum_walks` and, for each entry of W, the product of the numbers of labels of its two vertices. Memory
    O(entries of W and of G).
    """
    walks = sum_walks(graphs, lengths or WalkLengths())
    return ConnectedLabels(
        *_connect(
            graphs.vertex_bounds,
            graphs.label_bounds,
            graphs.labels,
            graphs.n_labels,
            walks.starts,
            walks.stops,
            walks.columns,
            walks.values,
            combine == "max",
        )
    )


@compiled
def _connect(
    vertex_bounds: Index,
    label_bounds: Index,
    labels: NDArray[np.int32],
    n_labels: int,
    starts: Index,
    stops: Index,
    columns: Index,
    walks: Float,
    maximum: bool,
) -> tuple[Index, NDArray[np.int32], Index, NDArray[np.int32], Float]:
    """Return the fields of `ConnectedLabels`."""
    n_graphs = len(vertex_bounds) - 1
    row_bounds = np.zeros(n_graphs + 1, dtype=np.int64)
    firsts = np.empty(len(labels), dtype=np.int32)
    entry_bounds = np.zeros(len(labels) + 1, dtype=np.int64)
    seconds, values = np.empty(2 * len(walks) + 16, dtype=np.int32), np.empty(2 * len(walks) + 16)
    n_rows = n_entries = 0
    number = np.full(n_labels, -1, dtype=np.int64)  # of a label among those of the graph
    for g in range(n_graphs):
        begin, end = vertex_bounds[g], vertex_bounds[g + 1]
        codes = np.unique(labels[label_bounds[begin] : label_bounds[end]])
        n = len(codes)
        for a in range(n):
            number[codes[a]] = a
        # The labels of each vertex, each once, and the vertices of each label.
        bounds = np.zeros(end - begin + 1, dtype=np.int64)
        own = np.empty(label_bounds[end] - label_bounds[begin], dtype=np.int64)
        latest = np.full(n, -1, dtype=np.int64)
        n_vertices = np.zeros(n + 1, dtype=np.int64)
        for v in range(begin, end):
            bounds[v - begin + 1] = bounds[v - begin]
            for i in range(label_bounds[v], label_bounds[v + 1]):
                a = number[labels[i]]
                if latest[a] != v:
                    latest[a] = v
                    own[bounds[v - begin + 1]] = a
                    bounds[v - begin + 1] += 1
                    n_vertices[a + 1] += 1
        holder_bounds = np.cumsum(n_vertices)
        filled = holder_bounds[:-1].copy()
        holders = np.empty(holder_bounds[-1], dtype=np.int64)
        for v in range(begin, end):
            for i in range(bounds[v - begin], bounds[v - begin + 1]):
                holders[filled[own[i]]] = v
                filled[own[i]] += 1
        row = np.zeros(n)
        seen = np.zeros(n, dtype=np.bool_)
        touched = np.empty(n, dtype=np.int64)
        for a in range(n):
            n_touched = 0
            for h in range(holder_bounds[a], holder_bounds[a + 1]):
                v = holders[h]
                for i in range(starts[v], stops[v]):
                    t, w = columns[i] - begin, walks[i]
                    for j in range(bounds[t], bounds[t + 1]):
                        b = own[j]
                        if not seen[b]:
                            seen[b] = True
                            touched[n_touched] = b
                            n_touched += 1
                        if not maximum:
                            row[b] += w
                        elif w > row[b]:
                            row[b] = w
            if n_entries + n_touched > len(seconds):
                more = max(n_touched, len(seconds))
                seconds = np.concatenate((seconds, np.empty(more, dtype=np.int32)))
                values = np.concatenate((values, np.empty(more)))
            before = n_entries
            # Few labels are sorted; where they are many, looking at all is faster.
            some = np.sort(touched[:n_touched]) if 16 * n_touched < n else np.arange(n)
            for b in some:
                if row[b] != 0:
                    seconds[n_entries], values[n_entries] = codes[b], row[b]
                    n_entries += 1
                row[b] = 0.0
                seen[b] = False
            if n_entries > before:
                firsts[n_rows] = codes[a]
                n_rows += 1
                entry_bounds[n_rows] = n_entries
        row_bounds[g + 1] = n_rows
    return (
        row_bounds,
        firsts[:n_rows].copy(),
        entry_bounds[: n_rows + 1].copy(),
        seconds[:n_entries].copy(),
        values[:n_entries].copy(),
    )


# Walks ----------------------------------------------------------------------------------------------------------------
#
# Walks: the summed weights of all walks between the vertices of graphs.
#
# The weight of a walk is the product of the weights of its edges, and with the adjacency matrix A, whose spectral
# radius is below one, the weights of all walks of length one or more sum to
#
#     W = A + A² + … = (I - A)⁻¹ - I,      so that      W = A + A W.
#
# No graph needs a dense inverse. Strong components s are taken in an order where edges lead to components o that are
# done, or stay inside:
#
#     (I - A_ss) W_s = A_s + A_so W_o.
#
# A vertex on no cycle has A_ss = 0, and its row is a sum of rows that are there already: a graph without cycles takes
# one multiplication for each edge and vertex that can be reached through it. Rows are sparse, and an entry is zero
# exactly where no walk leads, unless weights of both signs cancel.
#
# The walks of lengths p to q sum to ``A^p + … + A^q``, by sparse products: ``S = A``, q - p times ``S ← A + A S``, and
# p - 1 times ``S ← A S``. The spectral radius may then be anything. A decay d makes A into d A, so that a walk of
# length k weighs dᵏ of what it did.


@dataclass(frozen=True)
class Walks:
    """The rows of W for all vertices of packed graphs: row v holds entries ``starts[v]`` to ``stops[v]``.

    Shapes: starts, stops (n_vertices,).
    """

    starts: Index
    stops: Index
    columns: Index
    values: Float

    @classmethod
    def of(cls, W: sparse.csr_array) -> Walks:
        """Take the rows of a matrix apart."""
        W.eliminate_zeros()
        return cls(W.indptr[:-1].astype(np.int64), W.indptr[1:].astype(np.int64), W.indices.astype(np.int64), W.data)

    def matrix(self) -> sparse.csr_array:
        """Return W itself."""
        order, n = np.argsort(self.starts, kind="stable"), len(self.starts)
        rows = np.repeat(order, (self.stops - self.starts)[order])
        return sparse.csr_array((self.values, (rows, self.columns)), shape=(n, n))


def sum_walks(graphs: PackedGraphs, lengths: WalkLengths | None = None) -> Walks:
    """Sum the weights of the walks in each graph.

    Time O(edges × vertices reached), times the longest length if there is one; without one, O(k³ + k² reached) more for
    a strong component of k vertices. Memory O(nonzeros).
    """
    lengths = lengths or WalkLengths()
    graphs = replace(graphs, weights=lengths.decay * graphs.weights)
    A = sparse.csr_array((graphs.weights, graphs.targets, graphs.edge_bounds), shape=2 * (len(graphs.edge_bounds) - 1,))
    with np.errstate(over="ignore", invalid="ignore"):
        walks = Walks.of(A) if lengths.longest is not None else _all_walks(graphs, lengths.decay)
        for _ in range((lengths.longest or 0) - lengths.shortest):
            walks = Walks.of(A + A @ walks.matrix())
        for _ in range(lengths.shortest - 1):
            walks = Walks.of(A @ walks.matrix())
    if not np.isfinite(walks.values).all():
        entry = np.argmin(np.isfinite(walks.values))
        vertex = int(np.argmax((walks.starts <= entry) & (entry < walks.stops)))
        raise InvalidInputError(
            f"{graphs.name_of(vertex)}: the sum of the weights of its walks overflows: use smaller weights, or a "
            "smaller decay"
        )
    return walks


def _all_walks(graphs: PackedGraphs, decay: float) -> Walks:
    component = strong_components(graphs.edge_bounds, graphs.targets)
    order = np.argsort(component, kind="stable")
    block_starts, inverses = invert_cycles(graphs, component, order, decay)
    return Walks(
        *_sum_walks(graphs.edge_bounds, graphs.targets, graphs.weights, component, order, block_starts, inverses)
    )


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


# Cycles ---------------------------------------------------------------------------------------------------------------
#
# Cycles: the walks inside strong components, and whether their weights have a sum.
#
# A graph has a cycle where a strong component s has edges A_ss inside, and the spectral radius of A is the largest of
# those of its A_ss. Where it is below one, (I - A_ss)⁻¹ = I + A_ss + A_ss² + … holds the weights of the walks that stay
# inside. Whether it is can be told from the inverse:
#
#     If no weight is negative, the radius is below one if and only if x = (I - A_ss)⁻¹ 1 is positive. For if it is
#     below, x = 1 + A_ss 1 + … ≥ 1. And if x is positive, A_ss x = x - 1 < x, so that the radius is below one by the
#     bound of Collatz and Wielandt [BP94].
#
# If a weight in A_ss is negative, its eigenvalues decide. Radii that cannot be told from one in double precision count
# as one: then the weights of closed walks, the diagonal of the inverse, are as large as rounding allows.


def invert_cycles(graphs: PackedGraphs, component: Index, order: Index, decay: float = 1.0) -> tuple[Index, Float]:
    """Return (I - A_ss)⁻¹ for each strong component with a cycle.

    Time O(k³) for a component of k vertices and O(vertices + edges), memory O(k²). Components of one size are inverted
    together. `decay` is in the weights already; a message says which one would do.

    Shapes: component (n_vertices,), order (n_vertices,); returns starts (n_components,).

    Returns starts: Where the inverse of each component begins; -1 if it has no cycle.
    """
    starts, blocks, alike = _cycles(graphs, component, order)
    diverging: dict[int, float] = {}
    for k, numbers in alike:
        cells = starts[numbers, None] + np.arange(k * k)
        A = blocks[cells].reshape(-1, k, k)
        inverses, converges = _inverses(A)
        blocks[cells] = inverses.reshape(-1, k * k)
        for number, block in zip(numbers[~converges], A[~converges], strict=True):
            diverging[int(number)] = _radius(block)
    if diverging:
        first = min(diverging)
        raise InvalidInputError(
            f"{graphs.name_of(int(np.argmax(component == first)))}: the spectral radius of its weights is "
            f"{diverging[first]:.4g}, not below 1, so the sum over walks of all lengths does not converge: use a decay "
            f"below {decay / diverging[first]:.4g}, decay='auto', a max_length, or smaller weights on its cycles"
        )
    return starts, blocks


def spectral_radius(graphs: PackedGraphs) -> float:
    """Return the largest spectral radius of the graphs: 0 without cycles. Time O(k³) for a component of k vertices."""
    component = strong_components(graphs.edge_bounds, graphs.targets)
    starts, blocks, alike = _cycles(graphs, component, np.argsort(component, kind="stable"))
    return max(
        (_radius(blocks[starts[numbers, None] + np.arange(k * k)].reshape(-1, k, k)) for k, numbers in alike),
        default=0.0,
    )


def _radius(A: Float) -> float:
    return float(np.abs(np.linalg.eigvals(A)).max())


def _cycles(graphs: PackedGraphs, component: Index, order: Index) -> tuple[Index, Float, list[tuple[int, Index]]]:
    """Return A_ss of each strong component with a cycle, where each begins, and the components by their size."""
    sizes = np.bincount(component)
    starts = np.full(len(sizes), -1, dtype=np.int64)
    sources = np.repeat(np.arange(len(component)), np.diff(graphs.edge_bounds))
    inside = np.flatnonzero(component[sources] == component[graphs.targets])
    owners = component[sources[inside]]
    cyclic = np.unique(owners)
    ends = np.cumsum(sizes[cyclic] ** 2)
    starts[cyclic] = ends - sizes[cyclic] ** 2
    place = np.empty(len(component), dtype=np.int64)  # of a vertex in its component
    place[order] = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    blocks = np.zeros(ends[-1] if len(ends) else 0)
    cells = starts[owners] + place[sources[inside]] * sizes[owners] + place[graphs.targets[inside]]
    blocks[cells] = graphs.weights[inside]
    return starts, blocks, [(int(k), cyclic[sizes[cyclic] == k]) for k in np.unique(sizes[cyclic])]


def _inverses(A: Float) -> tuple[Float, NDArray[np.bool_]]:
    """Return (I - A)⁻¹ for each block, and whether its spectral radius is below one."""
    k = A.shape[1]
    B = np.eye(k) - A
    try:
        inverses = np.asarray(np.linalg.inv(B), dtype=np.float64)
    except np.linalg.LinAlgError:
        # One or more of them are singular: the others are inverted by themselves.
        inverses = np.stack([_inverse(block) for block in B])
    signed = (A < 0).any(axis=(1, 2))
    converges = (inverses.sum(axis=2) > 0).all(axis=1)
    for number in np.flatnonzero(signed):
        converges[number] = _radius(A[number]) < 1
    closed = np.abs(inverses.diagonal(axis1=1, axis2=2))
    return inverses, converges & (closed < 1 / (4 * k * np.finfo(np.float64).eps)).all(axis=1)


def _inverse(block: Float) -> Float:
    try:
        return np.asarray(np.linalg.inv(block), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.full_like(block, np.nan)


# Strong components ----------------------------------------------------------------------------------------------------
#
# Strong components: the vertices that lie on a cycle with each other.


@compiled
def strong_components(bounds: Index, targets: Index) -> Index:
    """Return the strong component of each vertex, numbered so that no edge leads to a higher number [Tar72].

    Time and memory O(vertices + edges).

    Shapes: bounds (n_vertices + 1,), targets (n_edges,); returns (n_vertices,).
    """
    n = len(bounds) - 1
    component = np.full(n, -1, dtype=np.int64)
    found = np.full(n, -1, dtype=np.int64)  # when each vertex was found
    lowest = np.empty(n, dtype=np.int64)  # the earliest open vertex that it is known to reach
    edge = bounds[:-1].copy()  # the next edge to follow
    trail = np.empty(n, dtype=np.int64)
    unassigned = np.empty(n, dtype=np.int64)
    n_unassigned = n_components = time = 0
    for root in range(n):
        if found[root] >= 0:
            continue
        depth = 0
        trail[0] = root
        while depth >= 0:
            v = trail[depth]
            if found[v] < 0:
                found[v] = lowest[v] = time
                time += 1
                unassigned[n_unassigned] = v
                n_unassigned += 1
            if edge[v] < bounds[v + 1]:
                t = targets[edge[v]]
                edge[v] += 1
                if found[t] < 0:
                    depth += 1
                    trail[depth] = t
                elif component[t] < 0:
                    lowest[v] = min(lowest[v], found[t])
                continue
            if lowest[v] == found[v]:
                while component[v] < 0:
                    n_unassigned -= 1
                    component[unassigned[n_unassigned]] = n_components
                n_components += 1
            depth -= 1
            if depth >= 0:
                parent = trail[depth]
                lowest[parent] = min(lowest[parent], lowest[v])
    return component


# Label pairs ----------------------------------------------------------------------------------------------------------
#
# Label pairs: the vocabulary of a graph kernel, one feature for each pair of labels.


@dataclass(frozen=True)
class LabelPairs:
    """Pairs of labels, numbered in the order of the first and then of the second.

    Shapes: bounds (n_labels + 1,), seconds (n_pairs,).

    seconds: The second labels, ascending for each first one.
    """

    bounds: Index
    seconds: NDArray[np.int32]

    @classmethod
    def of(cls, connected: ConnectedLabels, n_labels: int) -> LabelPairs:
        """Collect the pairs that occur. Time O(entries + pairs log pairs), memory O(pairs + rows + labels)."""
        order = np.argsort(connected.firsts, kind="stable")
        return cls(*_collect(connected.firsts, order, connected.entry_bounds, connected.seconds, n_labels))

    @property
    def firsts(self) -> NDArray[np.int32]:
        """The first labels of the pairs."""
        return np.repeat(np.arange(len(self.bounds) - 1, dtype=np.int32), np.diff(self.bounds))

    def number(self, connected: ConnectedLabels) -> NDArray[np.int32]:
        """Return the number of the pair of each entry, -1 for a pair that is not here.

        Time O(entries + pairs with the first labels that occur), memory O(entries).
        """
        order = np.argsort(connected.firsts, kind="stable")
        n_labels = max(len(self.bounds) - 1, int(connected.seconds.max(initial=-1)) + 1)
        return _number(
            self.bounds, self.seconds, connected.firsts, order, connected.entry_bounds, connected.seconds, n_labels
        )


@compiled
def _collect(
    firsts: NDArray[np.int32], order: Index, entry_bounds: Index, seconds: NDArray[np.int32], n_labels: int
) -> tuple[Index, NDArray[np.int32]]:
    """Mark the second labels of one first label after the other."""
    bounds = np.zeros(n_labels + 1, dtype=np.int64)
    pairs = np.empty(len(seconds) // 4 + n_labels, dtype=np.int32)
    n_pairs = 0
    seen = np.zeros(n_labels, dtype=np.bool_)
    touched = np.empty(n_labels, dtype=np.int32)
    i = 0
    for a in range(n_labels):
        n_touched = 0
        while i < len(order) and firsts[order[i]] == a:
            for j in range(entry_bounds[order[i]], entry_bounds[order[i] + 1]):
                b = seconds[j]
                if not seen[b]:
                    seen[b] = True
                    touched[n_touched] = b
                    n_touched += 1
            i += 1
        if n_pairs + n_touched > len(pairs):
            pairs = np.concatenate((pairs, np.empty(max(n_touched, len(pairs)), dtype=np.int32)))
        some = np.sort(touched[:n_touched])
        pairs[n_pairs : n_pairs + n_touched] = some
        seen[some] = False
        n_pairs += n_touched
        bounds[a + 1] = n_pairs
    return bounds, pairs[:n_pairs].copy()


@compiled
def _number(
    bounds: Index,
    pairs: NDArray[np.int32],
    firsts: NDArray[np.int32],
    order: Index,
    entry_bounds: Index,
    seconds: NDArray[np.int32],
    n_labels: int,
) -> NDArray[np.int32]:
    """Look the entries up, all rows of one first label in turn."""
    numbers = np.full(len(seconds), -1, dtype=np.int32)
    place = np.full(n_labels, -1, dtype=np.int32)
    i = 0
    while i < len(order):
        a = firsts[order[i]]
        if a >= len(bounds) - 1:
            break
        for p in range(bounds[a], bounds[a + 1]):
            place[pairs[p]] = p
        while i < len(order) and firsts[order[i]] == a:
            for j in range(entry_bounds[order[i]], entry_bounds[order[i] + 1]):
                numbers[j] = place[seconds[j]]
            i += 1
        for p in range(bounds[a], bounds[a + 1]):
            place[pairs[p]] = -1
    return numbers
