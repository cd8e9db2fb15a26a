from __future__ import annotations

import networkx
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kernelrank.errors import InvalidInputError
from kernelrank.kernels import LabelledGraph
from kernelrank.kernels.all_paths import strong_components, sum_walks
from kernelrank.kernels.labelled_graphs import LabelCodes, PackedGraphs
from tests.oracles.all_paths import adjacency, reachable, spectral_radius, walk_weights


def packed(*graphs: LabelledGraph) -> PackedGraphs:
    return PackedGraphs.of(graphs, LabelCodes())


def of_matrix(A: np.ndarray, name: str = "") -> LabelledGraph:
    sources, targets = np.nonzero(A)
    return LabelledGraph(((),) * len(A), sources, targets, np.asarray(A)[sources, targets], name)


def dense(graphs: PackedGraphs) -> np.ndarray:
    walks = sum_walks(graphs)
    W = np.zeros((len(walks.starts), len(walks.starts)))
    for vertex, (start, stop) in enumerate(zip(walks.starts, walks.stops, strict=True)):
        columns = walks.columns[start:stop]
        assert len(np.unique(columns)) == len(columns)
        W[vertex, columns] = walks.values[start:stop]
    return W


@st.composite
def matrices(draw, signed=False):
    """Adjacency matrices with components of every size, cycles and self-loops, sparse ones most of all."""
    n = draw(st.integers(0, 9))
    weights = st.floats(0.01, 1.0)
    if signed:
        weights |= st.floats(-1.0, -0.01)
    A = np.zeros((n, n))
    if n:
        vertices = st.integers(0, n - 1)
        for source, target, weight in draw(st.lists(st.tuples(vertices, vertices, weights), max_size=3 * n)):
            A[source, target] = weight
    return A


@given(matrices(), st.floats(0.1, 0.99))
def test_walks_are_those_of_the_dense_inverse(A, radius):
    if spectral_radius(A) > 1e-6:
        A = A * radius / spectral_radius(A)
    W = dense(packed(of_matrix(A)))
    np.testing.assert_array_equal(W != 0, reachable(A))
    np.testing.assert_allclose(W, walk_weights(A), rtol=1e-9, atol=1e-12)


