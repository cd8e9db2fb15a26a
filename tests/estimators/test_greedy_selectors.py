"""GreedyRankRLS and GreedyRLS as scikit-learn and its users meet them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import kernelrank as kr
from kernelrank.errors import InvalidInputError
from kernelrank.selection import states

COPIES = "holding out an item of weight k is not holding out one of k copies, so that other features may be chosen"
WEIGHTS_ARE_NOT_COPIES = {f"check_sample_weight_equivalence_on_{kind}_data": COPIES for kind in ("dense", "sparse")}


@parametrize_with_checks(
    [kr.GreedyRankRLS(), kr.GreedyRLS(), kr.GreedyRLS(alpha="auto", floating=True)],
    expected_failed_checks=lambda _: WEIGHTS_ARE_NOT_COPIES,
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def data(m=60, n=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    return X, X[:, 7] - 2 * X[:, 3] + 0.1 * rng.normal(size=m), np.arange(m) // 6


def test_in_a_pipeline_both_as_a_step_and_at_the_end():
    X, y, qid = data()
    model = make_pipeline(StandardScaler(), kr.GreedyRankRLS(2), kr.RankRLS(0.1))
    model.fit(X, y, greedyrankrls__qid=qid, rankrls__qid=qid)
    assert model[:-1].get_feature_names_out().tolist() == ["x3", "x7"]
    assert model[-1].n_features_in_ == 2
    last = make_pipeline(StandardScaler(), kr.GreedyRLS(2)).fit(X, y)
    assert last.score(X, y - y.mean()) > 0.95
    assert make_pipeline(kr.GreedyRLS(2), Ridge()).fit(X, y).score(X, y) > 0.95


def test_in_a_grid_search():
    X, y, _ = data()
    search = GridSearchCV(kr.GreedyRLS(), {"n_features_to_select": [1, 2], "alpha": [0.1, "auto"]}, cv=3).fit(X, y)
    assert search.best_params_["n_features_to_select"] == 2
    assert search.best_estimator_.selected_.tolist() == [3, 7]


def test_in_a_column_transformer_with_names():
    X, y, _ = data()
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(X.shape[1])])
    chosen = ColumnTransformer([("few", kr.GreedyRankRLS(2), list(frame.columns[2:9]))], remainder="drop").fit(frame, y)
    assert chosen.get_feature_names_out().tolist() == ["few__gene 3", "few__gene 7"]
    model = kr.GreedyRankRLS(2, required_features=["gene 5"]).fit(frame, y)
    assert model.selected_.tolist() == [5, 3]
    assert model.get_feature_names_out().tolist() == ["gene 3", "gene 5"]


@pytest.mark.parametrize("model", [kr.GreedyRankRLS(2), kr.GreedyRLS(2), kr.GreedyRankRLS(2, floating=True)])
def test_saved_and_loaded(model, tmp_path):
    X, y, _ = data(20)
    model = clone(model).fit(X, y)
    kr.save(model, tmp_path / "model")
    again = kr.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.selected_, model.selected_)
    assert [step["criterion"] for step in again.path_] == [step["criterion"] for step in model.path_]
    np.testing.assert_array_equal(again.transform(X), X[:, [3, 7]])


def test_auto_stops_where_the_error_stops_falling():
    X, y, qid = data(200, 30)
    for model in (kr.GreedyRankRLS(), kr.GreedyRLS(), kr.GreedyRankRLS(floating=True, alpha="auto")):
        model.fit(X, y, qid=qid)
        assert model.selected_.tolist() == [3, 7]
        assert len(model.path_) == 2
    required = kr.GreedyRankRLS(required_features=[1, 2, 4]).fit(X, y, qid=qid)
    assert required.selected_.tolist() == [1, 2, 4, 3, 7]
    rng = np.random.default_rng(1)
    noise = kr.GreedyRLS(required_features=[4, 2]).fit(X, rng.normal(size=200))
    assert noise.selected_.tolist() == [4, 2]
    assert len(kr.GreedyRankRLS().fit(rng.normal(size=(60, 400)), rng.normal(size=60)).selected_) <= 2


def test_the_accuracy_of_held_out_pairs_is_the_auc_of_leave_pair_out():
    X, y, _ = data(20)
    y = (y > 0).astype(float)
    model = kr.GreedyRankRLS(3, alpha=0.5).fit(X, y)
    for step in model.path_:
        held_out = kr.leave_pair_out(kr.RankRLS(0.5), X[:, step["columns"]], y)
        assert step["pair_accuracy"] == pytest.approx(held_out.accuracy)
    weight = np.arange(1.0, 21.0)
    weighted = kr.GreedyRankRLS(2).fit(X, y, sample_weight=weight)
    held_out = kr.leave_pair_out(kr.RankRLS(), X[:, weighted.selected_], y, sample_weight=weight)
    right = np.sign(held_out.difference) * np.sign(y[held_out.first] - y[held_out.second]) / 2 + 0.5
    pairs = weight[held_out.first] * weight[held_out.second]
    assert weighted.path_[-1]["pair_accuracy"] == pytest.approx(np.average(right, weights=pairs))


@pytest.mark.parametrize("model", [kr.GreedyRankRLS(4), kr.GreedyRLS(4), kr.GreedyRankRLS(4, query_weight="items")])
def test_other_forms_of_the_same_data_give_the_same_model(model):
    X, y, qid = data(30, 150)
    X[np.abs(X) < 0.5] = 0.0
    weight = np.r_[np.ones(24), np.zeros(6)]
    expected = clone(model).fit(X[:24], y[:24], qid=qid[:24])
    rng = np.random.default_rng(0)
    order = rng.permutation(30)
    forms = {
        "sparse": lambda m: m.fit(sparse.csr_array(X[:24]), y[:24], qid=qid[:24]),
        "columns first": lambda m: m.fit(np.asfortranarray(X[:24]), y[:24], qid=qid[:24]),
        "weights of zero": lambda m: m.fit(X, y, qid=qid, sample_weight=weight),
        "any order": lambda m: m.fit(X[order], y[order], qid=qid[order], sample_weight=weight[order]),
        "threads": lambda m: m.set_params(n_jobs=2).fit(X[:24], y[:24], qid=qid[:24]),
        "single precision": lambda m: m.set_params(dtype="float32").fit(X[:24], y[:24], qid=qid[:24]),
    }
    for name, fit in forms.items():
        found = fit(clone(model))
        assert found.selected_.tolist() == expected.selected_.tolist(), name
        exact = name != "single precision"
        np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-9 if exact else 1e-5, err_msg=name)
        criterion = [[step["criterion"] for step in m.path_] for m in (found, expected)]
        np.testing.assert_allclose(*criterion, rtol=1e-9 if exact else 1e-4, err_msg=name)


def test_duplicates_and_useless_columns_take_the_lowest_number():
    X, y, qid = data(40, 300)
    X[:, 290], X[:, 100], X[:, :3] = X[:, 3], -X[:, 3], 1.0
    model = kr.GreedyRankRLS(1).fit(X, y, qid=qid)
    assert model.selected_.tolist() == [3]
    X[:, 3] = 0.0
    assert kr.GreedyRankRLS(1).fit(X, y, qid=qid).selected_.tolist() == [100]
    constant = kr.GreedyRankRLS(3).fit(np.ones((40, 5)), y, qid=qid)
    assert constant.selected_.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (kr.GreedyRankRLS(13), "from 1, the number of required features, to 12, the number of features of X; got 13"),
        (kr.GreedyRankRLS(1, required_features=[0, 1]), "from 2, the number of required features"),
        (kr.GreedyRankRLS(3, feature_groups=[0, 1] * 6), "to 2, the number of groups of features"),
        (kr.GreedyRankRLS(2, feature_groups=[0, 1]), "one label in feature_groups for each of the 12 features"),
        (kr.GreedyRankRLS(2, required_features=["age"]), "in required_features; got 'age'"),
        (kr.GreedyRankRLS(2, required_features=[12]), "numbers from 0 to 11 in required_features; got 12"),
        (kr.GreedyRankRLS(2, criterion="leave_query_out"), "at least two queries"),
        (kr.GreedyRLS(2, criterion="leave_query_out"), "Pass qid, or use criterion='leave_one_out'"),
        (kr.GreedyRankRLS(2, alpha=[1.0, 0.0]), "alphas must be positive numbers"),
        (kr.GreedyRankRLS(2, alpha=-1.0), "alpha"),
        (kr.GreedyRankRLS(2, criterion="leave_one_out"), "criterion"),
    ],
)
def test_bad_parameters_are_named(model, words):
    X, y, _ = data()
    with pytest.raises(ValueError, match=words):
        model.fit(X, y)
    assert not hasattr(model, "selected_")


def test_pairs_of_several_queries_need_weights_that_allow_it():
    X, y, qid = data()
    with pytest.raises(InvalidInputError, match=r"got 10 queries. Use criterion='leave_query_out', or query_weight"):
        kr.GreedyRankRLS(2, criterion="leave_pair_out").fit(X, y, qid=qid)
    with pytest.raises(InvalidInputError, match=r"at least 4 items to hold pairs out"):
        kr.GreedyRankRLS(2).fit(X[:3], y[:3])


def test_what_does_not_fit_into_memory_is_refused(monkeypatch):
    X, y, qid = data()
    monkeypatch.setattr(states, "available_bytes", lambda: 60 * 12 * 8 * 2)
    kr.GreedyRankRLS(2).fit(X, y, qid=qid)
    with pytest.raises(InvalidInputError, match=r"60 items with 12 columns need 0.0 GB, .* dtype='float32'"):
        kr.GreedyRankRLS(2, floating=True).fit(X, y, qid=qid)
    kr.GreedyRankRLS(2, floating=True, dtype="float32").fit(X, y, qid=qid)
    monkeypatch.setattr(states, "available_bytes", lambda: 1000)
    with pytest.raises(InvalidInputError, match="A sparse X is made dense"):
        kr.GreedyRankRLS(2).fit(sparse.csr_array(X), y, qid=qid)
