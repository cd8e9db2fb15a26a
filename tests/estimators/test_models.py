"""What fitted models promise: outputs, missing scores, paths, warm starts, weights, kernels, preferences, files."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel

import kernelrank as kr
from kernelrank.data import make_preferences, make_ranking
from kernelrank.errors import NotConverged
from kernelrank.estimators import RLS, RankRLS, RLSClassifier

X, y, qid = make_ranking(n_queries=9, n_items=(1, 8), n_features=4, shuffle=True, random_state=2)
M = len(y)
GENERATOR = np.random.default_rng(7)
OUTPUTS = np.column_stack([y, -y, np.round(y), GENERATOR.standard_normal(M)])

VARIANTS = {
    "linear": {},
    "spectral": {"solver": "spectral"},
    "iterated": {"solver": "conjugate_gradient", "tol": 1e-13},
    "gaussian": {"kernel": "rbf"},
    "gaussian, iterated": {"kernel": "rbf", "solver": "conjugate_gradient", "tol": 1e-13},
    "basis": {"kernel": "rbf", "basis": [0, 4, 11, 20]},
    "unit": {"cost": "unit"},
    "relative": {"cost": "relative", "kernel": "rbf"},
    "ties out": {"ties": "exclude", "query_weight": "items"},
    "queries": {"query_weight": "queries"},
}


@pytest.fixture(params=VARIANTS)
def options(request):
    return VARIANTS[request.param]


def test_outputs_are_learnt_as_if_alone(options):
    together = RankRLS(**options).fit(X, OUTPUTS, qid=qid)
    assert together.predict(X).shape == OUTPUTS.shape
    for k in range(OUTPUTS.shape[1]):
        alone = RankRLS(**options).fit(X, OUTPUTS[:, k], qid=qid)
        assert_allclose(together.predict(X)[:, k], alone.predict(X), rtol=1e-8, atol=1e-9)
    accuracies = [RankRLS(**options).fit(X, column, qid=qid).score(X, column, qid=qid) for column in OUTPUTS.T]
    assert together.score(X, OUTPUTS, qid=qid) == pytest.approx(np.mean(accuracies), rel=1e-12)


def test_one_column_is_an_output(options):
    column = RankRLS(**options).fit(X, y[:, None], qid=qid).predict(X)
    assert column.shape == (M, 1)
    assert_array_equal(column[:, 0], RankRLS(**options).fit(X, y, qid=qid).predict(X))


@pytest.mark.parametrize("kind", [RLS, RankRLS])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_missing_scores_take_no_part(kind, kernel):
    scores = OUTPUTS.copy()
    scores[GENERATOR.random(scores.shape) < 0.3] = np.nan
    together = kind(kernel=kernel, missing="ignore").fit(X, scores, qid=qid).predict(X)
    for k, column in enumerate(scores.T):
        present = ~np.isnan(column)
        alone = kind(kernel=kernel).fit(X[present], column[present], qid=qid[present]).predict(X)
        assert_allclose(together[:, k], alone, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("variant", ["linear", "unit", "relative", "ties out", "queries"])
def test_missing_scores_take_no_part_in_any_cost(variant):
    scores = y.copy()
    scores[::4] = np.nan
    present = ~np.isnan(scores)
    model = RankRLS(missing="ignore", **VARIANTS[variant]).fit(X, scores, qid=qid)
    alone = RankRLS(**VARIANTS[variant]).fit(X[present], y[present], qid=qid[present])
    assert_allclose(model.predict(X), alone.predict(X), rtol=1e-8, atol=1e-9)
    assert model.n_pairs_ == alone.n_pairs_
    assert model.score(X, scores, qid=qid) == pytest.approx(alone.score(X[present], y[present], qid=qid[present]))


def test_missing_scores_are_left_out_of_the_score_of_a_regression():
    scores = y.copy()
    scores[::4] = np.nan
    present = ~np.isnan(scores)
    model = RLS(missing="ignore").fit(X, scores)
    assert model.score(X, scores) == pytest.approx(model.score(X[present], y[present]))


def test_predict_needs_no_queries(options):
    model = RankRLS(**options).fit(X, y, qid=qid)
    parts = np.concatenate([model.predict(X[i : i + 1]) for i in range(M)])
    assert_allclose(parts, model.predict(X), rtol=1e-10, atol=1e-12)


def test_scores_of_a_query_may_be_shifted(options):
    shifted = y + 100.0 * np.unique(qid, return_inverse=True)[1]
    assert_allclose(
        RankRLS(**options).fit(X, shifted, qid=qid).predict(X),
        RankRLS(**options).fit(X, y, qid=qid).predict(X),
        rtol=1e-6,
        atol=1e-7,
    )


def test_path_is_a_fit_for_each_alpha(options):
    alphas = [1000.0, 1.0, 0.01]
    path = RankRLS(**options).fit_path(X, OUTPUTS, alphas, qid=qid)
    assert [model.alpha for model in path] == alphas
    for model in path:
        alone = RankRLS(**{**options, "alpha": model.alpha}).fit(X, OUTPUTS, qid=qid)
        assert_allclose(model.predict(X), alone.predict(X), rtol=1e-7, atol=1e-8)
        assert set(vars(model)) == set(vars(alone))
        assert model.score(X, OUTPUTS, qid=qid) == pytest.approx(alone.score(X, OUTPUTS, qid=qid))


def test_path_of_regressions_and_classifiers():
    for model in RLS().fit_path(X, y, [0.1, 10.0]):
        assert_allclose(model.predict(X), RLS(model.alpha).fit(X, y).predict(X), rtol=1e-8)
    for model in RLSClassifier().fit_path(X, y > 0, [0.1, 10.0]):
        assert_array_equal(model.predict(X), RLSClassifier(model.alpha).fit(X, y > 0).predict(X))


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("target", [y, OUTPUTS], ids=["one output", "outputs"])
def test_warm_start_needs_fewer_iterations(kernel, target):
    items, scores, queries = X, target, qid
    cold = RankRLS(0.1, kernel=kernel, solver="conjugate_gradient", tol=1e-12).fit(items, scores, qid=queries)
    warm = RankRLS(0.1001, kernel=kernel, solver="conjugate_gradient", tol=1e-12, warm_start=True)
    warm.fit(items, scores, qid=queries).set_params(alpha=0.1).fit(items, scores, qid=queries)
    assert_allclose(warm.predict(X), cold.predict(X), rtol=1e-6, atol=1e-8)
    assert warm.n_iter_ <= cold.n_iter_
    again = warm.fit(items, scores, qid=queries)
    assert again.n_iter_ < cold.n_iter_
    assert_allclose(again.predict(X), cold.predict(X), rtol=1e-6, atol=1e-8)


def test_warm_start_with_other_data_starts_cold():
    model = RankRLS(kernel="rbf", solver="conjugate_gradient", warm_start=True).fit(X, y, qid=qid)
    model.fit(X[:-3], y[:-3], qid=qid[:-3])
    cold = RankRLS(kernel="rbf", solver="conjugate_gradient").fit(X[:-3], y[:-3], qid=qid[:-3])
    assert_allclose(model.predict(X), cold.predict(X), rtol=1e-8)


def test_iterations_that_are_cut_off_warn():
    with pytest.warns(
        NotConverged, match="stopped after 1 iterations .* above tol=1e-10. Scale the columns .* raise alpha, max_iter"
    ):
        model = RankRLS(1e-6, solver="conjugate_gradient", max_iter=1).fit(X, y, qid=qid)
    assert model.n_iter_ == 1


def test_solver_that_was_used():
    assert RankRLS().fit(X, y).solver_ == "cholesky"
    assert RankRLS().fit_path(X, y, [1.0, 2.0])[0].solver_ == "cholesky"
    assert RankRLS().fit_path(X, y, 2.0 ** np.arange(6))[0].solver_ == "tridiagonal"
    assert RankRLS(solver="conjugate_gradient").fit(X, y).solver_ == "conjugate_gradient"


# Weights ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query_weight", ["pairs", "items", "queries"])
@pytest.mark.parametrize("cost", [("magnitude", "include"), ("magnitude", "exclude"), ("unit", "exclude")])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_whole_weights_repeat_items(query_weight, cost, kernel):
    weight = GENERATOR.integers(1, 4, size=M)
    rows = np.repeat(np.arange(M), weight)
    scores = np.round(2 * y)
    options = {"kernel": kernel, "query_weight": query_weight, "cost": cost[0], "ties": cost[1]}
    weighted = RankRLS(**options).fit(X, scores, qid=qid, sample_weight=weight)
    repeated = RankRLS(**options).fit(X[rows], scores[rows], qid=qid[rows])
    assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-8, atol=1e-9)
    assert weighted.score(X, scores, qid=qid, sample_weight=weight) == pytest.approx(
        repeated.score(X[rows], scores[rows], qid=qid[rows])
    )


@pytest.mark.parametrize("query_weight", ["pairs", "items", "queries"])
def test_relative_cost_repeats_items_by_weight(query_weight):
    weight = GENERATOR.integers(1, 4, size=M)
    rows = np.repeat(np.arange(M), weight)
    options = {"cost": "relative", "query_weight": query_weight}
    weighted = RankRLS(**options).fit(X, y, qid=qid, sample_weight=weight)
    repeated = RankRLS(**options).fit(X[rows], y[rows], qid=qid[rows])
    assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-8, atol=1e-9)


def test_weight_zero_takes_an_item_out(options):
    if "basis" in options:
        pytest.skip("a basis item of weight zero stays in the basis")
    weight = (np.arange(M) % 5 > 0).astype(float)
    kept = weight > 0
    found = RankRLS(**options).fit(X, y, qid=qid, sample_weight=weight)
    assert_allclose(
        found.predict(X), RankRLS(**options).fit(X[kept], y[kept], qid=qid[kept]).predict(X), rtol=1e-8, atol=1e-9
    )


def test_regression_weights_repeat_items():
    weight = GENERATOR.integers(0, 4, size=M)
    rows = np.repeat(np.arange(M), weight)
    assert_allclose(
        RLS(kernel="rbf").fit(X, y, sample_weight=weight).predict(X),
        RLS(kernel="rbf").fit(X[rows], y[rows]).predict(X),
        rtol=1e-8,
    )


# Kernels ----------------------------------------------------------------------------------------------------------

KERNELS = {
    "gaussian": ({"kernel": "gaussian", "gamma": 0.3}, lambda A, B: rbf_kernel(A, B, gamma=0.3)),
    "rbf with a default width": ({"kernel": "rbf"}, lambda A, B: rbf_kernel(A, B)),
    "poly": (
        {"kernel": "poly", "degree": 2, "gamma": 0.5, "coef0": 2.0},
        lambda A, B: polynomial_kernel(A, B, degree=2, gamma=0.5, coef0=2.0),
    ),
    "laplacian": ({"kernel": "laplacian", "gamma": 0.2}, lambda A, B: laplacian_kernel(A, B, gamma=0.2)),
    "kernel_params": ({"kernel": "rbf", "kernel_params": {"gamma": 0.7}}, lambda A, B: rbf_kernel(A, B, gamma=0.7)),
    "callable": ({"kernel": lambda a, b: float(a @ b + 1.0)}, lambda A, B: A @ B.T + 1.0),
    "callable with parameters": (
        {"kernel": lambda a, b, shift: float(a @ b + shift), "kernel_params": {"shift": 3.0}},
        lambda A, B: A @ B.T + 3.0,
    ),
    "sum and product of objects": (
        {"kernel": RBF(1.5) + ConstantKernel(0.5) * DotProduct(0.0)},
        lambda A, B: rbf_kernel(A, B, gamma=0.5 / 1.5**2) + 0.5 * A @ B.T,
    ),
}


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("solver", ["cholesky", "spectral", "conjugate_gradient"])
@pytest.mark.parametrize("kind", [RLS, RankRLS])
def test_kernel_is_what_it_says(name, solver, kind):
    options, k = KERNELS[name]
    train, new = X[: M - 5], X[M - 5 :]
    model = kind(solver=solver, tol=1e-13, **options).fit(train, y[: M - 5], qid=qid[: M - 5])
    precomputed = kind(kernel="precomputed").fit(k(train, train), y[: M - 5], qid=qid[: M - 5])
    assert_allclose(model.predict(new), precomputed.predict(k(new, train)), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name", KERNELS)
def test_kernel_with_all_items_as_basis(name):
    options, _ = KERNELS[name]
    full = RankRLS(**options).fit(X, y, qid=qid)
    basis = RankRLS(basis=np.arange(M), **options).fit(X, y, qid=qid)
    assert_allclose(basis.predict(X), full.predict(X), rtol=1e-6, atol=1e-7)
    assert_array_equal(basis.basis_, np.arange(M))


def test_basis_of_a_precomputed_kernel():
    K = rbf_kernel(X)
    options = {"basis": [1, 5, 8], "alpha": 0.1}
    precomputed = RankRLS(kernel="precomputed", **options).fit(K, y, qid=qid)
    named = RankRLS(kernel="rbf", **options).fit(X, y, qid=qid)
    assert_allclose(precomputed.predict(K[:4]), named.predict(X[:4]), rtol=1e-8)


def test_drawn_basis_follows_the_seed():
    first, second, third = (
        RankRLS(kernel="rbf", basis=4, random_state=seed).fit(X, y, qid=qid).basis_ for seed in (0, 0, 1)
    )
    assert_array_equal(first, second)
    assert not np.array_equal(first, third)
    assert len(set(first)) == 4


def test_noise_kernel_counts_training_items_only():
    noisy = RankRLS(alpha=1e-3, kernel=RBF(1.0) + WhiteKernel(0.5)).fit(X, y, qid=qid)
    K = rbf_kernel(X, gamma=0.5) + 0.5 * np.eye(M)
    expected = RankRLS(alpha=1e-3, kernel="precomputed").fit(K, y, qid=qid)
    new = X + 0.25
    assert_allclose(noisy.predict(new), expected.predict(rbf_kernel(new, X, gamma=0.5)), rtol=1e-7)


def test_kernel_of_sparse_items():
    S = sparse.csr_array(np.where(np.abs(X) < 0.7, 0.0, X))
    for options in ({"kernel": "rbf"}, {"kernel": "poly"}, {"kernel": "rbf", "basis": [0, 3, 5]}):
        found = RankRLS(**options).fit(S, y, qid=qid).predict(S)
        dense = RankRLS(**options).fit(S.toarray(), y, qid=qid).predict(S.toarray())
        assert_allclose(found, dense, rtol=1e-8, atol=1e-12)


def test_chi_squared_kernel_has_its_own_default():
    positive = np.abs(X)
    found = RankRLS(kernel="chi2").fit(positive, y, qid=qid).predict(positive)
    assert_allclose(found, RankRLS(kernel="chi2", gamma=1.0).fit(positive, y, qid=qid).predict(positive))


# What scikit-learn knows already ----------------------------------------------------------------------------------


def test_regression_is_ridge():
    assert_allclose(RLS(2.0).fit(X, y).coef_, Ridge(2.0, fit_intercept=False).fit(X, y).coef_, rtol=1e-9)
    ridge = KernelRidge(alpha=2.0, kernel="rbf").fit(X, OUTPUTS)
    assert_allclose(RLS(2.0, kernel="rbf").fit(X, OUTPUTS).predict(X), ridge.predict(X), rtol=1e-8)


def test_one_ranking_is_ridge_with_an_intercept():
    ridge = Ridge(2.0 / M).fit(X, y)
    assert_allclose(RankRLS(2.0).fit(X, y).coef_, ridge.coef_, rtol=1e-8)


def test_small_alpha_learns_a_linear_order_and_large_alpha_nothing():
    items, scores, queries, coef = make_ranking(noise=0.0, return_coef=True, random_state=0)
    model = RankRLS(1e-9).fit(items, scores, qid=queries)
    assert_allclose(model.coef_, coef, atol=1e-8)
    assert model.score(items, scores, qid=queries) == 1.0
    assert np.abs(RankRLS(1e15).fit(items, scores, qid=queries).coef_).max() < 1e-9


# Preferences ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("solver", ["cholesky", "spectral", "conjugate_gradient"])
def test_preferences_of_scores(kernel, solver):
    i, j = np.triu_indices(M, 1)
    inside = qid[i] == qid[j]
    i, j = i[inside], j[inside]
    swap = y[i] < y[j]
    pairs = np.column_stack([np.where(swap, j, i), np.where(swap, i, j)])
    magnitude = np.abs(y[i] - y[j])
    model = RankRLS(kernel=kernel, solver=solver, tol=1e-13).fit_pairs(X, pairs, magnitude=magnitude)
    assert_allclose(model.predict(X), RankRLS(kernel=kernel).fit(X, y, qid=qid).predict(X), rtol=1e-7, atol=1e-8)
    assert model.score_pairs(X, pairs) == pytest.approx(
        np.mean(np.sign(model.predict(X)[pairs[:, 0]] - model.predict(X)[pairs[:, 1]]) > 0)
    )


def test_preferences_may_repeat_and_contradict():
    items, pairs, magnitude, weight = make_preferences(30, 4, 200, magnitudes=True, weights=True, random_state=0)
    times = weight.astype(int)
    repeated = np.repeat(np.arange(200), times)
    weighted = RankRLS().fit_pairs(items, pairs, magnitude=magnitude, weight=weight)
    assert_allclose(
        weighted.predict(items),
        RankRLS().fit_pairs(items, pairs[repeated], magnitude=magnitude[repeated]).predict(items),
    )
    both = RankRLS().fit_pairs(items, [[0, 1], [1, 0]])
    assert_allclose(both.coef_, 0.0, atol=1e-12)


def test_accuracy_of_preferences_counts_a_tie_a_half():
    model = RankRLS().fit(X, y, qid=qid)
    items = X[[0, 0, 1]]
    order = [[0, 2]] if model.predict(X[:1]) > model.predict(X[1:2]) else [[2, 0]]
    assert model.score_pairs(items, [[0, 1]]) == 0.5
    assert model.score_pairs(items, [[0, 1], *order], weight=[2.0, 1.0]) == pytest.approx(2 / 3)
    several = RankRLS().fit(X, np.column_stack([y, -y]), qid=qid)
    assert several.score_pairs(items, [[0, 1], *order], weight=[2.0, 1.0]) == pytest.approx(0.5)


# Files ------------------------------------------------------------------------------------------------------------

SAVED = {
    "linear": RankRLS(),
    "gaussian": RankRLS(kernel="rbf"),
    "basis": RankRLS(kernel="poly", basis=[0, 3, 9]),
    "object": RankRLS(kernel=RBF(1.5) + ConstantKernel(0.5) * DotProduct(0.0)),
    "iterated": RankRLS(solver="conjugate_gradient", cost="unit", query_weight="queries"),
    "regression": RLS(kernel="laplacian", gamma=0.5),
}


@pytest.mark.parametrize("model", SAVED.values(), ids=SAVED)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_saved_model_predicts_the_same(model, form, tmp_path):
    if form is sparse.csr_array and not isinstance(model.kernel, str):
        pytest.skip("kernel objects take dense rows only")
    model.fit(form(X), y, qid=qid)
    kr.save(model, tmp_path / "model.kr")
    loaded = kr.load(tmp_path / "model.kr")
    assert type(loaded) is type(model)
    assert set(vars(loaded)) == set(vars(model))
    # The coefficients are the same bits; BLAS may round a product differently where the array lies elsewhere.
    name = "coef_" if hasattr(model, "coef_") else "dual_coef_"
    assert_array_equal(getattr(loaded, name), getattr(model, name))
    assert_allclose(loaded.predict(form(X)), model.predict(form(X)), rtol=1e-12, atol=1e-13)
    assert loaded.score(form(X), y, qid=qid) == model.score(form(X), y, qid=qid)
    assert loaded.get_params().keys() == model.get_params().keys()


def test_saved_classifier_keeps_its_classes(tmp_path):
    model = RLSClassifier().fit(X, np.where(y > 0, "good", "bad"))
    kr.save(model, tmp_path / "model.kr")
    assert_array_equal(kr.load(tmp_path / "model.kr").predict(X), model.predict(X))


def test_saved_model_keeps_the_names_of_its_features(tmp_path):
    pd = pytest.importorskip("pandas")
    model = RankRLS().fit(pd.DataFrame(X, columns=list("abcd")), y, qid=qid)
    kr.save(model, tmp_path / "model.kr")
    with pytest.raises(ValueError, match="feature names"):
        kr.load(tmp_path / "model.kr").predict(pd.DataFrame(X, columns=list("dcba")))
