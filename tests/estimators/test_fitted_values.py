"""A fitted model is a value: nothing that the caller does to data or parameters later changes it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

import kernelrank as kr
from kernelrank.report import explain
from kernelrank.report.ranking import describe_kernel

rng = np.random.default_rng(0)
X = rng.standard_normal((24, 3))
y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(24)
qid = np.repeat(np.arange(4), 6)
NEW = rng.standard_normal((5, 3))
OTHER = {"kernel": "poly", "gamma": 9.0, "degree": 2, "coef0": 5.0}

LEARNERS = {
    "linear": lambda: kr.RankRLS(),
    "gaussian": lambda: kr.RankRLS(kernel="rbf", gamma=0.3),
    "basis": lambda: kr.RankRLS(kernel="rbf", gamma=0.3, basis=[1, 5, 9]),
    "regression": lambda: kr.RLS(kernel="laplacian"),
    "object": lambda: kr.RankRLS(kernel=RBF(2.0) + WhiteKernel(0.1)),
    "support vectors": lambda: kr.RankSVM(kernel="rbf"),
    "search": lambda: kr.RankRLSCV([0.1, 1.0], kernel_grid={"kernel": ["rbf"], "gamma": [0.1, 0.3]}),
    "search of regression": lambda: kr.RLSCV([0.1, 1.0], kernel="rbf"),
    "views": lambda: kr.CoRankRLS(nu=0.0, random_state=0),
    "search of views": lambda: kr.CoRankRLSCV([0.1, 1.0], [0.0], cv=2, random_state=0),
}


@pytest.mark.parametrize("form", [np.array, np.asfortranarray, sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("name", LEARNERS)
def test_the_items_may_be_overwritten(name, form):
    if name == "object" and form in (sparse.csr_array, sparse.csc_array):
        pytest.skip("Gaussian-process kernels take dense items")
    items, scores, queries = form(X), y.copy(), qid.copy()
    model = LEARNERS[name]().fit(items, scores, qid=queries)
    before = model.predict(NEW)
    (items.data if sparse.issparse(items) else items)[:] = 7.0
    scores[:], queries[:] = 0.0, 0
    np.testing.assert_array_equal(model.predict(NEW), before)


@pytest.mark.parametrize("name", LEARNERS)
def test_parameters_may_be_set_anew(name, tmp_path):
    model = LEARNERS[name]().fit(X, y, qid=qid)
    scores, accuracy = model.predict(NEW), model.score(X, y, qid=qid)
    model.set_params(**OTHER)
    np.testing.assert_array_equal(model.predict(NEW), scores)
    assert model.score(X, y, qid=qid) == accuracy
    kr.save(model, tmp_path / "model.kr")
    np.testing.assert_array_equal(kr.load(tmp_path / "model.kr").predict(NEW), scores)
    if name != "search":  # whose grid has the last word
        assert np.any(model.fit(X, y, qid=qid).predict(NEW) != scores)


@pytest.mark.parametrize("name", ["gaussian", "basis", "search", "support vectors"])
def test_explanations_and_reports_are_of_the_fitted_kernel(name):
    model = LEARNERS[name]().fit(X, y, qid=qid)
    expected, words = explain(model, NEW[:2]).contributions, describe_kernel(model)
    model.set_params(**OTHER)
    np.testing.assert_array_equal(explain(model, NEW[:2]).contributions, expected)
    assert describe_kernel(model) == words


def test_a_precomputed_kernel_stays_one():
    K = X @ X.T
    for model in (kr.RankRLS(kernel="precomputed"), kr.RankRLS(kernel="precomputed", basis=[0, 4, 8])):
        before = model.fit(K, y, qid=qid).predict(K[:3])
        model.set_params(kernel="rbf")
        np.testing.assert_array_equal(model.predict(K[:3]), before)


def test_a_kernel_for_sparse_items_stays_one():
    model = kr.RankRLS(kernel="rbf").fit(X, y)
    expected = model.predict(sparse.csr_array(NEW))
    np.testing.assert_array_equal(model.set_params(kernel=RBF()).predict(sparse.csr_array(NEW)), expected)


class Cosine:
    """A kernel function that can be changed."""

    def __init__(self, power):
        self.power = power

    def __call__(self, a, b, offset=0.0):
        return (float(a @ b) / np.sqrt((a @ a) * (b @ b))) ** self.power + offset


class Unique(Cosine):
    """A kernel function that cannot be copied."""

    def __deepcopy__(self, memo):
        raise TypeError("there is one of this")


def test_kernel_objects_may_be_changed():
    gaussian = RBF(2.0)
    model = kr.RankRLS(kernel=gaussian).fit(X, y)
    before = model.predict(NEW)
    gaussian.length_scale = 0.1
    np.testing.assert_array_equal(model.predict(NEW), before)
    function, options = Cosine(3), {"offset": 0.5}
    model = kr.RankRLS(kernel=function, kernel_params=options).fit(X, y)
    before = model.predict(NEW)
    function.power, options["offset"] = 1, 4.0
    np.testing.assert_array_equal(model.predict(NEW), before)


def test_a_function_that_cannot_be_copied_is_taken():
    function = Unique(1)
    assert kr.RankRLS(kernel=function).fit(X, y).kernel_.metric is function


def test_parameters_in_a_grid_may_be_changed():
    options = {"offset": 0.5}
    grid = {"kernel": [Cosine(1)], "kernel_params": [options]}
    model = kr.RankRLSCV([0.1, 1.0], kernel_grid=grid, cv=3).fit(X, y)
    before = model.predict(NEW)
    options["offset"], grid["kernel"][0].power = 9.0, 3
    np.testing.assert_array_equal(model.predict(NEW), before)


def test_models_of_a_path():
    items = X.copy()
    path = kr.RankRLS(kernel="rbf").fit_path(items, y, [0.1, 1.0])
    transductive = kr.TransductiveRankRLS(kernel="rbf")
    anchored = transductive.fit_path(items, np.where(qid < 2, y, np.nan), [0.1, 1.0], qid=qid)
    before = [model.predict(NEW) for model in (*path, *anchored)]
    items[:] = 0.0
    for model, expected in zip((*path, *anchored), before, strict=True):
        np.testing.assert_array_equal(model.set_params(**OTHER).predict(NEW), expected)
    assert path[0].X_fit_ is path[1].X_fit_


def test_streams():
    model = kr.RankRLS(kernel="rbf", gamma=0.3, basis=[0, 3, 7])
    items = X.copy()
    model.partial_fit(items[:12], y[:12], qid=qid[:12])
    before = model.predict(NEW)
    items[:] = 0.0
    np.testing.assert_array_equal(model.set_params(**OTHER).predict(NEW), before)


def test_a_stream_begins_with_the_kernel_of_the_parameters():
    model = kr.RankRLS(kernel="rbf").fit(X, y, qid=qid).set_params(kernel="linear")
    with pytest.warns(UserWarning, match="starts again"):
        model.partial_fit(X, y, qid=qid)
    np.testing.assert_allclose(model.coef_, kr.RankRLS().fit(X, y, qid=qid).coef_)


@pytest.mark.parametrize("options", [{"basis": 6}, {"basis": 6, "basis_selection": "k_means"}, {"basis": [2, 5, 8]}])
def test_nystrom_map(options, tmp_path):
    items = X.copy()
    nystrom = kr.NystromMap(gamma=0.3, random_state=0, **options).fit(items)
    features, coefficients = nystrom.transform(NEW), nystrom.reduced_set(np.ones(nystrom.rank_))
    items[:] = 0.0
    nystrom.set_params(**OTHER)
    np.testing.assert_array_equal(nystrom.transform(NEW), features)
    np.testing.assert_array_equal(nystrom.reduced_set(np.ones(nystrom.rank_)), coefficients)
    kr.save(nystrom, tmp_path / "map.kr")
    np.testing.assert_array_equal(kr.load(tmp_path / "map.kr").transform(NEW), features)


def test_a_map_that_cannot_be_fitted_is_what_it_was():
    nystrom = kr.NystromMap(6, random_state=0).fit(X)
    features = nystrom.transform(NEW)
    with pytest.raises(ValueError, match="basis has the item 99"):
        nystrom.set_params(basis=[99]).fit(X[:, :2])
    np.testing.assert_array_equal(nystrom.transform(NEW), features)


def test_views():
    items, basis = X.copy(), X[:4].copy()
    views = [kr.View("rbf", gamma=0.2, basis=basis), {"kernel": RBF(2.0), "columns": [0, 2], "basis": basis}]
    model = kr.CoRankRLS(nu=0.0, views=views).fit(items, y, qid=qid)
    before = model.predict_views(NEW)
    items[:] = basis[:] = 0.0
    views[1]["kernel"].length_scale = 9.0
    views[0] = kr.View("linear")
    np.testing.assert_array_equal(model.predict_views(NEW), before)
    np.testing.assert_array_equal(model.set_params(views=3).predict_views(NEW), before)
