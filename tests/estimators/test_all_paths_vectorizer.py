"""AllPathsVectorizer against the dense formula, and as a scikit-learn transformer.

scikit-learn's `check_estimator` cannot run: it fits matrices of numbers, and these are no graphs. Those of its checks
that fit nothing are called one by one, and what the others look for is tested on graphs.
"""

from __future__ import annotations

import networkx
import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks
from sklearn.utils._param_validation import InvalidParameterError

import kernelrank as kr
from kernelrank.errors import InvalidInputError
from kernelrank.kernels import LabelledGraph
from kernelrank.kernels.all_paths import ConnectedLabels, connect_labels
from kernelrank.kernels.labelled_graphs import LabelCodes, PackedGraphs
from tests.oracles.all_paths import adjacency, bounded_walk_weights, connections, spectral_radius, walk_weights

COMBINE = ["max", "sum"]


def scaled(labels, edges, radius=0.9):
    """A graph whose weights have a sum: those on cycles are scaled to a spectral radius."""
    sources, targets = ([edge[end] for edge in edges] for end in (0, 1))
    weights = np.array([edge[2] for edge in edges])
    graph = LabelledGraph(labels, np.array(sources, dtype=int), np.array(targets, dtype=int), weights)
    largest = spectral_radius(adjacency(graph))
    if largest > 1e-6:
        weights = weights * (radius / largest)
    return LabelledGraph(labels, graph.sources, graph.targets, weights)


@st.composite
def labelled_graphs(draw, low=0.01):
    labels = draw(st.lists(st.lists(st.sampled_from(["a", "b", "c", "d é", "NN"]), max_size=3), max_size=8))
    vertices = st.integers(0, max(0, len(labels) - 1))
    weights = st.floats(0.01, 1.0) if low > 0 else st.floats(0.01, 1.0) | st.floats(low, -0.01)
    edges = draw(st.lists(st.tuples(vertices, vertices, weights), max_size=2 * len(labels))) if labels else []
    return scaled(labels, edges)


def random_graphs(n_graphs, seed=0, n_vertices=15):
    rng = np.random.default_rng(seed)
    alphabet = [f"label {i}" for i in range(30)]
    graphs = []
    for _ in range(n_graphs):
        n = int(rng.integers(1, n_vertices + 1))
        labels = [rng.choice(alphabet, size=rng.integers(0, 4)).tolist() for _ in range(n)]
        edges = list(zip(rng.integers(0, n, 2 * n), rng.integers(0, n, 2 * n), rng.random(2 * n), strict=True))
        graphs.append(scaled(labels, edges))
    return graphs


def pairs_of(vectorizer):
    return [tuple(name.split(" -> ")) for name in vectorizer.get_feature_names_out()]


def as_dicts(vectorizer, X):
    X, pairs = sparse.csr_array(X), pairs_of(vectorizer)
    return [
        {pairs[j]: value for j, value in zip(X.indices[a:b], X.data[a:b], strict=True)}
        for a, b in zip(X.indptr, X.indptr[1:], strict=False)
    ]


def assert_same(ours, expected, rtol=1e-9):
    assert set(ours) == set(expected)
    np.testing.assert_allclose([ours[pair] for pair in expected], list(expected.values()), rtol=rtol)


@pytest.mark.parametrize("combine", COMBINE)
def test_features_are_those_of_the_dense_formula(combine):
    @settings(max_examples=60)
    @given(st.lists(labelled_graphs(), max_size=4))
    def check(graphs):
        vectorizer = kr.AllPathsVectorizer(combine=combine)
        X = vectorizer.fit_transform(graphs)
        X.check_format(full_check=True)
        assert X.has_canonical_format
        expected = [connections(graph, combine) for graph in graphs]
        assert pairs_of(vectorizer) == sorted({pair for G in expected for pair in G})
        for ours, G in zip(as_dicts(vectorizer, X), expected, strict=True):
            assert_same(ours, G)
        assert (vectorizer.transform(graphs) != X).nnz == 0

    check()


