"""Searches that refit choose what a loop over fits chooses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_expit
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold

from kernelrank import BradleyTerry, QueryKFold, RankSVM
from kernelrank.data import make_preferences, make_ranking
from kernelrank.errors import InvalidInputError
from kernelrank.metrics import disagreement, ndcg, pairwise_accuracy
from kernelrank.model_selection import RefitSearch, search_folds, search_on_data, search_preferences

pytestmark = pytest.mark.filterwarnings("ignore::kernelrank.errors.EdgeOfGridWarning")  # grids here are short
ALPHAS = [0.01, 1.0, 100.0]
SVM = RankSVM(loss="squared_hinge", tol=1e-8)  # paths begin where the last alpha ended: to the digits of a fit anew
SETTINGS = [{"kernel": "linear"}, {"kernel": "rbf", "gamma": 0.5}]


@pytest.fixture
def ranking():
    X, y, qid = make_ranking(n_queries=8, random_state=0)
    return X, np.digitize(y, np.quantile(y, [0.4, 0.7, 0.9])).astype(float), qid


def parameters(found: RefitSearch) -> list[dict]:
    return [{name: value for name, value in one.items() if name != "score"} for one in found.candidates]


def test_folds_of_items_are_those_of_a_grid_search(ranking):
    X, y, _ = ranking
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    grid = [{name: [value] for name, value in one.items()} | {"alpha": ALPHAS} for one in SETTINGS]
    oracle = GridSearchCV(SVM, grid, cv=folds, scoring=lambda model, X, y: pairwise_accuracy(y, model.predict(X))).fit(
        X, y
    )
    masks = [np.isin(np.arange(len(y)), held) for _, held in folds]
    found = search_folds(SVM, X, y.tolist(), masks, SETTINGS, measure="pairwise accuracy", alphas=ALPHAS)
    assert parameters(found) == oracle.cv_results_["params"]
    np.testing.assert_allclose([one["score"] for one in found.candidates], oracle.cv_results_["mean_test_score"])
    assert found.best == oracle.best_params_ | {"score": pytest.approx(oracle.best_score_)}
    np.testing.assert_allclose(found.model.predict(X), oracle.best_estimator_.predict(X), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(("measure", "oracle", "sign"), [("ndcg@5", ndcg, 1), ("disagreement", disagreement, -1)])
def test_folds_of_queries_are_measured_together(ranking, measure, oracle, sign):
    X, y, qid = ranking
    held_out = [held for _, held in QueryKFold(3).split(X, groups=qid)]
    found = search_folds(SVM, X, y, held_out, measure=measure, alphas=ALPHAS, qid=qid.tolist())
    options = {"k": 5} if measure == "ndcg@5" else {}
    for candidate, alpha in zip(found.candidates, ALPHAS, strict=True):
        scores = np.empty(len(y))
        for held in held_out:
            rest = np.setdiff1d(np.arange(len(y)), held)
            scores[held] = clone(SVM).set_params(alpha=alpha).fit(X[rest], y[rest], qid=qid[rest]).predict(X[held])
        assert candidate["alpha"] == alpha
        assert candidate["score"] == pytest.approx(sign * oracle(y, scores, qid=qid, **options))
    assert found.best["score"] == max(one["score"] for one in found.candidates)


def test_fitted_models_are_scored_and_the_best_is_kept(ranking):
    X, y, qid = ranking
    seen = qid < np.unique(qid)[5]
    scored = []

    def score(model):
        scored.append(model)
        return model.score(X[~seen], y[~seen], qid=qid[~seen])

    found = search_on_data(SVM, X[seen], y[seen], SETTINGS, score=score, alphas=ALPHAS, qid=qid[seen])
    expected = [
        clone(SVM).set_params(**setting, alpha=alpha).fit(X[seen], y[seen], qid=qid[seen])
        for setting in SETTINGS
        for alpha in ALPHAS
    ]
    assert [one["score"] for one in found.candidates] == pytest.approx([score(model) for model in expected])
    assert found.model in scored[: len(expected)]
    assert found.model.get_params() == found.best_of(SVM).get_params()


def test_groups_of_preferences_have_the_log_loss_of_refits():
    X, pairs = make_preferences(n_items=12, n_pairs=60, random_state=1)
    rng = np.random.default_rng(0)
    groups, weight = rng.integers(4, size=60), rng.integers(1, 4, size=60).astype(float)
    found = search_preferences(BradleyTerry(), X, pairs, groups, alphas=ALPHAS, weight=weight)
    for candidate, alpha in zip(found.candidates, ALPHAS, strict=True):
        losses = np.empty(60)
        for group in np.unique(groups):
            kept = groups != group
            scores = BradleyTerry(alpha).fit_pairs(X, pairs[kept], weight=weight[kept]).predict(X)
            losses[~kept] = -log_expit(scores[pairs[~kept, 0]] - scores[pairs[~kept, 1]])
        assert candidate["alpha"] == alpha
        assert candidate["score"] == pytest.approx(-np.average(losses, weights=weight), rel=1e-6)
    again = found.best_of(BradleyTerry()).fit_pairs(X, pairs, weight=weight)
    np.testing.assert_allclose(found.model.predict(X), again.predict(X))


def test_an_empty_list_of_settings_is_an_error(ranking):
    X, y, qid = ranking
    with pytest.raises(InvalidInputError, match="settings is empty"):
        search_on_data(SVM, X, y, [], score=lambda _: 0.0, qid=qid)
