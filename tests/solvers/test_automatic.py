from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest
from scipy import sparse

from kernelrank.base.labels import Queries
from kernelrank.comparisons import PreferenceGraph, ScoredQueries
from kernelrank.data import make_ranking
from kernelrank.errors import InvalidInputError, LostDigitsWarning, NotConverged
from kernelrank.estimators import RankRLS
from kernelrank.features import ExplicitFeatures, FullKernel, ReducedSet
from kernelrank.kernels import Kernel
from kernelrank.solvers import Cholesky, ConjugateGradient, NystromConjugateGradient, choose_solver, iterative


def graph(m):
    return ScoredQueries(np.arange(m, dtype=float)[:, None], Queries.from_labels(None, m))


def pairs(m):
    return PreferenceGraph(m, np.array([[0, 1]]), magnitude=np.ones(1), weight=np.ones(1))


def dense(m, n):
    return ExplicitFeatures(np.broadcast_to(np.zeros(1), (m, n)))


def sparse_features(m, n):
    return ExplicitFeatures(sparse.csr_array((m, n)))


def kernel(m):
    return FullKernel(Kernel("rbf"), np.broadcast_to(np.zeros(1), (m, 3)))


def reduced(m, r):
    features = ReducedSet.__new__(ReducedSet)
    features.n_items, features.n_columns = m, r
    return features


@pytest.mark.parametrize(
    ("features", "comparisons", "n_alphas", "expected"),
    [
        (dense(100, 5), graph(100), 1, "cholesky"),
        (dense(100, 5), graph(100), 5, "cholesky"),
        (dense(100, 5), graph(100), 6, "tridiagonal"),
        (dense(100, 25_000), graph(100), 1, "cholesky"),
        (dense(30_000, 25_000), graph(30_000), 1, "conjugate_gradient"),
        (sparse_features(30_000, 4_000), graph(30_000), 1, "conjugate_gradient"),
        (sparse_features(30_000, 4_000), graph(30_000), 9, "tridiagonal"),
        (sparse_features(30_000, 6_000), graph(30_000), 3, "conjugate_gradient"),
        (kernel(6_000), graph(6_000), 1, "cholesky"),
        (kernel(6_000), pairs(6_000), 1, "conjugate_gradient"),
        (dense(6_000, 10), pairs(6_000), 1, "cholesky"),
        (kernel(25_000), graph(25_000), 5, "nystrom_conjugate_gradient"),
        (kernel(25_000), pairs(25_000), 1, "conjugate_gradient"),
        (reduced(30_000, 20_000), graph(30_000), 1, "cholesky"),
        (reduced(30_000, 21_000), graph(30_000), 3, "nystrom_conjugate_gradient"),
        (reduced(30_000, 21_000), pairs(30_000), 1, "conjugate_gradient"),
    ],
)
def test_the_decision_table(features, comparisons, n_alphas, expected):
    assert choose_solver(features, comparisons, n_alphas).name == expected


@pytest.mark.parametrize(("shape", "solver"), [((400, 300), "conjugate_gradient"), ((300, 300), "cholesky")])
def test_sparse_columns_are_factorised_where_the_iteration_promises_no_end(monkeypatch, shape, solver):
    monkeypatch.setattr(iterative, "QUICK", 0.0)
    monkeypatch.setattr(iterative, "CUBE", 2e-10 if solver == "cholesky" else 1.0)
    rng = np.random.default_rng(0)
    X = sparse.random_array(shape, density=0.1, format="csr", rng=rng, data_sampler=rng.standard_normal)
    y = X @ rng.standard_normal(shape[1]) + rng.standard_normal(shape[0])
    model, exact = RankRLS(0.01).fit(X, y), RankRLS(0.01, solver="cholesky").fit(X, y)
    assert model.solver_ == solver
    expected = exact.predict(X)
    error = model.predict(X) - expected
    assert np.std(error) <= 2e-5 * np.std(expected)


@pytest.mark.parametrize("tol", [1e-3, 1e-6])
@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_the_tolerance_is_the_error_of_the_scores(tol, scale):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 200)) * scale ** rng.uniform(-1, 1, 200)
    X[:, 0] += 50.0
    y = rng.standard_normal(300)
    expected = RankRLS(solver="cholesky").fit(X, y).predict(X)
    error = RankRLS(solver="conjugate_gradient", tol=tol).fit(X, y).predict(X) - expected
    assert np.std(error) <= 3.0 * tol * np.std(expected)


