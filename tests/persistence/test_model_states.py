"""Forged models: a seal that is right, and attributes that no fitted model has. `load` refuses them, not `predict`."""

from __future__ import annotations

import contextlib
import copy

import numpy as np
import pytest
from scipy import sparse
from sklearn.gaussian_process.kernels import RBF
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelrank as kr
from kernelrank.errors import InvalidInputError, ModelFileError
from kernelrank.persistence import model_files
from kernelrank.persistence.fitted_states import REGISTRY
from kernelrank.persistence.model_files import load, save
from kernelrank.relations import PartsVectorizer, RelationExtractor, candidate_graphs, candidate_parts, make_corpus

X, Y, QID = kr.make_ranking(n_queries=8, n_items=5, n_features=4, n_levels=4, random_state=0)
TWO = np.column_stack([Y, -Y])
PARTLY = np.where(QID < 5, Y, np.nan)
CORPUS = make_corpus(12, random_state=0)
CANDIDATES = CORPUS.candidates
KERNEL = X @ X.T
PAIRS = [[0, 1], [1, 2], [2, 0], [3, 1], [2, 4], [5, 6]]
EFFECTS = {"ties": "davidson", "side_bias": True, "judge_effect": "side"}
OF_PAIRS = {
    "tie": [False, True, False, False, True, False],
    "side": [1, 1, -1, 0, 1, -1],
    "judge": ["ann", "bob", "ann", "cy", "bob", "ann"],
}


def pipeline():
    model = make_pipeline(StandardScaler(), kr.NystromMap(basis=6), kr.RankRLS())
    return model.fit(X, Y, rankrls__qid=QID)


def leaderboard():
    votes = np.array(PAIRS)
    return kr.Leaderboard().fit(*votes.T, tie=OF_PAIRS["tie"], judge=OF_PAIRS["judge"], features=(np.arange(len(X)), X))


def paths():
    return kr.AllPathsVectorizer(max_length=4, decay="auto").fit(list(candidate_graphs(CANDIDATES)))


MODELS = {
    "linear": lambda: (kr.RankRLS().fit(X, Y, qid=QID), X),
    "two outputs": lambda: (kr.RankRLS().fit(X, TWO, qid=QID), X),
    "rbf": lambda: (kr.RankRLS(kernel="rbf").fit(X, TWO, qid=QID), X),
    "sparse": lambda: (kr.RankRLS(kernel="rbf").fit(sparse.csr_array(X), Y, qid=QID), sparse.csr_array(X)),
    "object": lambda: (kr.RankRLS(kernel=RBF([1.0, 2.0, 3.0, 4.0])).fit(X, Y, qid=QID), X),
    "basis": lambda: (kr.RankRLS(kernel="poly", basis=6).fit(X, Y, qid=QID), X),
    "precomputed": lambda: (kr.RankRLS(kernel="precomputed").fit(KERNEL, Y, qid=QID), KERNEL),
    "precomputed basis": lambda: (kr.RankRLS(kernel="precomputed", basis=3).fit(KERNEL, Y, qid=QID), KERNEL),
    "search": lambda: (kr.RankRLSCV(alphas=[0.1, 1.0, 10.0, 100.0]).fit(X, Y, qid=QID), X),
    "svm": lambda: (kr.RankSVM().fit(X, Y, qid=QID), X),
    "votes": lambda: (kr.BradleyTerry().fit(X, Y, qid=QID), X),
    "votes with judges": lambda: (kr.BradleyTerry(kernel="rbf", **EFFECTS).fit_pairs(X, PAIRS, **OF_PAIRS), X),
    "few features": lambda: (kr.GreedyRankRLS(2).fit(X, Y, qid=QID), X),
    "few features of two outputs": lambda: (kr.GreedyRLS(2, floating=True).fit(X, TWO), X),
    "leaderboard": lambda: (leaderboard(), None),
    "rls": lambda: (kr.RLS().fit(X, Y), X),
    "two classes": lambda: (kr.RLSClassifier().fit(X, QID % 2), X),
    "three classes": lambda: (kr.RLSClassifier(kernel="rbf").fit(X, np.array(["a", "b", "c"])[QID % 3]), X),
    "classes search": lambda: (kr.RLSClassifierCV(alphas=[1e-4, 1.0, 1e4]).fit(X, QID % 3), X),
    "rls search": lambda: (kr.RLSCV(alphas=[1e-4, 0.1, 1.0, 100.0]).fit(X, Y), X),
    "views": lambda: (
        kr.CoRankRLS(views=[kr.View(columns=[0, 1]), kr.View(kernel="rbf", basis=6)]).fit(X, PARTLY, qid=QID),
        X,
    ),
    "views search": lambda: (kr.CoRankRLSCV(alphas=[1e-6, 1.0, 1e6], nus=[0.1, 1.0]).fit(X, PARTLY, qid=QID), X),
    "transductive": lambda: (kr.TransductiveRankRLS().fit(X, PARTLY, qid=QID), X),
    "transductive search": lambda: (
        kr.TransductiveRankRLSCV([1e-4, 1.0, 1e4], [0.1, 10.0]).fit(X, PARTLY, qid=QID),
        X,
    ),
    "clusters": lambda: (kr.MaxMarginClustering(3, n_init=2, random_state=0).fit(X), X),
    "dyads": lambda: (kr.KroneckerRankRLS(kernel_rows="rbf", relation="any").fit(X, None, np.outer(Y, Y)), X),
    "dyads in the primal": lambda: (kr.KroneckerRLS(relation="symmetric").fit(X, None, np.outer(Y, Y)), X),
    "dyads search": lambda: (
        kr.KroneckerRLSCV([0.1, 1.0, 9.0], setting="row", cv=2, relation="any").fit(X, None, np.outer(Y, Y)),
        X,
    ),
    "two steps": lambda: (
        kr.TwoStepRLSCV([0.1, 1.0, 9.0], kernel_rows="rbf", relation="any").fit(X, None, np.outer(Y, Y)),
        X,
    ),
    "map": lambda: (kr.NystromMap(basis=6).fit(X), X),
    "risks": lambda: (kr.CalibratedRanker(kr.RankRLS(), cv=3).fit(X, QID % 2), X),
    "risks by steps": lambda: (kr.CalibratedRanker(kr.RLS(), calibration="isotonic", cv=3).fit(X, QID % 2), X),
    "scaler": lambda: (StandardScaler().fit(X), X),
    "pipeline": lambda: (pipeline(), X),
    "paths": lambda: (paths(), list(candidate_graphs(CANDIDATES))),
    "parts": lambda: (PartsVectorizer().fit(list(candidate_parts(CANDIDATES))), list(candidate_parts(CANDIDATES))),
    "relations": lambda: (RelationExtractor(alphas=[0.25, 2.0]).fit(CANDIDATES), CANDIDATES),
}


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *_, **__: None)  # the grids are small
        return MODELS[request.param]()


