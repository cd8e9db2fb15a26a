"""The searches over dyads choose what the held-out scores of their setting say, and fit with it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

import kernelrank as kr
from kernelrank.errors import InvalidInputError
from tests.oracles.dyadic_holdout import held_out_scores, kronecker_without, two_step_without
from tests.oracles.dyads import kronecker_scores, two_step_scores

RNG = np.random.default_rng(0)
ROWS, COLUMNS = RNG.standard_normal((9, 3)), RNG.standard_normal((8, 2))
Y = ROWS[:, :2] @ COLUMNS.T + 0.5 * RNG.standard_normal((9, 8))
RBF = {"kernel_rows": "rbf", "kernel_columns": "rbf"}
ALPHAS = [0.01, 0.3, 3.0, 30.0]

pytestmark = pytest.mark.filterwarnings("ignore::kernelrank.errors.EdgeOfGridWarning")


def measured(scores, per):
    """Pairs in the right order, one pair at a time."""
    values = []
    matrices = {"overall": [(Y.ravel(), scores.ravel())], "row": zip(Y, scores), "column": zip(Y.T, scores.T)}[per]  # noqa: B905
    for y, f in matrices:
        pairs = [(a, b) for a in range(len(y)) for b in range(len(y)) if y[a] > y[b]]
        values.append(np.mean([(f[a] > f[b]) + 0.5 * (f[a] == f[b]) for a, b in pairs]))
    return np.mean(values)


@pytest.mark.parametrize("setting", ["cell", "row", "column", "both"])
@pytest.mark.parametrize("per", ["overall", "row", "column"])
def test_the_best_alpha_by_the_concordance(setting, per):
    search = kr.KroneckerRLSCV(ALPHAS, setting=setting, scoring="concordance", per=per, **RBF).fit(ROWS, COLUMNS, Y)
    held_out = kr.dyadic_holdout(kr.KroneckerRLS(**RBF), ROWS, COLUMNS, Y, setting=setting, alphas=ALPHAS)
    expected = [measured(held_out[:, :, k], per) for k in range(len(ALPHAS))]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected, rtol=1e-10)
    assert search.alpha_ == ALPHAS[int(np.argmax(expected))]
    np.testing.assert_array_equal(search.holdout_scores_, held_out[:, :, int(np.argmax(expected))])
    plain = kr.KroneckerRLS(search.alpha_, **RBF).fit(ROWS, COLUMNS, Y)
    np.testing.assert_array_equal(search.predict(ROWS, COLUMNS), plain.predict(ROWS, COLUMNS))
    concordance = kr.metrics.dyadic_concordance(Y, search.holdout_scores_, per=per)
    assert concordance.value == pytest.approx(search.best_score_)
    assert concordance.value in concordance.interval


def test_regression_is_chosen_by_the_squared_error_and_rankings_by_pairs():
    search = kr.KroneckerRLSCV(ALPHAS, setting="row", cv=3, **RBF).fit(ROWS, COLUMNS, Y)
    assert search.best_score_ == pytest.approx(-((Y - search.holdout_scores_) ** 2).mean())
    for rank, per in (("columns", "row"), ("rows", "column")):
        ranking = kr.KroneckerRankRLSCV(ALPHAS, rank=rank, setting=per, **RBF).fit(ROWS, COLUMNS, Y)
        assert ranking.best_score_ == pytest.approx(measured(ranking.holdout_scores_, per))


def test_two_strengths_are_chosen_together():
    search = kr.TwoStepRLSCV(ALPHAS, setting="both", **RBF).fit(ROWS, COLUMNS, Y)
    pairs = [(a, b) for b in ALPHAS for a in ALPHAS]
    held_out = kr.dyadic_holdout(kr.TwoStepRLS(**RBF), ROWS, COLUMNS, Y, setting="both", alphas=pairs)
    errors = ((Y[:, :, None] - held_out) ** 2).mean(axis=(0, 1))
    best = int(np.argmin(errors))
    assert (search.alpha_rows_, search.alpha_columns_) == pairs[best]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], -errors, rtol=1e-10)
    found = zip(search.cv_results_["param_alpha_rows"], search.cv_results_["param_alpha_columns"], strict=True)
    assert list(found) == pairs
    plain = kr.TwoStepRLS(*pairs[best], **RBF).fit(ROWS, COLUMNS, Y)
    np.testing.assert_allclose(search.predict(ROWS, COLUMNS), plain.predict(ROWS, COLUMNS), rtol=1e-12)


@pytest.mark.parametrize("kind", [kr.KroneckerRLSCV, kr.KroneckerRankRLSCV, kr.TwoStepRLSCV])
def test_defaults_unknown_cells_outputs_and_files(kind, tmp_path):
    both = np.stack([Y, Y + RNG.standard_normal(Y.shape)], axis=2)
    both[0, 1] = both[3, 3] = np.nan
    search = clone(kind(setting="row", cv=3)).fit(ROWS, COLUMNS, both)
    assert search.holdout_scores_.shape == both.shape
    kr.save(search, tmp_path / "model.kr")
    loaded = kr.load(tmp_path / "model.kr")
    np.testing.assert_array_equal(loaded.predict(ROWS, COLUMNS), search.predict(ROWS, COLUMNS))
    assert loaded.best_params_ == search.best_params_


def test_relations():
    size = len(ROWS)
    skew = Y[:, :1] - Y[:, :1].T + np.triu(np.ones((size, size)), 1) * 0.1 - np.tril(np.ones((size, size)), -1) * 0.1
    search = kr.KroneckerRLSCV(ALPHAS, setting="row", relation="reciprocal", kernel_rows="rbf").fit(ROWS, None, skew)
    off = ~np.eye(size, dtype=bool)
    assert search.best_score_ == pytest.approx(-((skew - search.holdout_scores_)[off] ** 2).mean())
    two = kr.TwoStepRLSCV(ALPHAS, setting="row", relation="reciprocal", kernel_rows="rbf").fit(ROWS, None, skew)
    assert two.alpha_rows_ == two.alpha_columns_


def test_the_scale_is_the_mean_eigenvalue():
    search = kr.KroneckerRankRLSCV(setting="row", cv=3, **RBF)
    search.fit(ROWS, COLUMNS, Y)
    K1, K2 = search.kernel_rows_.matrix(ROWS), search.kernel_columns_.matrix(COLUMNS)
    C = np.eye(8) - np.full((8, 8), 1 / 8)
    scale = 8 * np.linalg.eigvalsh(K1).mean() * np.linalg.eigvalsh(C @ K2 @ C)[1:].mean()
    exponents = np.log2(search.alphas_ / scale)
    np.testing.assert_allclose(exponents, np.round(exponents), atol=1e-9)


def test_bad_input_is_named():
    with pytest.raises(InvalidInputError, match="unknown measure 'best'"):
        kr.KroneckerRLSCV(ALPHAS, scoring="best").fit(ROWS, COLUMNS, Y)
    with pytest.raises(InvalidInputError, match="Y has 8 rows and 9 columns, but X_rows has 9 objects"):
        kr.KroneckerRLSCV(ALPHAS).fit(ROWS, COLUMNS, Y.T)


@pytest.mark.parametrize("noise", [0.0, 30.0])
def test_both_strengths_go_on_where_the_grid_ends(noise):
    rng = np.random.default_rng(5)
    rows, columns = rng.standard_normal((12, 3)), rng.standard_normal((10, 3))
    scores = rows[:, :1] @ columns[:, :1].T + noise * rng.standard_normal((12, 10))
    model = kr.TwoStepRLSCV(setting="both").fit(rows, columns, scores)
    table = model.cv_results_
    for side in ("rows", "columns"):
        tried = np.unique(table[f"param_alpha_{side}"])
        assert np.log2(tried[-1] / tried[0]) > 20.0
    assert len(table["params"]) == len({tuple(sorted(one.items())) for one in table["params"]})
    assert table["mean_test_score"].max() == model.best_score_


@pytest.mark.parametrize("seed", [0, 9, 11])
def test_tied_scores_of_sparse_given_kernels_are_the_same_as_by_refits(seed):
    # Objects of one block have equal kernels, and many new rows are like no other row: rounding must not order them.
    rng, shape = np.random.default_rng(seed), (9, 7)
    scores = (rng.random(shape) < 0.15).astype(np.float64)
    scores[0, 0] = 1.0
    blocks, others = rng.integers(0, 3, shape[0]), rng.integers(0, 4, shape[1])
    K1 = 0.5 * np.eye(shape[0]) + 0.5 * (blocks[:, None] == blocks)
    K2 = (others[:, None] == others).astype(np.float64)
    if seed:
        K2 = 0.3 * np.eye(shape[1]) + 0.7 * K2
    alphas = 2.0 ** np.arange(-6, 7, 3)
    refits = {}

    def refitted(leaving, alpha):
        """The row that leaves last, predicted without all of them, and ties that are ties in exact arithmetic."""
        key = frozenset(leaving), alpha
        if key not in refits:
            known = np.argwhere(~np.isin(np.arange(shape[0]), leaving)[:, None] & np.ones(shape, dtype=bool)).T
            refits[key] = kronecker_scores(K1, K2, *known, scores[*known], alpha, ranked="columns").round(9)
        return refits[key][leaving[-1]]

    def concordance(found, rows):
        values = []
        for y, f in zip(scores[rows], found, strict=True):
            won = [(f[a] > f[b]) + 0.5 * (f[a] == f[b]) for a, b in np.argwhere(y[:, None] > y)]
            values += [np.mean(won)] if won else []
        return np.mean(values)

    def table(outer):
        rows = np.setdiff1d(np.arange(shape[0]), outer)
        return [concordance([refitted([*outer, i], alpha) for i in rows], rows) for alpha in alphas]

    given = {"kernel_rows": "precomputed", "kernel_columns": "precomputed"}
    search = kr.KroneckerRankRLSCV(alphas, setting="row", **given).fit(K1, K2, scores)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], table([]), rtol=1e-12)
    nested = kr.dyadic_holdout(search, K1, K2, scores, setting="row")
    expected = [refitted([i], alphas[int(np.argmax(np.round(table([i]), 9)))]) for i in range(shape[0])]
    np.testing.assert_allclose(nested, expected, atol=1e-8)
    every = np.arange(shape[0])
    value = kr.metrics.dyadic_concordance(scores, nested, per="row").value
    assert value == pytest.approx(concordance(expected, every))


@pytest.mark.parametrize("mean", [1.0, 10.0, 100.0, 1000.0])
@pytest.mark.parametrize("unknown", [False, True])
def test_a_search_over_objects_far_from_the_origin(mean, unknown):
    # Distances and the order of linear scores in a row do not depend on the origin.
    scores = np.where(np.eye(9, 8) > 0, np.nan, Y) if unknown else Y
    options = {"kernel_rows": "rbf", "setting": "row", "cv": 3, "random_state": 0}
    near = kr.KroneckerRankRLSCV(ALPHAS, **options).fit(ROWS, COLUMNS, scores)
    far = kr.KroneckerRankRLSCV(ALPHAS, **options).fit(ROWS + mean, COLUMNS + mean, scores)
    np.testing.assert_allclose(far.cv_results_["mean_test_score"], near.cv_results_["mean_test_score"], rtol=1e-12)
    assert far.alpha_ == near.alpha_
    found, expected = far.predict(ROWS + mean, COLUMNS + mean), near.predict(ROWS, COLUMNS)
    np.testing.assert_allclose(np.diff(found), np.diff(expected), rtol=0, atol=1e-6 * np.abs(expected).max())
    automatic = [kr.KroneckerRankRLSCV(**options).fit(ROWS + m, COLUMNS + m, scores).alphas_ for m in (0.0, mean)]
    np.testing.assert_allclose(automatic[1], automatic[0], rtol=1e-6)


@pytest.mark.parametrize("setting", ["cell", "row", "column", "both"])
@pytest.mark.parametrize(("mean", "digits"), [(1.0, 1e-8), (10.0, 1e-8), (100.0, 1e-7), (1000.0, 1e-5)])
@pytest.mark.parametrize("kind", ["two steps", "regression"])
def test_searches_of_regression_far_from_the_origin(setting, mean, digits, kind):
    # Regression with a linear kernel has no intercept: the kernel is that of the features as they are.
    rows, columns, alphas = ROWS[:6], COLUMNS[:5, :1] + mean, [0.1, 3.0]
    scores, K1, K2 = Y[:6, :5], rbf_kernel(rows, gamma=0.3), columns @ columns.T
    options = {"setting": setting, "kernel_rows": "rbf", "gamma_rows": 0.3}
    if kind == "two steps":
        search = kr.TwoStepRLSCV(alphas, **options)
        params = [{"alpha_rows": a, "alpha_columns": b} for b in alphas for a in alphas]
        tried = [(a, b) for b in alphas for a in alphas]
        expected = [
            held_out_scores(scores, setting, two_step_without(K1, K2, scores, *pair, setting)) for pair in tried
        ]
        fitted = [two_step_scores(K1, K2, scores, *pair) for pair in tried]
    else:
        search, params = kr.KroneckerRLSCV(alphas, **options), [{"alpha": a} for a in alphas]
        expected = [held_out_scores(scores, setting, kronecker_without(K1, K2, scores, a)) for a in alphas]
        fitted = [kronecker_scores(K1, K2, *np.indices(scores.shape).reshape(2, -1), scores.ravel(), a) for a in alphas]
    search.fit(rows + mean, columns, scores)
    errors = np.array([np.mean((scores - f) ** 2) for f in expected])
    best = int(np.argmin(errors))
    assert search.cv_results_["params"] == params
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], -errors, rtol=10 * digits)
    assert search.best_params_ == params[best]
    for found, f in ((search.holdout_scores_, expected[best]), (search.predict(rows + mean, columns), fitted[best])):
        np.testing.assert_allclose(found, f, rtol=0, atol=digits * np.abs(f).max())
