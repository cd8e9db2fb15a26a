import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernelrank import metrics
from kernelrank.data import make_ranking
from kernelrank.errors import InvalidInputError
from kernelrank.estimators import RankRLS


class OneColumn(RegressorMixin, BaseEstimator):
    """Predicts one column of X."""

    def __init__(self, column=0):
        self.column = column

    def fit(self, X, y):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return X[:, self.column]


@pytest.fixture
def judged():
    """Column 1 orders each query, column 0 orders the items of all queries pooled."""
    rng = np.random.default_rng(0)
    qid = rng.permutation(np.repeat(np.arange(12), 8))
    offset, inside = 10.0 * rng.normal(size=12)[qid], rng.normal(size=96)
    X = np.stack([offset, inside], axis=1)
    return X, offset + inside, qid


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
def test_a_grid_search_scores_query_by_query(judged):
    X, y, qid = judged
    search = GridSearchCV(
        OneColumn(), {"column": [0, 1]}, scoring=metrics.scorer("pairwise_accuracy"), cv=GroupKFold(3)
    )
    search.fit(X, y, qid=qid, groups=qid)
    assert search.best_params_ == {"column": 1}
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], [0.5, 1.0])
    assert clone(search).fit(X, y, qid=qid, groups=qid).score(X, y, qid=qid) == 1.0


@pytest.mark.usefixtures("routing")
def test_several_scorers_in_a_pipeline(judged):
    X, y, qid = judged
    y = np.exp(y / 20)
    scoring = {name: metrics.scorer(name) for name in ("ndcg@5", "disagreement", "mrr")}
    folds = GroupKFold(3)
    found = cross_validate(
        make_pipeline(StandardScaler(), OneColumn(1)), X, y, cv=folds, scoring=scoring,
        params={"qid": qid, "groups": qid},
    )  # fmt: skip
    for fold, (_, test) in enumerate(folds.split(X, y, qid)):
        for name in scoring:
            sign = -1 if name == "disagreement" else 1
            expected = sign * metrics.get_measure(name)(y[test], X[test, 1], qid=qid[test]).mean
            assert found[f"test_{name}"][fold] == pytest.approx(expected, rel=1e-12)


@pytest.mark.usefixtures("routing")
def test_weights_are_given_on_request_only(judged):
    X, y, qid = judged
    weight = np.random.default_rng(1).integers(1, 4, len(y))
    arguments = {"cv": GroupKFold(3), "params": {"qid": qid, "groups": qid, "sample_weight": weight}}
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        cross_validate(OneColumn(), X, y, scoring=metrics.scorer("pairwise_accuracy"), **arguments)
    weighted = metrics.scorer("pairwise_accuracy").set_score_request(sample_weight=True)
    found = cross_validate(OneColumn(), X, X[:, 1], scoring=weighted, **arguments)
    assert found["test_score"] == pytest.approx([0.5] * 3)


def test_called_by_hand(judged):
    X, y, qid = judged
    scorer = metrics.scorer("ndcg@3", gain="linear")
    estimator = OneColumn(1).fit(X, y)
    expected = metrics.ndcg(np.abs(y), X[:, 1], qid=qid, k=3, gain="linear")
    assert scorer(estimator, X, np.abs(y), qid=qid) == expected
    assert pickle.loads(pickle.dumps(scorer))(estimator, X, np.abs(y), qid=qid) == expected
    assert metrics.scorer("disagreement")(estimator, X, y, qid=qid) == 0.0
    assert repr(scorer) == "<QueryScorer nDCG@3 (gain linear, ties averaged, empty queries left out)>"
    with pytest.raises(InvalidInputError, match="does not support sample_weight"):
        scorer(estimator, X, np.abs(y), qid=qid, sample_weight=np.ones(len(y)))
    with pytest.raises(TypeError, match="not for 'group'"):
        scorer.set_score_request(group=True)


@pytest.mark.parametrize("classifier", [LogisticRegression(), GaussianNB()])
def test_classifiers_are_measured_by_their_confidence(judged, classifier):
    X, y, _ = judged
    y = (y + np.random.default_rng(2).normal(size=len(y)) > 0).astype(int)
    classifier.fit(X, y)
    expected = sklearn.metrics.get_scorer("roc_auc")(classifier, X, y)
    assert metrics.scorer("auc")(classifier, X, y) == pytest.approx(expected, rel=1e-12)


def test_queries_are_never_pooled():
    X, y, qid = make_ranking(n_queries=6, random_state=0)
    scorer = metrics.scorer("pairwise_accuracy")
    for model in (RankRLS(), make_pipeline(StandardScaler(), RankRLS())):
        with sklearn.config_context(enable_metadata_routing=True):
            model.fit(X, y, qid=qid)
        assert scorer(model, X, y, qid=qid) > 0.5
        with pytest.raises(InvalidInputError, match="fitted on 6 queries, so the scorer needs qid"):
            scorer(model, X, y)
