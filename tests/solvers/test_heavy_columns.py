from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from kernelrank.base.labels import Queries
from kernelrank.comparisons import PreferenceGraph, ScoredQueries
from kernelrank.estimators import RankRLS
from kernelrank.features import ExplicitFeatures
from kernelrank.solvers import Cholesky, iterative
from kernelrank.solvers.iterative import HeavyColumns, heavy_count


@pytest.fixture(autouse=True)
def few_columns(monkeypatch):
    monkeypatch.setattr(iterative, "FEWEST_HEAVY", 4)


def term_counts(m, n, seed=0):
    rng = np.random.default_rng(seed)
    frequency = 1.0 / np.arange(1, n + 1)
    lengths = rng.geometric(0.05, m)
    words = rng.choice(n, lengths.sum(), p=frequency / frequency.sum())
    X = sparse.csr_array((np.ones(len(words)), (np.repeat(np.arange(m), lengths), words)), shape=(m, n))
    X.sum_duplicates()
    return X, X @ rng.standard_normal(n) + rng.standard_normal(m)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("queries", [1, 5])
@pytest.mark.parametrize("alpha", [0.1, 10.0, 1e4])
def test_equals_cholesky(form, outputs, queries, alpha):
    X, y = term_counts(150, 200)
    rng = np.random.default_rng(1)
    scores = y[:, None] + rng.standard_normal((150, outputs))
    graph = ScoredQueries(scores, Queries.from_labels(rng.integers(queries, size=150), 150))
    features = ExplicitFeatures(form(X))
    solver, direct = HeavyColumns(tol=1e-9), Cholesky()
    found = solver.solve(solver.prepare(features, graph), alpha)
    expected = direct.solve(direct.prepare(features, graph), alpha)
    error, spread = (graph.centre(X @ w) for w in (found.coefficients - expected.coefficients, expected.coefficients))
    assert np.all(np.linalg.norm(error, axis=0) <= 5e-9 * np.linalg.norm(spread, axis=0))
    assert found.n_iter < 300


@pytest.mark.parametrize("options", [{}, {"ties": "exclude"}, {"query_weight": "queries"}])
def test_weights_and_ties(options):
    X, y = term_counts(120, 150, seed=2)
    rng = np.random.default_rng(3)
    weight = rng.integers(0, 4, 120).astype(float)
    qid = rng.integers(4, size=120)
    graph = ScoredQueries(y.round()[:, None], Queries.from_labels(qid, 120), weight=weight, **options)
    features = ExplicitFeatures(X.astype(np.float32))
    solver, direct = HeavyColumns(tol=1e-9), Cholesky()
    found = solver.solve(solver.prepare(features, graph), 1.0).coefficients
    expected = direct.solve(direct.prepare(features, graph), 1.0).coefficients
    assert np.linalg.norm(graph.centre(X @ (found - expected))) <= 5e-9 * np.linalg.norm(graph.centre(X @ expected))


def test_where_it_helps():
    X, y = term_counts(150, 200)
    graph = ScoredQueries(y[:, None], Queries.from_labels(None, 150))
    even = sparse.random_array((150, 200), density=0.1, rng=np.random.default_rng(0), format="csr")
    pairs = PreferenceGraph(150, np.array([[0, 1]]), magnitude=np.ones(1), weight=np.ones(1))
    assert heavy_count(ExplicitFeatures(X), graph) == 150 // 8
    assert heavy_count(ExplicitFeatures(even), graph) == 0
    assert heavy_count(ExplicitFeatures(X), pairs) == 0
    assert heavy_count(ExplicitFeatures(X[:, :50]), graph) == 0


@pytest.fixture
def promised(monkeypatch):
    """A cost model by which the plain iteration ends too late, and a factorisation takes very long."""
    monkeypatch.setattr(iterative, "CUBE", 1.0)
    monkeypatch.setattr(iterative, "HEAVY_STEPS", 20)
    monkeypatch.setattr(iterative, "DENSE_PRODUCT", 0.0)


@pytest.mark.usefixtures("promised")
def test_auto_takes_it_where_the_plain_iteration_promises_to_take_longer():
    X, y = term_counts(300, 320)
    steps = RankRLS(1e-3, solver="conjugate_gradient", tol=1e-5).fit(X, y).n_iter_
    model = RankRLS(1e-3).fit(X, y)
    expected = RankRLS(1e-3, solver="cholesky").fit(X, y).predict(X)
    assert model.solver_ == "conjugate_gradient"
    assert model.n_iter_ < steps
    assert np.std(model.predict(X) - expected) <= 2e-5 * np.std(expected)


@pytest.mark.usefixtures("promised")
def test_auto_factorises_where_rounding_spoils_it(monkeypatch):
    monkeypatch.setattr(iterative, "DRIFT", 0.0)
    X, y = term_counts(300, 320)
    model, expected = RankRLS(1e-3).fit(X, y), RankRLS(1e-3, solver="cholesky").fit(X, y)
    assert model.solver_ == "cholesky"
    np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=1e-9)
