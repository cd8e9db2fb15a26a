"""At home in scikit-learn: searches, pipelines, feature selection and clones, with one qid."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.feature_selection import RFE
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

import kernelrank as kr
from kernelrank import metrics
from kernelrank.data import make_ranking
from kernelrank.errors import InvalidInputError
from kernelrank.estimators import RLS, RankRLS, RLSClassifier
from kernelrank.model_selection import QueryKFold

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

# Strings, unsorted, with a level of their own in each query: pooled over queries the scores mislead.
X, y, qid = make_ranking(
    n_queries=24,
    n_items=(1, 12),
    n_features=5,
    query_shift=20.0,
    noise=0.5,
    qid_type="str",
    shuffle=True,
    random_state=1,
)
NAMES = [f"feature {i}" for i in range(5)]
ALPHAS = {"alpha": [0.01, 100.0]}

FORMS = {
    "array": lambda X: X,
    "fortran": np.asfortranarray,
    "csr_matrix": sparse.csr_matrix,
    "csr_array": sparse.csr_array,
    "csc_array": sparse.csc_array,
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
}


@pytest.fixture(autouse=True)
def _routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def hand_made_fold_scores(model, n_splits=3):
    """Mean per-query accuracy of each fold, without any of scikit-learn's machinery."""
    scores = []
    for train, test in QueryKFold(n_splits).split(X, y, groups=qid):
        fitted = clone(model).fit(X[train], y[train], qid=qid[train])
        scores.append(metrics.pairwise_accuracy(y[test], fitted.predict(X[test]), qid=qid[test]))
    return scores


@pytest.mark.parametrize("form", FORMS)
def test_search_scores_each_query_by_itself(form):
    search = GridSearchCV(RankRLS(), ALPHAS, cv=QueryKFold(3)).fit(FORMS[form](X), y, qid=qid)
    for k, alpha in enumerate(ALPHAS["alpha"]):
        found = [search.cv_results_[f"split{fold}_test_score"][k] for fold in range(3)]
        np.testing.assert_allclose(found, hand_made_fold_scores(RankRLS(alpha=alpha)), rtol=1e-12)
    assert search.score(FORMS[form](X), y, qid=qid) > 0.8


@pytest.mark.parametrize("scoring", ["ndcg@3", "disagreement", "kendall_tau"])
def test_search_by_any_measure(scoring):
    grades = y - y.min()
    grades = np.argsort(np.argsort(grades)) % 4
    search = GridSearchCV(RankRLS(), ALPHAS, cv=QueryKFold(3), scoring=metrics.scorer(scoring))
    assert np.isfinite(search.fit(X, grades, qid=qid).best_score_)


@pytest.mark.parametrize("form", ["array", "pandas", "polars"])
def test_pipeline(form):
    pipeline = make_pipeline(StandardScaler(), RankRLS(kernel="rbf")).fit(FORMS[form](X), y, qid=qid)
    by_hand = RankRLS(kernel="rbf").fit(StandardScaler().fit_transform(X), y, qid=qid)
    scaled = StandardScaler().fit_transform(X)
    np.testing.assert_allclose(pipeline.predict(FORMS[form](X)), by_hand.predict(scaled), rtol=1e-9)
    assert pipeline.score(FORMS[form](X), y, qid=qid) == by_hand.score(scaled, y, qid=qid)


def test_pipeline_of_sparse_items():
    pipeline = make_pipeline(StandardScaler(with_mean=False), RankRLS()).fit(sparse.csr_array(X), y, qid=qid)
    dense = make_pipeline(StandardScaler(with_mean=False), RankRLS()).fit(X, y, qid=qid)
    np.testing.assert_allclose(pipeline.predict(sparse.csr_array(X)), dense.predict(X), rtol=1e-9)


def test_nested_cross_validation_of_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), RankRLS())
    search = GridSearchCV(pipeline, {"rankrls__alpha": [0.01, 100.0]}, cv=QueryKFold(2))
    result = cross_validate(
        search, X, y, cv=QueryKFold(3), params={"qid": qid}, return_estimator=True, return_indices=True
    )
    for k, (model, test) in enumerate(zip(result["estimator"], result["indices"]["test"], strict=True)):
        own = metrics.pairwise_accuracy(y[test], model.predict(X[test]), qid=qid[test])
        assert result["test_score"][k] == pytest.approx(own, rel=1e-12)
        assert set(qid[test]).isdisjoint(qid[result["indices"]["train"][k]])


def test_sample_weight_is_routed_when_asked_for():
    weight = np.arange(len(y)) % 3 + 0.5
    model = RankRLS().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    found = cross_val_score(model, X, y, cv=QueryKFold(3), params={"qid": qid, "sample_weight": weight})
    expected = []
    for train, test in QueryKFold(3).split(X, y, groups=qid):
        fitted = RankRLS().fit(X[train], y[train], qid=qid[train], sample_weight=weight[train])
        expected.append(fitted.score(X[test], y[test], qid=qid[test], sample_weight=weight[test]))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_recursive_feature_elimination():
    kept = list(range(X.shape[1]))
    while len(kept) > 2:
        kept.pop(int(np.argmin(RankRLS().fit(X[:, kept], y, qid=qid).coef_ ** 2)))
    selection = RFE(RankRLS(), n_features_to_select=2).fit(X, y, qid=qid)
    assert np.flatnonzero(selection.support_).tolist() == kept
    by_hand = RankRLS().fit(X[:, kept], y, qid=qid)
    assert selection.score(X, y, qid=qid) == by_hand.score(X[:, kept], y, qid=qid)


