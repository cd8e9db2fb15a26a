"""Complete scores of dyads: every estimator equals the Kronecker kernel, built and solved."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

import kernelrank as kr
from tests.oracles.dyads import kronecker_scores, two_step_scores

RNG = np.random.default_rng(0)
ROWS, COLUMNS = RNG.standard_normal((9, 3)), RNG.standard_normal((8, 4))
KNOWN = 6, 5
Y = RNG.standard_normal((*KNOWN, 3))
ALPHAS = [2.0**-15, 1.0, 2.0**15]
DYADS = [grid.ravel() for grid in np.indices(KNOWN)]
KERNELS = {
    "rbf": (
        rbf_kernel(ROWS, gamma=0.3),
        rbf_kernel(COLUMNS, gamma=0.2),
        {"kernel_rows": "rbf", "gamma_rows": 0.3, "kernel_columns": "rbf", "gamma_columns": 0.2},
    ),
    "linear": (ROWS @ ROWS.T, COLUMNS @ COLUMNS.T, {}),
    "linear by the spectrum": (ROWS @ ROWS.T, COLUMNS @ COLUMNS.T, {"solver": "spectral"}),
    "mixed": (ROWS @ ROWS.T, rbf_kernel(COLUMNS, gamma=0.2), {"kernel_columns": "rbf", "gamma_columns": 0.2}),
}


def assert_close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


def trained(model, scores):
    return model.fit(ROWS[: KNOWN[0]], COLUMNS[: KNOWN[1]], scores).predict(ROWS, COLUMNS)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_regression(kernel, alpha):
    K1, K2, options = KERNELS[kernel]
    expected = kronecker_scores(K1, K2, *DYADS, Y.reshape(-1, 3), alpha)
    assert_close(trained(kr.KroneckerRLS(alpha, **options), Y), expected)
    assert_close(trained(kr.KroneckerRLS(alpha, **options), Y[:, :, 1]), expected[:, :, 1])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("rank", ["columns", "rows"])
@pytest.mark.parametrize("query_weight", ["pairs", "items", "queries"])
def test_ranking(kernel, rank, query_weight):
    K1, K2, options = KERNELS[kernel]
    for alpha in ALPHAS:
        expected = kronecker_scores(K1, K2, *DYADS, Y.reshape(-1, 3), alpha, ranked=rank, query_weight=query_weight)
        model = kr.KroneckerRankRLS(alpha, rank=rank, query_weight=query_weight, **options)
        assert_close(trained(model, Y), expected)


@pytest.mark.parametrize(("mean", "digits"), [(1.0, 1e-9), (10.0, 1e-9), (100.0, 1e-8), (1000.0, 1e-6)])
@pytest.mark.parametrize("solver", ["spectral", "primal", "eigenbasis", "direct", "vec_trick"])
def test_objects_far_from_the_origin(mean, digits, solver):
    rows, columns = ROWS[:, :1], COLUMNS[:, :2] + mean
    K1, K2 = rows @ rows.T, columns @ columns.T
    options = {"solver": solver, "tol": 1e-13}
    if solver != "primal":  # distances do not depend on the origin
        rows, K1 = rows + mean, rbf_kernel(rows, gamma=0.3)
        options |= {"kernel_rows": "rbf", "gamma_rows": 0.3}
    y = Y[:, :, 0]
    for kind, ranked in ((kr.KroneckerRankRLS, "columns"), (kr.KroneckerRLS, None)):
        expected = kronecker_scores(K1, K2, *DYADS, y.ravel(), 1.0, ranked=ranked)
        found = kind(1.0, **options).fit(rows[: KNOWN[0]], columns[: KNOWN[1]], y).predict(rows, columns)
        np.testing.assert_allclose(found, expected, rtol=0, atol=10 * digits * np.abs(expected).max())


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("alphas", [(2.0**-15, 2.0**15), (0.3, 2.0), (2.0**15, 2.0**-15)])
def test_two_steps(kernel, alphas):
    K1, K2, options = KERNELS[kernel]
    m1, m2 = KNOWN
    expected = two_step_scores(K1[:m1, :m1], K2[:m2, :m2], Y[:, :, 0], *alphas, K1[:, :m1], K2[:, :m2])
    assert_close(trained(kr.TwoStepRLS(*alphas, **options), Y[:, :, 0]), expected)
