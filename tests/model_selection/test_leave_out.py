"""The functions: one result whether an estimator takes the shortcut or is refitted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import kernelrank as kr
from kernelrank.errors import InvalidInputError
from kernelrank.exact_cv import PairHoldout
from tests.oracles.holdout import retrained_difference, retrained_scores

M = 24


class Subclass(kr.RankRLS):
    """Whatever a subclass does is not known, so it is refitted."""


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(M, 3))
    y = X @ [1.0, -1.0, 0.5] + rng.normal(size=M)
    return X, y, np.array(list("abcdef"))[rng.integers(0, 6, M)]


def test_leave_query_out(data):
    X, y, qid = data
    for estimator in (kr.RankRLS(kernel="rbf"), Subclass(kernel="rbf"), kr.RLS()):
        scores = kr.leave_query_out(estimator, X, y, qid)
        assert scores.shape == (M,)
        for q in np.unique(qid):
            held = np.flatnonzero(qid == q)
            np.testing.assert_allclose(scores[held], retrained_scores(estimator, X, y, held, 1.0, qid), rtol=1e-8)
        both = kr.leave_query_out(estimator, X, y, qid, alphas=[0.5, 1.0])
        assert both.shape == (M, 2)
        np.testing.assert_allclose(both[:, 1], scores, rtol=1e-8)
        outputs = kr.leave_query_out(estimator, X, np.c_[y, -y], qid, alphas=[1.0])
        assert outputs.shape == (M, 2, 1)
        np.testing.assert_allclose(outputs[:, 1, 0], -scores, rtol=1e-8)


def test_leave_one_out(data):
    X, y, qid = data
    for estimator in (kr.RankRLS(), kr.RLS(kernel="rbf"), Subclass()):
        scores = kr.leave_one_out(estimator, X, y)
        expected = [retrained_scores(estimator, X, y, np.array([i]), 1.0)[0] for i in range(M)]
        np.testing.assert_allclose(scores, expected, rtol=1e-8)
    parts = kr.leave_one_out(kr.RankRLS(), X, y, qid=qid)
    expected = [retrained_scores(kr.RankRLS(), X, y, np.array([i]), 1.0, qid)[0] for i in range(M)]
    np.testing.assert_allclose(parts, expected, rtol=1e-8)


def test_leave_pair_out(data):
    X, y, _ = data
    y = np.round(y)
    for estimator in (kr.RankRLS(kernel="rbf"), kr.RankRLS(cost="unit"), Subclass(), kr.RLS()):
        found = kr.leave_pair_out(estimator, X, y)
        assert isinstance(found, PairHoldout)
        assert found.n_pairs == len(found.first) == sum(y[i] != y[j] for i in range(M) for j in range(i))
        np.testing.assert_array_equal(found.truth, y[found.first] - y[found.second])
        for number in (0, 17, found.n_pairs - 1):
            i, j = found.first[number], found.second[number]
            expected = retrained_difference(estimator, X, y, i, j, 1.0)
            assert found.difference[number] == pytest.approx(expected, rel=1e-7)
        right = (np.sign(found.difference) * np.sign(found.truth)).mean()
        assert found.accuracy == pytest.approx(0.5 + right / 2)
        only = kr.leave_pair_out(estimator, X, y, differences=False, alphas=[1.0, 2.0])
        assert only.accuracy.shape == (2,)
        assert only.accuracy[0] == pytest.approx(found.accuracy)
        assert len(only.first) == len(only.difference) == 0
        assert only.n_pairs == found.n_pairs
    listed = kr.leave_pair_out(kr.RankRLS(), X, np.c_[y, -y], pairs=[[3, 1], [1, 3]], alphas=[1.0, 2.0, 3.0])
    assert listed.difference.shape == (2, 2, 3)
    np.testing.assert_allclose(listed.difference[0], -listed.difference[1])
    assert listed.truth.shape == (2, 2)


def test_holdout_overlapping_sets_and_masks(data):
    X, y, qid = data
    mask = np.zeros(M, dtype=bool)
    mask[4:9] = True
    sets = [[0, 1, 2], [2, 1], mask]
    for estimator in (kr.RankRLS(), kr.RankRLS(query_weight="items", kernel="poly"), Subclass()):
        for held, scores in zip(sets, kr.holdout(estimator, X, y, sets, qid=qid), strict=True):
            items = np.flatnonzero(held) if held is mask else np.array(held)
            np.testing.assert_allclose(scores, retrained_scores(estimator, X, y, items, 1.0, qid), rtol=1e-7)


def test_groups_leave_together(data):
    X, y, _ = data
    groups = np.repeat(np.arange(8), 3)
    estimator = kr.RankRLS(kernel="rbf")
    one = kr.leave_one_out(estimator, X, y, groups=groups)
    for g in range(8):
        held = np.flatnonzero(groups == g)
        np.testing.assert_allclose(one[held], retrained_scores(estimator, X, y, held, 1.0), rtol=1e-8)
    for learner in (estimator, Subclass(kernel="rbf"), Ridge()):
        found = kr.leave_pair_out(learner, X, y, groups=groups, pairs=[[0, 4], [4, 0], [0, 2], [23, 7]])
        for (i, j), difference in zip([[0, 4], [4, 0], [0, 2], [23, 7]], found.difference, strict=True):
            held = np.flatnonzero((groups == groups[i]) | (groups == groups[j]))
            kept = np.setdiff1d(np.arange(M), held)
            model = clone(learner).fit(X[kept], y[kept])
            a, b = model.predict(X[[i, j]])
            assert difference == pytest.approx(a - b, rel=1e-7)


def test_any_regressor_and_classifier(data):
    X, y, _ = data
    found = kr.leave_pair_out(Ridge(), X, y, pairs=[[0, 1]], alphas=[0.1, 1.0])
    model = Ridge(alpha=0.1).fit(X[2:], y[2:])
    assert found.difference[0, 0] == pytest.approx(np.diff(model.predict(X[[1, 0]]))[0])
    labels = np.where(y > 0, "yes", "no")
    for classifier in (LogisticRegression(), SVC(kernel="precomputed"), kr.RLSClassifier()):
        K = rbf_kernel(X) if isinstance(classifier, SVC) else X
        held_out = kr.leave_pair_out(classifier, K, labels)
        assert held_out.n_pairs == (labels == "yes").sum() * (labels == "no").sum()
        assert set(labels[held_out.first]) == {"yes"}
        assert 0.5 < held_out.accuracy <= 1
        assert kr.leave_one_out(classifier, K, labels).shape == (M,)


def test_pipelines_route_queries_or_say_that_they_do_not(data):
    X, y, qid = data
    pipeline = make_pipeline(StandardScaler(), kr.RankRLS())
    with pytest.raises(InvalidInputError, match="turn metadata routing on"):
        kr.leave_query_out(pipeline, X, y, qid)
    with sklearn.config_context(enable_metadata_routing=True):
        scores = kr.leave_query_out(pipeline, X, y, qid)
        held = np.flatnonzero(qid == qid[0])
        kept = np.setdiff1d(np.arange(M), held)
        model = clone(pipeline).fit(X[kept], y[kept], qid=qid[kept])
        np.testing.assert_allclose(scores[held], model.predict(X[held]), rtol=1e-8)


def test_every_form_of_data(data):
    X, y, qid = data
    expected = kr.leave_query_out(kr.RankRLS(), X, y, qid)
    frames = (pd.DataFrame(X, columns=list("abc")), pl.DataFrame(X, schema=list("abc")), sparse.csr_array(X))
    for estimator in (kr.RankRLS(), Subclass()):
        for frame in frames:
            found = kr.leave_query_out(estimator, frame, pd.Series(y), pd.Series(qid))
            np.testing.assert_allclose(found, expected, rtol=1e-8)
    K = X @ X.T
    found = kr.leave_query_out(kr.RankRLS(kernel="precomputed"), K, y, qid.tolist())
    np.testing.assert_allclose(found, expected, rtol=1e-7)
    np.testing.assert_allclose(
        kr.leave_query_out(Subclass(kernel="precomputed"), K, y, qid.tolist()), expected, rtol=1e-7
    )


def test_weights(data):
    X, y, qid = data
    weight = np.random.default_rng(1).uniform(1, 3, M)
    found = kr.leave_query_out(kr.RankRLS(), X, y, qid, sample_weight=weight)
    np.testing.assert_allclose(found, kr.leave_query_out(Subclass(), X, y, qid, sample_weight=weight), rtol=1e-8)
    pairs = kr.leave_pair_out(kr.RankRLS(), X, y, sample_weight=weight)
    assert pairs.difference[5] == pytest.approx(
        retrained_difference(kr.RankRLS(), X, y, pairs.first[5], pairs.second[5], 1.0, weight), rel=1e-8
    )


def test_the_estimator_itself_is_left_alone(data):
    X, y, qid = data
    estimator = kr.RankRLS()
    kr.leave_query_out(estimator, X, y, qid)
    assert not hasattr(estimator, "n_features_in_")


def test_many_processes_give_the_same(data):
    X, y, qid = data
    np.testing.assert_array_equal(
        kr.leave_query_out(Ridge(), X, y, qid), kr.leave_query_out(Ridge(), X, y, qid, n_jobs=2)
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, y: kr.leave_query_out(kr.RankRLS(), X, y, None), "needs qid"),
        (lambda X, y: kr.leave_query_out(kr.RankRLS(), X, y, [1] * M), "only one query"),
        (lambda X, y: kr.leave_one_out(kr.RLS(), X, y, groups=[1] * M), "only one group"),
        (lambda X, y: kr.leave_one_out(kr.RLS(), X, y, groups=[1, 2]), "groups has 2 entries"),
        (lambda X, y: kr.leave_query_out(kr.RankSVM(), X, y[:5], np.arange(len(X)) // 2), "y has 5 entries, but X has"),
        (lambda X, y: kr.holdout(kr.RLS(), X, y, []), "held_out is empty"),
        (lambda X, y: kr.holdout(kr.RLS(), X, y, [[]]), r"held_out\[0\] must be"),
        (lambda X, y: kr.holdout(kr.RLS(), X, y, [[0], [99]]), r"held_out\[1\] has the item 99"),
        (lambda X, y: kr.holdout(kr.RLS(), X, y, [[3, 3]]), "names an item twice"),
        (lambda X, y: kr.holdout(kr.RLS(), X, y, [range(M)]), "holds out every item"),
        (lambda X, y: kr.leave_pair_out(kr.RLS(), X, y, pairs=np.zeros((0, 2), int)), "pairs is empty"),
        (lambda X, y: kr.leave_pair_out(kr.RLS(), X, y, pairs=[[0, 99]]), "points outside X"),
        (
            lambda X, y: kr.leave_pair_out(kr.RLS(), X, y, groups=np.arange(M) % 2, pairs=[[0, 1]]),
            "leaves nothing to train on",
        ),
        (lambda X, y: kr.leave_one_out(kr.RLS(), X, y, alphas=[0.0]), "alphas must be positive"),
        (lambda X, y: kr.leave_one_out(LogisticRegression(), X, y > 0, alphas=[1.0]), "parameter alpha"),
        (lambda X, y: kr.leave_one_out(LogisticRegression(), X, np.arange(M) % 3), "two classes"),
        (
            lambda X, y: kr.leave_one_out(LogisticRegression(), X, np.arange(M) == 3),
            "cannot be trained without held-out set 3",
        ),
    ],
)
def test_bad_input(data, call, message):
    X, y, _ = data
    with pytest.raises(InvalidInputError, match=message):
        call(X, y)


def test_a_bar_on_a_terminal_only(data, monkeypatch, capsys):
    X, y, qid = data
    kr.leave_query_out(Ridge(), X, y, qid)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    kr.leave_query_out(Ridge(), X, y, qid)


@pytest.mark.parametrize("model", [kr.RLS(), kr.RankRLS(), kr.RankRLSCV([0.1, 1.0]), kr.RankSVM()])
@pytest.mark.filterwarnings("ignore::kernelrank.errors.EdgeOfGridWarning")
def test_items_of_weight_zero_are_in_no_pair(model):
    rng = np.random.default_rng(0)
    X, y, weight = rng.standard_normal((12, 3)), np.arange(12.0) % 2, np.ones(12)
    weight[[0, 1]] = 0.0
    held = kr.leave_pair_out(model, X, y, sample_weight=weight)
    without = kr.leave_pair_out(model, X[2:], y[2:])
    np.testing.assert_array_equal([held.first - 2, held.second - 2], [without.first, without.second])
    assert held.accuracy == pytest.approx(without.accuracy)
    assert kr.leave_pair_out(model, X, y, sample_weight=weight, differences=False).accuracy == held.accuracy
    given = kr.leave_pair_out(model, X, y, sample_weight=weight, pairs=[[1, 0], [3, 2], [5, 0]])
    np.testing.assert_array_equal(np.isnan(given.truth), [True, False, True])
    assert given.accuracy == float(given.difference[1] > 0)