# What a model for other items, or of senseless numbers, may raise.
ORDINARY = (ValueError, TypeError, AttributeError, IndexError, KeyError, ArithmeticError, RuntimeWarning)


def used(model, items):
    """Use a model for what it is for."""
    if isinstance(model, kr.Leaderboard):
        model.judges()
        return np.asarray(model.table()["std_error"])
    result = model.predict(items) if hasattr(model, "predict") else model.transform(items)
    values = np.asarray(result.sum(axis=1)) if sparse.issparse(result) else result
    assert result.shape[0] == (items.shape[0] if hasattr(items, "shape") else len(items))
    assert values.dtype.kind in "USbiuf"
    return values


def saved_without_doubt(model, path):
    """Save a model as a forger does, who does not ask what it should be."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model_files, "_state_fault", lambda model: None)
        patch.setattr("os.fsync", lambda _: None)
        save(model, path)


def forged_values(value):
    """Return what a forger might put in the place of a value."""
    yield from ("text", None, -1, 0, 1.5, float("nan"), 10**30, [], {}, np.array(["a"]), np.zeros((2, 2, 2)))
    if isinstance(value, np.ndarray) and value.ndim:
        yield value[:-1]
        yield np.concatenate([value, value[-1:]])
        yield value[..., None]
        yield value.T if value.ndim > 1 else value[None]
        yield value.astype(str)
        if value.dtype.kind == "f":
            yield np.full_like(value, np.nan)
            yield np.full_like(value, np.inf)
            yield value.astype(complex)
        if value.dtype.kind in "iu":
            yield value + 10**6
            yield value - 10**6
            yield value.astype(float)
    if sparse.issparse(value):
        yield value[:-1]
        yield value[:, :-1]
        yield value * np.nan
    if isinstance(value, (list, tuple)) and len(value):
        yield value[:-1]
        for place, entry in enumerate(value):
            for forged in forged_values(entry):
                yield type(value)([*value[:place], forged, *value[place + 1 :]])


def test_every_class_that_can_be_saved_has_a_state():
    assert [name for name, (_, state) in REGISTRY.items() if state is None] == []


def test_what_was_fitted_is_accepted(fitted, tmp_path):
    model, items = fitted
    save(model, tmp_path / "m.kr")
    values = used(model, items)
    assert values.dtype.kind in "US" or np.isfinite(values).all()
    assert np.array_equal(used(load(tmp_path / "m.kr"), items), values)


def test_forged_attributes_are_refused_or_harmless(fitted):
    """What is not refused is another model: it does its work, or says in an exception that it cannot."""
    model, items = fitted
    n_refused, n_items = 0, len(used(model, items))
    for name, value in list(vars(model).items()):
        if not name.endswith("_"):
            continue
        for number, forged in enumerate(forged_values(value)):
            forgery = copy.copy(model)
            vars(forgery)[name] = forged
            if REGISTRY[type(model).__name__][1].fault(forgery) is not None:
                n_refused += 1
            else:
                with contextlib.suppress(*ORDINARY):
                    assert len(used(forgery, items)) == n_items, (name, number, forged)
    assert n_refused > 20 or type(model).__name__ == "Pipeline"


@pytest.mark.parametrize("name", ["two outputs", "rbf", "views", "paths", "scaler"])
def test_load_refuses_them(name, tmp_path):
    model, _ = MODELS[name]()
    for attribute in REGISTRY[type(model).__name__][1].needed:
        forgery = copy.copy(model)
        vars(forgery)[attribute] = np.array(["text"])
        saved_without_doubt(forgery, tmp_path / "m.kr")
        with pytest.raises(ModelFileError, match=f"{type(model).__name__}: .*expected"):
            load(tmp_path / "m.kr")


def test_missing_attributes_are_refused(fitted, tmp_path):
    model, items = fitted
    for name in [name for name in vars(model) if name.endswith("_")]:
        forgery = copy.copy(model)
        del vars(forgery)[name]
        if name == "estimator_":
            with pytest.raises(InvalidInputError, match="parameter estimator of CalibratedRanker: it is not fitted"):
                saved_without_doubt(forgery, tmp_path / "m.kr")
            continue
        saved_without_doubt(forgery, tmp_path / "m.kr")
        try:
            loaded = load(tmp_path / "m.kr")
        except ModelFileError:
            continue
        assert np.array_equal(used(loaded, items), used(model, items)), name


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        (
            "linear",
            {"coef_": np.zeros(3)},
            r"RankRLS: coef_: expected .* of shape \(4,\) or \(outputs, 4\), got .* \(3,\)",
        ),
        ("linear", {"coef_": np.full(4, np.nan)}, "coef_: expected an array of finite floats .* that is not finite"),
        (
            "linear",
            {"coef_": np.array(list("abcd"))},
            "coef_: expected an array of finite floats .* got an array of <U1",
        ),
        ("linear", {"n_features_in_": "4"}, "n_features_in_: expected a whole number, got a str"),
        ("linear", {"dual_coef_": np.zeros(4)}, "expected coef_ or dual_coef_ and X_fit_, got coef_, dual_coef_"),
        ("rbf", {"X_fit_": None}, "expected X_fit_ if and only if the kernel is not precomputed"),
        ("rbf", {"X_fit_": np.zeros((3, 4))}, r"X_fit_: expected None or .* of shape \(40, 4\), got .* \(3, 4\)"),
        (
            "precomputed basis",
            {"basis_": np.array([0, 1, 99])},
            "coefficients for the columns of the precomputed kernel",
        ),
        ("paths", {"seconds_": None}, "seconds_: expected an array of indices below"),
    ],
)
def test_messages(tmp_path, name, change, message):
    model, _ = MODELS[name]()
    vars(model).update(change)
    saved_without_doubt(model, tmp_path / "m.kr")
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path / "m.kr")
    with pytest.raises(InvalidInputError, match=f"cannot save .*{message.removeprefix('RankRLS: ')}"):
        save(model, tmp_path / "m.kr")


@pytest.mark.parametrize(
    "params", [{"alpha": -1.0}, {"alpha": float("nan")}, {"alpha": "1"}, {"kernel": "no"}, {"degree": "x"}]
)
def test_forged_parameters_are_refused(tmp_path, params):
    model = kr.RankRLS().fit(X, Y, qid=QID).set_params(**params)
    saved_without_doubt(model, tmp_path / "m.kr")
    with pytest.raises(ModelFileError, match=f"The '{next(iter(params))}' parameter of RankRLS"):
        load(tmp_path / "m.kr")


@pytest.mark.parametrize("gamma", [float("nan"), float("inf"), -1.0, "x", [1.0]])
def test_forged_kernels_are_refused(tmp_path, gamma):
    import dataclasses

    model = kr.RankRLS(kernel="rbf").fit(X, Y, qid=QID)
    model.kernel_ = dataclasses.replace(model.kernel_, gamma=gamma)
    saved_without_doubt(model, tmp_path / "m.kr")
    with pytest.raises(ModelFileError, match="kernel"):
        load(tmp_path / "m.kr")


def test_steps_that_do_not_follow(tmp_path):
    model = pipeline()
    model.steps[1] = ("nystrommap", kr.NystromMap(basis=3).fit(X))
    saved_without_doubt(model, tmp_path / "m.kr")
    with pytest.raises(ValueError, match="features"):
        load(tmp_path / "m.kr").predict(X)
