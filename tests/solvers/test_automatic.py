from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from kernelrank import RankRLS
from kernelrank.comparisons import Preferences, ScoredQueries
from kernelrank.errors import InvalidInputError, NotConverged
from kernelrank.features import ExplicitFeatures, FullKernel
from kernelrank.kernels import Kernel
from kernelrank.queries import Queries
from kernelrank.solvers import choose_solver


def graph(m):
    return ScoredQueries(np.arange(m, dtype=float)[:, None], Queries.from_labels(None, m))


def pairs(m):
    return Preferences(m, np.array([[0, 1]]), np.ones(1), np.ones(1))


def dense(m, n):
    return ExplicitFeatures(np.broadcast_to(np.zeros(1), (m, n)))


def sparse_features(m, n):
    return ExplicitFeatures(sparse.csr_array((m, n)))


def kernel(m):
    return FullKernel(Kernel("rbf"), np.broadcast_to(np.zeros(1), (m, 3)))


@pytest.mark.parametrize(
    ("features", "comparisons", "n_alphas", "expected"),
    [
        (dense(100, 5), graph(100), 1, "cholesky"),
        (dense(100, 5), graph(100), 2, "spectral"),
        (dense(100, 25_000), graph(100), 1, "cholesky"),
        (dense(30_000, 25_000), graph(30_000), 1, "conjugate_gradient"),
        (sparse_features(30_000, 4_000), graph(30_000), 1, "cholesky"),
        (sparse_features(30_000, 6_000), graph(30_000), 3, "conjugate_gradient"),
        (kernel(6_000), graph(6_000), 1, "cholesky"),
        (kernel(6_000), pairs(6_000), 1, "conjugate_gradient"),
        (dense(6_000, 10), pairs(6_000), 1, "cholesky"),
        (kernel(25_000), graph(25_000), 5, "conjugate_gradient"),
    ],
)
def test_the_decision_table(features, comparisons, n_alphas, expected):
    assert choose_solver(features, comparisons, n_alphas).name == expected


def test_too_few_iterations_warn_with_what_is_left():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 20)), rng.standard_normal(50)
    with pytest.warns(NotConverged, match="after 2 iterations with a relative residual of"):
        RankRLS(1e-3, solver="conjugate_gradient", max_iter=2).fit(X, y)


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
    tiny = RankRLS(1e-18, kernel="rbf", solver="cholesky").fit(X, y)
    assert np.all(np.isfinite(tiny.dual_coef_))
