"""Unknown cells and lists of dyads: every solver equals the kernel of the known dyads, built and solved."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

import kernelrank as kr
from kernelrank.dyads import solvers
from kernelrank.errors import LostDigitsWarning
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
    monkeypatch.setattr(solvers, "DENSE", 0.0 if request.param == "dense" else 2.0)


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
    alphas = [10.0, 1.0, 0.01]
    options = {"tol": 1e-12, **KERNELS[kernel][2]}
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


FAR = {1.0: 1e-9, 10.0: 1e-9, 100.0: 1e-8, 1000.0: 1e-6}
"""Means of features, and how exact scores are: kernels have entries of the size of the squares of the means."""


@pytest.mark.parametrize("mean", FAR)
@pytest.mark.parametrize(
    ("row_kernel", "solver"), [("rbf", solver) for _, solver in SOLVERS if solver != "primal"] + [("linear", "primal")]
)
@pytest.mark.parametrize("rank", ["columns", "rows"])
def test_a_ranked_side_far_from_the_origin(mean, row_kernel, solver, rank):
    # The null direction of the centred kernel is lost in rounding errors of the size of the squared means.
    rows, columns, scores, options = ROWS, COLUMNS + mean, Y, {}
    K1, K2 = rows @ rows.T, columns @ columns.T
    if row_kernel == "rbf":  # distances do not depend on the origin
        rows, K1 = ROWS + mean, rbf_kernel(ROWS, gamma=0.3)
        options = {"kernel_rows": "rbf", "gamma_rows": 0.3}
    if rank == "rows":
        rows, columns, scores, K1, K2 = columns, rows, Y.T, K2, K1
        options = {name.replace("rows", "columns"): value for name, value in options.items()}
    known = np.nonzero(~np.isnan(scores))
    m1, m2 = scores.shape
    for query_weight, alpha in (("pairs", 1.0), ("items", 0.1), ("queries", 0.1)):
        model = kr.KroneckerRankRLS(alpha, rank=rank, query_weight=query_weight, solver=solver, tol=1e-13, **options)
        expected = kronecker_scores(K1, K2, *known, scores[known], alpha, ranked=rank, query_weight=query_weight)
        assert_close(model.fit(rows[:m1], columns[:m2], scores).predict(rows, columns), expected, FAR[mean])
        given = model.set_params(kernel_rows="precomputed", kernel_columns="precomputed")
        if solver != "primal":
            found = given.fit(K1[:m1, :m1], K2[:m2, :m2], scores).predict(K1[:, :m1], K2[:, :m2])
            assert_close(found, expected, 10 * FAR[mean])


@pytest.mark.parametrize("mean", FAR)
@pytest.mark.parametrize(("kernel", "solver"), SOLVERS)
def test_regression_far_from_the_origin(mean, kernel, solver):
    rows = ROWS + mean
    K1, K2, options = KERNELS[kernel]
    K1 = K1 if kernel == "rbf" else rows @ rows.T
    expected = kronecker_scores(K1, K2, *DYADS, Y[DYADS], 1.0)
    model = kr.KroneckerRLS(1.0, solver=solver, tol=1e-13, **options)
    assert_close(model.fit(rows[:M1], COLUMNS[:M2], Y).predict(rows, COLUMNS), expected, 10 * FAR[mean])
    if solver in ("eigenbasis", "primal"):
        expected = two_step_scores(K1[:M1, :M1], K2[:M2, :M2], Y, 1.0, 0.3, K1[:, :M1], K2[:, :M2])
        model = kr.TwoStepRLS(1.0, 0.3, solver=solver, tol=1e-13, **options)
        assert_close(model.fit(rows[:M1], COLUMNS[:M2], Y).predict(rows, COLUMNS), expected, 10 * FAR[mean])


def test_objects_that_differ_in_one_direction_only():
    rows, columns = np.array([[0.0], [2.0]]), np.array([[-3.0], [-3.0], [-2.0]])
    scores = np.array([[1.0, 3.0, np.nan], [0.0, 3.0, 1.0]])
    expected = np.array([[0.0, 0.0, 0.0], [12.0, 12.0, 8.0]]) / 11.0
    for solver in ("eigenbasis", "direct", "vec_trick", "primal"):
        model = kr.KroneckerRankRLS(query_weight="items", solver=solver).fit(rows, columns, scores)
        assert_close(model.predict(rows, columns), expected)


@pytest.mark.parametrize("solver", ["auto", "eigenbasis"])
def test_scores_of_objects_with_means_of_ten(solver):
    rng = np.random.default_rng(0)
    rows, columns = rng.standard_normal((25, 4)), rng.standard_normal((30, 2)) + 10
    scores = rows[:, :2] @ (columns - 10).T + 0.3 * rng.standard_normal((25, 30))
    scores[rng.random(scores.shape) < 0.1] = np.nan
    model = kr.KroneckerRankRLS(1.0, kernel_rows="rbf", gamma_rows=0.25, solver=solver).fit(rows, columns, scores)
    np.testing.assert_allclose(model.predict(rows, columns)[0, :3], [-0.84191154, -0.57493148, -0.45624687], rtol=1e-6)


@pytest.mark.parametrize("relation", ["symmetric", "reciprocal"])
@pytest.mark.parametrize("solver", ["direct", "eigenbasis", "vec_trick"])
def test_a_ranking_of_one_set_far_from_the_origin(relation, solver):
    rng = np.random.default_rng(2)
    sign, objects = 1 if relation == "symmetric" else -1, ROWS[:M1] + 100.0
    scores = rng.standard_normal((M1, M1))
    scores = scores + sign * scores.T
    scores[rng.random((M1, M1)) < 0.3] = np.nan
    dyads, K = np.nonzero(~np.isnan(scores)), objects @ objects.T
    expected = kronecker_scores(K, K, *dyads, scores[dyads], 100.0, sign=sign, ranked="columns")
    model = kr.KroneckerRankRLS(100.0, relation=relation, solver=solver, tol=1e-13).fit(objects, None, scores)
    assert_close(model.predict(objects), expected, 1e-6)


def test_a_kernel_far_larger_than_alpha_is_no_failure():
    # Rounding makes the system of the known dyads indefinite.
    rng = np.random.default_rng(0)
    rows, columns = rng.standard_normal((4, 2)) + 1000, rng.standard_normal((5, 2)) + 100
    scores = rng.standard_normal((4, 5))
    scores[0, 0] = np.nan
    options = {"kernel_rows": "poly", "degree_rows": 4, "gamma_rows": 1.0, "solver": "direct"}
    with pytest.warns(LostDigitsWarning):
        model = kr.KroneckerRankRLS(1e-3, **options).fit(rows, columns, scores)
    assert np.isfinite(model.predict(rows, columns)).all()


@pytest.mark.parametrize("known", ["all", "some"])
def test_a_fit_that_has_lost_digits_says_so(known):
    rng = np.random.default_rng(3)
    sides, scores = [rng.standard_normal((5, 2)), rng.standard_normal((6, 3))], rng.standard_normal((5, 6))
    if known == "some":
        scores[0, 0] = np.nan
    given = {"kernel_rows": "precomputed", "kernel_columns": "precomputed"}
    near, far = ([(X + mean) @ (X + mean).T for X in sides] for mean in (10.0, 1000.0))
    kr.KroneckerRLS(1 / 16, **given).fit(*near, scores)
    with pytest.warns(LostDigitsWarning, match="predictions with alpha=0.0625 have a relative error") as caught:
        kr.KroneckerRLS(1 / 16, **given).fit(*far, scores)
    assert len(caught) == 1
    # The features have the digits that their kernels have lost.
    kr.KroneckerRLS(1 / 16).fit(*(X + 1000.0 for X in sides), scores)
