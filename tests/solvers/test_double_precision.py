"""A warning where rounding leaves fewer than six digits, with an error that fifty digits confirm; none elsewhere."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

from kernelrank.errors import EdgeOfGridWarning, LostDigitsWarning
from kernelrank.estimators import RLS, CoRankRLS, RankRLS, TransductiveRankRLS
from kernelrank.model_selection import CoRankRLSCV, RankRLSCV, leave_pair_out, leave_query_out
from kernelrank.model_selection.holdout import holdout
from kernelrank.solvers.precision import one_warning, report_error
from tests.oracles.digits import gaussian_rank_rls, gaussian_reduced_set
from tests.oracles.holdout import exact_kernel, exact_linear_kernel, exact_scores
from tests.oracles.pairs import centred

ALPHAS = [1e-16, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 2.0**-15, 1.0]


def told(work):
    """Return what `work` returns, and the error that its only warning tells, or zero without a warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = work()
    assert {warning.category for warning in caught} <= {LostDigitsWarning}
    assert len(caught) <= 1
    if not caught:
        return result, 0.0
    text = str(caught[0].message)
    assert "Use a larger alpha" in text
    return result, float(re.search(r"relative error of about ([0-9.e+-]+):", text).group(1))


def assert_true(told_error, true_error, alpha, *, factor=30.0):
    """A warning from an error of a few millionths on, none that is far from the truth, none for ordinary alphas."""
    if true_error > 3e-6:
        assert told_error > 0.0
    if told_error:
        assert min(true_error, 1.0) / factor <= told_error <= factor * true_error
    if alpha >= 2.0**-15:
        assert not told_error


