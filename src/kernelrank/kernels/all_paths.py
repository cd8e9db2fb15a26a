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

from kernelrank.base.arrays import Float, Index
from kernelrank.base.compiled import compiled
from kernelrank.kernels.packed_graphs import PackedGraphs
from kernelrank.kernels.walks import sum_walks

__all__ = ["Combine", "ConnectedLabels", "connect_labels"]

Combine: TypeAlias = Literal["max", "sum"]


@dataclass(frozen=True)
class ConnectedLabels:
    """The matrices G of some graphs, as rows: each has a first label, and seconds with values.

    Parameters
    ----------
    row_bounds : ndarray of int64, shape (n_graphs + 1,)
        Where the rows of each graph begin.
    firsts : ndarray of int32, shape (n_rows,)
        The label a of each row, ascending in a graph.
    entry_bounds : ndarray of int64, shape (n_rows + 1,)
        Where the entries of each row begin.
    seconds, values : ndarrays of int32 and float64, shape (n_entries,)
        The labels b, ascending in a row, and G_ab, never zero.
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


def connect_labels(graphs: PackedGraphs, combine: Combine) -> ConnectedLabels:
    """Return the matrix G of each graph.

    Time that of `sum_walks` and, for each entry of W, the product of the numbers of labels of its two vertices. Memory
    O(entries of W and of G).

    Parameters
    ----------
    graphs : PackedGraphs
    combine : {"max", "sum"}

    Returns
    -------
    ConnectedLabels

    Raises
    ------
    InvalidInputError
        As in `sum_walks`.

    Examples
    --------
    >>> from kernelrank.kernels import LabelledGraph
    >>> from kernelrank.kernels.packed_graphs import LabelCodes
    >>> graph = LabelledGraph([("a",), ("b",), ("b",)], [0, 1], [1, 2], [0.5, 0.5])
    >>> connected = connect_labels(PackedGraphs.of([graph], LabelCodes()), "sum")
    >>> connected.firsts, connected.seconds, connected.values
    (array([0, 1], dtype=int32), array([1, 1], dtype=int32), array([0.75, 0.5 ]))
    """
    walks = sum_walks(graphs)
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
