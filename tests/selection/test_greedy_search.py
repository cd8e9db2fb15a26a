"""Greedy selection against the search that trains again for every candidate and everything that is held out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernelrank as kr
from tests.oracles import greedy_selection as oracle

EXPONENTS = st.floats(-10, 10)
QUERY_WEIGHTS = st.sampled_from(["pairs", "items", "queries"])


def problem(seed, sizes, n_features=5):
    """Items with ties in their scores, weights, a duplicated column and one that is the other turned around."""
    rng = np.random.default_rng(seed)
    qid = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    m = len(qid)
    X = rng.normal(size=(m, n_features)) * rng.uniform(0.3, 3.0, size=n_features) + rng.normal(size=n_features)
    X[:, 3], X[:, 4] = X[:, 1], -X[:, 0]
    y = np.round(X[:, 1] + X[:, 2] + rng.normal(size=m))
    y[:2] = [0.0, 7.0]
    return X, y, qid, rng.integers(1, 4, size=m).astype(float)


def agrees(model, expected):
    selected, errors = expected
    assert model.selected_.tolist() == selected
    np.testing.assert_allclose([step["criterion"] for step in model.path_], errors, rtol=1e-8)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    sizes=st.lists(st.integers(2, 8), min_size=2, max_size=4),
    exponent=EXPONENTS,
    query_weight=QUERY_WEIGHTS,
    weighted=st.booleans(),
)
def test_leave_query_out(seed, sizes, exponent, query_weight, weighted):
    X, y, qid, weight = problem(seed, sizes)
    y[np.flatnonzero(qid == qid[0])[:2]] = [0.0, 5.0]
    weight, alpha = weight if weighted else np.ones(len(y)), 2.0**exponent
    model = kr.GreedyRankRLS(3, alpha=alpha, query_weight=query_weight).fit(X, y, qid=qid, sample_weight=weight)
    options = {"qid": qid, "weight": weight, "query_weight": query_weight}
    agrees(model, oracle.select(lambda Z: oracle.leave_query_out(Z, y, alpha, **options), X, 3))
    final = kr.RankRLS(alpha, query_weight=query_weight).fit(X[:, model.selected_], y, qid=qid, sample_weight=weight)
    np.testing.assert_allclose(model.coef_[model.selected_], final.coef_, rtol=1e-7, atol=1e-10)


def test_leave_query_out_with_queries_of_fifty_items():
    X, y, qid, weight = problem(3, [50, 2, 23])
    model = kr.GreedyRankRLS(2, alpha=0.5).fit(X, y, qid=qid, sample_weight=weight)
    options = {"qid": qid, "weight": weight, "query_weight": "pairs"}
    agrees(model, oracle.select(lambda Z: oracle.leave_query_out(Z, y, 0.5, **options), X, 2))


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    m=st.integers(5, 9),
    exponent=EXPONENTS,
    query_weight=QUERY_WEIGHTS,
    weighted=st.booleans(),
)
def test_leave_pair_out(seed, m, exponent, query_weight, weighted):
    X, y, _, weight = problem(seed, [m])
    weight, alpha = weight if weighted else np.ones(m), 2.0**exponent
    model = kr.GreedyRankRLS(3, alpha=alpha, query_weight=query_weight).fit(X, y, sample_weight=weight)
    options = {"weight": weight, "query_weight": query_weight}
    agrees(model, oracle.select(lambda Z: oracle.leave_pair_out(Z, y, alpha, **options), X, 3))


def test_leave_pair_out_inside_queries():
    X, y, qid, weight = problem(5, [2, 4, 3])
    model = kr.GreedyRankRLS(3, alpha=0.3, query_weight="items", criterion="leave_pair_out")
    model.fit(X, y, qid=qid, sample_weight=weight)
    options = {"qid": qid, "weight": weight, "query_weight": "items"}
    agrees(model, oracle.select(lambda Z: oracle.leave_pair_out(Z, y, 0.3, **options), X, 3))


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), m=st.integers(4, 12), exponent=EXPONENTS)
def test_leave_one_out(seed, m, exponent):
    X, y, _, weight = problem(seed, [m])
    alpha = 2.0**exponent
    model = kr.GreedyRLS(3, alpha=alpha).fit(X, y, sample_weight=weight)
    options = {"qid": np.arange(m), "weight": weight}
    agrees(model, oracle.select(lambda Z: oracle.leave_items_out(Z, y, alpha, **options), X, 3))
    final = kr.RLS(alpha).fit(X[:, model.selected_], y, sample_weight=weight)
    np.testing.assert_allclose(model.coef_[model.selected_], final.coef_, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("criterion", ["leave_query_out", "leave_pair_out"])
def test_other_criteria_of_plain_rls(criterion):
    X, y, qid, weight = problem(11, [4, 3])
    model = kr.GreedyRLS(3, alpha=0.3, criterion=criterion).fit(X, y, qid=qid, sample_weight=weight)
    errors = {
        "leave_query_out": lambda Z: oracle.leave_items_out(Z, y, 0.3, qid=qid, weight=weight),
        "leave_pair_out": lambda Z: oracle.leave_item_pairs_out(Z, y, 0.3, weight=weight),
    }
    agrees(model, oracle.select(errors[criterion], X, 3))


@pytest.mark.parametrize("criterion", ["leave_query_out", "leave_pair_out"])
def test_several_outputs_share_their_features(criterion):
    X, y, qid, weight = problem(2, [4, 3, 3])
    Y = np.column_stack([y, np.round(2 * X[:, 0])])
    model = kr.GreedyRankRLS(3, criterion=criterion, query_weight="items").fit(X, Y, qid=qid, sample_weight=weight)
    error = getattr(oracle, criterion)
    options = {"qid": qid, "weight": weight, "query_weight": "items"}
    agrees(model, oracle.select(lambda Z: sum(error(Z, s, 1.0, **options) for s in Y.T), X, 3))
    assert model.coef_.shape == (2, 5)
    np.testing.assert_array_equal(np.flatnonzero(model.coef_.any(axis=0)), np.sort(model.selected_))


def follows(model, expected, units):
    """The path has the same steps as the oracle's."""
    assert len(model.path_) == len(expected)
    for step, (chosen, alpha, error) in zip(model.path_, expected, strict=True):
        assert step["columns"].tolist() == [column for number in chosen for column in units[number]]
        assert step["alpha"] == alpha
        np.testing.assert_allclose(step["criterion"], error, rtol=1e-8)


