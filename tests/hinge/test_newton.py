"""Newton and the bundle method: proved by their gaps, and equal to another library on pairs written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.svm import LinearSVC

from kernelrank.base.labels import Queries
from kernelrank.comparisons import PreferenceGraph, ScoredQueries
from kernelrank.errors import NotConverged
from kernelrank.estimators import RankSVM
from kernelrank.features import ExplicitFeatures, FullKernel
from kernelrank.hinge import problem
from kernelrank.hinge.bundle import Bundle
from kernelrank.hinge.newton import Newton, _Path
from kernelrank.kernels import Kernel
from tests.oracles import hinge as oracle
from tests.oracles.pairs import Edges, scored_edges

SOLVERS = [Newton("hinge", 1e-6), Newton("squared_hinge", 1e-8), Bundle(1e-6)]
IDS = ["newton hinge", "newton squared hinge", "bundle"]


def loss_of(solver):
    return getattr(solver, "loss", "hinge")


def objective(w, X, edges, alpha, loss):
    cost = {"hinge": oracle.hinge, "squared_hinge": oracle.squared_hinge}[loss]
    return cost(X @ w, edges)[0] + alpha * w @ w


def draw(m=40, n=4, n_levels=5, n_queries=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    y = np.round(X @ rng.standard_normal(n) + rng.standard_normal(m), 0 if n_levels == 5 else 9)
    qid = rng.integers(n_queries, size=m)
    return X, y, qid


def solve(solver, X, y, qid, alpha, weight=None, query_weight="pairs", **options):
    queries = Queries.from_labels(qid, len(y))
    graph = ScoredQueries(y[:, None], queries, weight=weight, cost="unit", query_weight=query_weight)
    return solver.solve(solver.prepare(ExplicitFeatures(X), graph), alpha, **options)


def by_another_library(X, edges, alpha, loss):
    """scikit-learn's linear support vector machine on the differences of all pairs, half of them turned around."""
    sign = np.where(np.arange(len(edges.h)) % 2, 1.0, -1.0)
    differences = sign[:, None] * (X[edges.h] - X[edges.j])
    machine = LinearSVC(loss=loss, C=1 / (2 * alpha), fit_intercept=False, tol=1e-10, max_iter=10**6, dual=True)
    return machine.fit(differences, sign, sample_weight=edges.w2).coef_[0]


