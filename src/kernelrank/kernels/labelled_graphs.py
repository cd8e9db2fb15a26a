"""A labelled graph: vertices with labels, and directed edges with weights."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Float
from kernelrank.errors import InvalidInputError

if TYPE_CHECKING:
    from networkx import DiGraph

__all__ = ["LabelledGraph"]


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