@pytest.mark.parametrize("combine", COMBINE)
def test_features_with_negative_weights(combine):
    @settings(max_examples=60)
    @given(labelled_graphs(low=-1.0))
    def check(graph):
        vectorizer = kr.AllPathsVectorizer(combine=combine)
        (ours,) = as_dicts(vectorizer, vectorizer.fit_transform([graph]))
        expected = connections(graph, combine)
        # Walks may cancel, up to rounding.
        for pair in set(ours) | set(expected):
            assert ours.get(pair, 0.0) == pytest.approx(expected.get(pair, 0.0), rel=1e-8, abs=1e-9)

    check()


@pytest.mark.parametrize("combine", COMBINE)
def test_larger_graphs(combine):
    graphs = random_graphs(20, n_vertices=80)
    vectorizer = kr.AllPathsVectorizer(combine=combine)
    X = vectorizer.fit_transform(graphs)
    for ours, graph in zip(as_dicts(vectorizer, X), graphs, strict=True):
        assert_same(ours, connections(graph, combine), rtol=1e-7)


@pytest.mark.parametrize("combine", COMBINE)
def test_walks_of_some_lengths_are_sums_of_powers(combine):
    @settings(max_examples=60)
    @given(labelled_graphs(), st.integers(1, 4), st.integers(0, 3), st.sampled_from([0.5, 1.0, 3.0]))
    def check(graph, shortest, more, decay):
        vectorizer = kr.AllPathsVectorizer(
            combine=combine, min_length=shortest, max_length=shortest + more, decay=decay
        )
        (ours,) = as_dicts(vectorizer, vectorizer.fit_transform([graph]))
        W = bounded_walk_weights(decay * adjacency(graph), shortest, shortest + more)
        assert_same(ours, connections(graph, combine, W))

    check()


def test_all_lengths_from_one_on():
    graphs = random_graphs(10, seed=2)
    for shortest in (2, 4):
        vectorizer = kr.AllPathsVectorizer(min_length=shortest, decay=0.7)
        for ours, graph in zip(as_dicts(vectorizer, vectorizer.fit_transform(graphs)), graphs, strict=True):
            A = 0.7 * adjacency(graph)
            W = np.linalg.matrix_power(A, shortest - 1) @ walk_weights(A)
            assert_same(ours, connections(graph, "max", W))


def test_a_long_finite_sum_is_the_infinite_one():
    graphs = random_graphs(20, seed=5)
    X = kr.AllPathsVectorizer(decay=0.5).fit_transform(graphs)
    Y = kr.AllPathsVectorizer(decay=0.5, max_length=60).fit_transform(graphs)
    np.testing.assert_allclose(Y.toarray(), X.toarray(), rtol=1e-10)


def molecule(name, labels, bonds):
    sources, targets = np.array(bonds + [(b, a) for a, b in bonds]).T
    return LabelledGraph([(label,) for label in labels], sources, targets, np.ones(2 * len(bonds)), name)


RING = molecule("ring", "CCCCCN", [(i, (i + 1) % 6) for i in range(6)])
CHAIN = molecule("chain", "CCO", [(0, 1), (1, 2)])


def test_graphs_of_unit_weights_and_cycles():
    with pytest.raises(
        InvalidInputError, match=r"^ring: .* is 2, not below 1.* a decay below 0\.5, decay='auto', a max"
    ):
        kr.AllPathsVectorizer().fit([RING])
    with pytest.raises(InvalidInputError, match=r"is 1\.4, not below 1.* a decay below 0\.5,"):
        kr.AllPathsVectorizer(decay=0.7).fit([RING])
    assert kr.AllPathsVectorizer(max_length=3).fit([RING]).n_pairs_ == 4
    vectorizer = kr.AllPathsVectorizer(decay="auto").fit([CHAIN, RING])
    assert vectorizer.decay_ == pytest.approx(0.25)
    (ours,) = as_dicts(vectorizer, vectorizer.transform([CHAIN]))
    seen = {pair: value for pair, value in connections_of(CHAIN, 0.25).items() if "O" not in pair or pair in ours}
    assert_same(ours, seen)
    # New graphs are decayed as those of the fit, and may not have a sum.
    with pytest.raises(InvalidInputError, match=r"^clique: .* is 1, not below 1"):
        vectorizer.transform([molecule("clique", "CCCCC", [(a, b) for a in range(5) for b in range(a)])])