@pytest.mark.parametrize("query_weight", ["pairs", "items", "queries"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("solver", SOLVERS, ids=IDS)
def test_another_library_agrees(solver, weighted, query_weight):
    X, y, qid = draw()
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float) if weighted else None
    edges = scored_edges(y, qid, cost="unit", query_weight=query_weight, weight=weight)
    alpha = 0.02 * edges.w2.sum()
    solution = solve(solver, X, y, qid, alpha, weight, query_weight)
    expected = by_another_library(X, edges, alpha, loss_of(solver))
    least = objective(expected, X, edges, alpha, loss_of(solver))
    assert solution.gap <= solver.tol
    assert solution.objective == pytest.approx(objective(solution.coefficients[:, 0], X, edges, alpha, loss_of(solver)))
    assert (1 - solver.tol) * solution.objective <= least <= solution.objective * (1 + 1e-7)
    # alpha ‖w - w*‖² ≤ J(w) - J(w*), for the norm is strongly convex.
    far = np.linalg.norm(solution.coefficients[:, 0] - expected)
    assert far <= np.sqrt(2 * (solver.tol + 1e-9) * least / alpha)


@pytest.mark.parametrize("alpha", [1e-5, 1e-2, 1.0, 1e4])
@pytest.mark.parametrize("solver", SOLVERS, ids=IDS)
def test_the_gap_is_a_bound(solver, alpha):
    X, y, qid = draw(60, 6, n_levels=60, seed=2)
    edges = scored_edges(y, qid, cost="unit")
    rough = type(solver)(**{**({"loss": loss_of(solver)} if isinstance(solver, Newton) else {}), "tol": 0.05})
    alpha *= len(edges.h)
    exact, found = solve(solver, X, y, qid, alpha), solve(rough, X, y, qid, alpha)
    assert found.gap <= 0.05
    assert (1 - found.gap) * found.objective <= exact.objective <= found.objective * (1 + solver.tol)
    assert np.any(found.coefficients)  # zero ranks nothing, however near it may be


def test_both_solvers_of_the_hinge_agree():
    X, y, qid = draw(300, 8, n_levels=300, n_queries=1, seed=3)
    newton, bundle = (solve(s, X, y, qid, 30.0) for s in (Newton("hinge", 1e-7), Bundle(1e-7)))
    assert newton.objective == pytest.approx(bundle.objective, rel=1e-7)


@pytest.mark.parametrize("solver", SOLVERS, ids=IDS)
def test_preferences(solver):
    rng = np.random.default_rng(0)
    X, pairs = rng.standard_normal((30, 4)), rng.integers(30, size=(80, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    weight = rng.random(len(pairs)) + 0.5
    graph = PreferenceGraph(30, pairs, magnitude=np.ones(len(pairs)), weight=weight)
    solution = solver.solve(solver.prepare(ExplicitFeatures(X), graph), 2.0)
    edges = Edges(30, pairs[:, 0], pairs[:, 1], np.ones(len(pairs)), weight)
    least = objective(by_another_library(X, edges, 2.0, loss_of(solver)), X, edges, 2.0, loss_of(solver))
    assert (1 - solver.tol) * solution.objective <= least <= solution.objective * (1 + 1e-7)


@given(
    st.integers(2, 25),
    st.integers(1, 8),
    st.sampled_from([1, 2, 30]),
    st.sampled_from([1e-3, 0.1, 10.0]),
    st.integers(0, 10**6),
)
@settings(deadline=None, max_examples=40)
def test_any_shape_is_solved_and_proved(m, n, n_levels, alpha, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-2, 3, (m, n)).astype(float), rng.integers(0, n_levels + 1, m).astype(float)
    qid = rng.integers(0, 3, m)
    y[:2], qid[:2] = [0, 1], 0
    edges = scored_edges(y, qid, cost="unit")
    for solver in (Newton("hinge", 1e-5), Newton("squared_hinge", 1e-5), Bundle(1e-5)):
        solution = solve(solver, X, y, qid, alpha)
        assert solution.gap <= 1e-5
        value = objective(solution.coefficients[:, 0], X, edges, alpha, loss_of(solver))
        assert solution.objective == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("solver", SOLVERS, ids=IDS)
def test_a_warm_start_saves_steps(solver):
    X, y, qid = draw(500, 10, n_levels=500, n_queries=1, seed=4)
    cold = solve(solver, X, y, qid, 100.0)
    warm = solve(solver, X, y, qid, 100.0, start=cold.unknowns)
    assert warm.n_iter < cold.n_iter or warm.n_iter == 1 or isinstance(solver, Bundle)
    assert warm.objective <= cold.objective * (1 + 1e-12)
    assert warm.objective == pytest.approx(cold.objective, rel=2 * solver.tol)


@pytest.mark.parametrize("many", [1, 10**9])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_sample_that_is_solved_first_saves_steps(loss, many, monkeypatch):
    X, y, qid = draw(4000, 5, n_levels=4000, n_queries=40, seed=9)
    cold = solve(Newton(loss, 1e-5), X, y, qid, 1000.0)
    monkeypatch.setattr("kernelrank.hinge.newton.LARGE", 100)
    monkeypatch.setattr("kernelrank.hinge.problem.MANY_QUERIES", many)
    for features in (X, sparse.csr_array(X)):
        sampled = solve(Newton(loss, 1e-5), features, y, qid, 1000.0)
        assert sampled.gap <= 1e-5
        assert sampled.n_iter < cold.n_iter
        assert sampled.objective == pytest.approx(cold.objective, rel=2e-5)


def test_a_sample_without_a_pair_is_done_without(monkeypatch):
    monkeypatch.setattr("kernelrank.hinge.newton.LARGE", 2)
    X = np.random.default_rng(0).standard_normal((40, 2))
    y = np.zeros(40)
    y[39] = 1.0
    assert solve(Newton("hinge", 1e-6), X, y, None, 1.0).gap <= 1e-6


@pytest.mark.parametrize("solver", SOLVERS, ids=IDS)
def test_sparse_columns_are_never_made_dense(solver, monkeypatch):
    X, y, qid = draw(80, 6, seed=5)
    X[np.abs(X) < 1] = 0.0
    dense = solve(solver, X, y, qid, 10.0)

    def refuse(*_):
        raise AssertionError("made dense")

    S = sparse.csr_array(X)
    for name in ("toarray", "todense"):
        monkeypatch.setattr(sparse.csr_array, name, refuse)
        monkeypatch.setattr(sparse.csc_array, name, refuse)
    assert solve(solver, S, y, qid, 10.0).objective == pytest.approx(dense.objective, rel=2 * solver.tol)


@pytest.mark.parametrize(
    "solver", [Newton("hinge", 1e-9, 2), Newton("squared_hinge", 1e-12, 1), Bundle(1e-9, 2)], ids=IDS
)
def test_the_gap_that_is_left_is_told(solver):
    X, y, qid = draw(100, 5, seed=6)
    with pytest.warns(NotConverged, match=r"stopped after \d iterations with a duality gap of .* of the objective"):
        solution = solve(solver, X, y, qid, 0.1)
    assert solution.gap > solver.tol


@pytest.mark.parametrize("solver", [Newton("hinge", 0.0), Newton("squared_hinge", 0.0)], ids=["hinge", "squared"])
def test_rounding_ends_what_no_tolerance_ends(solver):
    X, y, qid = draw(50, 3, seed=7)
    with pytest.warns(NotConverged, match="the limit of double precision here"):
        solution = solve(solver, X, y, qid, 1.0)
    assert solution.gap < 1e-10
    assert solution.n_iter < 1000


@pytest.mark.parametrize("solver", SOLVERS, ids=IDS)
def test_each_step_is_told_its_gap_and_may_stop(solver):
    X, y, qid = draw(100, 5, seed=8)
    gaps = []

    def step(number, gap):
        gaps.append(gap)
        assert number == len(gaps)
        return number == 2

    solution = solve(solver, X, y, qid, 0.1, step=step)  # who asked for the stop needs no warning
    assert solution.n_iter == 2
    assert gaps[-1] <= gaps[0]
    assert solution.gap == pytest.approx(min(gaps[-1], 1.0), rel=1e-9)  # and the rounding of the proof


@pytest.mark.parametrize("solver", SOLVERS, ids=IDS)
def test_items_that_are_all_alike(solver):
    y = np.array([1.0, 2.0, 3.0])
    solution = solve(solver, np.ones((3, 2)), y, [0, 0, 0], 1.0)
    np.testing.assert_allclose(solution.coefficients, 0.0, atol=1e-12)
    assert solution.objective == pytest.approx(3.0)


def test_a_kernel_without_columns_is_refused():
    graph = ScoredQueries(np.array([[1.0], [2.0]]), Queries.from_labels(None, 2), cost="unit")
    with pytest.raises(TypeError, match="needs explicit features"):
        Newton().prepare(FullKernel(Kernel("rbf"), np.eye(2)), graph)


@pytest.mark.parametrize(
    ("loss", "rank", "tol"),
    [("hinge", 12, 1e-9), ("hinge", 30, 1e-3), ("squared_hinge", 12, 1e-9), ("squared_hinge", 30, 1e-9)],
)
def test_wide_columns_are_solved_in_the_span_of_the_items(loss, rank, tol, monkeypatch):
    rng = np.random.default_rng(rank)
    X = rng.standard_normal((30, rank)) @ rng.standard_normal((rank, 200)) + 5.0
    y, qid, new = rng.integers(0, 4, 30), rng.integers(0, 3, 30), rng.standard_normal((20, 200))
    options = {"loss": loss, "tol": tol}
    edges = scored_edges(y, qid, cost="unit")
    sizes = []
    advance = _Path.advance
    monkeypatch.setattr(_Path, "advance", lambda path: (sizes.append(path.problem.size), advance(path)))
    model = RankSVM(0.5, **options).fit(X, y, qid=qid)
    assert sizes.count(30) > sizes.count(200)
    path = RankSVM(**options).fit_path(X, y, [50.0, 0.5], qid=qid)
    monkeypatch.setattr(problem, "WIDE_BYTES", 0)
    sizes.clear()
    plain = RankSVM(0.5, **options).fit(X, y, qid=qid)
    assert set(sizes) == {200}
    for found in (model, path[1]):
        assert found.gap_ <= tol
        assert found.objective_ == pytest.approx(plain.objective_, rel=2.0 * tol)
        w = found.coef_
        assert found.objective_ == pytest.approx(objective(w, X, edges, 0.5, loss), rel=1e-11)
        # An objective within tol J of the minimum: weights within √(tol J / alpha) of its own.
        near = 2.0 * np.sqrt(tol * plain.objective_ / 0.5)
        assert np.linalg.norm(w - plain.coef_) <= near
        error = np.abs(found.predict(new) - plain.predict(new))
        assert np.all(error <= near * np.linalg.norm(new, axis=1))


def test_every_step_of_wide_columns_is_told():
    rng = np.random.default_rng(0)
    graph = ScoredQueries(rng.standard_normal((30, 1)), Queries.from_labels(None, 30), cost="unit")
    solver = Newton("squared_hinge", 1e-9)
    state = solver.prepare(ExplicitFeatures(rng.standard_normal((30, 200))), graph)
    told = []
    solution = solver.solve(state, 1.0, step=lambda n_iter, _: bool(told.append(n_iter)))
    assert told == list(range(1, solution.n_iter + 1))
    assert solver.solve(state, 1.0, step=lambda n_iter, _: n_iter >= 2).n_iter <= 3 < solution.n_iter