def test_regression_takes_the_place_of_ranking():
    search = GridSearchCV(RLS(), ALPHAS, cv=QueryKFold(3), scoring=metrics.scorer("pairwise_accuracy"))
    assert search.fit(X, y, qid=qid).best_score_ > 0.5
    assert is_regressor(RLS())


def test_classifier_is_one():
    classes = np.where(y > np.median(y), "high", "low")
    model = RLSClassifier()
    assert is_classifier(model)
    assert not hasattr(RLS(), "decision_function")
    scores = cross_val_score(model, X, classes, cv=3, scoring="roc_auc")
    assert scores.shape == (3,)
    # The first class in sorted order is "high" and counts as -1.
    fitted = model.fit(X, classes)
    np.testing.assert_array_equal(fitted.predict(X) == "low", fitted.decision_function(X) > 0)
    three = np.arange(len(X)) % 3
    with sklearn.config_context(enable_metadata_routing=False):
        many = OneVsRestClassifier(RLSClassifier()).fit(X, three)
    np.testing.assert_array_equal(many.predict(X), RLSClassifier().fit(X, three).predict(X))


@pytest.mark.parametrize("model", [RankRLS(2.0, kernel="rbf", cost="unit", basis=[1, 2]), RLSClassifier()])
def test_clone_has_the_same_options(model):
    assert clone(model).get_params() == model.get_params()


@pytest.mark.parametrize("model", [RankRLS(), RankRLS(kernel="rbf", alpha=2.0).fit(X, y, qid=qid), RLS()])
def test_shown_as_html(model):
    assert type(model).__name__ in model._repr_html_()
    assert type(model).__name__ in make_pipeline(StandardScaler(), model)._repr_html_()


def test_precomputed_kernels_are_sliced_on_both_axes():
    K = X @ X.T
    model = RankRLS(kernel="precomputed")
    assert get_tags(model).input_tags.pairwise
    assert not get_tags(RankRLS()).input_tags.pairwise
    found = cross_val_score(model, K, y, cv=QueryKFold(3), params={"qid": qid})
    linear = cross_val_score(RankRLS(), X, y, cv=QueryKFold(3), params={"qid": qid})
    np.testing.assert_allclose(found, linear, rtol=1e-12)
    held_out = cross_val_predict(model, K, y, cv=QueryKFold(3), params={"qid": qid})
    expected = cross_val_predict(RankRLS(), X, y, cv=QueryKFold(3), params={"qid": qid})
    np.testing.assert_allclose(held_out, expected, atol=1e-8)


def test_routing_off_refuses_to_score_queries_pooled():
    with sklearn.config_context(enable_metadata_routing=False):
        search = GridSearchCV(RankRLS(), ALPHAS, cv=QueryKFold(3), error_score="raise")
        with pytest.raises((InvalidInputError, ValueError, TypeError), match=r"qid|groups"):
            search.fit(X, y, qid=qid)
        search = GridSearchCV(RankRLS(), ALPHAS, cv=3, error_score="raise")
        with pytest.raises(InvalidInputError, match="so score needs qid"):
            search.fit(X, y, qid=qid)


def test_one_query_needs_no_routing():
    with sklearn.config_context(enable_metadata_routing=False):
        search = GridSearchCV(RankRLS(), ALPHAS, cv=3).fit(X, y)
    assert 0.0 <= search.best_score_ <= 1.0


@pytest.mark.parametrize(
    "ranker",
    [kr.RankRLS(), kr.RankRLSCV(), kr.RankSVM(), kr.GreedyRankRLS(2), kr.CoRankRLS(nu=0.0, random_state=0)],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::kernelrank.errors.EdgeOfGridWarning")
@pytest.mark.skipif(sklearn.__version__ < "1.9", reason="the scorers of scikit-learn 1.8 take classifiers only")
def test_scorers_of_two_classes(ranker):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = (X[:, 0] + 0.3 * rng.standard_normal(60) > 0).astype(int)
    folds = KFold(3)
    found = cross_val_score(ranker, X, y, scoring="roc_auc", cv=folds, error_score="raise")
    expected = [roc_auc_score(y[b], clone(ranker).fit(X[a], y[a]).predict(X[b])) for a, b in folds.split(X)]
    np.testing.assert_allclose(found, expected)
    assert np.isfinite(cross_val_score(ranker, X, y, scoring="average_precision", cv=folds)).all()


def test_the_scorer_of_an_auc_takes_every_version_of_scikit_learn():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = (X[:, 0] + 0.3 * rng.standard_normal(60) > 0).astype(int)
    found = cross_val_score(kr.RankRLS(), X, y, scoring=kr.metrics.scorer("auc"), cv=KFold(3), error_score="raise")
    expected = [roc_auc_score(y[b], kr.RankRLS().fit(X[a], y[a]).predict(X[b])) for a, b in KFold(3).split(X)]
    np.testing.assert_allclose(found, expected)


def test_a_grid_search_of_transduction_scores_the_scored_queries():
    X, y, qid = kr.make_ranking(n_queries=12, n_items=6, random_state=0)
    y = y.astype(float)
    y[np.isin(qid, np.unique(qid)[8:])] = np.nan
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(kr.TransductiveRankRLS(), {"alpha": [0.1, 1.0]}, cv=kr.QueryKFold(4))
        assert np.isfinite(search.fit(X, y, qid=qid).cv_results_["mean_test_score"]).all()
