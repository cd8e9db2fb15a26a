"""``kernel="auto"``: which candidates there are, and that nested choices equal explicit refits of every candidate."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from kernelrank import (
    RLSCV,
    RankRLS,
    RankRLSCV,
    RLSClassifierCV,
    estimate_auc,
    export,
    leave_pair_out,
    leave_query_out,
    load,
    save,
)
from kernelrank.base.labels import ItemSets
from kernelrank.errors import EdgeOfGridWarning, InvalidInputError
from kernelrank.kernels import Kernel
from kernelrank.model_selection.nested_search import NestedSearch

ALPHAS = [0.01, 1.0, 100.0]
pytestmark = pytest.mark.filterwarnings("ignore::kernelrank.errors.EdgeOfGridWarning")


def items(m=24, seed=0):
    random = np.random.default_rng(seed)
    X = random.standard_normal((m, 4)) * [1.0, 50.0, 0.01, 1.0] + [300.0, 0.0, 0.0, 0.0]
    X[:, 3] = 2.5
    return X, np.abs(X[:, 0] - 300.0) + X[:, 1] / 50.0 + 0.1 * random.standard_normal(m), np.arange(m) % 4


def accuracy(y, f):
    wins = [(y[i] > y[j], f[i] - f[j]) for i in range(len(y)) for j in range(len(y)) if y[i] > y[j]]
    return np.mean([(d > 0) + 0.5 * (d == 0) for _, d in wins])


def test_candidates_are_those_of_the_median_rule_on_standardised_columns():
    X, y, _ = items()
    Z = (X - X.mean(axis=0)) / np.where(np.arange(4) == 3, np.inf, X.std(axis=0))
    model = RankRLSCV(ALPHAS, kernel="auto").fit(X, y)
    tried = [(one["kernel"], one.get("gamma")) for one in model.cv_results_["params"][:: len(ALPHAS)]]
    assert tried[0] == ("linear", None)
    for name in ("rbf", "laplacian"):
        median = Kernel(name, gamma="median").fixed(Z).gamma
        gammas = [gamma for kernel, gamma in tried if kernel == name]
        np.testing.assert_allclose(gammas, median * np.array([1 / 9, 1 / 3, 1, 3, 9]), rtol=1e-10)
    assert set(model.cv_results_["param_kernel"]) == {"linear", "rbf", "laplacian"}
    best = model.best_params_
    assert (model.kernel_.metric, model.gamma_) == (best["kernel"], best.get("gamma"))
    plain = RankRLS(model.alpha_, kernel=best["kernel"], gamma=best.get("gamma")).fit(Z, y)
    np.testing.assert_allclose(model.predict(X), plain.predict(Z), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("basis", [None, 9])
def test_every_candidate_of_every_nested_choice_equals_its_refits(basis):
    X, y, qid = items()
    search = RankRLSCV(ALPHAS, kernel="auto", basis=basis, random_state=0)
    nested = NestedSearch(search, X, y, qid)
    found = nested.values(ItemSets.of([np.flatnonzero(qid == q) for q in range(4)], len(y)))
    settled = nested.search
    assert basis is not None or (found.shape[:2] == (4, 33) and not np.isnan(found).any())
    scores = leave_query_out(search, X, y, qid)
    for q in range(4):
        rest = np.flatnonzero(qid != q)
        values = []
        for setting in settled._settings():
            learner = settled._learner(setting)
            for alpha in ALPHAS:
                inner = []
                for r in set(range(4)) - {q}:
                    train = np.flatnonzero((qid != q) & (qid != r))
                    own = {} if basis is None else {"basis": np.flatnonzero(np.isin(train, settled.basis))}
                    model = clone(learner).set_params(alpha=alpha, **own).fit(X[train], y[train], qid=qid[train])
                    inner.append(accuracy(y[qid == r], model.predict(X[qid == r])))
                values.append((np.mean(inner), learner, alpha))
        if found is not None and not np.isnan(found[q]).any():
            np.testing.assert_allclose(found[q], [value for value, _, _ in values], rtol=1e-8)
        _, learner, alpha = max(values, key=lambda one: one[0])
        own = {} if basis is None else {"basis": np.flatnonzero(np.isin(rest, settled.basis))}
        model = clone(learner).set_params(alpha=alpha, **own).fit(X[rest], y[rest], qid=qid[rest])
        np.testing.assert_allclose(scores[qid == q], model.predict(X[qid == q]), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_pairs_are_held_out_by_a_search_without_them(form):
    X, y, _ = items(14, seed=3)
    search = RankRLSCV(ALPHAS, kernel="auto")
    pairs = [[0, 1], [5, 9], [13, 2]]
    found = leave_pair_out(search, form(X), y, pairs=pairs)
    settled = search._settled(form(X))
    for (i, j), difference in zip(pairs, found.difference, strict=True):
        rest = np.setdiff1d(np.arange(14), [i, j])
        scores = clone(settled).fit(form(X)[rest], y[rest]).predict(form(X)[[i, j]])
        np.testing.assert_allclose(difference, scores[0] - scores[1], rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("Search", [RLSCV, RLSClassifierCV])
def test_regression_and_classes(Search):
    X, y, _ = items(40)
    y = y if Search is RLSCV else y > np.median(y)
    model = Search(kernel="auto").fit(X, y)
    assert model.best_score_ >= max(Search(kernel=one, metric="variance").fit(X, y).best_score_ for one in ("linear",))
    assert model.predict(X).shape == (40,)


def test_files_and_exports_carry_the_metric(tmp_path):
    X, y, _ = items(40)
    model = RankRLSCV(kernel="auto").fit(X, y)
    assert model.kernel_.metric != "linear"
    save(model, tmp_path / "model.krank")
    assert np.array_equal(load(tmp_path / "model.krank").predict(X), model.predict(X))
    export(model, tmp_path / "model.py")
    names = {}
    exec((tmp_path / "model.py").read_text(), names)
    np.testing.assert_allclose(names["score"](X), model.predict(X), rtol=1e-7)


def test_auc_of_noise_and_of_signal():
    random = np.random.default_rng(1)
    X = random.standard_normal((40, 3))
    y = X[:, 0] ** 2 + 0.3 * random.standard_normal(40) > 0.5
    assert estimate_auc(RankRLSCV(ALPHAS, kernel="auto"), X, y).auc > 0.7
    assert estimate_auc(RankRLSCV(ALPHAS), X, y).auc < 0.65


def test_preferences():
    X, y, _ = items(30)
    pairs = np.random.default_rng(0).integers(0, 30, (150, 2))
    pairs = pairs[y[pairs[:, 0]] > y[pairs[:, 1]]]
    model = RankRLSCV(kernel="auto").fit_pairs(X, pairs)
    assert model.best_params_["kernel"] != "linear"
    assert model.score_pairs(X, pairs) > 0.8


def test_other_candidates_without_a_name_are_refused():
    X, y, _ = items()
    for options in ({"kernel_grid": {"gamma": [1.0]}}, {"gamma": 1.0}):
        with pytest.raises(InvalidInputError, match="candidates of its own"):
            RankRLSCV(kernel="auto", **options).fit(X, y)


def test_named_kernels_are_tried_beside_those_of_auto():
    X, y, qid = items()
    X = X - [300.0, 0.0, 0.0, 0.0]
    grid = [{"kernel": ["poly"], "degree": [2], "gamma": ["median"]}, {"kernel": ["cosine"]}]
    model = RankRLSCV(ALPHAS, kernel="auto", kernel_grid=grid).fit(X, y, qid=qid)
    tried = [one["kernel"] for one in model.cv_results_["params"][:: len(ALPHAS)]]
    assert tried == ["linear", *["rbf"] * 5, *["laplacian"] * 5, "poly", "cosine"]
    Z = X / np.where(np.arange(4) == 3, np.inf, X.std(axis=0))
    alone = RankRLSCV(ALPHAS, kernel="poly", degree=2, gamma="median").fit(Z, y, qid=qid)
    places = [place for place, one in enumerate(model.cv_results_["params"]) if one["kernel"] == "poly"]
    ours = model.cv_results_["mean_test_score"][places]
    np.testing.assert_allclose(ours, alone.cv_results_["mean_test_score"], rtol=1e-8)
    scores = leave_query_out(RankRLSCV(ALPHAS, kernel="auto", kernel_grid=grid), X, y, qid)
    settled, rest = RankRLSCV(ALPHAS, kernel="auto", kernel_grid=grid)._settled(X), qid != 1
    expected = settled.fit(X[rest], y[rest], qid=qid[rest]).predict(X[~rest])
    np.testing.assert_allclose(scores[~rest], expected, rtol=1e-8, atol=1e-9)


def test_one_warning_at_the_edge():
    random = np.random.default_rng(0)
    X = np.sort(random.random((60, 1)), axis=0)
    y = np.sign(np.sin(90 * X[:, 0]))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        RankRLSCV(kernel="auto").fit(X, y)
    assert [one.category for one in caught] == [EdgeOfGridWarning]
    assert "with this kernel alone (kernel_grid in Python, --kernels" in str(caught[0].message)