def connections_of(graph, decay):
    return connections(graph, "max", walk_weights(decay * adjacency(graph)))


def test_without_cycles_nothing_decays():
    assert kr.AllPathsVectorizer(decay="auto").fit([LabelledGraph([("a",), ("b",)], [0], [1], [5.0])]).decay_ == 1
    assert kr.AllPathsVectorizer(decay="auto").fit([]).decay_ == 1


def test_lengths_that_hold_nothing():
    with pytest.raises(InvalidInputError, match="max_length=1 is below min_length=2"):
        kr.AllPathsVectorizer(min_length=2, max_length=1).fit([CHAIN])
    for wrong in ({"max_length": 0}, {"min_length": 0}, {"decay": 0.0}, {"decay": "half"}):
        with pytest.raises(InvalidParameterError):
            kr.AllPathsVectorizer(**wrong).fit([CHAIN])


def test_few_of_many_labels_are_connected():
    labels = [(f"label {i:03d}",) for i in range(200)]
    graph = LabelledGraph(labels, [5, 5, 5, 100], [150, 7, 100, 3], [0.5, 0.25, 0.125, 0.5])
    vectorizer = kr.AllPathsVectorizer()
    X = vectorizer.fit_transform([graph])
    assert X.has_canonical_format
    assert pairs_of(vectorizer) == [
        *(("label 005", f"label {i:03d}") for i in (3, 7, 100, 150)),
        ("label 100", "label 003"),
    ]
    np.testing.assert_array_equal(X.toarray(), [[0.0625, 0.25, 0.125, 0.5, 0.5]])


def test_a_sentence_by_hand():
    # PROT1 ←nsubj_IP← binds_IP →dobj_IP→ PROT2, and a determiner beside the path.
    labels = [
        ("binds_IP", "VBZ_IP"),
        ("nsubj_IP",),
        ("PROT1_IP",),
        ("dobj_IP",),
        ("PROT2_IP",),
        ("det",),
        ("the", "DT"),
    ]
    sources, targets = [0, 1, 0, 3, 4, 5], [1, 2, 3, 4, 5, 6]
    graph = LabelledGraph(labels, sources, targets, [0.9, 0.9, 0.9, 0.9, 0.3, 0.3])
    verb = {
        "nsubj_IP": 0.9,
        "PROT1_IP": 0.81,
        "dobj_IP": 0.9,
        "PROT2_IP": 0.81,
        "det": 0.243,
        "the": 0.0729,
        "DT": 0.0729,
    }
    expected = {(first, second): value for first in ("binds_IP", "VBZ_IP") for second, value in verb.items()}
    expected |= {("nsubj_IP", "PROT1_IP"): 0.9, ("dobj_IP", "PROT2_IP"): 0.9, ("dobj_IP", "det"): 0.27}
    expected |= {("dobj_IP", "the"): 0.081, ("dobj_IP", "DT"): 0.081, ("PROT2_IP", "det"): 0.3}
    expected |= {("PROT2_IP", "the"): 0.09, ("PROT2_IP", "DT"): 0.09, ("det", "the"): 0.3, ("det", "DT"): 0.3}
    for combine in COMBINE:
        vectorizer = kr.AllPathsVectorizer(combine=combine)
        (ours,) = as_dicts(vectorizer, vectorizer.fit_transform([graph]))
        assert_same(ours, expected, rtol=1e-12)


