"""A constant added to the scores of a query changes nothing, however large it is beside their differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from kernelrank.estimators import CoRankRLS, RankRLS, TransductiveRankRLS
from kernelrank.model_selection import RankRLSCV, leave_pair_out, leave_query_out
from kernelrank.model_selection.holdout import holdout

LEVELS = {
    "1.7e9": lambda qid: np.full(len(qid), 1.7e9),
    "1e12": lambda qid: np.full(len(qid), 1e12),
    "-1e12": lambda qid: np.full(len(qid), -1e12),
    "each query": lambda qid: np.array([1e12, -3e9, 0.0, 7.3e11, 1e6, -1e12])[qid % 6],
}

GRAPHS = {
    "magnitude": {},
    "items": {"query_weight": "items"},
    "queries": {"query_weight": "queries"},
    "ties out": {"ties": "exclude"},
    "unit": {"cost": "unit"},
    "relative": {"cost": "relative"},
}


def problem(level, *, columns=6, density=1.0, outputs=0, seed=0):
    """Return X, scores with a constant, the same numbers without it, and qid."""
    rng = np.random.default_rng(seed)
    qid = rng.permutation(np.repeat(np.arange(7), [6, 5, 1, 7, 6, 4, 6]))
    X = rng.normal(size=(len(qid), columns)) * (rng.random((len(qid), columns)) < density)
    y = rng.normal(size=(len(qid), outputs)) if outputs else rng.normal(size=len(qid))
    y[3] = y[np.flatnonzero(qid == qid[3])[-1]]  # a tie
    constant = LEVELS[level](qid)
    constant = constant[:, None] if outputs else constant
    high = y + constant
    return X, high, high - constant, qid


def assert_same(found, expected):
    assert np.abs(found - expected).max() <= 1e-10 * np.abs(expected).max()


def coefficients(model):
    return model.coef_ if hasattr(model, "coef_") else model.dual_coef_


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("solver", ["cholesky", "spectral", "conjugate_gradient"])
@pytest.mark.parametrize("columns", [6, 90])
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_linear_fits(graph, level, solver, columns, form):
    X, high, low, qid = problem(level, columns=columns, density=0.5)
    X = sparse.csr_array(X) if form == "sparse" else X
    model = RankRLS(1.0, solver=solver, tol=1e-13, **GRAPHS[graph])
    expected = coefficients(model.fit(X, low, qid=qid))
    assert_same(coefficients(model.fit(X, high, qid=qid)), expected)


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("level", ["1e12", "each query"])
@pytest.mark.parametrize("solver", ["cholesky", "spectral", "conjugate_gradient", "nystrom_conjugate_gradient"])
@pytest.mark.parametrize("basis", [None, [0, 5, 9, 20, 30]])
def test_kernel_fits(graph, level, solver, basis):
    X, high, low, qid = problem(level)
    model = RankRLS(1.0, kernel="rbf", basis=basis, solver=solver, tol=1e-13, **GRAPHS[graph])
    expected = coefficients(model.fit(X, low, qid=qid))
    assert_same(coefficients(model.fit(X, high, qid=qid)), expected)


@pytest.mark.parametrize("level", ["1e12", "each query"])
@pytest.mark.parametrize("solver", ["cholesky", "conjugate_gradient"])
def test_several_outputs_with_weights_and_missing_scores(level, solver):
    X, high, low, qid = problem(level, outputs=3)
    rng = np.random.default_rng(1)
    weight = rng.uniform(0.5, 2.0, size=len(qid))
    weight[4] = 0.0
    missing = rng.random(high.shape) < 0.2
    high[missing] = low[missing] = np.nan
    for X_form in (X, sparse.csr_array(X)):
        model = RankRLS(solver=solver, missing="ignore", tol=1e-13)
        expected = model.fit(X_form, low, qid=qid, sample_weight=weight).coef_
        found = model.fit(X_form, high, qid=qid, sample_weight=weight).coef_
        for k in range(3):
            assert_same(found[k], expected[k])


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("options", [{}, {"kernel": "rbf"}, {"kernel": "rbf", "basis": [0, 5, 9, 20, 30]}])
def test_held_out_queries(graph, level, options):
    X, high, low, qid = problem(level)
    learner = RankRLS(**GRAPHS[graph], **options)
    alphas = [0.1, 1.0, 10.0, 100.0]
    assert_same(
        leave_query_out(learner, X, high, qid, alphas=alphas), leave_query_out(learner, X, low, qid, alphas=alphas)
    )


@pytest.mark.parametrize("options", [{}, {"query_weight": "items"}, {"kernel": "rbf"}])
def test_held_out_sets_and_pairs(options):
    X, high, low, qid = problem("1e12")
    learner = RankRLS(**options)
    sets = [[0, 3], [1, 2, 8, 9], [30]]
    for found, expected in zip(
        holdout(learner, X, high, sets, qid=qid), holdout(learner, X, low, sets, qid=qid), strict=True
    ):
        assert_same(found, expected)
    for alphas in ([1.0], [0.1, 1.0, 3.0, 1e6]):
        found, expected = (leave_pair_out(learner, X, y, alphas=alphas) for y in (high, low))
        assert_same(found.difference, expected.difference)
        np.testing.assert_array_equal(found.accuracy, expected.accuracy)


@pytest.mark.parametrize("cost", ["magnitude", "relative"])
def test_searches(cost):
    X, high, low, qid = problem("each query")
    found, expected = (
        RankRLSCV(alphas=[0.1, 1.0, 10.0, 100.0], cost=cost).fit(sparse.csr_array(X), y, qid=qid) for y in (high, low)
    )
    assert found.alpha_ == expected.alpha_
    assert_same(found.coef_, expected.coef_)
    assert_same(found.holdout_scores_, expected.holdout_scores_)


@pytest.mark.parametrize("level", ["1e12", "each query"])
@pytest.mark.parametrize("graph", ["magnitude", "queries", "unit", "relative"])
def test_streams_of_whole_queries(graph, level):
    X, high, low, qid = problem(level)
    order = np.argsort(qid, kind="stable")

    def streamed(y):
        model = RankRLS(**GRAPHS[graph])
        for queries in (range(3), range(3, 5), range(5, 7)):
            items = order[np.isin(qid[order], queries)]
            model.partial_fit(sparse.csr_array(X[items]), y[items], qid=qid[items])
        return model.coef_

    assert_same(streamed(high), streamed(low))


@pytest.mark.parametrize("level", ["1e12", "each query"])
def test_streams_of_parts_of_queries(level):
    X, high, low, qid = problem(level)

    def streamed(y):
        model = RankRLS()
        for items in np.array_split(np.arange(len(qid)), 4):
            model.partial_fit(X[items], y[items], qid=qid[items], queries="mergeable")
        return model.coef_

    assert_same(streamed(high), streamed(low))
    assert_same(streamed(high), RankRLS().fit(X, low, qid=qid).coef_)


def test_learners_with_unscored_queries():
    X, high, low, qid = problem("each query")
    unscored = np.random.default_rng(3).normal(size=(12, X.shape[1]))
    views = [{"kernel": "linear"}, {"kernel": "rbf"}]
    found, expected = (
        CoRankRLS(views=views, random_state=0).fit(X, y, qid=qid, X_unscored=unscored) for y in (high, low)
    )
    assert_same(found.predict(unscored), expected.predict(unscored))
    high[qid == 3] = low[qid == 3] = np.nan
    found, expected = (TransductiveRankRLS().fit(X, y, qid=qid) for y in (high, low))
    assert_same(found.transduction_, expected.transduction_)
    assert_same(found.coef_, expected.coef_)