def test_full_sparse_columns_are_those_of_the_dense_ones():
    X, y, qid = make_ranking(n_queries=20, random_state=0)
    for options in ({}, {"ties": "exclude"}):
        dense_model = RankRLS(solver="cholesky", **options).fit(X, y, qid=qid)
        for form in (sparse.csr_array, sparse.csc_array):
            model = RankRLS(solver="cholesky", **options).fit(form(X), y, qid=qid)
            np.testing.assert_allclose(model.coef_, dense_model.coef_, rtol=1e-9, atol=1e-12)


def test_too_few_iterations_warn_with_what_is_left():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 20)), rng.standard_normal(50)
    with pytest.warns(NotConverged, match="after 2 iterations with a relative residual of"):
        RankRLS(1e-3, solver="conjugate_gradient", max_iter=2).fit(X, y)


def test_sparse_columns_show_progress_and_warn_at_the_last_iteration(monkeypatch):
    shown = []

    @contextmanager
    def working(what):
        shown.append(what)
        yield

    monkeypatch.setattr(iterative, "working", working)
    monkeypatch.setattr(iterative, "QUICK", 0.0)
    monkeypatch.setattr(iterative, "CUBE", 1.0)
    rng = np.random.default_rng(0)
    X = sparse.random_array((60, 30), density=0.3, format="csr", rng=rng, data_sampler=rng.standard_normal)
    y = rng.standard_normal(60)
    with pytest.warns(NotConverged, match="after 2 iterations .* or use solver='cholesky'"):
        model = RankRLS(1e-3, max_iter=2).fit(X, y)
    assert (model.solver_, model.n_iter_) == ("conjugate_gradient", 2)
    assert shown == ["conjugate gradients"]
    RankRLS(1e-3).fit(X, y)  # enough iterations: no warning, which would be an error here
    assert shown == ["conjugate gradients"] * 2
    state = ExplicitFeatures(X), graph(60)
    stopped = iterative.SparseColumns().solve(state, 1e-3, step=lambda n_iter, _: n_iter == 3)
    assert (stopped.solver, stopped.n_iter) == (None, 3)  # and no factorisation after it


def test_outputs_that_are_done_leave_the_iteration():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 6))
    Y = np.column_stack([X[:, 0], rng.standard_normal(40), np.arange(40.0)])
    together = RankRLS(0.1, solver="conjugate_gradient", tol=1e-13).fit(X, Y)
    for k in range(3):
        alone = RankRLS(0.1, solver="cholesky").fit(X, Y[:, k])
        np.testing.assert_allclose(together.coef_[k], alone.coef_, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("solver", ["cholesky", "spectral"])
def test_an_indefinite_kernel_function_is_refused(solver):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 2)), rng.standard_normal(20)
    with pytest.raises(InvalidInputError, match="not positive semidefinite"):
        RankRLS(1e-3, kernel=lambda a, b: -float(a @ b), solver=solver).fit(X, y)


def test_rounding_that_stops_cholesky_is_survived():
    X = np.repeat(np.random.default_rng(0).standard_normal((10, 2)), 5, axis=0)
    y = np.arange(50.0)
    with pytest.warns(LostDigitsWarning):
        tiny = RankRLS(1e-18, kernel="rbf", solver="cholesky").fit(X, y)
    assert np.all(np.isfinite(tiny.dual_coef_))


@pytest.mark.parametrize("options", [{}, {"ties": "exclude"}, {"query_weight": "queries"}])
def test_a_nystrom_preconditioner_changes_nothing_but_the_number_of_steps(options, monkeypatch):
    X, y, qid = make_ranking(n_queries=30, n_items=10, n_features=4, n_levels=5, random_state=0)
    weight = np.random.default_rng(0).integers(1, 4, size=len(y)).astype(float)
    arguments = {"alpha": 1e-3, "kernel": "rbf", "gamma": 0.1, "tol": 1e-12, **options}
    fits = {}
    for solver in ("cholesky", "conjugate_gradient", "nystrom_conjugate_gradient"):
        fits[solver] = RankRLS(solver=solver, **arguments).fit(X, y, qid=qid, sample_weight=weight)
    expected = fits["cholesky"].predict(X)
    found = fits["nystrom_conjugate_gradient"].predict(X)
    np.testing.assert_allclose(found - found.mean(), expected - expected.mean(), atol=1e-7 * np.ptp(expected))
    assert fits["nystrom_conjugate_gradient"].n_iter_ < fits["conjugate_gradient"].n_iter_ / 5
    monkeypatch.setattr("kernelrank.features.kernels.KEPT_MATRIX_BYTES", 0)
    forgotten = RankRLS(solver="nystrom_conjugate_gradient", **arguments).fit(X, y, qid=qid, sample_weight=weight)
    np.testing.assert_allclose(
        forgotten.dual_coef_, fits["nystrom_conjugate_gradient"].dual_coef_, rtol=1e-6, atol=1e-9
    )


