"""Unknown cells and lists of dyads: every solver equals the kernel of the known dyads, built and solved."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

import kernelrank as kr
from kernelrank.dyads import cell_products
from tests.oracles.dyads import kronecker_scores, two_step_scores

RNG = np.random.default_rng(1)
ROWS, COLUMNS = RNG.standard_normal((12, 3)), RNG.standard_normal((9, 2))
M1, M2 = 10, 7
KNOWN = RNG.random((M1, M2)) < np.linspace(0.3, 0.9, M1)[:, None]
KNOWN[np.arange(M1), np.arange(M1) % M2] = True
Y = np.where(KNOWN, RNG.standard_normal((M1, M2)), np.nan)
DYADS = np.nonzero(KNOWN)
RBF = {"kernel_rows": "rbf", "gamma_rows": 0.3, "kernel_columns": "rbf", "gamma_columns": 0.2}
KERNELS = {
    "rbf": (rbf_kernel(ROWS, gamma=0.3), rbf_kernel(COLUMNS, gamma=0.2), RBF),
    "linear": (ROWS @ ROWS.T, COLUMNS @ COLUMNS.T, {}),
}
SOLVERS = [
    ("rbf", "direct"),
    ("rbf", "eigenbasis"),
    ("rbf", "vec_trick"),
    ("linear", "primal"),
    ("linear", "eigenbasis"),
]


@pytest.fixture(params=["dense", "cell by cell"])
def products(request, monkeypatch):
    monkeypatch.setattr(cell_products, "DENSE", 0.0 if request.param == "dense" else 2.0)


def assert_close(found, expected, digits=1e-8):
    np.testing.assert_allclose(found, expected, rtol=0, atol=digits * np.abs(expected).max())


def trained(model, scores):
    return model.fit(ROWS[:M1], COLUMNS[:M2], scores).predict(ROWS, COLUMNS)


@pytest.mark.usefixtures("products")
@pytest.mark.parametrize(("kernel", "solver"), SOLVERS)
@pytest.mark.parametrize("alpha", [2.0**-15, 0.1, 2.0**15])
def test_regression(kernel, solver, alpha):
    K1, K2, options = KERNELS[kernel]
    expected = kronecker_scores(K1, K2, *DYADS, Y[DYADS], alpha)
    model = kr.KroneckerRLS(alpha, solver=solver, tol=1e-12, **options)
    assert_close(trained(model, Y), expected)
    assert model.solver_ == solver
    assert model.n_dyads_ == KNOWN.sum()


@pytest.mark.usefixtures("products")
@pytest.mark.parametrize(("kernel", "solver"), SOLVERS)
@pytest.mark.parametrize("rank", ["columns", "rows"])
@pytest.mark.parametrize("query_weight", ["pairs", "items", "queries"])
def test_ranking(kernel, solver, rank, query_weight):
    K1, K2, options = KERNELS[kernel]
    for alpha in (2.0**-10, 1.0):
        expected = kronecker_scores(K1, K2, *DYADS, Y[DYADS], alpha, ranked=rank, query_weight=query_weight)
        model = kr.KroneckerRankRLS(alpha, rank=rank, query_weight=query_weight, solver=solver, **options)
        assert_close(trained(model, Y), expected)


@pytest.mark.usefixtures("products")
@pytest.mark.parametrize(("kernel", "solver"), [("rbf", "eigenbasis"), ("linear", "primal"), ("linear", "eigenbasis")])
@pytest.mark.parametrize("alphas", [(2.0**-10, 2.0), (0.3, 2.0), (2.0**10, 2.0**-10)])
def test_two_steps_fill_the_unknown_cells_with_their_predictions(kernel, solver, alphas):
    K1, K2, options = KERNELS[kernel]
    expected = two_step_scores(K1[:M1, :M1], K2[:M2, :M2], Y, *alphas, K1[:, :M1], K2[:, :M2])
    model = kr.TwoStepRLS(*alphas, solver=solver, **options)
    assert_close(trained(model, Y), expected)
    filled = np.where(KNOWN, Y, model.predict(ROWS[:M1], COLUMNS[:M2]))
    assert_close(trained(kr.TwoStepRLS(*alphas, **options), filled), expected)


@pytest.mark.parametrize(("kernel", "solver"), SOLVERS)
@pytest.mark.parametrize("ranked", [None, "columns"])
def test_repeated_dyads_are_repeated_observations(kernel, solver, ranked):
    K1, K2, options = KERNELS[kernel]
    again = RNG.integers(len(DYADS[0]), size=25)
    rows, columns = (np.concatenate([numbers, numbers[again]]) for numbers in DYADS)
    y = np.concatenate([Y[DYADS], RNG.standard_normal(25)])
    order = RNG.permutation(len(y))
    kind = kr.KroneckerRLS if ranked is None else kr.KroneckerRankRLS
    model = kind(0.1, solver=solver, **options)
    model.fit_dyads(ROWS[:M1], COLUMNS[:M2], rows[order], columns[order], y[order])
    assert_close(model.predict(ROWS, COLUMNS), kronecker_scores(K1, K2, rows, columns, y, 0.1, ranked=ranked))
    assert model.n_dyads_ == len(y)


def test_outputs_may_know_other_cells():
    second = Y.copy()
    second[DYADS[0][::5], DYADS[1][::5]] = np.nan
    second[:, 0] = np.arange(M1)
    second[0] = np.arange(M2)
    both = np.stack([Y, second, Y + 1.0], axis=2)
    for options in (RBF, {}):
        found = trained(kr.KroneckerRLS(0.1, **options), both)
        for k in range(3):
            assert_close(found[:, :, k], trained(kr.KroneckerRLS(0.1, **options), both[:, :, k]))


@pytest.mark.parametrize(("kernel", "solver"), SOLVERS)
def test_a_path_is_the_same_as_fits(kernel, solver):
    options = KERNELS[kernel][2]
    alphas = [10.0, 1.0, 0.01]
    model = kr.KroneckerRankRLS(solver=solver, **options)
    path = model.fit_path(ROWS[:M1], COLUMNS[:M2], Y, alphas)
    for alpha, one in zip(alphas, path, strict=True):
        assert one.alpha == alpha
        expected = trained(kr.KroneckerRankRLS(alpha, solver=solver, **options), Y)
        assert_close(one.predict(ROWS, COLUMNS), expected)
    assert not hasattr(model, "solver_")


@pytest.mark.parametrize("relation", ["symmetric", "reciprocal", "any"])
@pytest.mark.parametrize(("kernel", "solver"), SOLVERS)
@pytest.mark.parametrize("ranked", [None, "columns", "rows"])
def test_one_set_of_objects(relation, kernel, solver, ranked):
    sign = {"symmetric": 1, "reciprocal": -1, "any": 0}[relation]
    K = KERNELS[kernel][0]
    options = {name: value for name, value in KERNELS[kernel][2].items() if name.endswith("rows")}
    rng = np.random.default_rng(2)
    scores = rng.standard_normal((M1, M1))
    scores = scores + sign * scores.T
    scores[rng.random((M1, M1)) < 0.3] = np.nan  # one of (a, b) and (b, a) may be known alone
    dyads = np.nonzero(~np.isnan(scores))
    expected = kronecker_scores(K, K, *dyads, scores[dyads], 0.1, sign=sign, ranked=ranked)
    if ranked is None:
        model = kr.KroneckerRLS(0.1, relation=relation, solver=solver, **options)
    else:
        model = kr.KroneckerRankRLS(0.1, relation=relation, rank=ranked, solver=solver, **options)
    found = model.fit(ROWS[:M1], None, scores).predict(ROWS)
    assert_close(found, expected)
    if sign:
        np.testing.assert_allclose(found, sign * found.T, atol=1e-12)
    listed = model.fit_dyads(ROWS[:M1], None, *dyads, scores[dyads]).predict(ROWS)
    assert_close(listed, expected)


@pytest.mark.parametrize("relation", ["symmetric", "reciprocal"])
def test_a_complete_ranking_of_one_set_is_found_by_iteration(relation):
    sign = 1 if relation == "symmetric" else -1
    scores = RNG.standard_normal((M1, M1))
    scores = scores + sign * scores.T
    dyads = [grid.ravel() for grid in np.indices((M1, M1))]
    K = KERNELS["rbf"][0]
    model = kr.KroneckerRankRLS(0.1, relation=relation, kernel_rows="rbf", gamma_rows=0.3)
    expected = kronecker_scores(K, K, *dyads, scores.ravel(), 0.1, sign=sign, ranked="columns")
    assert_close(model.fit(ROWS[:M1], None, scores).predict(ROWS), expected)
    assert model.solver_ == "direct"


@pytest.mark.parametrize("seed", [9, 12, 18])
def test_a_smaller_tol_makes_scores_more_exact(seed):
    # What the last steps gain is below the rounding of the sum of all gains: such a sum stops at half of the digits.
    rng = np.random.default_rng(seed)
    K, options = KERNELS["rbf"][0], {"kernel_rows": "rbf", "gamma_rows": 0.3, "solver": "vec_trick"}
    for ranked in ("rows", "columns"):
        scores = rng.standard_normal((M1, M1))
        scores[rng.random((M1, M1)) < 0.3] = np.nan
        dyads = np.nonzero(~np.isnan(scores))
        expected = kronecker_scores(K, K, *dyads, scores[dyads], 0.1, ranked=ranked)
        for tol, digits in ((1e-10, 1e-8), (1e-12, 5e-10)):
            model = kr.KroneckerRankRLS(0.1, relation="any", rank=ranked, tol=tol, **options)
            assert_close(model.fit(ROWS[:M1], None, scores).predict(ROWS), expected, digits)