@given(matrices(signed=True), st.floats(0.1, 0.95))
def test_negative_weights(A, radius):
    if spectral_radius(A) > 1e-6:
        A = A * radius / spectral_radius(A)
    expected = np.linalg.inv(np.eye(len(A)) - A) - np.eye(len(A))
    assume(np.abs(expected).max(initial=0) < 1e6)
    W = dense(packed(of_matrix(A)))
    assert not (W[~reachable(A)] != 0).any()
    np.testing.assert_allclose(W, expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("signed", [False, True])
def test_the_radius_decides(signed):
    @given(matrices(signed))
    def check(A):
        radius = spectral_radius(A)
        assume(abs(radius - 1) > 1e-6)
        graphs = packed(of_matrix(A, "this one"))
        if radius < 1:
            sum_walks(graphs)
        else:
            with pytest.raises(
                InvalidInputError, match=r"this one: the spectral radius of its weights is [^ ]+, not below 1"
            ):
                sum_walks(graphs)

    check()


DIVERGE = {
    "a self-loop of one": [[1.0]],
    "a self-loop of two": [[2.0]],
    "a self-loop of minus one": [[-1.0]],
    "a cycle of two": [[0, 2.0], [0.5, 0]],
    "a cycle of three": [[0, 1, 0], [0, 0, 1], [1, 0, 0]],
    "a cycle of three, rounded": [[0, 0.1, 0], [0, 0, 3], [1 / 0.3, 0, 0]],
    "a cycle of two, rounded to below one": [[0, 1.9], [1 / 1.9, 0]],
    "two cycles": [[0.5, 0.5, 0], [0.5, 0, 0.5], [0, 1, 0]],
    "a rotation": [[0, -1.1], [1.1, 0]],
    "large, and its inverse positive on the diagonal": [[0, 3.0, 3.0], [3.0, 0, 3.0], [3.0, 3.0, 0]],
}


@pytest.mark.parametrize("A", DIVERGE.values(), ids=DIVERGE.keys())
def test_weights_without_a_sum(A):
    fine = of_matrix(np.array([[0, 0.5], [0.5, 0]]))
    with pytest.raises(InvalidInputError, match=r"^graph 1: the spectral radius of its weights is [^ ]+, not below 1"):
        sum_walks(packed(fine, of_matrix(np.array(A, dtype=float)), fine))
    with pytest.raises(InvalidInputError, match=r"^bad: the spectral radius"):
        sum_walks(packed(fine, fine, of_matrix(np.array(A, dtype=float), "bad")))


def test_the_first_such_graph_is_named():
    large, small = np.full((3, 3), 0.4), np.array([[1.5]])
    with pytest.raises(InvalidInputError, match=r"^graph 0: "):
        sum_walks(packed(of_matrix(large), of_matrix(small)))
    with pytest.raises(InvalidInputError, match=r"^graph 0: "):
        sum_walks(packed(of_matrix(small), of_matrix(large)))


def test_signs_can_make_a_sum_that_the_sizes_alone_have_not():
    A = np.array([[0.6, -0.6], [0.6, 0.6]])
    assert spectral_radius(np.abs(A)) > 1 > spectral_radius(A)
    np.testing.assert_allclose(dense(packed(of_matrix(A))), walk_weights(A), rtol=1e-12)


def test_a_radius_just_below_one():
    w = 1 - 1e-9
    np.testing.assert_allclose(dense(packed(of_matrix(np.array([[w]])))), [[w / (1 - w)]], rtol=1e-12)


def test_large_weights_on_no_cycle_are_fine_until_they_overflow():
    chain = LabelledGraph([()] * 4, [0, 1, 2], [1, 2, 3], [1e100] * 3)
    assert dense(packed(chain))[0, 3] == pytest.approx(1e300)
    longer = LabelledGraph([()] * 5, [0, 1, 2, 3], [1, 2, 3, 4], [1e100] * 4)
    with pytest.raises(InvalidInputError, match="graph 1: the sum of the weights of its walks overflows"):
        sum_walks(packed(chain, longer))


def test_an_edge_of_weight_zero_is_none():
    graph = LabelledGraph([()] * 3, [0, 1, 1, 2, 2], [1, 0, 2, 0, 0], [0.5, 0.0, 0.5, 0.25, -0.25])
    np.testing.assert_array_equal(dense(packed(graph)), [[0, 0.5, 0.25], [0, 0, 0.5], [0, 0, 0]])


def test_a_long_chain():
    n = 300
    chain = LabelledGraph([()] * n, np.arange(n - 1), np.arange(1, n), np.full(n - 1, 0.9))
    steps = np.arange(n)[None, :] - np.arange(n)[:, None]
    expected = np.where(steps > 0, 0.9 ** np.maximum(steps, 0), 0.0)
    np.testing.assert_allclose(dense(packed(chain)), expected, rtol=1e-12)


def test_a_large_cycle_with_chains_on_both_sides():
    rng = np.random.default_rng(0)
    A = np.zeros((120, 120))
    A[np.arange(119), np.arange(1, 120)] = 0.7
    A[20:90, 20:90] = rng.random((70, 70)) * (rng.random((70, 70)) < 0.2)
    A[20:90, 20:90] *= 0.9 / spectral_radius(A[20:90, 20:90])
    np.testing.assert_allclose(dense(packed(of_matrix(A))), walk_weights(A), rtol=1e-9, atol=1e-13)


@given(matrices())
def test_strong_components_are_those_of_networkx(A):
    graphs = packed(of_matrix(A))
    component = strong_components(graphs.edge_bounds, graphs.targets)
    theirs = networkx.strongly_connected_components(networkx.DiGraph(A))
    ours = [set(np.flatnonzero(component == number).tolist()) for number in range(component.max(initial=-1) + 1)]
    assert sorted(map(sorted, ours)) == sorted(map(sorted, theirs))
    sources, targets = np.nonzero(A)
    assert (component[sources] >= component[targets]).all()


def test_strong_components_of_a_deep_graph_need_no_recursion():
    n = 200_000
    bounds = np.arange(n + 1)
    component = strong_components(bounds, np.append(np.arange(1, n), 0))
    assert component.max() == 0


def test_the_adjacency_matrix_of_the_oracle_adds_parallel_edges():
    graph = LabelledGraph([(), ()], [0, 0], [1, 1], [0.25, 0.5])
    np.testing.assert_array_equal(adjacency(graph), [[0, 0.75], [0, 0]])
