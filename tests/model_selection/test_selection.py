"""What a selection is worth: nested accuracies against literal refits, stability, permutations, and bad input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelrank as kr
from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.model_selection.refits import deal_items


def two_classes(m=24, n=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    return X, (X[:, 3] - X[:, 5] + rng.normal(size=m) > 0).astype(int)


def literal_accuracies(estimators, X, y, splits, qid=None):
    """Fit an estimator for each number of features on each training set, and count pairs by two loops."""
    found = []
    for estimator in estimators:
        right = pairs = 0.0
        for train, test in splits:
            extra = {} if qid is None else {"qid": qid[train]}
            scores = estimator.fit(X[train], y[train], **extra).predict(X[test])
            for a in range(len(test)):
                for b in range(len(test)):
                    if y[test[a]] > y[test[b]]:
                        pairs += 1
                        right += 1.0 if scores[a] > scores[b] else 0.5 if scores[a] == scores[b] else 0.0
        found.append(right / pairs)
    return np.array(found)


def test_the_nested_curve_is_a_refit_for_every_pair_and_number_of_features():
    X, y = two_classes(14, 6)
    curve = kr.selection_curve(kr.GreedyRankRLS(3), X, y, cv="leave_pair_out")
    pairs = [(i, j) for i in range(14) for j in range(14) if y[i] > y[j]]
    splits = [(np.setdiff1d(np.arange(14), pair), np.array(pair)) for pair in pairs]
    expected = literal_accuracies([kr.GreedyRankRLS(k) for k in (1, 2, 3)], X, y, splits)
    np.testing.assert_allclose(curve.nested, expected, atol=1e-12)
    whole = kr.GreedyRankRLS(3).fit(X, y)
    assert curve.features == tuple(whole.selected_)
    np.testing.assert_allclose(curve.criterion, [step["criterion"] for step in whole.path_])
    for k in range(3):
        held = kr.leave_pair_out(kr.RankRLS(), X[:, whole.selected_[: k + 1]], y.astype(float))
        assert curve.inside[k] == pytest.approx(held.accuracy)
    assert np.all((curve.low <= curve.nested) & (curve.nested <= curve.high))
    assert curve.measure == "AUC"
    assert curve.held_out == f"{len(pairs)} pairs"


@pytest.mark.parametrize("selector", [kr.GreedyRankRLS, kr.GreedyRLS])
def test_a_splitter_and_a_pipeline_are_fitted_in_every_training_set(selector):
    X, y = two_classes()
    X[:, 0] *= 100
    splitter = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    curve = kr.selection_curve(make_pipeline(StandardScaler(), selector(2)), X, y, cv=splitter)
    pipelines = [make_pipeline(StandardScaler(), selector(k)) for k in (1, 2)]
    expected = literal_accuracies(pipelines, X, y, list(splitter.split(X, y)))
    np.testing.assert_allclose(curve.nested, expected, atol=1e-12)
    assert curve.held_out == "6 folds"


def test_queries_are_held_out_whole():
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(60, 5)), np.repeat([f"q{i}" for i in range(10)], 6)
    y = X[:, 1] + 0.3 * rng.normal(size=60)
    curve = kr.selection_curve(kr.GreedyRankRLS(2), X, y, qid=qid, cv="leave_query_out", random_state=0)
    splits = [(np.flatnonzero(qid != q), np.flatnonzero(qid == q)) for q in np.unique(qid)]
    expected = literal_accuracies([kr.GreedyRankRLS(k) for k in (1, 2)], X, y, splits, qid)
    np.testing.assert_allclose(curve.nested, expected, atol=1e-12)
    whole = kr.GreedyRankRLS(2).fit(X, y, qid=qid)
    held = kr.leave_query_out(kr.RankRLS(), X[:, whole.selected_], y, qid)
    assert curve.inside[1] == pytest.approx(kr.metrics.pairwise_accuracy(y, held, qid=qid))
    folds = kr.selection_curve(kr.GreedyRankRLS(2), X, y, qid=qid, cv=5, random_state=0)
    assert folds.held_out == "5 folds, once"
    assert np.all((folds.low <= folds.nested) & (folds.nested <= folds.high))


def test_scores_of_many_levels_sparse_items_groups_and_floating():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 8))
    y = X[:, 2] + 0.1 * rng.normal(size=30)
    plain = kr.selection_curve(kr.GreedyRankRLS(3, floating=True), X, y, n_repeats=1, cv=3, random_state=0)
    thin = kr.selection_curve(
        kr.GreedyRankRLS(3, floating=True), sparse.csr_array(X), y, n_repeats=1, cv=3, random_state=0
    )
    np.testing.assert_allclose(plain.nested, thin.nested)
    assert plain.measure == "pairwise accuracy"
    assert plain.features[0] == 2
    grouped = kr.selection_curve(kr.GreedyRankRLS(2, feature_groups=[0, 0, 1, 1, 2, 2, 3, 3]), X, y, cv=3, n_repeats=1)
    assert grouped.nested.shape == (2,)


def test_a_result_has_a_line_a_table_and_a_frame():
    X, y = two_classes()
    curve = kr.selection_curve(kr.GreedyRankRLS(4), X, np.where(y, "ill", "well"), n_repeats=1, cv=4, random_state=0)
    assert str(curve).startswith(f"AUC {curve.nested.max():.3f} [")
    assert "4 folds, once" in str(curve)
    assert "about the interval" in curve._repr_html_()
    assert list(curve.to_frame()["n_features"]) == [1, 2, 3, 4]
    again = kr.selection_curve(kr.GreedyRankRLS(4), X, np.where(y, "ill", "well"), n_repeats=1, cv=4, random_state=0)
    np.testing.assert_array_equal(curve.nested, again.nested)


def test_stability_counts_selections_from_halves():
    X, y = two_classes(60, 20)
    found = kr.selection_stability(kr.GreedyRankRLS(3), X, y, n_subsamples=12, random_state=0)
    random, counts = np.random.RandomState(0), np.zeros(20)
    for _ in range(12):
        half = deal_items(y.astype(float), 2, random)[0]
        assert len(half) == 30
        counts[kr.GreedyRankRLS(3).fit(X[half], y[half]).selected_] += 1
    assert dict(zip(found.features, found.frequency, strict=True)) == {
        column: counts[column] / 12 for column in np.flatnonzero(counts)
    }
    assert np.all(np.diff(found.frequency) <= 0)
    assert found.expected_false(0.75) == pytest.approx(3**2 / (0.5 * 20))
    assert found.n_selected == 3
    frame = found.to_frame()
    assert list(frame.columns) == ["feature", "frequency", "expected_false"]
    assert "halves of the data" in found._repr_html_()


def test_a_constant_feature_does_not_count_as_selected():
    X, y = two_classes(20, 8)
    X[:, :4] = 1.0
    found = kr.selection_stability(kr.GreedyRankRLS(6, alpha=1e-3), X, y, n_subsamples=4, random_state=0)
    assert min(found.features) >= 4
    assert found.n_selected <= 4


def test_named_features_keep_their_names():
    pd = pytest.importorskip("pandas")
    X, y = two_classes(40, 8)
    X = X[:, [0, 1, 5, 3]]
    frame = pd.DataFrame(X, columns=["age", "dose", "weight", "height"])
    for estimator in (kr.GreedyRankRLS(2), make_pipeline(StandardScaler(), kr.GreedyRankRLS(2))):
        found = kr.selection_stability(estimator, frame, y, n_subsamples=3, random_state=0)
        assert set(found.features) <= {"age", "dose", "weight", "height"}
        assert "height" in kr.selection_curve(estimator, frame, y, cv=2, n_repeats=1, random_state=0).features


def test_halves_of_queries():
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(40, 5)), np.repeat(np.arange(8), 5)
    y = X[:, 1] + 0.1 * rng.normal(size=40)
    found = kr.selection_stability(kr.GreedyRankRLS(1), X, y, qid=qid, n_subsamples=5, random_state=0)
    assert found.stable() == [1]
    with pytest.raises(InvalidInputError, match="at least two queries"):
        kr.selection_stability(kr.GreedyRankRLS(1), X, y, qid=np.zeros(40), n_subsamples=2)


def test_a_permutation_test_selects_anew_each_time():
    X, y = two_classes(30, 10)
    test = kr.permutation_test(kr.GreedyRankRLS(2), X, y, n_permutations=5, random_state=0)
    folds = deal_items(y.astype(float), 10, np.random.RandomState(0))
    splits = [(np.setdiff1d(np.arange(30), fold), fold) for fold in folds]
    assert test.statistic == pytest.approx(literal_accuracies([kr.GreedyRankRLS(2)], X, y, splits)[0])
    assert test.name == "ten-fold accuracy"
    assert len(test.null) == 5
    assert test.null.mean() < test.statistic
    rng = np.random.default_rng(0)
    queries = kr.permutation_test(
        kr.GreedyRankRLS(1), X, rng.normal(size=30), qid=np.repeat(range(5), 6), n_permutations=3, random_state=0
    )
    assert 0 <= queries.statistic <= 1
    with pytest.raises(InvalidInputError, match="does not support groups"):
        kr.permutation_test(kr.RankRLS(), X, y, statistic="folds", groups=np.arange(30) // 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cv": "leave_query_out"}, "Expected cv='leave_pair_out' without qid"),
        ({"cv": "loo"}, "got cv='loo' without qid"),
        ({"cv": 1}, "from 2 to 24 folds"),
        ({"n_repeats": 0}, "n_repeats as a whole number"),
        ({"confidence": 2}, "confidence must lie"),
    ],
)
def test_bad_input_of_a_curve_is_named(options, message):
    X, y = two_classes()
    with pytest.raises(InvalidInputError, match=message):
        kr.selection_curve(kr.GreedyRankRLS(1), X, y, **options)


def test_other_estimators_and_thresholds_are_refused():
    X, y = two_classes()
    with pytest.raises(InvalidInputError, match="ends with one; got RankRLS"):
        kr.selection_curve(kr.RankRLS(), X, y)
    with pytest.raises(InvalidInputError, match="n_subsamples as a whole number"):
        kr.selection_stability(kr.GreedyRankRLS(1), X, y, n_subsamples=0)
    found = kr.selection_stability(kr.GreedyRankRLS(1), X, y, n_subsamples=2, random_state=0)
    with pytest.raises(InvalidInputError, match=r"above 0\.5"):
        found.stable(0.5)
    with pytest.raises(NothingToCompareError, match="different scores"):
        kr.selection_curve(kr.GreedyRankRLS(1), X, y, cv=[(np.arange(20), np.flatnonzero(y)[:1])])
