"""Fitting again: what an earlier fit left behind must not be seen, and a fit that fails nothing would be left."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from kernelrank.data import make_ranking
from kernelrank.estimators import RLS, RankRLS, RLSClassifier

X, y, qid = make_ranking(n_queries=6, n_items=6, n_features=4, random_state=0)

CHANGES = [
    ({"kernel": "linear"}, {"kernel": "rbf"}),
    ({"kernel": "rbf"}, {"kernel": "linear"}),
    ({"kernel": "rbf", "basis": [0, 5, 9]}, {"kernel": "rbf", "basis": None}),
    ({"basis": [0, 5, 9]}, {"basis": None}),
    ({"kernel": "linear"}, {"kernel": "rbf", "basis": [1, 2]}),
]


@pytest.mark.parametrize("kind", [RLS, RankRLS])
@pytest.mark.parametrize(("first", "second"), CHANGES)
def test_refit_with_other_options_is_a_fresh_fit(kind, first, second):
    model = kind(**first).fit(X, y, qid=qid).set_params(**second).fit(X, y, qid=qid)
    fresh = kind(**{**first, **second}).fit(X, y, qid=qid)
    assert set(vars(model)) == set(vars(fresh))
    np.testing.assert_array_equal(model.predict(X), fresh.predict(X))


def test_refit_with_a_precomputed_kernel_forgets_the_basis():
    K = X @ X.T
    model = RankRLS(kernel="precomputed", basis=[0, 1, 2, 3]).fit(K, y, qid=qid)
    model.set_params(basis=None).fit(K, y, qid=qid)
    fresh = RankRLS(kernel="precomputed").fit(K, y, qid=qid)
    np.testing.assert_array_equal(model.predict(K), fresh.predict(K))


def test_refit_with_other_classes_forgets_the_classes():
    model = RLSClassifier().fit(X, np.digitize(y, [-1, 1])).fit(X, y > 0)
    assert model.classes_.tolist() == [False, True]
    assert model.decision_function(X).shape == (len(X),)


def test_refit_of_fewer_items_with_pairs():
    model = RankRLS().fit(X, y, qid=qid).fit_pairs(X[:3, :2], [[0, 1], [1, 2]])
    assert model.n_features_in_ == 2
    assert model.n_queries_ == 1
    assert model.score_pairs(X[:3, :2], [[0, 1]]) in (0.0, 1.0)


FAILURES = [
    (lambda model: model.fit(X[:, :2], y[:-1]), "y has 35 entries"),
    (lambda model: model.fit(X[:, :2], np.full(len(y), np.nan)), "y contains NaN"),
    (lambda model: model.fit(X[:, :2], y, sample_weight=-np.ones(len(y))), r"sample_weight\[0\] is negative"),
    (lambda model: model.fit(X[:, :2], y, qid=qid[:-1]), "qid has 35 entries"),
    (lambda model: model.set_params(basis=[99]).fit(X[:, :2], y, qid=qid), "basis has the item 99"),
]


@pytest.mark.parametrize(("fail", "message"), FAILURES)
@pytest.mark.parametrize("kind", [RLS, RankRLS])
def test_failed_refit_leaves_the_earlier_model(kind, fail, message):
    model = kind().fit(X, y, qid=qid)
    before = model.predict(X)
    with pytest.raises(ValueError, match=message):
        fail(model)
    assert model.n_features_in_ == 4
    np.testing.assert_array_equal(model.predict(X), before)


def test_interrupted_fit_leaves_nothing(monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("kernelrank.solvers.direct.Cholesky.solve", interrupt)
    model = RankRLS()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y, qid=qid)
    assert not [name for name in vars(model) if name.endswith("_")]
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("model", [RankRLS(), RLS(), RLSClassifier()])
def test_fit_path_leaves_the_estimator_as_it_was(model):
    target = y > 0 if isinstance(model, RLSClassifier) else y
    model.fit_path(X, target, [1.0, 2.0], qid=qid)
    assert not [name for name in vars(model) if name.endswith("_")]
    model.fit(X, target, qid=qid)
    model.fit_path(X[:, :2], target, [1.0], qid=qid)
    assert model.predict(X).shape == (len(X),)
