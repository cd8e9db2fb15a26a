"""Every input that cannot be used has a message that names it, and nothing would be left half done."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF

from kernelrank.data import make_ranking
from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.estimators import RLS, RankRLS, RLSClassifier
from kernelrank.model_selection import QueryKFold

X, y, qid = make_ranking(n_queries=5, n_items=4, n_features=3, random_state=0)
K = X @ X.T
M = len(y)
PAIRS = np.array([[0, 1], [2, 3], [4, 0]])


def spoilt(values, value, place=3):
    """Return a copy with one entry replaced."""
    copy = np.array(values, dtype=float)
    copy[place] = value
    return copy


def assert_untouched(model):
    """A failed fit leaves no fitted attribute, and the estimator says that it is not fitted."""
    assert not [name for name in vars(model) if name.endswith("_")]
    with pytest.raises(NotFittedError):
        model.predict(X)


COMMON = {
    "X has NaN": ({}, (spoilt(X, np.nan), y), {}, "Input X contains NaN"),
    "X has infinity": ({}, (spoilt(X, np.inf), y), {}, "Input X contains infinity"),
    "sparse X has NaN": ({}, (sparse.csr_array(spoilt(X, np.nan)), y), {}, "Input X contains NaN"),
    "X has one dimension": ({}, (X[:, 0], y), {}, "Expected 2D array, got 1D array instead"),
    "X has one item": ({}, (X[:1], y[:1]), {}, "minimum of 2 is required"),
    "X has no feature": ({}, (X[:, :0], y), {}, "0 feature"),
    "X has words": ({}, (np.full((M, 2), "word"), y), {}, "could not convert string to float"),
    "y is None": ({}, (X, None), {}, "requires y to be passed"),
    "y has NaN": ({}, (X, spoilt(y, np.nan)), {}, "Input y contains NaN"),
    "y has infinity": ({}, (X, spoilt(y, np.inf)), {}, "Input y contains infinity"),
    "y has words": ({}, (X, np.full(M, "word")), {}, "y must hold numbers: could not convert string to float"),
    "y has infinity, missing ignored": (
        {"missing": "ignore"},
        (X, spoilt(y, np.inf)),
        {},
        "Input y contains infinity",
    ),
    "y is shorter than X": ({}, (X, y[:-1]), {}, "y has 19 entries, but X has 20 items"),
    "y has three dimensions": ({}, (X, np.zeros((M, 1, 1))), {}, r"y must have one or two dimensions|dim 3"),
    "qid is shorter than X": ({}, (X, y), {"qid": qid[:-1]}, "qid has 19 entries, but there are 20 items"),
    "qid has NaN": ({}, (X, y), {"qid": spoilt(qid, np.nan)}, "qid is missing for item 3"),
    "qid has None": ({}, (X, y), {"qid": [None, *qid[1:]]}, "qid is missing for item 0"),
    "qid is a matrix": ({}, (X, y), {"qid": np.ones((M, 2))}, "qid must have one entry per item"),
    "qid is a word": ({}, (X, y), {"qid": "q" * M}, "qid must be a list, an array or a data frame column, got str"),
    "qid has lists": ({}, (X, y), {"qid": [[1]] * M}, "qid has a label that is not hashable"),
    "sample_weight is shorter than X": (
        {},
        (X, y),
        {"sample_weight": np.ones(M - 1)},
        "sample_weight has 19 entries, but there are 20",
    ),
    "sample_weight is negative": (
        {},
        (X, y),
        {"sample_weight": spoilt(np.ones(M), -1.0)},
        r"sample_weight\[3\] is negative",
    ),
    "sample_weight has NaN": (
        {},
        (X, y),
        {"sample_weight": spoilt(np.ones(M), np.nan)},
        "sample_weight contains NaN",
    ),
    "sample_weight is zero everywhere": (
        {},
        (X, y),
        {"sample_weight": np.zeros(M)},
        "sample_weight is zero everywhere",
    ),
    "sample_weight is a matrix": ({}, (X, y), {"sample_weight": np.ones((M, 1))}, "sample_weight"),
    "alpha is zero": ({"alpha": 0.0}, (X, y), {}, "'alpha' parameter"),
    "alpha is negative": ({"alpha": -1.0}, (X, y), {}, "'alpha' parameter"),
    "alpha is NaN": ({"alpha": np.nan}, (X, y), {}, "'alpha' parameter"),
    "alpha is infinite": ({"alpha": np.inf}, (X, y), {}, "'alpha' parameter"),
    "alpha is a word": ({"alpha": "large"}, (X, y), {}, "'alpha' parameter"),
    "kernel is unknown": ({"kernel": "cubic"}, (X, y), {}, "'kernel' parameter"),
    "gamma is negative": ({"kernel": "rbf", "gamma": -1.0}, (X, y), {}, "'gamma' parameter"),
    "gamma is NaN": ({"kernel": "rbf", "gamma": np.nan}, (X, y), {}, "'gamma' parameter"),
    "degree is negative": ({"kernel": "poly", "degree": -1}, (X, y), {}, "'degree' parameter"),
    "coef0 is a word": ({"kernel": "poly", "coef0": "one"}, (X, y), {}, "'coef0' parameter"),
    "kernel_params is no dict": ({"kernel_params": [1]}, (X, y), {}, "'kernel_params' parameter"),
    "kernel_params without use": (
        {"kernel_params": {"p": 2}},
        (X, y),
        {},
        "kernel linear takes no kernel_params, got 'p'",
    ),
    "kernel_params of an object": ({"kernel": RBF(), "kernel_params": {"p": 2}}, (X, y), {}, "takes no kernel_params"),
    "kernel_params is unknown": ({"kernel": "rbf", "kernel_params": {"p": 2}}, (X, y), {}, "unexpected .* 'p'"),
    "solver is unknown": ({"solver": "lsqr"}, (X, y), {}, "'solver' parameter"),
    "tol is negative": ({"tol": -1.0}, (X, y), {}, "'tol' parameter"),
    "max_iter is zero": ({"max_iter": 0}, (X, y), {}, "'max_iter' parameter"),
    "warm_start is a word": ({"warm_start": "yes"}, (X, y), {}, "'warm_start' parameter"),
    "missing is unknown": ({"missing": "drop"}, (X, y), {}, "'missing' parameter"),
    "random_state is a word": ({"random_state": "seed"}, (X, y), {}, "'random_state' parameter"),
    "basis is zero": ({"basis": 0}, (X, y), {}, "'basis' parameter"),
    "basis is larger than X": (
        {"basis": 21},
        (X, y),
        {},
        r"expected basis between 1 and 20, the number of items; got 21",
    ),
    "basis is out of range": ({"basis": [0, 20]}, (X, y), {}, "basis has the item 20, but the items go from 0 to 19"),
    "basis is negative": ({"basis": [0, -1]}, (X, y), {}, "basis has the item -1"),
    "basis is duplicated": ({"basis": [0, 1, 0]}, (X, y), {}, "basis names an item twice"),
    "basis is empty": ({"basis": []}, (X, y), {}, "basis must be an integer or a non-empty list"),
    "basis is not whole": ({"basis": [0.5]}, (X, y), {}, "basis must be an integer or a non-empty list"),
    "basis is zero vectors": (
        {"basis": [0, 1]},
        (spoilt(X, 0.0, slice(2)), y),
        {},
        "the kernel matrix of the basis is zero",
    ),
    "precomputed kernel is not square": (
        {"kernel": "precomputed"},
        (K[:, :-1], y),
        {},
        "must be square at fit .* 20 × 19",
    ),
    "precomputed kernel is not symmetric": (
        {"kernel": "precomputed"},
        (K + np.triu(np.ones((M, M))), y),
        {},
        "not symmetric: it differs from its transpose by 1",
    ),
    "precomputed kernel is indefinite": ({"kernel": "precomputed"}, (K - np.eye(M), y), {}, "kernel is indefinite"),
    "precomputed kernel has NaN": ({"kernel": "precomputed"}, (spoilt(K, np.nan), y), {}, "Input X contains NaN"),
    "named kernel is indefinite": (
        {"kernel": lambda a, b: -float(a @ b), "alpha": 1e-3},
        (X, y),
        {},
        "not positive semidefinite",
    ),
    "Gaussian-process kernel meets sparse X": ({"kernel": RBF()}, (sparse.csr_array(X), y), {}, "[Ss]parse"),
}

RANKING = {
    "cost is unknown": ({"cost": "hinge"}, (X, y), {}, "'cost' parameter"),
    "ties is unknown": ({"ties": "skip"}, (X, y), {}, "'ties' parameter"),
    "query_weight is unknown": ({"query_weight": "equal"}, (X, y), {}, "'query_weight' parameter"),
}

CLASSIFICATION = {
    "one class": ((X, np.ones(M)), "expected at least two classes; y has one class"),
    "scores for classes": ((X, y), "Unknown label type: continuous"),
    "y has NaN": ((X, spoilt(y > 0, np.nan)), "Input y contains NaN"),
    "y has infinity": ((X, spoilt(y > 0, np.inf)), "Input y contains infinity"),
    "y is None": ((X, None), "requires y to be passed"),
    "y is shorter than X": ((X, (y > 0)[:-1]), "y has 19 entries, but X has 20 items"),
}

# Options, y, qid, weight: nothing in it differs.
IDLE = {
    "every query has one item": ({}, y, np.arange(M), None, r"20 queries, 20 of them with one item"),
    "all ties": ({}, np.ones(M), qid, None, "5 queries, 0 of them with one item, the others with ties only"),
    "all ties inside queries": ({}, qid.astype(float), qid, None, "the others with ties only"),
    "all ties, left out": ({"ties": "exclude"}, np.ones(M), qid, None, "the others with ties only"),
    "all ties, unit cost": ({"cost": "unit"}, np.ones(M), qid, None, "nothing to compare"),
    "all ties, relative cost": ({"cost": "relative"}, np.ones(M), qid, None, "nothing to compare"),
    "one output has ties only": ({}, np.column_stack([y, np.ones(M)]), qid, None, "nothing to compare in output"),
    "one item has weight": ({}, y, qid, np.eye(M)[0], "nothing to compare"),
    "one score is not missing": (
        {"missing": "ignore"},
        spoilt(np.full(M, np.nan), 1.0),
        qid,
        None,
        "nothing to compare",
    ),
    "every score is missing": ({"missing": "ignore"}, np.full(M, np.nan), qid, None, "nothing to compare"),
}

PREFERENCES = {
    "pair points outside X": (
        np.array([[0, 1], [2, 20]]),
        {},
        r"pair 1 is \(2, 20\), which points outside X.* 0 to 19",
    ),
    "pair is negative": ([[0, -1]], {}, r"pair 0 is \(0, -1\), which points outside X"),
    "pair compares an item with itself": ([[0, 1], [4, 4]], {}, "pair 1 compares item 4 with itself"),
    "pairs have three columns": (
        [[0, 1, 2]],
        {},
        r"pairs must have two columns \(preferred, other\), got shape \(1, 3\)",
    ),
    "pairs have one dimension": ([0, 1], {}, "pairs must have two columns"),
    "pairs are not whole": ([[0.5, 1.0]], {}, "pairs must hold item numbers"),
    "pairs are words": ([["tea", "coffee"]], {}, "pairs must hold item numbers"),
    "pairs have infinity": ([[0.0, np.inf]], {}, "pairs must hold item numbers"),
    "pairs have NaN": ([[0.0, np.nan]], {}, "pairs must hold item numbers"),
    "pairs are empty": (np.zeros((0, 2), dtype=int), {}, "nothing to compare: pairs is empty"),
    "pairs are an empty list": ([], {}, "nothing to compare: pairs is empty"),
    "weights are all zero": (PAIRS, {"weight": np.zeros(3)}, "nothing to compare: every weight is zero"),
    "weight is negative": (PAIRS, {"weight": [1, -2, 1]}, "weight of pair 1 is -2, but must be at least zero"),
    "weight is short": (PAIRS, {"weight": [1, 2]}, r"weight has shape \(2,\), but there are 3 pairs"),
    "weight has NaN": (PAIRS, {"weight": [1, 2, np.nan]}, "weight contains NaN"),
    "magnitude is negative": (
        PAIRS,
        {"magnitude": [1, 1, -0.5]},
        "magnitude of pair 2 is -0.5, .*swap the two items",
    ),
    "magnitude is short": (PAIRS, {"magnitude": [1]}, r"magnitude has shape \(1,\), but there are 3 pairs"),
    "magnitude has infinity": (PAIRS, {"magnitude": [1, 1, np.inf]}, "magnitude contains infinity"),
}


@pytest.mark.parametrize("kind", [RLS, RankRLS])
@pytest.mark.parametrize("case", COMMON)
def test_both_estimators_name_what_is_wrong(kind, case):
    options, data, metadata, message = COMMON[case]
    model = kind(**options)
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(*data, **metadata)
    assert_untouched(model)


@pytest.mark.parametrize("case", [case for case in COMMON if "sample_weight" not in case and "alpha" not in case])
def test_fit_path_names_it_too(case):
    options, data, metadata, message = COMMON[case]
    model = RankRLS(**options)
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit_path(*data, [0.001], **metadata)
    assert_untouched(model)


@pytest.mark.parametrize("alphas", [[], [1.0, 0.0], [-1.0], [np.nan], [np.inf], [[1.0, 2.0]], ["small"], "large"])
def test_path_of_alphas_must_be_positive(alphas):
    model = RankRLS()
    with pytest.raises(InvalidInputError, match="alphas must be positive numbers"):
        model.fit_path(X, y, alphas)
    assert_untouched(model)


@pytest.mark.parametrize("case", RANKING)
def test_rank_rls_names_what_is_wrong(case):
    options, data, metadata, message = RANKING[case]
    model = RankRLS(**options)
    with pytest.raises(ValueError, match=message):
        model.fit(*data, **metadata)
    assert_untouched(model)


@pytest.mark.parametrize("case", CLASSIFICATION)
def test_classification_names_what_is_wrong(case):
    data, message = CLASSIFICATION[case]
    model = RLSClassifier()
    with pytest.raises(ValueError, match=message):
        model.fit(*data)
    assert_untouched(model)


@pytest.mark.parametrize("case", IDLE)
def test_nothing_to_compare(case):
    options, scores, queries, weight, message = IDLE[case]
    model = RankRLS(**options)
    with pytest.raises(NothingToCompareError, match=message):
        model.fit(X, scores, qid=queries, sample_weight=weight)
    assert_untouched(model)


def test_nothing_scored():
    model = RLS(missing="ignore")
    with pytest.raises(NothingToCompareError, match="output 1 has no score with a positive weight"):
        model.fit(X, np.column_stack([y, np.full(M, np.nan)]))
    assert_untouched(model)


@pytest.mark.parametrize("case", PREFERENCES)
def test_preferences_name_what_is_wrong(case):
    pairs, values, message = PREFERENCES[case]
    model = RankRLS()
    with pytest.raises(ValueError, match=message):
        model.fit_pairs(X, pairs, **values)
    assert_untouched(model)


def test_relative_cost_needs_magnitudes_above_zero():
    model = RankRLS(cost="relative")
    with pytest.raises(InvalidInputError, match="divides by the magnitude, which is zero for pair 1"):
        model.fit_pairs(X, PAIRS, magnitude=[1.0, 0.0, 2.0])
    assert_untouched(model)


def test_odd_queries_are_legal_and_counted():
    scores = np.array([1.0, 2.0, 5.0, 3.0, 3.0])
    model = RankRLS().fit(X[:5], scores, qid=["a", "a", "b", "c", "c"])
    assert (model.n_queries_, model.n_idle_queries_, model.n_pairs_) == (3, 1, 2)
    model = RankRLS(ties="exclude").fit(X[:5], scores, qid=["a", "a", "b", "c", "c"])
    assert (model.n_queries_, model.n_idle_queries_, model.n_pairs_) == (3, 2, 1)


def test_score_needs_the_queries_that_the_fit_had():
    model = RankRLS().fit(X, y, qid=qid)
    with pytest.raises(
        InvalidInputError, match=r"fitted on 5 queries, so score needs qid.*enable_metadata_routing=True"
    ):
        model.score(X, y)
    assert RankRLS().fit(X, y).score(X, y) > 0.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((X[:, :2], y, qid), "X has 2 features, but RankRLS is expecting 3 features"),
        ((X, y[:-1], qid), "y has 19 entries"),
        ((X, spoilt(y, np.nan), qid), "Input y contains NaN"),
        ((X, y, qid[:-1]), "qid has 19 entries"),
        ((X, np.ones(M), qid), "cannot be measured"),
        ((spoilt(X, np.nan), y, qid), "Input X contains NaN"),
    ],
)
def test_score_names_what_is_wrong(arguments, message):
    model = RankRLS().fit(X, y, qid=qid)
    items, scores, labels = arguments
    with pytest.raises(ValueError, match=message):
        model.score(items, scores, qid=labels)
    with pytest.raises(ValueError, match=r"sample_weight\[0\] is negative"):
        model.score(X, y, qid=qid, sample_weight=-np.ones(M))


def test_score_pairs_names_what_is_wrong():
    model = RankRLS().fit(X, y, qid=qid)
    with pytest.raises(InvalidInputError, match="pairs is empty"):
        model.score_pairs(X, [])
    with pytest.raises(InvalidInputError, match="points outside X"):
        model.score_pairs(X, [[0, 20]])
    with pytest.raises(InvalidInputError, match="every weight is zero"):
        model.score_pairs(X, [[0, 1]], weight=[0.0])


@pytest.mark.parametrize("use", [lambda m: m.predict(X), lambda m: m.score(X, y), lambda m: m.score_pairs(X, PAIRS)])
def test_unfitted_model_says_so(use):
    with pytest.raises(NotFittedError, match="RankRLS instance is not fitted yet"):
        use(RankRLS())


def test_query_folds_need_queries():
    with pytest.raises(InvalidInputError, match="QueryKFold needs the queries"):
        next(QueryKFold(2).split(X, y))