def every_item_twice(seed, m=16):
    rng = np.random.default_rng(seed)
    X = np.tile(rng.normal(size=(m // 2, 3)), (2, 1))
    return X, rng.normal(size=m), np.arange(m) % 2 if seed % 2 else np.zeros(m, dtype=int)


@pytest.mark.parametrize("solver", ["cholesky", "spectral"])
@pytest.mark.parametrize("seed", range(3))
def test_every_item_twice_with_other_scores(solver, seed):
    X, y, qid = every_item_twice(seed)
    warned = 0
    for alpha in ALPHAS:
        expected = centred(gaussian_rank_rls(X, y, qid, alpha, 0.5), qid)
        model = RankRLS(alpha, kernel="rbf", gamma=0.5, solver=solver)
        fitted, error = told(lambda model=model: model.fit(X, y, qid=qid))
        found = centred(fitted.predict(X), qid)
        assert_true(error, np.abs(found - expected).max() / np.abs(expected).max(), alpha)
        warned += error > 0
    assert warned >= 4


@pytest.mark.parametrize("seed", range(3))
def test_scores_that_the_kernel_explains_keep_their_digits_at_tiny_alphas(seed):
    """The condition number alone would warn here, and wrongly."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(14, 3))
    y, qid = np.sin(X.sum(axis=1)), np.zeros(14)
    for alpha in (1e-12, 1e-8, 2.0**-15):
        expected = centred(gaussian_rank_rls(X, y, qid, alpha, 0.5), qid)
        fitted, error = told(lambda alpha=alpha: RankRLS(alpha, kernel="rbf", gamma=0.5).fit(X, y, qid=qid))
        assert error == 0.0
        assert np.abs(centred(fitted.predict(X), qid) - expected).max() <= 1e-6 * np.abs(expected).max()


@pytest.mark.parametrize("solver", ["cholesky", "spectral"])
@pytest.mark.parametrize("gap", [1e-4, 1e-6])
def test_columns_that_are_nearly_the_same(solver, gap):
    """Rounding may be lucky once, so the errors of five draws are compared, none of them larger than it is told."""
    errors = np.zeros((2, len(ALPHAS), 5))
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(14, 3))
        X[:, 2] = X[:, 1] + gap * rng.normal(size=14)
        y, qid = rng.normal(size=14), np.repeat([0, 1], 7)
        for number, alpha in enumerate(ALPHAS):
            model = RankRLS(alpha, solver=solver)
            expected = exact_scores(model, exact_linear_kernel(X), y, [], alpha, qid, scored=range(14))
            fitted, error = told(lambda model=model, X=X, y=y, qid=qid: model.fit(X, y, qid=qid))
            found, expected = centred(fitted.predict(X), qid), centred(expected, qid)
            true_error = np.abs(found - expected).max() / np.abs(expected).max()
            assert error >= true_error or true_error <= 3e-6
            errors[:, number, seed] = error, true_error
    for alpha, told_error, true_error in zip(ALPHAS, *np.median(errors, axis=2), strict=True):
        assert_true(told_error, true_error, alpha)


@pytest.mark.parametrize("alphas", [[2.0**-15], [2.0**-15, 1.0, 10.0, 100.0, 1000.0]])
def test_columns_of_any_scale_have_all_their_digits(alphas):
    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(size=(14, 4)) * [1e-4, 1.0, 1e4, 1e7], rng.normal(size=14), np.repeat([0, 1], 7)
    fitted, error = told(lambda: RankRLS().fit_path(X, y, alphas, qid=qid))
    assert error == 0.0
    for model in fitted[:2]:
        exact = exact_scores(model, exact_linear_kernel(X), y, [], model.alpha, qid, scored=range(14))
        found, expected = centred(model.predict(X), qid), centred(exact, qid)
        assert np.abs(found - expected).max() <= 1e-9 * np.abs(expected).max()


def gaussian_problem(kind, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 3))
    if kind == "twice":
        X[6:] = X[:6]
    K = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(axis=2))
    y = np.sin(X.sum(axis=1)) if seed % 2 else rng.normal(size=12)
    return K, y


def held_out_error(learner, K, y, qid):
    """The error that `leave_query_out` tells, and the true one beside the range of all scores."""
    found, error = told(lambda: leave_query_out(learner, K, y, qid))
    worst = 0.0
    for q in np.unique(qid):
        held = np.flatnonzero(qid == q)
        exact = exact_scores(learner, exact_kernel(K), y, held, learner.alpha, qid, scored=range(len(y)))
        worst = max(worst, np.abs(np.diff(found[held] - exact[held])).max() / np.ptp(exact))
    return error, worst


@pytest.mark.parametrize(("seed", "alpha"), [(15, 1e-10), (35, 1e-9), (7, 1e-9)])
def test_the_error_of_held_out_duplicates_is_not_told_too_small(seed, alpha):
    """Of many problems with every item twice, those where the pivots tell least."""
    K, y = gaussian_problem("twice", seed)
    error, worst = held_out_error(RankRLS(alpha, kernel="precomputed"), K, y, np.arange(12) % 3)
    assert worst / 2 <= error <= 30 * worst


@pytest.mark.parametrize("kind", ["once", "twice"])
@pytest.mark.parametrize("seed", range(2))
def test_held_out_queries(kind, seed):
    K, y = gaussian_problem(kind, seed)
    for alpha in ALPHAS[1:-1]:
        error, worst = held_out_error(RankRLS(alpha, kernel="precomputed"), K, y, np.arange(12) % 3)
        if worst > 3e-6:
            assert error > 0.0
        if alpha >= 2.0**-15:
            assert error == 0.0
            assert worst <= 1e-8


@pytest.mark.parametrize("learner", [RankRLS(), RLS()])
def test_one_warning_for_each_call(learner):
    X, y, qid = every_item_twice(1)
    learner = learner.set_params(kernel="rbf", alpha=1e-15)
    ranking = isinstance(learner, RankRLS)
    options = {"qid": qid} if ranking else {}
    tiny = [1e-16, 1e-15, 1e-14, 1e-13]
    assert told(lambda: learner.fit(X, y, **options))[1] > 1e-3
    assert told(lambda: learner.fit(X, np.c_[y, y[::-1]], **options))[1] > 1e-3
    assert told(lambda: learner.fit_path(X, y, tiny, **options))[1] > 1e-3
    assert told(lambda: leave_pair_out(learner, X, y))[1] > 1e-3
    assert told(lambda: leave_pair_out(learner, X, y, alphas=tiny))[1] > 1e-3
    assert told(lambda: holdout(learner, X, y, [[0, 1], [5]]))[1] > 1e-3
    if ranking:
        assert told(lambda: leave_query_out(learner, X, y, qid, alphas=tiny))[1] > 1e-3


def test_searches_and_transduction():
    X, y, qid = every_item_twice(1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LostDigitsWarning)
        warnings.simplefilter("ignore", EdgeOfGridWarning)
        chosen = RankRLSCV(alphas=[1e-16, 1e-14, 1.0], kernel="rbf").fit(X, y, qid=qid).alpha_
    # Scores without digits may be the best by chance: then the model of that alpha is warned of, too.
    expected = ["held-out scores with alphas up to 1e-14"]
    expected += [f"predictions with alpha={chosen:g}"] if chosen < 1.0 else []
    assert [str(warning.message).split(" have")[0] for warning in caught] == expected
    y[qid == 1] = np.nan
    qid[1::4] = 2
    with pytest.warns(LostDigitsWarning):
        TransductiveRankRLS(1e-13, kernel="rbf").fit(X, y, qid=qid)


@pytest.mark.parametrize("solver", ["cholesky", "spectral"])
@pytest.mark.parametrize("gamma", [0.001, 0.1])
def test_a_basis_whose_kernels_are_nearly_the_same(solver, gamma):
    """Coefficients far larger than the predictions that they add up to."""
    rng = np.random.default_rng(0)
    X, y, qid, basis = rng.normal(size=(14, 2)), rng.normal(size=14), np.repeat([0, 1], 7), np.arange(0, 14, 2)
    for alpha in (1e-16, 1e-12, 1e-9, 1e-6, 2.0**-15):
        expected = centred(gaussian_reduced_set(X, y, qid, alpha, gamma, basis), qid)
        model = RankRLS(alpha, kernel="rbf", gamma=gamma, basis=basis, solver=solver)
        fitted, error = told(lambda model=model: model.fit(X, y, qid=qid))
        found = centred(fitted.predict(X), qid)
        assert_true(error, np.abs(found - expected).max() / np.abs(expected).max(), alpha, factor=1000.0)


@pytest.mark.parametrize(("columns", "gamma"), [(1, 8.0), (1, 10.0), (1, 30.0), (3, 0.03), (3, 0.1), (3, 1.0)])
def test_a_basis_keeps_eight_digits_whichever_equations_are_solved(columns, gamma):
    """Kernels of a basis with condition numbers from 1e1 to 1e7, where the equations of few are mapped."""
    rng = np.random.default_rng(0)
    X, y, qid, basis = rng.normal(size=(30, columns)), rng.normal(size=30), np.zeros(30, dtype=int), np.arange(9)
    for alpha in (2.0**-15, 1.0, 2.0**15):
        expected = centred(gaussian_reduced_set(X, y, qid, alpha, gamma, basis), qid)
        found = centred(RankRLS(alpha, kernel="rbf", gamma=gamma, basis=basis).fit(X, y).predict(X), qid)
        assert np.abs(found - expected).max() <= 1e-8 * np.abs(expected).max()


def test_views_whose_kernels_are_nearly_the_same():
    rng = np.random.default_rng(0)
    X, y, qid, unscored = rng.normal(size=(16, 3)), rng.normal(size=16), np.arange(16) % 2, rng.normal(size=(6, 3))
    options = {"kernel": "rbf", "gamma": 1e-4, "random_state": 0}
    data = {"qid": qid, "X_unscored": unscored}
    assert told(lambda: CoRankRLS(1e-12, **options).fit(X, y, **data))[1] > 0.0
    with pytest.warns(LostDigitsWarning) as caught:
        CoRankRLSCV(alphas=[1e-14, 1e-12], cv=2, **options).fit(X, y, **data)
    assert str(caught[0].message).startswith("held-out scores with alphas up to 1e-12")


def test_streams():
    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(size=(40, 3)), rng.normal(size=40), np.arange(40) // 5
    X[:, 2] = X[:, 1] + 1e-7 * X[:, 2]
    with pytest.warns(LostDigitsWarning, match="predictions with alpha=1e-15"):
        RankRLS(1e-15).partial_fit(X, y, qid=qid)


def test_errors_are_told_together():
    text = "scores with alphas up to 2 have a relative error of about 1e-02"

    @one_warning("scores")
    def report():
        report_error(1.0, 1e-2)
        with one_warning("nothing"):
            report_error(2.0, 1e-5)
        report_error(4.0, 1e-7)

    with pytest.warns(LostDigitsWarning, match=text) as caught:
        report()
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with one_warning("scores", shown=False):
            report_error(1.0, 1.0)
        report_error(1.0, 1e-6)
    with pytest.warns(LostDigitsWarning, match="predictions with alpha=3 "):
        report_error(3.0, 0.1)
