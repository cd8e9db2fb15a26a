"""RLSClassifier and RLSClassifierCV: as one regression of ±1 for each class, and as refitting by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import GridSearchCV, cross_val_score

import kernelrank as kr
from kernelrank.errors import InvalidInputError
from kernelrank.estimators import RLS, RLSClassifier
from kernelrank.model_selection import RLSCV, RLSClassifierCV
from kernelrank.report import explain, ranking_report
from kernelrank.solvers import Cholesky

pytestmark = pytest.mark.filterwarnings("ignore::kernelrank.errors.EdgeOfGridWarning")

rng = np.random.default_rng(0)
X = rng.standard_normal((45, 4))
X[:15, 0] += 2
X[15:30, 1] += 2
X[30:, 2] += 2
NAMES = np.repeat(["ill", "unclear", "well"], 15)
QID = np.arange(45) % 9
ALPHAS = np.array([0.01, 1.0, 100.0])
OPTIONS = [
    {},
    {"kernel": "rbf", "gamma": 0.3},
    {"kernel": "rbf", "gamma": 0.3, "basis": [0, 7, 16, 22, 31, 40]},
    {"solver": "spectral"},
    {"solver": "conjugate_gradient"},
]


def signs(labels):
    """One column of ±1 for each class."""
    return np.where(labels[:, None] == np.unique(labels), 1.0, -1.0)


def close(found, expected, tolerance=1e-8):
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_each_class_is_a_regression_of_one_and_minus_one(options):
    model = RLSClassifier(0.5, **options).fit(X, NAMES)
    expected = [RLS(0.5, **options).fit(X, column).predict(X) for column in signs(NAMES).T]
    close(model.decision_function(X), np.column_stack(expected))
    np.testing.assert_array_equal(model.predict(X), model.classes_[np.argmax(expected, axis=0)])
    assert model.classes_.tolist() == ["ill", "unclear", "well"]
    assert model.score(X, NAMES) == np.mean(model.predict(X) == NAMES) > 0.7


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_two_classes_are_one_regression(options):
    labels = np.where(NAMES == "well", 7, -3)
    model = RLSClassifier(0.5, **options).fit(X, labels)
    regression = RLS(0.5, **options).fit(X, np.where(labels == 7, 1.0, -1.0))
    np.testing.assert_array_equal(model.decision_function(X), regression.predict(X))
    np.testing.assert_array_equal(model.predict(X), np.where(regression.predict(X) > 0, 7, -3))


def test_all_classes_come_from_one_decomposition(monkeypatch):
    prepared = []
    prepare = Cholesky.prepare
    monkeypatch.setattr(Cholesky, "prepare", lambda *args: prepared.append(args) or prepare(*args))
    RLSClassifier(solver="cholesky").fit(X, NAMES)
    assert len(prepared) == 1


def test_weights_are_copies_and_a_path_is_its_fits():
    weight = 1 + np.arange(45) % 3
    weighted = RLSClassifier(0.5).fit(X, NAMES, sample_weight=weight)
    again = np.repeat(np.arange(45), weight)
    close(weighted.decision_function(X), RLSClassifier(0.5).fit(X[again], NAMES[again]).decision_function(X))
    path = RLSClassifier(kernel="rbf").fit_path(X, NAMES, ALPHAS)
    for model, alpha in zip(path, ALPHAS, strict=True):
        close(model.decision_function(X), RLSClassifier(alpha, kernel="rbf").fit(X, NAMES).decision_function(X))
        assert set(model.predict(X)) <= set(NAMES)


@pytest.mark.parametrize("options", OPTIONS[:3], ids=str)
def test_hold_outs_are_those_of_each_class(options):
    model = RLSClassifier(0.5, **options)
    columns = signs(NAMES)
    close(kr.leave_one_out(model, X, NAMES), kr.leave_one_out(RLS(0.5, **options), X, columns))
    close(kr.leave_query_out(model, X, NAMES, QID), kr.leave_query_out(RLS(0.5, **options), X, columns, QID))
    held = [[0, 20, 44], [3]]
    found = kr.holdout(model, X, NAMES, held, alphas=ALPHAS)
    assert found[0].shape == (3, 3, len(ALPHAS))
    if "basis" in options:
        return
    for items, scores in zip(held, found, strict=True):
        kept = np.setdiff1d(np.arange(45), items)
        for place, alpha in enumerate(ALPHAS):
            refitted = RLSClassifier(alpha, **options).fit(X[kept], NAMES[kept])
            close(scores[:, :, place], refitted.decision_function(X[items]))


@pytest.mark.parametrize("cv", ["leave_one_out", "folds"])
def test_the_search_counts_items_in_the_wrong_class(cv):
    splits = [(np.flatnonzero(q != QID), np.flatnonzero(q == QID)) for q in range(9)]
    model = RLSClassifierCV(ALPHAS, cv=splits if cv == "folds" else cv, kernel="rbf").fit(X, NAMES)
    held = splits if cv == "folds" else [(np.delete(np.arange(45), i), np.array([i])) for i in range(45)]
    wrong = np.zeros((len(ALPHAS), len(held)))
    for number, (train, test) in enumerate(held):
        for place, alpha in enumerate(ALPHAS):
            predicted = RLSClassifier(alpha, kernel="rbf").fit(X[train], NAMES[train]).predict(X[test])
            wrong[place, number] = np.mean(predicted != NAMES[test])
    np.testing.assert_allclose(model.cv_results_["mean_test_score"], -wrong.mean(axis=1))
    assert model.alpha_ == ALPHAS[np.argmin(wrong.mean(axis=1))]
    assert model.best_score_ == -wrong.mean(axis=1).min()
    assert model.holdout_scores_.shape == (45, 3)
    np.testing.assert_array_equal(model.predict(X), RLSClassifier(model.alpha_, kernel="rbf").fit(X, NAMES).predict(X))


def test_a_measure_is_averaged_over_the_classes():
    model = RLSClassifierCV(ALPHAS, scoring="auc").fit(X, NAMES)
    held = kr.leave_one_out(RLSClassifier(), X, NAMES, alphas=ALPHAS)
    columns = signs(NAMES)
    expected = [np.mean([kr.metrics.auc(columns[:, k], held[:, k, a]) for k in range(3)]) for a in range(3)]
    np.testing.assert_allclose(model.cv_results_["mean_test_score"], expected)


def test_it_is_a_classifier_of_scikit_learn():
    scores = cross_val_score(RLSClassifier(), X, NAMES, cv=3, scoring="accuracy")
    assert scores.mean() > 0.6
    search = GridSearchCV(RLSClassifier(), {"alpha": ALPHAS}, scoring="balanced_accuracy", cv=3).fit(X, NAMES)
    assert set(search.predict(X)) <= set(NAMES)
    close(
        RLSClassifier().fit(sparse.csr_array(X), NAMES).decision_function(X),
        RLSClassifier().fit(X, NAMES).decision_function(X),
    )


@pytest.mark.parametrize("model", [RLSClassifier(kernel="rbf"), RLSClassifierCV(ALPHAS, cv=3)])
def test_it_is_saved_and_loaded(model, tmp_path):
    kr.save(model.fit(X, NAMES), tmp_path / "model.kr")
    loaded = kr.load(tmp_path / "model.kr")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_differences_are_explained_class_by_class():
    model = RLSClassifier().fit(X, NAMES)
    scores = model.decision_function(X[:2])
    assert explain(model, X[:2], output=1).difference == pytest.approx(scores[0, 1] - scores[1, 1])
    with pytest.raises(InvalidInputError, match="expected a model with two classes; got 3"):
        ranking_report(model, X, NAMES)
    with pytest.raises(InvalidInputError, match="two classes, and y has 3 classes"):
        kr.estimate_auc(model, X, NAMES)


def test_regression_has_no_task():
    for kind in (RLS, RLSCV):
        with pytest.raises(TypeError, match="task"):
            kind(task="classification")
    assert not hasattr(RLSClassifier(), "partial_fit")