def test_sum_adds_and_max_takes_the_largest():
    graph = LabelledGraph(
        [("a",), ("b",), ("a", "b"), ("b", "b")], [0, 0, 2, 0], [1, 3, 3, 1], [0.5, 0.25, 0.125, 0.25]
    )
    by_sum, by_max = (kr.AllPathsVectorizer(combine=combine).fit_transform([graph]) for combine in ("sum", "max"))
    np.testing.assert_array_equal(by_sum.toarray(), [[0.75 + 0.25 + 0.125, 0.125]])
    np.testing.assert_array_equal(by_max.toarray(), [[0.75, 0.125]])


@pytest.mark.parametrize("combine", COMBINE)
def test_the_order_of_vertices_and_edges_does_not_matter(combine):
    rng = np.random.default_rng(1)
    graphs, moved = random_graphs(30), []
    for graph in graphs:
        new = rng.permutation(graph.n_vertices)
        edges = rng.permutation(graph.n_edges)
        labels = [graph.labels[old][::-1] for old in np.argsort(new)]
        moved.append(LabelledGraph(labels, new[graph.sources[edges]], new[graph.targets[edges]], graph.weights[edges]))
    X = kr.AllPathsVectorizer(combine=combine).fit_transform(graphs)
    Y = kr.AllPathsVectorizer(combine=combine).fit_transform(moved)
    np.testing.assert_array_equal(X.indptr, Y.indptr)
    np.testing.assert_array_equal(X.indices, Y.indices)
    np.testing.assert_allclose(X.data, Y.data, rtol=1e-10)


@pytest.mark.parametrize("combine", COMBINE)
def test_components_do_not_see_each_other(combine):
    first, second = random_graphs(2, seed=3)
    both = LabelledGraph(
        first.labels + second.labels,
        np.concatenate([first.sources, second.sources + first.n_vertices]),
        np.concatenate([first.targets, second.targets + first.n_vertices]),
        np.concatenate([first.weights, second.weights]),
    )
    apart = kr.AllPathsVectorizer(combine=combine)
    X = apart.fit_transform([first, second]).toarray()
    Y = apart.transform([both]).toarray()[0]
    np.testing.assert_allclose(Y, X.sum(axis=0) if combine == "sum" else X.max(axis=0), rtol=1e-12)
    assert kr.AllPathsVectorizer(combine=combine).fit([both]).n_pairs_ == apart.n_pairs_


def test_graphs_with_nothing_in_them():
    empty = [
        LabelledGraph((), [], [], []),
        LabelledGraph([("a",)], [], [], []),
        LabelledGraph([(), ()], [0, 1], [1, 0], [0.5, 0.5]),
        LabelledGraph([("a",), ()], [0], [1], [0.5]),
    ]
    vectorizer = kr.AllPathsVectorizer(normalize=True)
    X = vectorizer.fit_transform(empty)
    assert X.shape == (4, 0)
    assert vectorizer.get_feature_names_out().tolist() == []
    assert vectorizer.transform([]).shape == (0, 0)
    full = LabelledGraph([("a",), ("b",)], [0], [1], [0.5])
    X = vectorizer.fit_transform([*empty, full, empty[0]])
    np.testing.assert_array_equal(X.toarray(), [[0], [0], [0], [0], [1], [0]])
    assert kr.AllPathsVectorizer().fit_transform([]).shape == (0, 0)


def test_a_vertex_without_labels_still_carries_walks():
    graph = LabelledGraph([("a",), (), ("b",)], [0, 1], [1, 2], [0.5, 0.5])
    vectorizer = kr.AllPathsVectorizer()
    np.testing.assert_array_equal(vectorizer.fit_transform([graph]).toarray(), [[0.25]])
    assert pairs_of(vectorizer) == [("a", "b")]


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("combine", COMBINE)
def test_pairs_that_were_not_seen_are_left_out(combine, normalize):
    graphs = random_graphs(40)
    vectorizer = kr.AllPathsVectorizer(combine=combine, normalize=normalize).fit(graphs[:5])
    everything = kr.AllPathsVectorizer(combine=combine, normalize=normalize)
    X = everything.fit_transform(graphs)
    numbers = {pair: number for number, pair in enumerate(pairs_of(everything))}
    known = [numbers[pair] for pair in pairs_of(vectorizer)]
    assert 0 < len(known) < len(numbers)
    assert len(vectorizer.labels_) < len(everything.labels_)
    ours = vectorizer.transform(graphs)
    ours.check_format(full_check=True)
    assert ours.shape == (40, vectorizer.n_pairs_)
    # Labels that are new come last, so that lengths are summed in another order.
    np.testing.assert_allclose(ours.toarray(), X.toarray()[:, known], rtol=1e-14 if normalize else 0)


