"""Explanations: exact, by name, for every model whose scores are a sum of contributions."""

from __future__ import annotations

import copy
import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernelrank.data import make_ranking
from kernelrank.errors import InvalidInputError
from kernelrank.estimators import RLS, RankRLS, RankSVM, RLSClassifier
from kernelrank.model_selection import RLSCV, RankRLSCV
from kernelrank.report import explain
from kernelrank.report.explanations import Contributions, last_step, scores_of

X, y, QID = make_ranking(n_queries=12, n_features=6, n_levels=3, random_state=0)
ALPHAS = [0.1, 1.0, 10.0]
K = rbf_kernel(X, gamma=0.2)
PAIR = [3, 8]

MODELS = {
    "linear": (RankRLS(), X),
    "rbf": (RankRLS(kernel="rbf", gamma=0.2), X),
    "basis": (RankRLS(kernel="rbf", gamma=0.2, basis=9, random_state=0), X),
    "linear basis": (RankRLS(basis=5, random_state=0), X),
    "svm": (RankSVM(), X),
    "svm basis": (RankSVM(kernel="rbf", gamma=0.2, basis=9, random_state=0), X),
    "regression": (RLS(kernel="poly", degree=2), X),
    "classification": (RLSClassifier(), X),
    "search": (RankRLSCV(ALPHAS, cv=3, kernel="rbf", kernel_grid={"gamma": [0.05, 0.2]}), X),
    "regression search": (RLSCV(ALPHAS), X),
    "precomputed": (RankRLS(kernel="precomputed"), K),
    "precomputed basis": (RankRLS(kernel="precomputed", basis=[1, 5, 30, 7]), K),
    "sparse": (RankRLS(), sparse.csr_array(np.where(X > 0, X, 0.0))),
    "sparse rbf": (RankRLS(kernel="rbf", gamma=0.2), sparse.csr_array(np.where(X > 0, X, 0.0))),
    "pipeline": (make_pipeline(StandardScaler(), RankRLS()), X),
    "kernel pipeline": (make_pipeline(StandardScaler(), RankRLS(kernel="rbf", gamma=0.2)), X),
    "components": (make_pipeline(PCA(3), RLS()), X),
    "grid": (GridSearchCV(make_pipeline(StandardScaler(), RLS()), {"rls__alpha": ALPHAS}, cv=3), X),
    "ridge": (Ridge(), X),
    "logistic": (LogisticRegression(), X),
}


def fitted(name):
    model, items = MODELS[name]
    model = copy.deepcopy(model)
    target = y > 0 if name in ("classification", "logistic") else y
    learner = model.estimator if isinstance(model, GridSearchCV) else model
    queries = isinstance(learner, (RankRLS, RankRLSCV, RankSVM))
    return (model.fit(items, target, qid=QID) if queries else model.fit(items, target)), items


def without(model, term):
    """The same model with one of its coefficients struck out."""
    changed = copy.deepcopy(model)
    learner = last_step(changed)[1]
    name = "dual_coef_" if "dual_coef_" in vars(learner) else "coef_"
    coefficients = np.array(getattr(learner, name))
    coefficients.reshape(-1)[term] = 0.0
    setattr(learner, name, coefficients)
    return changed


@pytest.mark.filterwarnings("ignore:the best alpha")
@pytest.mark.parametrize("name", MODELS)
def test_contributions_are_what_each_coefficient_does(name):
    model, items = fitted(name)
    told = explain(model, items[PAIR], k=1000)
    first, second = scores_of(model, items[PAIR])
    assert told.scores == (first, second)
    scale = np.abs(told.contributions).sum()
    assert told.contributions.sum() + told.rest == pytest.approx(first - second, abs=1e-12 * scale)
    assert (told.n_rest, told.rest) == (0, 0.0)
    contributions = Contributions.of(model)
    assert set(told.names) <= set(contributions.names)
    for term in range(0, len(contributions.names), 5):
        struck = scores_of(without(model, term), items[PAIR])
        expected = (first - second) - (struck[0] - struck[1])
        found = dict(zip(told.names, told.contributions, strict=True)).get(contributions.names[term], 0.0)
        assert found == pytest.approx(expected, abs=1e-10 * scale)


def test_largest_first_and_the_rest_summed():
    model, _ = fitted("rbf")
    all_of_them, some = explain(model, X[PAIR], k=1000), explain(model, X[PAIR], k=4)
    assert np.all(np.diff(np.abs(all_of_them.contributions)) <= 0)
    assert some.names == all_of_them.names[:4]
    assert some.n_rest == len(all_of_them.names) - 4
    assert some.rest == pytest.approx(all_of_them.contributions[4:].sum(), abs=1e-14)


