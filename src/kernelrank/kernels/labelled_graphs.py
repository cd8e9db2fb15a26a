"""A labelled graph: vertices with labels, and directed edges with weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelrank.base.arrays import Float, Index
from kernelrank.errors import InvalidInputError

if TYPE_CHECKING:
    from networkx import DiGraph


@dataclass(frozen=True, eq=False)
class LabelledGraph:
    """A directed graph whose vertices have labels and whose edges have weights.

    It may have cycles, self-loops and several components. Making one takes time and memory O(vertices + edges).

    Parameters
    ----------
    labels : sequence of sequences of str, shape (n_vertices,)
        The labels of each vertex: several, one or none. A label that is given twice counts once.
    sources, targets : array-like of int, shape (n_edges,)
        The vertices where each edge begins and ends, counted from zero.
    weights : array-like of float, shape (n_edges,)
        Finite. The weights of parallel edges add.
    name : str, default=""
        The name of the graph in error messages.

    Examples
    --------
    >>> graph = LabelledGraph([("NN", "protein"), ("VB",), ()], [0, 1], [1, 2], [0.9, 0.3], name="sentence 1")
    >>> graph.n_vertices, graph.n_edges
    (3, 2)
    """

    labels: tuple[tuple[str, ...], ...]
    sources: NDArray[np.intp]
    targets: NDArray[np.intp]
    weights: Float
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", self._checked_labels())
        object.__setattr__(self, "sources", self._checked_ends("sources"))
        object.__setattr__(self, "targets", self._checked_ends("targets"))
        object.__setattr__(self, "weights", np.asarray(self.weights, dtype=np.float64))
        lengths = {self.sources.shape, self.targets.shape, self.weights.shape}
        if len(lengths) > 1:
            shapes = f"{self.sources.shape}, {self.targets.shape} and {self.weights.shape}"
            raise self._error(f"sources, targets and weights must be of one length, got the shapes {shapes}")
        if not np.isfinite(self.weights).all():
            raise self._error("a weight is not finite")

    @classmethod
    def from_networkx(cls, graph: DiGraph, name: str | None = None) -> Self:
        """Make a graph from a NetworkX `DiGraph` or `MultiDiGraph`.

        Parameters
        ----------
        graph : networkx.DiGraph
            Its nodes have an attribute "labels", a list of strings, or none; its edges an attribute "weight", or none,
            which is one.
        name : str, optional
            What errors call the graph; the name of the NetworkX graph if not given.

        Returns
        -------
        LabelledGraph
            Its vertices are in the order of the nodes.

        Examples
        --------
        >>> import networkx
        >>> graph = networkx.DiGraph([("a", "b", {"weight": 0.5})])
        >>> graph.nodes["a"]["labels"] = ["NN"]
        >>> LabelledGraph.from_networkx(graph).labels
        (('NN',), ())
        """
        if not all(hasattr(graph, method) for method in ("is_directed", "nodes", "edges")):
            raise InvalidInputError(
                f"a graph must be a LabelledGraph or a NetworkX DiGraph, got {type(graph).__name__}"
            )
        called = str(graph.name) if name is None else name
        if not graph.is_directed():
            raise InvalidInputError(f"{called or 'the graph'} is undirected: use its to_directed(), or a DiGraph")
        vertex_of = {node: vertex for vertex, node in enumerate(graph.nodes)}
        edges = list(graph.edges(data="weight", default=1.0))
        return cls(
            tuple(() if labels is None else labels for _, labels in graph.nodes(data="labels")),
            np.array([vertex_of[source] for source, _, _ in edges], dtype=np.intp),
            np.array([vertex_of[target] for _, target, _ in edges], dtype=np.intp),
            np.array([weight for _, _, weight in edges], dtype=np.float64),
            called,
        )

    @property
    def n_vertices(self) -> int:
        """The number of vertices."""
        return len(self.labels)

    @property
    def n_edges(self) -> int:
        """The number of edges, parallel ones apart."""
        return len(self.weights)

    def _error(self, message: str) -> InvalidInputError:
        return InvalidInputError(f"{self.name or 'the graph'}: {message}")

    def _checked_labels(self) -> tuple[tuple[str, ...], ...]:
        """Return the labels as tuples; most graphs have them so already, and are not copied."""
        labels = self.labels if type(self.labels) is tuple else tuple(self.labels)
        if all(type(of_vertex) is tuple for of_vertex in labels):
            return labels
        return tuple(self._labels_of(vertex, of_vertex) for vertex, of_vertex in enumerate(labels))

    def _labels_of(self, vertex: int, labels: Iterable[str]) -> tuple[str, ...]:
        if isinstance(labels, str) or not hasattr(labels, "__iter__"):
            raise self._error(f"the labels of vertex {vertex} must be a sequence of strings, got {labels!r}")
        return tuple(labels)

    def _checked_ends(self, what: str) -> NDArray[np.intp]:
        """Return the sources or the targets, as numbers of vertices that there are."""
        ends = np.asarray(getattr(self, what))
        if ends.ndim != 1 or not (ends.size == 0 or np.issubdtype(ends.dtype, np.integer)):
            raise self._error(f"{what} must be a list of vertex numbers")
        if ends.size and not (ends.min() >= 0 and ends.max() < self.n_vertices):
            raise self._error(f"{what} must lie between 0 and {self.n_vertices - 1}, the numbers of its vertices")
        return ends.astype(np.intp, copy=False)


# Packed graphs --------------------------------------------------------------------------------------------------------
#
# Packed graphs: many labelled graphs as the arrays of their union, for compiled loops.

Graph: TypeAlias = "LabelledGraph | DiGraph"


class LabelCodes(dict[str, int]):
    """Numbers of labels: a label that is asked for first gets the next one."""

    @classmethod
    def of(cls, labels: Iterable[str]) -> Self:
        """Return the numbers of labels in their order."""
        return cls((label, code) for code, label in enumerate(labels))

    def __missing__(self, label: str) -> int:
        if not isinstance(label, str):
            raise TypeError(f"a label must be a string, got {label!r}")
        code = self[label] = len(self)
        return code


@dataclass(frozen=True)
class PackedGraphs:
    """Graphs side by side, their vertices numbered through.

    Shapes: names (n_graphs,), vertex_bounds (n_graphs + 1,), label_bounds (n_vertices + 1,), edge_bounds (n_vertices +
    1,).
    """

    names: list[str]
    vertex_bounds: Index
    label_bounds: Index
    labels: NDArray[np.int32]
    n_labels: int
    edge_bounds: Index
    targets: Index
    weights: Float

    @classmethod
    def of(cls, graphs: Iterable[Graph], codes: LabelCodes) -> Self:
        """Pack graphs, each visited once. Time and memory O(vertices + labels + edges)."""
        names: list[str] = []
        sizes, counts, labels, sources, targets, weights = ([] for _ in range(6))
        n_vertices = 0
        for graph in map(_as_graph, _checked(graphs)):
            names.append(graph.name or f"graph {len(names)}")
            sizes.append(graph.n_vertices)
            counts.append(np.fromiter(map(len, graph.labels), np.int64, graph.n_vertices))
            labels.append(_coded(graph, names[-1], codes))
            sources.append(graph.sources + n_vertices)
            targets.append(graph.targets + n_vertices)
            weights.append(graph.weights)
            n_vertices += graph.n_vertices
        edges = sparse.coo_array(
            (_joined(weights, np.float64), (_joined(sources, np.int64), _joined(targets, np.int64))),
            shape=(n_vertices, n_vertices),
        ).tocsr()
        edges.eliminate_zeros()  # a walk over such an edge weighs nothing, and it shall not close a cycle either
        return cls(
            names,
            _bounds(np.array(sizes, dtype=np.int64)),
            _bounds(_joined(counts, np.int64)),
            _joined(labels, np.int32),
            len(codes),
            edges.indptr.astype(np.int64),
            edges.indices.astype(np.int64),
            edges.data,
        )

    @property
    def n_graphs(self) -> int:
        """The number of graphs."""
        return len(self.names)

    def part(self, start: int, stop: int) -> PackedGraphs:
        """Return the graphs from `start` to `stop`, which is not included."""
        first, last = self.vertex_bounds[start], self.vertex_bounds[stop]
        label_bounds = self.label_bounds[first : last + 1]
        edge_bounds = self.edge_bounds[first : last + 1]
        return PackedGraphs(
            self.names[start:stop],
            self.vertex_bounds[start : stop + 1] - first,
            label_bounds - label_bounds[0],
            self.labels[label_bounds[0] : label_bounds[-1]],
            self.n_labels,
            edge_bounds - edge_bounds[0],
            self.targets[edge_bounds[0] : edge_bounds[-1]] - first,
            self.weights[edge_bounds[0] : edge_bounds[-1]],
        )

    def parts(self, cells: int = 2**20) -> Iterator[PackedGraphs]:
        """Yield a few graphs at a time: as many as have `cells` pairs of vertices, or one.

        Their walks, at most one number for two vertices, stay in a cache.
        """
        squares = _bounds(np.diff(self.vertex_bounds) ** 2)
        start = 0
        while start < self.n_graphs:
            stop = max(start + 1, int(np.searchsorted(squares, squares[start] + cells, side="right")) - 1)
            yield self.part(start, stop)
            start = stop

    def name_of(self, vertex: int) -> str:
        """Return the name of the graph that a vertex belongs to."""
        return self.names[int(np.searchsorted(self.vertex_bounds, vertex, side="right")) - 1]


def _checked(graphs: Iterable[Graph]) -> Iterable[Graph]:
    if isinstance(graphs, LabelledGraph) or hasattr(graphs, "is_directed") or not hasattr(graphs, "__iter__"):
        raise InvalidInputError(f"graphs must be a list of graphs, got one {type(graphs).__name__}")
    return graphs


def _as_graph(graph: Graph) -> LabelledGraph:
    return graph if isinstance(graph, LabelledGraph) else LabelledGraph.from_networkx(graph)


def _coded(graph: LabelledGraph, name: str, codes: LabelCodes) -> NDArray[np.int32]:
    try:
        return np.fromiter(map(codes.__getitem__, chain.from_iterable(graph.labels)), np.int32)
    except TypeError as error:
        raise InvalidInputError(f"{name}: {error}") from error


def _bounds(counts: Index) -> Index:
    return np.concatenate([[0], np.cumsum(counts)])


def _joined(arrays: list[NDArray[Any]], dtype: type) -> NDArray[Any]:
    return np.concatenate(arrays).astype(dtype, copy=False) if arrays else np.empty(0, dtype)