def collinear(seed, m, n_features):
    """Columns that belong together, so that one chosen early is useless later."""
    rng = np.random.default_rng(seed)
    parts = rng.normal(size=(m, n_features - 1))
    X = np.column_stack([parts.sum(axis=1) + 0.3 * rng.normal(size=m), parts])
    return X, np.round(2 * (parts[:, 0] + parts[:, 1] + parts[:, 2])), rng.integers(1, 4, size=m).astype(float)


ERRORS = {
    "leave_query_out": (
        kr.GreedyRankRLS(criterion="leave_query_out", query_weight="items"),
        lambda Z, y, a, qid, w: oracle.leave_query_out(Z, y, a, qid=qid, weight=w, query_weight="items"),
    ),
    "leave_pair_out": (
        kr.GreedyRankRLS(criterion="leave_pair_out", query_weight="items"),
        lambda Z, y, a, qid, w: oracle.leave_pair_out(Z, y, a, qid=qid, weight=w, query_weight="items"),
    ),
    "weighted_pairs": (
        kr.GreedyRankRLS(),
        lambda Z, y, a, qid, w: oracle.leave_pair_out(Z, y, a, weight=w, query_weight="pairs"),
    ),
    "leave_one_out": (
        kr.GreedyRLS(criterion="leave_one_out"),
        lambda Z, y, a, qid, w: oracle.leave_items_out(Z, y, a, qid=np.arange(len(y)), weight=w),
    ),
}


@pytest.mark.parametrize("alpha", [2.0**-10, 0.1])
@pytest.mark.parametrize("criterion", ERRORS)
def test_floating_search(criterion, alpha):
    model, error = ERRORS[criterion]
    m = 9 if criterion == "weighted_pairs" else 14
    left = 0
    for seed in range(3):
        X, y, weight = collinear(seed, m, 6)
        qid = None if criterion == "weighted_pairs" else np.arange(m) // 4
        model.set_params(n_features_to_select=4, alpha=alpha, floating=True).fit(X, y, qid=qid, sample_weight=weight)
        expected = oracle.select_units(
            lambda Z, a, y=y, w=weight, qid=qid: error(Z, y, a, qid, w), X, 4, alphas=[alpha], floating=True
        )
        follows(model, expected, [[j] for j in range(6)])
        left += sum(not step["added"] for step in model.path_)
        best = min(step["criterion"] for step in model.path_ if len(step["columns"]) == 4)
        assert next(s for s in model.path_ if s["criterion"] == best)["columns"].tolist() == model.selected_.tolist()
    assert left > 0, "no feature has left: the test shows nothing"


@pytest.mark.parametrize("criterion", ERRORS)
def test_groups_alphas_and_required_features(criterion):
    model, error = ERRORS[criterion]
    m = 8 if criterion == "weighted_pairs" else 12
    X, y, weight = collinear(3, m, 7)
    qid = None if criterion == "weighted_pairs" else np.arange(m) // 4
    units, alphas = [[0], [1, 4, 6], [2], [3, 5]], [0.01, 1.0, 30.0]
    model.set_params(
        n_features_to_select=3,
        alpha=alphas,
        feature_groups=["a", "b", "c", "d", "b", "d", "b"],
        required_features=[5],
        floating=True,
    )
    model.fit(X, y, qid=qid, sample_weight=weight)
    expected = oracle.select_units(
        lambda Z, a: error(Z, y, a, qid, weight), X, 3, units=units, required=[3], alphas=alphas, floating=True
    )
    follows(model, expected, units)
    assert model.selected_[:2].tolist() == [3, 5]
    model.set_params(required_features=None, floating=False).fit(X, y, qid=qid, sample_weight=weight)
    follows(
        model, oracle.select_units(lambda Z, a: error(Z, y, a, qid, weight), X, 3, units=units, alphas=alphas), units
    )


@pytest.mark.parametrize("query_weight", ["pairs", "items", "queries"])
def test_coefficients_are_those_of_rank_rls(query_weight):
    X, y, qid, _ = problem(1, [7, 6])
    for labels in (None, qid):
        model = kr.GreedyRankRLS(3, alpha=0.2, query_weight=query_weight).fit(X, y, qid=labels)
        for step in model.path_:
            final = kr.RankRLS(0.2, query_weight=query_weight).fit(X[:, step["columns"]], y, qid=labels)
            np.testing.assert_allclose(step["coefficients"], final.coef_, rtol=1e-9)
        np.testing.assert_allclose(model.predict(X), X[:, model.selected_] @ final.coef_, rtol=1e-9)
