"""What a report counts, measures and orders, beside slow and literal twins."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernelrank.data import make_ranking
from kernelrank.errors import InvalidInputError
from kernelrank.estimators import RLS, RankRLS, RankSVM, RLSClassifier
from kernelrank.model_selection import RLSCV, RankRLSCV, leave_pair_out, tournament_roc
from kernelrank.report import ranking
from kernelrank.report.explanations import Contributions, Influence
from kernelrank.report.ranking import (
    DataSummary,
    ExplainedPair,
    MeasuredItems,
    describe_holdout,
    describe_kernel,
    measure_all,
)
from kernelrank.report.roc import QUERY_POINTS, query_roc
from kernelrank.report.writing import parameters_of

X, y, QID = make_ranking(n_queries=10, n_items=(3, 8), n_features=4, n_levels=3, noise=0.5, random_state=0)
ALPHAS = [0.1, 1.0, 10.0]


@pytest.mark.parametrize("seed", range(5))
def test_counts_are_those_of_all_pairs(seed):
    rng = np.random.default_rng(seed)
    qid = rng.integers(8, size=30)
    scores = rng.integers(3, size=30).astype(float)
    scores[rng.random(30) < 0.2] = np.nan
    summary = DataSummary.of("items", (30, 2), scores, [f"query {q}" for q in qid])
    scored = np.flatnonzero(~np.isnan(scores))
    pairs = [(i, j) for i, j in itertools.combinations(scored, 2) if qid[i] == qid[j]]
    assert summary.n_pairs == len(pairs)
    assert summary.n_tied == sum(scores[i] == scores[j] for i, j in pairs)
    assert summary.n_unscored == 30 - len(scored)
    assert summary.level_counts == [(level, int(np.sum(scores == level))) for level in np.unique(scores[scored])]
    sizes = {q: np.sum(qid[scored] == q) for q in set(qid.tolist())}
    levels = {q: len(set(scores[scored][qid[scored] == q])) for q in sizes}
    assert set(summary.single_item) == {f"query {q}" for q in sizes if sizes[q] < 2}
    assert set(summary.single_level) == {f"query {q}" for q in sizes if sizes[q] >= 2 and levels[q] == 1}
    assert summary.n_queries == len(sizes)


def test_many_levels_are_not_listed():
    summary = DataSummary.of("items", (20, 1), np.arange(20.0), None)
    assert (summary.level_counts, summary.n_levels, summary.level_range) == (None, 20, (0.0, 19.0))
    assert (summary.n_queries, summary.n_without_pairs) == (1, 0)


def held_out(model, target, qid, **options):
    truth = np.asarray(target, dtype=float)
    return MeasuredItems.held_out(model, X, truth, target, qid, None, **options)


@pytest.mark.parametrize("model", [RankRLS(3.0), RankRLS(3.0, kernel="rbf"), RLS(0.5)], ids=["rank", "rbf", "rls"])
def test_each_query_is_scored_by_a_model_without_it(model):
    items = held_out(model.fit(X, y, qid=QID), y, QID)
    for q in np.unique(QID):
        rest = q != QID
        expected = type(model)(**model.get_params()).fit(X[rest], y[rest], qid=QID[rest]).predict(X[~rest])
        np.testing.assert_allclose(items.scores[~rest], expected, rtol=1e-7, atol=1e-9)
    assert "leave-query-out" in items.how
    assert not items.chose_alpha


@pytest.mark.filterwarnings("ignore:the best alpha")
@pytest.mark.parametrize("model", [RankRLSCV(ALPHAS), RankRLSCV(ALPHAS, cv=3), RLSCV(ALPHAS)])
def test_a_search_has_its_scores_already(model):
    items = held_out(model.fit(X, y, qid=QID), y, QID)
    np.testing.assert_array_equal(items.scores, model.holdout_scores_)
    assert items.chose_alpha
    assert ("3 folds" if model.cv == 3 else "leave-query-out, exact") in items.how
    given = held_out(model, y, QID, given=model.holdout_scores_)
    assert given.chose_alpha
    assert not held_out(model, y, QID, given=model.holdout_scores_ + 1).chose_alpha


@pytest.mark.parametrize("model", [RankSVM(), make_pipeline(StandardScaler(), RankRLS())], ids=["svm", "pipeline"])
def test_folds_of_queries_are_refitted(model):
    import sklearn

    with sklearn.config_context(enable_metadata_routing=True):
        items = held_out(model.fit(X, y, qid=QID), y, QID)
        folds = [np.flatnonzero(np.isin(QID, part)) for part in _parts(items)]
        assert len(folds) == 5
        for test in folds:
            rest = np.setdiff1d(np.arange(len(y)), test)
            expected = sklearn.clone(model).fit(X[rest], y[rest], qid=QID[rest]).predict(X[test])
            np.testing.assert_allclose(items.scores[test], expected, rtol=1e-9)
    assert "5 folds of queries" in items.how


def _parts(items):
    """The queries of each fold, from the splitter that promises them."""
    from kernelrank.model_selection import QueryKFold

    return [np.unique(QID[test]) for _, test in QueryKFold(5).split(items.X, groups=QID)]


def test_one_ranking_is_a_tournament():
    two = (y > 0).astype(float)
    items = held_out(RankRLS().fit(X, two), two, None)
    np.testing.assert_array_equal(items.scores, tournament_roc(RankRLS(), X, two).scores)
    for model in (RankRLS(2.0, ties="exclude"), RankRLS(2.0, kernel="rbf", basis=12, random_state=0), RLS(2.0)):
        pairs = np.array(list(itertools.combinations(range(len(y)), 2)))
        held = leave_pair_out(model, X, y, pairs=pairs)
        wins = np.zeros(len(y))
        for i, j, difference in zip(held.first, held.second, held.difference, strict=True):
            wins[i] += 1.0 if difference > 0 else 0.5 * (difference == 0)
            wins[j] += 1.0 if difference < 0 else 0.5 * (difference == 0)
        np.testing.assert_array_equal(held_out(model.fit(X, y), y, None).scores, wins)
    search = RankRLSCV(ALPHAS, kernel_grid={"kernel": ["linear", "rbf"]}).fit(X, two)
    plain = RankRLS(search.alpha_, kernel=search.best_params_["kernel"])
    found = held_out(search, two, None)
    np.testing.assert_array_equal(found.scores, tournament_roc(plain, X, two).scores)
    assert found.chose_alpha
    assert found.qid is None


def test_one_large_ranking_is_measured_fold_by_fold(monkeypatch):
    monkeypatch.setattr(ranking, "TOURNAMENT_ITEMS", 10)
    items = held_out(RankRLS().fit(X, y), y, None, random_state=3)
    for number, (train, test) in enumerate(KFold(5, shuffle=True, random_state=3).split(X), start=1):
        np.testing.assert_array_equal(items.qid[test], number)
        np.testing.assert_allclose(items.scores[test], RankRLS().fit(X[train], y[train]).predict(X[test]), atol=1e-9)
    assert items.folds


def test_classes_are_held_out_by_their_decision_function():
    labels = np.where(y > 0, "relevant", "not")
    model = RLSClassifier().fit(X, labels)
    items = MeasuredItems.held_out(model, X, (y > 0).astype(float), labels, QID, None)
    rest = QID[0] != QID
    expected = RLSClassifier().fit(X[rest], labels[rest]).decision_function(X[~rest])
    np.testing.assert_allclose(items.scores[~rest], expected, rtol=1e-7)


def test_items_without_a_score_are_left_out():
    given = np.where(np.arange(len(y)) % 3 == 0, np.nan, X[:, 0])
    items = held_out(RankRLS().fit(X, y, qid=QID), y, QID, given=given)
    kept = items.scored()
    places = np.flatnonzero(np.arange(len(y)) % 3)
    np.testing.assert_array_equal(kept.y, y[places])
    np.testing.assert_array_equal(kept.X, X[places])
    assert kept.qid == QID[places].tolist()
    with pytest.raises(InvalidInputError, match="nothing to measure"):
        held_out(RankRLS().fit(X, y), y, None, given=np.full(len(y), np.nan)).scored()
    with pytest.raises(InvalidInputError, match=r"held_out has shape \(2,\)"):
        held_out(RankRLS().fit(X, y), y, None, given=[1, 2])


def test_a_measure_that_does_not_fit_says_why():
    items = MeasuredItems(X, y - 1.0, y, QID, None, "here")
    values = measure_all(items, ["ndcg@3", "pairwise_accuracy", "Pairwise accuracy"], 0)
    assert len(values) == 2
    assert values[0].result is None
    assert "grades of at least 0" in values[0].problem
    assert values[1].result.mean == 1.0
    assert tuple(values[1].interval) == pytest.approx((0.6375, 1.0), abs=1e-4)  # ten equal queries at the bound


def test_curve_of_queries_by_hand():
    # The first query is perfect; the second has its positive item between two negative ones.
    positive = np.array([True, False, False, True, False])
    scores = np.array([5.0, 1.0, 30.0, 20.0, 10.0])
    display = query_roc(positive, scores, qid=["a", "a", "b", "b", "b"], random_state=0)
    assert display.estimate.auc == 0.75
    at = dict(zip(QUERY_POINTS.round(2).tolist(), display.tpr[1:], strict=True))
    assert (at[0.0], at[0.25], at[0.5], at[0.75], at[1.0]) == (0.5, 0.5, 1.0, 1.0, 1.0)
    assert (display.fpr[0], display.tpr[0]) == (0.0, 0.0)
    assert (display.estimate.n_pairs, display.estimate.n_positive) == (3, 2)


def test_curve_of_queries_has_the_mean_area():
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(30), 25)
    positive = rng.random(750) < 0.4
    scores = np.round(positive + rng.standard_normal(750), 1) + 10 * qid
    display = query_roc(positive, scores, qid=qid, random_state=0)
    expected = np.mean([roc_auc_score(positive[qid == q], scores[qid == q]) for q in range(30)])
    assert display.estimate.auc == pytest.approx(expected)
    # Steps that fall between two of the hundred points are drawn as slopes: half a point at most.
    assert np.trapezoid(display.tpr, display.fpr) == pytest.approx(expected, abs=0.005)
    low, high = display.estimate.interval
    assert low < expected < high
    _, bottom, top = display.band
    assert np.all((bottom <= display.tpr[1:] + 1e-12) & (display.tpr[1:] <= top + 1e-12))
    pooled = roc_auc_score(positive, scores)
    assert abs(pooled - expected) > 0.1, "what is not done would be seen"


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_influence_is_the_spread_of_each_term(kernel):
    model = RankRLS(kernel=kernel, gamma=None if kernel == "linear" else 0.3).fit(X, y, qid=QID)
    found = Influence.of(Contributions.of(model), X, k=3)
    columns = X if kernel == "linear" else rbf_kernel(X, gamma=0.3)
    coefficients = model.coef_ if kernel == "linear" else model.dual_coef_
    moved = coefficients * columns.std(axis=0)
    best = np.argsort(-np.abs(moved))[:3]
    np.testing.assert_allclose(found.movements, moved[best], rtol=1e-12)
    assert found.names == [f"{'x' if kernel == 'linear' else 'item '}{number}" for number in best]
    assert (found.n_contributions, found.n_items) == (len(moved), len(y))


def test_influence_of_sparse_and_of_many_items(monkeypatch):
    thin = np.where(X > 0.5, X, 0.0)
    model = RankRLS().fit(sparse.csr_array(thin), y, qid=QID)
    found = Influence.of(Contributions.of(model), sparse.csr_array(thin))
    np.testing.assert_allclose(np.sort(found.spreads), np.sort(thin.std(axis=0)), rtol=1e-12)
    from kernelrank.report import explanations

    monkeypatch.setattr(explanations, "MOST_NUMBERS", 10 * len(y))
    some = Influence.of(Contributions.of(RankRLS(kernel="rbf").fit(X, y, qid=QID)), X)
    assert 5 <= some.n_items <= 10


def test_the_explained_pair_is_in_order():
    model = RankRLS().fit(X, y, qid=QID)
    items = MeasuredItems(X, y, model.predict(X), QID, [f"item {n}" for n in range(len(y))], "here")
    (value,) = measure_all(items, ["pairwise_accuracy"], 0)
    pair = ExplainedPair.of(model, items, value.result, feature_names=None, training_ids=None)
    first, second = (int(name.split()[1]) for name in (pair.first, pair.second))
    assert QID[first] == QID[second] == pair.query
    members = np.flatnonzero(pair.query == QID)
    assert items.scores[first] == items.scores[members].max()
    between = [i for i in members if items.scores[second] < items.scores[i] < items.scores[first]]
    assert all(y[i] == y[first] != y[second] for i in between)
    assert pair.truth == (y[first], y[second])
    values = dict(zip(value.result.queries.tolist(), value.result.values, strict=True))
    assert sum(v < values[pair.query] for v in values.values()) <= len(values) // 2
    flat = MeasuredItems(X, np.zeros(len(y)), items.scores, None, None, "here")
    assert ExplainedPair.of(model, flat, None, feature_names=None, training_ids=None) is None


def test_models_in_words():
    assert describe_kernel(RankRLS(kernel="poly", gamma=0.5, degree=2)) == "poly (gamma 0.5, degree 2, coef0 1)"
    assert describe_holdout(RankRLSCV(cv=7), queries=True) == "7 folds"
    shown = dict(parameters_of(make_pipeline(StandardScaler(), RankRLSCV(alphas=list(range(1, 20))))))
    assert shown["rankrlscv__alphas"] == "1, 2, …, 19 (19 values)"
    assert "standardscaler" not in shown