@pytest.mark.parametrize("combine", COMBINE)
def test_cosines(combine):
    graphs = [graph for graph in random_graphs(20) if connections(graph, combine)]
    X = kr.AllPathsVectorizer(combine=combine).fit_transform(graphs)
    U = kr.AllPathsVectorizer(combine=combine, normalize=True).fit_transform(graphs)
    np.testing.assert_allclose((U @ U.T).diagonal(), 1.0, rtol=1e-12)
    norms = np.sqrt((X.multiply(X)).sum(axis=1))
    np.testing.assert_allclose((U @ U.T).toarray(), (X @ X.T).toarray() / np.outer(norms, norms), rtol=1e-10)


def test_the_kernel_is_positive_semidefinite():
    for combine in COMBINE:
        X = kr.AllPathsVectorizer(combine=combine).fit_transform(random_graphs(20))
        values = np.linalg.eigvalsh((X @ X.T).toarray())
        assert values.min() > -1e-10 * values.max()


def test_threads_and_parts_change_nothing():
    graphs = random_graphs(100, n_vertices=40) * 25
    assert len(list(PackedGraphs.of(graphs, LabelCodes()).parts())) > 1
    one, two = kr.AllPathsVectorizer(normalize=True), kr.AllPathsVectorizer(normalize=True, n_jobs=2)
    X, Y = one.fit_transform(graphs), two.fit_transform(graphs)
    for field in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(X, field), getattr(Y, field))
    np.testing.assert_array_equal(one.get_feature_names_out(), two.get_feature_names_out())
    assert (two.transform(graphs[::-1]) != X[::-1]).nnz == 0
    packed = PackedGraphs.of(graphs[:50], LabelCodes())
    whole = connect_labels(packed, "sum")
    joined = ConnectedLabels.join([connect_labels(part, "sum") for part in packed.parts(1000)])
    for field in ("row_bounds", "firsts", "entry_bounds", "seconds", "values"):
        np.testing.assert_array_equal(getattr(whole, field), getattr(joined, field))


def test_fit_transform_reads_an_iterator_once():
    graphs = random_graphs(5)
    vectorizer = kr.AllPathsVectorizer()
    X = vectorizer.fit_transform(iter(graphs))
    assert (vectorizer.transform(graph for graph in graphs) != X).nnz == 0


def test_networkx_graphs():
    theirs = networkx.DiGraph()
    theirs.add_node("x", labels=["a"])
    theirs.add_node("y", labels=["b", "c"])
    theirs.add_edge("x", "y", weight=0.5)
    theirs.add_edge("y", "x", weight=0.5)
    ours = LabelledGraph([("a",), ("b", "c")], [0, 1], [1, 0], [0.5, 0.5])
    X = kr.AllPathsVectorizer().fit_transform([theirs, ours])
    np.testing.assert_array_equal(X.toarray()[0], X.toarray()[1])
    theirs["y"]["x"]["weight"] = 2.0
    with pytest.raises(InvalidInputError, match=r"^graph 1: the spectral radius"):
        kr.AllPathsVectorizer().fit([ours, theirs])
    theirs.name = "the second"
    with pytest.raises(InvalidInputError, match=r"^the second: the spectral radius"):
        kr.AllPathsVectorizer().fit([ours, theirs])


def test_a_fit_that_fails_leaves_the_transformer_as_it_was():
    graphs = random_graphs(5)
    vectorizer = kr.AllPathsVectorizer().fit(graphs)
    before = vectorizer.transform(graphs)
    with pytest.raises(InvalidInputError, match="bad"):
        vectorizer.fit([LabelledGraph([("new",)], [0], [0], [1.0], name="bad")])
    assert (vectorizer.transform(graphs) != before).nnz == 0