def test_a_nystrom_preconditioner_needs_a_kernel_that_can_be_recomputed():
    for kernel in ("linear", "precomputed"):
        with pytest.raises(InvalidInputError, match="a linear or precomputed kernel without a basis is not supported"):
            RankRLS(kernel=kernel, solver="nystrom_conjugate_gradient").fit(np.eye(3), np.arange(3.0))


def ill_conditioned():
    """A smooth Gaussian kernel on few columns, a small alpha, and queries of ten items."""
    X, y, qid = make_ranking(n_queries=60, n_items=10, n_features=3, n_levels=5, random_state=0)
    weight = np.random.default_rng(0).integers(1, 4, size=len(y)).astype(float)
    return np.asarray(X), y, {"qid": qid, "sample_weight": weight}


@pytest.mark.parametrize("options", [{}, {"ties": "exclude"}, {"query_weight": "queries"}])
def test_a_nystrom_preconditioner_for_reduced_sets(options):
    X, y, extra = ill_conditioned()
    arguments = {"alpha": 1e-2, "kernel": "rbf", "gamma": 0.1, "basis": 200, "random_state": 0, "tol": 1e-11, **options}
    fits = {}
    for solver in ("cholesky", "conjugate_gradient", "nystrom_conjugate_gradient"):
        fits[solver] = RankRLS(solver=solver, **arguments).fit(X, y, **extra)
    expected, found = (fits[name].predict(X) for name in ("cholesky", "nystrom_conjugate_gradient"))
    np.testing.assert_allclose(found - found.mean(), expected - expected.mean(), atol=1e-7 * np.ptp(expected))
    assert fits["nystrom_conjugate_gradient"].n_iter_ < fits["conjugate_gradient"].n_iter_ / 5


@pytest.mark.parametrize("kernel_bytes", [0, 2**32], ids=["nothing is kept", "kernels are kept"])
def test_reduced_sets_too_large_for_their_features(kernel_bytes, monkeypatch):
    X, y, extra = ill_conditioned()
    arguments = {"alpha": 1.0, "kernel": "rbf", "gamma": 0.5, "basis": 100, "random_state": 0}
    expected = RankRLS(solver="cholesky", **arguments).fit(X, y, **extra).predict(X)
    monkeypatch.setattr("kernelrank.features.kernels.KEPT_FEATURE_BYTES", 0)
    monkeypatch.setattr("kernelrank.features.kernels.KEPT_KERNEL_BYTES", kernel_bytes)
    for solver in ("cholesky", "conjugate_gradient", "nystrom_conjugate_gradient"):
        found = RankRLS(solver=solver, **arguments).fit(X, y, **extra).predict(X)
        np.testing.assert_allclose(found - found.mean(), expected - expected.mean(), atol=1e-7 * np.ptp(expected))


def test_a_preconditioner_of_fewer_items_than_the_basis_needs_few_steps():
    X, y, extra = ill_conditioned()
    features = ReducedSet(Kernel("rbf", gamma=0.1), X, np.arange(0, len(y), 2))
    queries = Queries.from_labels(extra["qid"], len(y))
    comparisons = ScoredQueries(y[:, None], queries, weight=extra["sample_weight"])
    solutions = [
        solver.solve(solver.prepare(features, comparisons), 1e-2)
        for solver in (Cholesky(), ConjugateGradient(), NystromConjugateGradient(size=60))
    ]
    scores = [features.predict(X, solution.coefficients)[:, 0] for solution in solutions]
    scores = [part - part.mean() for part in scores]
    np.testing.assert_allclose(scores[2], scores[0], atol=1e-7 * np.ptp(scores[0]))
    assert solutions[2].n_iter < solutions[1].n_iter / 3


def test_precomputed_reduced_sets_take_the_preconditioner():
    X, y, extra = ill_conditioned()
    K = Kernel("rbf", gamma=0.1).matrix(X)
    expected, found = (
        RankRLS(0.1, kernel="precomputed", basis=100, random_state=0, solver=solver).fit(K, y, **extra).predict(K)
        for solver in ("cholesky", "nystrom_conjugate_gradient")
    )
    np.testing.assert_allclose(found - found.mean(), expected - expected.mean(), atol=1e-7 * np.ptp(expected))
