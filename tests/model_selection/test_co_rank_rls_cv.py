"""CoRankRLSCV chooses what a literal search by refitting chooses, and reads the unscored items once."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold

from kernelrank import metrics
from kernelrank.base.labels import Queries
from kernelrank.data import make_ranking
from kernelrank.errors import EdgeOfGridWarning
from kernelrank.estimators import CoRankRLS, RankRLS
from kernelrank.features import View
from kernelrank.model_selection import CoRankRLSCV, QueryKFold

ALPHAS = 2.0 ** np.arange(-6, 7, 3)
NUS = [0.0, 0.01, 1.0]

pytestmark = pytest.mark.filterwarnings("ignore::kernelrank.errors.EdgeOfGridWarning")


def data(seed=0, n_queries=24, scored=9):
    X, y, qid = make_ranking(n_queries, (2, 8), 4, noise=1.0, shuffle=True, random_state=seed)
    known = qid < scored
    return X[known], y[known], qid[known], X[~known], qid[~known]


def refitted(views, X, y, qid, X_u, qid_u, train, test, alpha, nu, **options):
    """Train on the other queries, with the basis items of the held-out ones removed."""
    place = np.full(len(X) + len(X_u), -1)
    place[train] = np.arange(len(train))
    place[len(X) :] = len(train) + np.arange(len(X_u))
    left = [View(basis=[i for i in place[view.basis] if i >= 0], columns=view.columns) for view in views]
    model = CoRankRLS(alpha, nu, views=left, **options).fit(
        X[train], y[train], qid=qid[train], X_unscored=X_u, qid_unscored=qid_u
    )
    return model.predict(X[test])


@pytest.mark.parametrize("scoring", ["pairwise_accuracy", "ndcg@3"])
@pytest.mark.parametrize("query_weight", ["pairs", "items"])
def test_folds_by_refitting(scoring, query_weight):
    X, y, qid, X_u, qid_u = data()
    y = np.round(y - y.min())
    views = [View(basis=[0, 5, 9, 20, len(X) + 2]), View(basis=[1, 2, 30, len(X) + 7], columns=[0, 1, 2])]
    model = CoRankRLSCV(ALPHAS, NUS, cv=3, scoring=scoring, views=views, query_weight=query_weight)
    model.fit(X, y, qid=qid, X_unscored=X_u, qid_unscored=qid_u)
    measure = metrics.get_measure(scoring)
    scores, splits = {}, {}
    for nu in NUS:
        for alpha in ALPHAS:
            held = np.empty(len(y))
            folds = []
            for train, test in GroupKFold(3).split(X, y, Queries.from_labels(qid, len(y)).codes):
                held[test] = refitted(views, X, y, qid, X_u, qid_u, train, test, alpha, nu, query_weight=query_weight)
                folds.append(measure.average(y[test], held[test], qid=qid[test]))
            scores[alpha, nu], splits[alpha, nu] = held, folds
    for place, params in enumerate(model.cv_results_["params"]):
        found = [model.cv_results_[f"split{fold}_test_score"][place] for fold in range(3)]
        np.testing.assert_allclose(found, splits[params["alpha"], params["nu"]], rtol=1e-10)
    best = max(splits, key=lambda key: np.mean(splits[key]))
    assert np.mean(splits[model.alpha_, model.nu_]) == pytest.approx(np.mean(splits[best]), rel=1e-12)
    assert model.best_score_ == pytest.approx(np.mean(splits[best]), rel=1e-12)
    expected = scores[model.alpha_, model.nu_]
    np.testing.assert_allclose(model.holdout_scores_, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
    last = CoRankRLS(model.alpha_, model.nu_, views=views, query_weight=query_weight).fit(
        X, y, qid=qid, X_unscored=X_u, qid_unscored=qid_u
    )
    np.testing.assert_allclose(model.predict_views(X), last.predict_views(X), rtol=1e-9)
    assert model.disagreement_ == pytest.approx(last.disagreement_, rel=1e-9)


def test_duplicated_basis_items_stand_in_for_those_held_out():
    """Item 1 equals item 0 and has no column of its own; when the query of item 0 is held out it takes its place."""
    X, y, qid, X_u, qid_u = data(seed=3)
    other = np.flatnonzero(qid != qid[0])[0]
    X[other] = X[0]
    views = [View(basis=[0, other, 7, 11]), View(basis=[2, 3, 8])]
    model = CoRankRLSCV([0.1, 0.2, 0.4], [0.3], cv="leave_query_out", views=views).fit(
        X, y, qid=qid, X_unscored=X_u, qid_unscored=qid_u
    )
    for q in np.unique(qid):
        train, test = np.flatnonzero(qid != q), np.flatnonzero(qid == q)
        expected = refitted(views, X, y, qid, X_u, qid_u, train, test, model.alpha_, 0.3)
        np.testing.assert_allclose(model.holdout_scores_[test], expected, rtol=0, atol=1e-8 * np.abs(y).max())


def test_a_view_may_lose_its_whole_basis():
    X, y, qid, X_u, qid_u = data(seed=4)
    views = [View(basis=[0]), View(basis=[len(X), len(X) + 1])]
    model = CoRankRLSCV([0.5], [0.1], cv="leave_query_out", views=views).fit(
        X, y, qid=qid, X_unscored=X_u, qid_unscored=qid_u
    )
    train, test = np.flatnonzero(qid != qid[0]), np.flatnonzero(qid == qid[0])
    # The other view is pulled towards zero on the unscored items: as if these had scores, all zero, in their queries.
    both = np.vstack([X[train], X_u])
    scores = np.concatenate([y[train], np.zeros(len(X_u))])
    labels = np.concatenate([qid[train], qid_u])
    weight = np.concatenate([np.ones(len(train)), np.full(len(X_u), np.sqrt(2 * 0.1))])
    alone = RankRLS(0.5, kernel="rbf", basis=[len(train), len(train) + 1]).fit(
        both, scores, qid=labels, sample_weight=weight
    )
    np.testing.assert_allclose(model.holdout_scores_[test], alone.predict(X[test]) / 2, rtol=1e-8)


def test_a_fold_with_nothing_left_to_compare_predicts_zero():
    X, y, qid, X_u, qid_u = data(seed=9)
    y = np.where(qid == qid[0], y, 0.0)
    model = CoRankRLSCV(ALPHAS, NUS, cv="leave_query_out", basis=5).fit(
        X, y, qid=qid, X_unscored=X_u, qid_unscored=qid_u
    )
    np.testing.assert_allclose(model.holdout_scores_[qid == qid[0]], 0.0, atol=1e-12)


def test_unscored_items_are_read_once():
    X, y, qid, X_u, qid_u = data(seed=5)
    order = np.argsort(qid_u, kind="stable")
    reads = []

    def blocks():
        for rows in np.array_split(order, 4):
            reads.append(len(rows))
            yield X_u[rows], qid_u[rows]

    views = [View(basis=range(5)), View(basis=range(5, 11))]
    streamed = CoRankRLSCV(ALPHAS, NUS, cv=3, views=views).fit(X, y, qid=qid, X_unscored=blocks())
    assert sum(reads) == len(X_u)
    held = CoRankRLSCV(ALPHAS, NUS, cv=3, views=views).fit(X, y, qid=qid, X_unscored=X_u, qid_unscored=qid_u)
    assert streamed.best_params_ == held.best_params_
    np.testing.assert_allclose(streamed.holdout_scores_, held.holdout_scores_, rtol=1e-8)


def test_nan_marks_unscored_items_and_splitters_split_the_scored_ones():
    X, y, qid, X_u, qid_u = data(seed=6)
    both, labels = np.vstack([X, X_u]), np.concatenate([qid, qid_u])
    scores = np.concatenate([y, np.full(len(X_u), np.nan)])
    views = [View(basis=range(5)), View(basis=range(5, 11))]
    expected = CoRankRLSCV(ALPHAS, NUS, cv=3, views=views).fit(X, y, qid=qid, X_unscored=X_u, qid_unscored=qid_u)
    model = CoRankRLSCV(ALPHAS, NUS, cv=QueryKFold(3), views=views).fit(both, scores, qid=labels)
    assert model.best_params_ == expected.best_params_
    np.testing.assert_allclose(model.holdout_scores_, expected.holdout_scores_, rtol=1e-8)


def test_several_outputs_share_alpha_and_nu():
    X, y, qid, X_u, qid_u = data(seed=7)
    two = np.column_stack([y, -2.0 * y])
    model = CoRankRLSCV(ALPHAS, NUS, cv=3, basis=6, random_state=0).fit(
        X, two, qid=qid, X_unscored=X_u, qid_unscored=qid_u
    )
    one = CoRankRLSCV(ALPHAS, NUS, cv=3, basis=6, random_state=0).fit(X, y, qid=qid, X_unscored=X_u, qid_unscored=qid_u)
    assert model.best_params_ == one.best_params_
    np.testing.assert_allclose(model.holdout_scores_, one.holdout_scores_[:, None] * [1.0, -2.0], rtol=1e-8)
    assert model.cv_results_["mean_test_score_of_targets"].shape == (len(ALPHAS) * len(NUS), 2)


def test_the_edge_of_the_grid_is_told():
    X, y, qid, X_u, qid_u = data(seed=8)
    with pytest.warns(EdgeOfGridWarning, match="the best alpha, 100, is the largest of the grid"):
        CoRankRLSCV([1e-12, 1e-11, 1e-10, 1e2], [0.0], cv=3, basis=20, random_state=0).fit(
            X, y, qid=qid, X_unscored=X_u, qid_unscored=qid_u
        )


def test_there_is_no_path():
    with pytest.raises(AttributeError, match="no attribute 'fit_path'"):
        _ = CoRankRLSCV().fit_path