# As a scikit-learn transformer.


@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_estimator_cloneable,
        estimator_checks.check_estimator_tags_renamed,
        estimator_checks.check_valid_tag_types,
        estimator_checks.check_estimator_repr,
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_set_params,
        estimator_checks.check_parameters_default_constructible,
        estimator_checks.check_do_not_raise_errors_in_init_or_set_params,
        estimator_checks.check_mixin_order,
    ],
    ids=lambda check: check.__name__,
)
def test_scikit_learn_checks_that_fit_nothing(check):
    check("AllPathsVectorizer", kr.AllPathsVectorizer())


def test_tags():
    tags = kr.AllPathsVectorizer().__sklearn_tags__()
    assert not tags.input_tags.two_d_array
    assert tags.no_validation
    assert tags.transformer_tags is not None


def test_parameters_are_checked_in_fit():
    for wrong in ({"combine": "mean"}, {"normalize": "l2"}, {"n_jobs": 1.5}):
        with pytest.raises(InvalidParameterError, match=next(iter(wrong))):
            kr.AllPathsVectorizer(**wrong).fit(random_graphs(1))
        with pytest.raises(InvalidParameterError, match=next(iter(wrong))):
            kr.AllPathsVectorizer(**wrong).fit_transform(random_graphs(1))


def test_not_fitted():
    vectorizer = kr.AllPathsVectorizer()
    with pytest.raises(NotFittedError):
        vectorizer.transform(random_graphs(1))
    with pytest.raises(NotFittedError):
        vectorizer.get_feature_names_out()
    assert clone(vectorizer.fit(random_graphs(2))).get_params() == vectorizer.get_params()
    with pytest.raises(NotFittedError):
        clone(vectorizer).transform(random_graphs(1))


def test_a_second_fit_forgets_the_first():
    one, other = random_graphs(6)[:3], random_graphs(6)[3:]
    twice = kr.AllPathsVectorizer().fit(one).fit(other)
    once = kr.AllPathsVectorizer().fit(other)
    np.testing.assert_array_equal(twice.get_feature_names_out(), once.get_feature_names_out())


def test_in_pipelines_and_searches():
    graphs = random_graphs(40)
    y = np.array([graph.weights.sum() for graph in graphs])
    pipeline = make_pipeline(kr.AllPathsVectorizer(), kr.RLS(0.1))
    search = GridSearchCV(pipeline, {"allpathsvectorizer__combine": COMBINE, "rls__alpha": [0.1, 10.0]}, cv=3)
    search.fit(graphs, y)
    assert search.predict(graphs).shape == (40,)
    X = clone(search.best_estimator_[0]).fit_transform(graphs)
    np.testing.assert_allclose(clone(search.best_estimator_[1]).fit(X, y).predict(X), search.predict(graphs))
    names = search.best_estimator_[:-1].get_feature_names_out()
    assert len(names) == X.shape[1]


def test_output_is_sparse_whatever_frames_others_make():
    graphs = random_graphs(3)
    vectorizer = kr.AllPathsVectorizer().set_output(transform="default")
    assert isinstance(vectorizer.fit_transform(graphs), sparse.csr_array)
    with sklearn.config_context(transform_output="pandas"), pytest.raises(ValueError, match="sparse"):
        kr.AllPathsVectorizer().fit_transform(graphs)


def test_saved_and_loaded(tmp_path):
    graphs = random_graphs(10)
    vectorizer = kr.AllPathsVectorizer(combine="sum", normalize=True).fit(graphs[:7])
    kr.save(vectorizer, tmp_path / "vectorizer.kr")
    loaded = kr.load(tmp_path / "vectorizer.kr")
    assert loaded.get_params() == vectorizer.get_params()
    assert (loaded.transform(graphs) != vectorizer.transform(graphs)).nnz == 0
    np.testing.assert_array_equal(loaded.get_feature_names_out(), vectorizer.get_feature_names_out())