def test_turned_round():
    model, _ = fitted("linear")
    told, turned = explain(model, X[PAIR]), explain(model, X[PAIR[::-1]])
    np.testing.assert_array_equal(told.contributions, -turned.contributions)
    assert told.difference == -turned.difference
    same = explain(model, X[[3, 3]])
    assert (same.names, same.difference, same.n_rest) == ([], 0.0, 0)


def test_pair_in_every_form():
    model, _ = fitted("linear")
    told = explain(model, X[PAIR])
    for pair in ((X[3], X[8]), X[PAIR].tolist(), (X[[3]], X[[8]]), sparse.csr_array(X[PAIR])):
        np.testing.assert_allclose(explain(model, pair).contributions, told.contributions, rtol=1e-12)
    rows = sparse.csr_array(X)
    np.testing.assert_allclose(explain(model, (rows[[3]], rows[[8]])).contributions, told.contributions, rtol=1e-12)


def test_names_of_features():
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = RankRLS().fit(frame, y, qid=QID)
    assert set(explain(model, frame.iloc[PAIR]).names) == set("abcdef")
    assert set(explain(model, frame.iloc[PAIR], feature_names=list("uvwxyz")).names) == set("uvwxyz")
    plain, _ = fitted("linear")
    assert set(explain(plain, X[PAIR]).names) == {f"x{number}" for number in range(6)}


def test_a_scaler_shows_the_values_that_were_given():
    model, _ = fitted("pipeline")
    told = explain(model, X[PAIR], feature_names=list("abcdef"))
    for name, values in zip(told.names, told.values, strict=True):
        np.testing.assert_array_equal(values, X[PAIR, "abcdef".index(name)])
    mixed, _ = fitted("components")
    told = explain(mixed, X[PAIR], feature_names=list("abcdef"))
    assert set(told.names) == {"pca0", "pca1", "pca2"}
    np.testing.assert_allclose(told.values[told.names.index("pca1")], mixed[:-1].transform(X[PAIR])[:, 1])


def test_names_of_training_items():
    model, _ = fitted("rbf")
    ids = [f"document {number}" for number in range(len(y))]
    told = explain(model, X[PAIR], training_ids=ids)
    for name, (near, far) in zip(told.names, told.values, strict=True):
        item = ids.index(name)
        assert (near, far) == pytest.approx((K[3, item], K[8, item]))
    reduced, _ = fitted("basis")
    assert set(explain(reduced, X[PAIR], training_ids=ids).names) <= {ids[item] for item in reduced.basis_}
    assert explain(reduced, X[PAIR]).names[0].startswith("item ")


def test_one_of_several_outputs():
    both = np.column_stack([y, -y])
    model = RankRLS().fit(X, both, qid=QID)
    told = explain(model, X[PAIR], output=1)
    assert told.contributions.sum() == pytest.approx(told.difference, rel=1e-12)
    assert told.scores == tuple(model.predict(X[PAIR])[:, 1])
    with pytest.raises(InvalidInputError, match="has 2 outputs: choose one"):
        explain(model, X[PAIR])
    with pytest.raises(InvalidInputError, match="output is 2, but the model has 2"):
        explain(model, X[PAIR], output=2)


def test_as_text_and_as_json():
    told = explain(fitted("rbf")[0], X[PAIR], k=2)
    lines = str(told).splitlines()
    assert len(lines) == 4
    assert lines[-1].endswith("other training items")
    read = json.loads(json.dumps(told.to_dict()))
    assert sum(part["contribution"] for part in read["contributions"]) + read["rest"] == pytest.approx(told.difference)
    assert repr(told).startswith("<Explanation of ")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 0}, "k must be a whole number of at least 1"),
        ({"X_pair": X[:3]}, "a pair is two items, got 3"),
        ({"X_pair": (X[0], X[1, :2])}, "6 and 2 features"),
        ({"feature_names": ["a"]}, "feature_names has 1 entries, but there are 6"),
        ({"model": RandomForestRegressor(2).fit(X, y)}, "Expected a fitted RLS, .* got a RandomForestRegressor"),
    ],
)
def test_refused(change, message):
    arguments = {"model": fitted("linear")[0], "X_pair": X[PAIR], **change}
    with pytest.raises(InvalidInputError, match=message):
        explain(**arguments)


def test_more_refused():
    with pytest.raises(NotFittedError):
        explain(RankRLS(), X[PAIR])
    with pytest.raises(InvalidInputError, match="training_ids has 3 entries"):
        explain(fitted("rbf")[0], X[PAIR], training_ids=[1, 2, 3])
    with pytest.raises(InvalidInputError, match="a pipeline inside a pipeline"):
        explain(make_pipeline(PCA(3), make_pipeline(PCA(2), RLS())).fit(X, y), X[PAIR])
