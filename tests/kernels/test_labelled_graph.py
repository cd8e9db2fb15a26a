from __future__ import annotations

import re

import networkx
import numpy as np
import pytest

from kernelrank.errors import InvalidInputError
from kernelrank.kernels import LabelledGraph
from kernelrank.kernels.labelled_graphs import LabelCodes, PackedGraphs


def test_it_holds_arrays_and_tuples():
    graph = LabelledGraph([["a", "b"], []], [0], [1], [1], name="g")
    assert graph.labels == (("a", "b"), ())
    assert graph.sources.dtype == graph.targets.dtype == np.intp
    assert graph.weights.dtype == np.float64
    assert (graph.n_vertices, graph.n_edges) == (2, 1)


def test_there_may_be_nothing_in_it():
    graph = LabelledGraph((), [], [], [])
    assert (graph.n_vertices, graph.n_edges) == (0, 0)


@pytest.mark.parametrize(
    ("labels", "sources", "targets", "weights", "message"),
    [
        ([("a",), "bc"], [], [], [], "g: the labels of vertex 1 must be a sequence of strings, got 'bc'"),
        ([None], [], [], [], "g: the labels of vertex 0 must be a sequence of strings, got None"),
        ([("a",)], [0], [1], [0.5], "g: targets must lie between 0 and 0, the numbers of its vertices"),
        ([("a",)], [-1], [0], [0.5], "g: sources must lie between 0 and 0, the numbers of its vertices"),
        ([("a",)], [0.5], [0], [0.5], "g: sources must be a list of vertex numbers"),
        ([("a",)], [[0]], [0], [0.5], "g: sources must be a list of vertex numbers"),
        ([("a",)], [0], [0], [0.5, 0.1], "g: sources, targets and weights must be of one length"),
        ([("a",)], [0], [0], [np.nan], "g: a weight is not finite"),
        ([("a",)], [0], [0], [np.inf], "g: a weight is not finite"),
    ],
)
def test_errors_name_the_graph_and_what_is_wrong(labels, sources, targets, weights, message):
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        LabelledGraph(labels, sources, targets, weights, name="g")


def test_networkx():
    theirs = networkx.MultiDiGraph(name="theirs")
    theirs.add_node("x", labels=["NN", "p53"])
    theirs.add_node(7, labels={"VB"})
    theirs.add_node((1, 2))
    theirs.add_edge("x", 7, weight=0.25)
    theirs.add_edge("x", 7, weight=0.5)
    theirs.add_edge(7, (1, 2))
    graph = LabelledGraph.from_networkx(theirs)
    assert graph.name == "theirs"
    assert graph.labels == (("NN", "p53"), ("VB",), ())
    edges = list(zip(graph.sources.tolist(), graph.targets.tolist(), graph.weights.tolist(), strict=True))
    assert edges == [(0, 1, 0.25), (0, 1, 0.5), (1, 2, 1.0)]
    assert LabelledGraph.from_networkx(theirs, "mine").name == "mine"


def test_networkx_errors():
    with pytest.raises(InvalidInputError, match="the graph is undirected: use its to_directed"):
        LabelledGraph.from_networkx(networkx.Graph())
    with pytest.raises(InvalidInputError, match="a graph must be a LabelledGraph or a NetworkX DiGraph, got int"):
        LabelledGraph.from_networkx(3)
    theirs = networkx.DiGraph(name="theirs")
    theirs.add_node(0, labels="NN")
    with pytest.raises(InvalidInputError, match="theirs: the labels of vertex 0 must be a sequence of strings"):
        LabelledGraph.from_networkx(theirs)


def test_packing_numbers_vertices_through_and_parts_undo_it():
    graphs = [
        LabelledGraph([("a",), ("b", "c")], [0, 1], [1, 0], [0.5, 0.25]),
        LabelledGraph([], [], [], [], name="none"),
        LabelledGraph([(), ("c",), ()], [2, 2], [1, 1], [0.25, 0.5]),
    ]
    codes = LabelCodes()
    packed = PackedGraphs.of(iter(graphs), codes)
    assert codes == {"a": 0, "b": 1, "c": 2}
    assert packed.names == ["graph 0", "none", "graph 2"]
    assert packed.vertex_bounds.tolist() == [0, 2, 2, 5]
    assert packed.label_bounds.tolist() == [0, 1, 3, 3, 4, 4]
    assert packed.labels.tolist() == [0, 1, 2, 2]
    assert packed.edge_bounds.tolist() == [0, 1, 2, 2, 2, 3]
    assert packed.targets.tolist() == [1, 0, 3]
    assert packed.weights.tolist() == [0.5, 0.25, 0.75]  # parallel edges are one
    assert [packed.name_of(vertex) for vertex in range(5)] == ["graph 0"] * 2 + ["graph 2"] * 3
    last = packed.part(2, 3)
    alone = PackedGraphs.of([graphs[2]], LabelCodes.of("abc"))
    for field in ("vertex_bounds", "label_bounds", "labels", "edge_bounds", "targets", "weights"):
        np.testing.assert_array_equal(getattr(last, field), getattr(alone, field))


@pytest.mark.parametrize(("cells", "sizes"), [(1, [1, 1, 1, 1]), (9, [1, 2, 1]), (13, [3, 1]), (29, [4])])
def test_parts_hold_as_many_graphs_as_have_so_many_pairs_of_vertices(cells, sizes):
    graphs = [LabelledGraph([()] * n, [], [], []) for n in (3, 2, 0, 4)]
    parts = list(PackedGraphs.of(graphs, LabelCodes()).parts(cells))
    assert [part.n_graphs for part in parts] == sizes
    assert [name for part in parts for name in part.names] == ["graph 0", "graph 1", "graph 2", "graph 3"]


@pytest.mark.parametrize("label", [3, None, ["a"]])
def test_a_label_that_is_no_string_is_named(label):
    with pytest.raises(InvalidInputError, match=r"^graph 1: "):
        PackedGraphs.of([LabelledGraph([("a",)], [], [], []), LabelledGraph([("a", label)], [], [], [])], LabelCodes())


@pytest.mark.parametrize("graphs", [LabelledGraph((), [], [], []), networkx.DiGraph(), 3])
def test_one_graph_is_no_list_of_graphs(graphs):
    with pytest.raises(InvalidInputError, match="graphs must be a list of graphs, got one"):
        PackedGraphs.of(graphs, LabelCodes())


def test_a_list_of_something_else():
    with pytest.raises(InvalidInputError, match="a graph must be a LabelledGraph or a NetworkX DiGraph, got ndarray"):
        PackedGraphs.of(np.zeros((2, 2)), LabelCodes())
