"""A model is finite or an error: what is too large is named, and the estimator stays what it was."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import kernelrank as kr
from kernelrank.errors import InvalidInputError

rng = np.random.default_rng(0)
X = rng.standard_normal((20, 3))
y = rng.standard_normal(20)
qid = np.repeat(np.arange(4), 5)
HEAVY = 1e200 * (1.0 + rng.random(20))
ALPHAS = [0.1, 1.0]


def partly(value):
    """Return a linear kernel that has no number for some items."""
    return lambda a, b: value if a[0] > 1 else float(a @ b)


LEARNERS = {
    "cholesky": kr.RankRLS,
    "spectral": lambda **options: kr.RankRLS(solver="spectral", **options),
    "conjugate gradients": lambda **options: kr.RankRLS(solver="conjugate_gradient", **options),
    "basis": lambda **options: kr.RankRLS(basis=4, random_state=0, **options),
    "ties left out": lambda **options: kr.RankRLS(ties="exclude", **options),
    "regression": kr.RLS,
    "support vectors": kr.RankSVM,
    "bundle": lambda **options: kr.RankSVM(solver="bundle", **options),
    "squared hinge": lambda **options: kr.RankSVM(loss="squared_hinge", **options),
    "search": lambda **options: kr.RankRLSCV(ALPHAS, **options),
    "search of pairs": lambda **options: kr.RankRLSCV(ALPHAS, cv="leave_pair_out", **options),
    "search with a basis": lambda **options: kr.RankRLSCV(ALPHAS, basis=4, random_state=0, **options),
    "search of regression": lambda **options: kr.RLSCV(ALPHAS, **options),
    "views": lambda **options: kr.CoRankRLS(nu=0.0, random_state=0, **options),
    "search of views": lambda **options: kr.CoRankRLSCV(ALPHAS, [0.0], cv=2, random_state=0, **options),
    "transduction": kr.TransductiveRankRLS,
}
CASES = {
    "kernel returns NaN": ({"kernel": partly(np.nan)}, X, y, None, "kernel <lambda> returned nan for two of the items"),
    "kernel returns infinity": ({"kernel": partly(np.inf)}, X, y, None, "kernel <lambda> returned inf for two"),
    "y": ({"kernel": "linear"}, X, 5e307 * y, None, r"y has values as large as \d.*e\+30\d.* Divide y by a constant"),
    "y, kernel": ({"kernel": "rbf"}, X, 5e307 * y, None, "y has values as large as"),
    "weights": ({"kernel": "linear"}, X, y, HEAVY, r"sample_weight has values as large as \d.*e\+200"),
    "weights, kernel": ({"kernel": "rbf"}, X, y, HEAVY, r"sample_weight has values as large as \d.*e\+200"),
    "X": ({"kernel": "linear"}, 1e160 * X, y, None, r"X has values as large as \d.*e\+160"),
    "sparse X": ({"kernel": "linear"}, sparse.csr_array(1e160 * X), y, None, r"X has values as large as \d.*e\+160"),
    "one column of X": ({"kernel": "linear"}, X * [1, 1e160, 1], y, None, r"X has values as large as \d.*e\+160"),
    "wide X": ({"kernel": "linear"}, 1e160 * np.tile(X, 9), y, None, r"X has values as large as \d.*e\+160"),
    "X, gaussian": ({"kernel": "rbf"}, 1e160 * X, y, None, r"X has values as large as \d.*e\+160: the kernel rbf"),
    "X, polynomial": ({"kernel": "poly"}, 1e60 * X, y, None, r"X has values as large as \d.*e\+60: the kernel poly"),
}
ONLY_ORDER = {"support vectors", "bundle", "squared hinge"}
"""Learners that never look at the size of y."""
NO_PAIRS = {"regression", "search of regression"}
"""Learners whose weights are not multiplied with each other."""


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", LEARNERS)
def test_what_is_too_large_is_named(name, case):
    options, items, scores, weight, message = CASES[case]
    if (name in ONLY_ORDER and case.startswith("y")) or (name in NO_PAIRS and weight is not None):
        pytest.skip("there is a finite model")
    queries = None if name == "search of pairs" else qid
    if name == "transduction":
        scores = np.where(qid < 2, scores, np.nan)
    model = LEARNERS[name](**options)
    with pytest.raises(InvalidInputError, match=message):
        model.fit(items, scores, qid=queries, sample_weight=weight)
    assert not [attribute for attribute in vars(model) if attribute.endswith("_")]


@pytest.mark.parametrize("name", LEARNERS)
def test_an_earlier_fit_stays(name):
    scores = np.where(qid < 2, y, np.nan) if name == "transduction" else y
    model = LEARNERS[name](kernel="rbf")
    queries = None if name == "search of pairs" else qid
    before = model.fit(X, scores, qid=queries).predict(X)
    with pytest.raises(InvalidInputError, match=r"X has values as large as \d.*e\+160"):
        model.fit(1e160 * X, scores, qid=queries)
    np.testing.assert_array_equal(model.predict(X), before)


def test_models_that_are_finite_are_fitted():
    plain = kr.RankRLS().fit(X, y, qid=qid)
    for scale in (1e-140, 1e140):
        np.testing.assert_allclose(kr.RankRLS().fit(X, scale * y, qid=qid).coef_, scale * plain.coef_, rtol=1e-12)
        scaled = kr.RankRLS(scale**2).fit(scale * X, y, qid=qid)
        np.testing.assert_allclose(scaled.coef_, plain.coef_ / scale, rtol=1e-10)
        single = kr.RankRLS(scale).fit(X.astype(np.float32), y, qid=qid)
        np.testing.assert_allclose(single.coef_, kr.RankRLS(scale).fit(X, y, qid=qid).coef_, rtol=1e-4)
    weighted = kr.RLS(1e200).fit(X, y, sample_weight=np.full(20, 1e200))
    np.testing.assert_allclose(weighted.coef_, kr.RLS().fit(X, y).coef_, rtol=1e-12)
    for model in (kr.RankSVM(), kr.RankRLS(cost="unit")):
        np.testing.assert_array_equal(model.fit(X, 5e307 * y).coef_, model.fit(X, y).coef_)


def test_paths():
    with pytest.raises(InvalidInputError, match="X has values"):
        kr.RankRLS().fit_path(1e160 * X, y, ALPHAS)
    with pytest.raises(InvalidInputError, match="sample_weight has values"):
        kr.RLS(kernel="rbf").fit_path(X, y, ALPHAS, sample_weight=1e107 * HEAVY)
    with pytest.raises(InvalidInputError, match="X has values"):
        kr.CoRankRLS(nu=0.0, kernel="linear").fit_path(1e160 * X, y, ALPHAS)


def test_holding_out():
    for estimator in (kr.RankRLS(), kr.RankRLS(kernel="rbf"), kr.RankRLS(kernel="rbf", basis=[0, 3, 8, 12])):
        with pytest.raises(InvalidInputError, match="X has values"):
            kr.leave_query_out(estimator, 1e160 * X, y, qid)
        with pytest.raises(InvalidInputError, match="y has values"):
            kr.leave_query_out(estimator, X, 5e307 * y, qid)
    with pytest.raises(InvalidInputError, match="X has values"):
        kr.leave_pair_out(kr.RankRLS(), 1e160 * X, y)
    with pytest.raises(InvalidInputError, match="kernel <lambda> returned nan"):
        kr.leave_one_out(kr.RLS(kernel=partly(np.nan)), X, y)
    with pytest.raises(InvalidInputError, match="X has values"):
        kr.estimate_auc(kr.RLS(), 1e160 * X, y > 0)


@pytest.mark.parametrize("search", [kr.RankRLSCV, kr.RLSCV])
def test_grids_that_are_made_from_the_items(search):
    for data, message in (((1e160 * X, y), "X has values"), ((X, 5e307 * y), "y has values")):
        with pytest.raises(InvalidInputError, match=message):
            search().fit(*data, qid=qid)
        with pytest.raises(InvalidInputError, match=message):
            kr.leave_query_out(search(), *data, qid)
    with pytest.raises(InvalidInputError, match="sample_weight has values"):
        kr.RankRLSCV().fit(X, y, qid=qid, sample_weight=HEAVY)


@pytest.mark.parametrize("rule", ["scale", "median"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_rules_for_gamma(rule, form):
    for model in (kr.RankRLS(kernel="rbf", gamma=rule), kr.NystromMap(5, gamma=rule)):
        with pytest.raises(InvalidInputError, match=rf"X has values as large as \d.*e\+160: gamma='{rule}' adds up"):
            model.fit(form(1e160 * X), y)


def test_squares_that_a_search_or_an_iteration_needs():
    with pytest.raises(InvalidInputError, match="scoring measure overflows: divide y"):
        kr.RLSCV(ALPHAS).fit(X, 1e200 * y)
    with pytest.raises(InvalidInputError, match="the squares that conjugate gradients need overflow"):
        kr.RankRLS(solver="conjugate_gradient").fit(X, 1e200 * y)
    with pytest.raises(InvalidInputError, match="coefficients overflow"):
        kr.RankRLS(1e-300).fit(1e-150 * X, 1e200 * y)


def test_preferences():
    pairs = np.array([[0, 1], [2, 3], [4, 0]])
    with pytest.raises(InvalidInputError, match=r"magnitude has values as large as 1e\+308"):
        kr.RankRLS().fit_pairs(X, pairs, magnitude=[1e308, 1.0, 1.0])
    with pytest.raises(InvalidInputError, match=r"weight has values as large as 1e\+308"):
        kr.RankRLS().fit_pairs(X, pairs, weight=[1e308, 1.0, 1.0])
    with pytest.raises(InvalidInputError, match="X has values"):
        kr.RankSVM().fit_pairs(1e160 * X, pairs)
    for extreme in (1e200, 1e-200):
        with pytest.raises(
            InvalidInputError, match=f"squares of the magnitudes.* go from .*{extreme:.3g}".replace("+", r"\+")
        ):
            kr.RankRLS(cost="relative").fit_pairs(X, pairs, magnitude=[extreme, 1.0, 1.0])


@pytest.mark.parametrize("scale", [5e307, 1e200, 1e-200])
def test_relative_cost(scale):
    with pytest.raises(InvalidInputError, match="divides by the squared differences of scores, and some in y are too"):
        kr.RankRLS(cost="relative").fit(X, scale * y, qid=qid)
    with pytest.raises(InvalidInputError, match="sample_weight has values"):
        kr.RankRLS(cost="relative").fit(X, y, qid=qid, sample_weight=HEAVY)


def test_streams():
    for model in (kr.RankRLS(), kr.RankRLS(kernel="poly", basis=[0, 1, 2])):
        before = model.partial_fit(X[:10], y[:10], qid=qid[:10]).predict(X)
        with pytest.raises(InvalidInputError, match="X has values"):
            model.partial_fit(1e160 * X[10:], y[10:], qid=qid[10:])
        with pytest.raises(InvalidInputError, match="batch 0: y has values"):
            model.fit_stream([(X, 5e307 * y, qid)])
        with pytest.raises(InvalidInputError, match="y has values"):
            kr.RankRLS().partial_fit(X, 5e307 * y, qid=qid, queries="mergeable")
        np.testing.assert_array_equal(model.predict(X), before)


def test_nystrom_map():
    nystrom = kr.NystromMap(5, random_state=0).fit(X)
    before = nystrom.transform(X)
    with pytest.raises(InvalidInputError, match="X has values"):
        nystrom.fit(1e160 * X)
    with pytest.raises(InvalidInputError, match="kernel <lambda> returned nan"):
        kr.NystromMap(5, kernel=partly(np.nan)).fit(X)
    np.testing.assert_array_equal(nystrom.transform(X), before)


def test_new_items_may_be_far_away():
    np.testing.assert_array_equal(kr.RankRLS(kernel="rbf").fit(X, y).predict(1e160 * X), np.zeros(20))
    with pytest.raises(InvalidInputError, match=r"X has values as large as \d.*e\+200: the kernel poly"):
        kr.RankRLS(kernel="poly").fit(X, y).predict(1e200 * X)


def test_strided_items_are_added_up_in_blocks():
    wide = np.repeat(X, 2, axis=1)[:, ::2]
    np.testing.assert_allclose(kr.RankRLS().fit(wide, y).coef_, kr.RankRLS().fit(X, y).coef_)
    with pytest.raises(InvalidInputError, match="X has values"):
        kr.RankRLS().fit(1e160 * np.repeat(X, 2, axis=1)[:, ::2], y)


def hidden(item, value, form=np.float64):
    """Return items of four queries, and one item in a query of its own, with one value that is not a number."""
    items = np.vstack([X, X[:1]]).astype(form)
    items[item, 1] = value
    return items


@pytest.mark.parametrize(
    "make", [kr.RankRLS, lambda: kr.RankRLS(ties="exclude"), lambda: kr.RankRLS(cost="relative"), kr.RLS]
)
@pytest.mark.parametrize(
    ("value", "message"), [(np.nan, "contains NaN"), (np.inf, "contains infinity"), (-np.inf, "contains infinity")]
)
@pytest.mark.parametrize("form", [np.float64, np.float32])
@pytest.mark.parametrize("item", [3, 20])
def test_what_is_no_number_is_found_wherever_it_is(make, value, message, form, item):
    """Also in a query of one item, or in an item without weight, which the equations multiply by zero."""
    scores, queries, weight = np.append(y, 0.0), np.append(qid, 4), np.append(np.ones(20), 0.0)
    for options in ({}, {"sample_weight": weight}):
        model = make().fit(X, y, qid=qid)
        before = model.predict(X)
        with pytest.raises(ValueError, match=f"Input X {message}"):
            model.fit(hidden(item, value, form), scores, qid=queries, **options)
        np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize("item", [0, 700, 1_499])
def test_what_is_no_number_is_found_in_a_query_of_several_blocks(item):
    items = np.random.default_rng(1).standard_normal((1_500, 300))
    items[item, 7] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        kr.RankRLS().fit(items, items[:, 0] if item else items[:, 1])


@pytest.mark.filterwarnings("ignore::kernelrank.errors.LostDigitsWarning")
@pytest.mark.parametrize("size", [2.0**565, 1e9, 1e100, 1e155, 1e160])
def test_a_column_that_is_large_and_constant_in_each_query_changes_nothing(size):
    """Only the differences inside a query enter the sums, and these are far from an overflow."""
    plain, large = kr.RankRLS().fit(X, y, qid=qid), kr.RankRLS().fit(np.column_stack([X, size * (1 + qid)]), y, qid=qid)
    np.testing.assert_allclose(large.coef_[:3], plain.coef_, rtol=1e-12)
