"""CoRankRLS against its literal objective, and what follows from that objective."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics.pairwise import pairwise_kernels

from kernelrank.estimators import CoRankRLS, RankRLS
from kernelrank.features import View
from tests.oracles.co_rank_rls import OracleView, disagreement, fit_predict

pd = pytest.importorskip("pandas")


def data(seed=0, n=4, scored=4, unscored=5, outputs=0):
    """Queries of one to nine items, mixed, with some equal scores and some equal rows."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 10, size=scored + unscored)
    qid = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    X = rng.normal(size=(len(qid), n))
    X[:3] = X[3:6]
    y = np.round(
        X @ rng.normal(size=(n, outputs) if outputs else n)
        + 0.3 * rng.normal(size=(len(X),) + (outputs,) * bool(outputs)),
        1,
    )
    known = qid < scored
    return X[known], y[known], qid[known], X[~known], qid[~known], rng.normal(size=(6, n))


def rbf(A, B):
    return pairwise_kernels(A, B, metric="rbf")


def oracle_views(model, X, X_unscored, new, kernels=None):
    pool = np.vstack([X, X_unscored])
    views = []
    for number, basis in enumerate(model.basis_):
        columns = slice(None) if model.columns_[number] is None else model.columns_[number]
        kernel = rbf if kernels is None else kernels[number]
        parts = [items[:, columns] for items in (X, X_unscored, new, pool[basis])]
        views.append(OracleView.of(kernel, *parts))
    return views


def assert_close(found, expected, digits=1e-8):
    np.testing.assert_allclose(found, expected, rtol=0, atol=digits * np.abs(expected).max())


@pytest.mark.parametrize("query_weight", ["pairs", "items", "queries"])
@pytest.mark.parametrize("n_views", [2, 3])
@pytest.mark.parametrize(("alpha", "nu"), [(0.3, 0.07), (2.0**-15, 3.0), (2.0**15, 1e-3), (1.0, 0.0)])
def test_equals_the_literal_objective(query_weight, n_views, alpha, nu):
    X, y, qid, X_u, qid_u, new = data(seed=n_views)
    model = CoRankRLS(alpha, nu, views=n_views, basis=7, query_weight=query_weight, random_state=0)
    model.fit(X, y, qid=qid, X_unscored=X_u, qid_unscored=qid_u)
    views = oracle_views(model, X, X_u, new)
    expected = fit_predict(views, y, qid, qid_u, alpha, nu, query_weight=query_weight)
    assert_close(model.predict_views(new), expected)
    assert_close(model.predict(new), expected.mean(axis=1))
    own = disagreement(views, model.predict_views(X_u), qid_u, query_weight)
    assert model.disagreement_ == pytest.approx(own, rel=1e-8)


def test_a_basis_of_item_numbers_is_that_of_every_view():
    X, y, qid, X_u, qid_u, new = data(seed=3)
    extra = {"qid": qid, "X_unscored": X_u, "qid_unscored": qid_u}
    numbers, kernels = [0, 4, len(X) + 1], [{"columns": [0, 1]}, {"gamma": 0.2}]
    model = CoRankRLS(views=kernels, basis=numbers).fit(X, y, **extra)
    expected = CoRankRLS(views=[{**view, "basis": numbers} for view in kernels]).fit(X, y, **extra)
    np.testing.assert_array_equal(model.predict_views(new), expected.predict_views(new))
    items = CoRankRLS(views=kernels, basis=np.vstack([X[[0, 4]], X_u[[1]]])).fit(X, y, **extra)
    np.testing.assert_allclose(items.predict_views(new), expected.predict_views(new))


@pytest.mark.parametrize("options", [{"cost": "unit"}, {"cost": "relative"}, {"ties": "exclude"}])
def test_every_cost_of_scored_pairs(options):
    X, y, qid, X_u, qid_u, new = data(seed=3)
    model = CoRankRLS(0.5, 0.1, basis=6, random_state=0, **options).fit(
        X, y, qid=qid, X_unscored=X_u, qid_unscored=qid_u
    )
    expected = fit_predict(oracle_views(model, X, X_u, new), y, qid, qid_u, 0.5, 0.1, **options)
    assert_close(model.predict_views(new), expected)


@pytest.mark.parametrize("query_weight", ["pairs", "items", "queries"])
def test_dense_with_every_item_in_the_basis(query_weight):
    X, y, qid, X_u, qid_u, new = data(seed=4)
    views = [View("rbf", gamma=0.3), View("poly", degree=2, gamma=0.5)]
    kernels = [
        lambda A, B: pairwise_kernels(A, B, metric="rbf", gamma=0.3),
        lambda A, B: pairwise_kernels(A, B, metric="poly", degree=2, gamma=0.5, coef0=1.0),
    ]
    model = CoRankRLS(0.2, 0.05, views=views, basis="all", query_weight=query_weight).fit(
        X, y, qid=qid, X_unscored=X_u, qid_unscored=qid_u
    )
    assert [len(basis) for basis in model.basis_] == [len(X) + len(X_u)] * 2
    found = oracle_views(model, X, X_u, new, kernels)
    expected = fit_predict(found, y, qid, qid_u, 0.2, 0.05, query_weight=query_weight)
    assert_close(model.predict_views(new), expected)


def test_singular_kernels():
    """Nine linear basis items in four columns, some of them equal."""
    X, y, qid, X_u, qid_u, new = data(seed=5)
    views = [View("linear", columns=[0, 1], basis=range(9)), View("linear", columns=[1, 2, 3], basis=range(2, 12))]
    model = CoRankRLS(0.1, 0.4, views=views).fit(X, y, qid=qid, X_unscored=X_u, qid_unscored=qid_u)
    kernels = [lambda A, B: A @ B.T] * 2
    expected = fit_predict(oracle_views(model, X, X_u, new, kernels), y, qid, qid_u, 0.1, 0.4)
    assert_close(model.predict_views(new), expected)


def test_without_nu_every_view_is_a_sparse_rank_rls():
    X, y, qid, X_u, qid_u, new = data(seed=6, scored=8)
    bases = [[0, 3, 5, 9], [1, 2, 4, 8, 10]]
    views = [View(gamma=0.2, basis=bases[0]), View("poly", columns=[0, 2], basis=bases[1])]
    model = CoRankRLS(0.7, 0.0, views=views, query_weight="items").fit(
        X, y, qid=qid, X_unscored=X_u, qid_unscored=qid_u
    )
    first = RankRLS(0.7, kernel="rbf", gamma=0.2, basis=bases[0], query_weight="items").fit(X, y, qid=qid)
    second = RankRLS(0.7, kernel="poly", basis=bases[1], query_weight="items").fit(X[:, [0, 2]], y, qid=qid)
    expected = np.column_stack([first.predict(new), second.predict(new[:, [0, 2]])])
    assert_close(model.predict_views(new), expected)
    alone = CoRankRLS(0.7, 0.0, views=views, query_weight="items").fit(X, y, qid=qid)
    assert_close(alone.predict_views(new), expected)
    assert np.isnan(alone.disagreement_)
    assert (alone.n_unscored_, alone.n_unscored_queries_) == (0, 0)


def test_disagreement_falls_as_nu_grows():
    X, y, qid, X_u, qid_u, _ = data(seed=7, unscored=9)
    models = [
        CoRankRLS(0.1, nu, basis=6, random_state=0).fit(X, y, qid=qid, X_unscored=X_u, qid_unscored=qid_u)
        for nu in [0, 1e-3, 1, 1e3, 1e9]
    ]
    found = [model.disagreement_ for model in models]
    assert found == sorted(found, reverse=True)
    assert found[-1] < 1e-6 * found[0]


def test_nan_marks_unscored_items():
    X, y, qid, X_u, qid_u, new = data(seed=8)
    both = np.vstack([X, X_u])
    order = np.random.default_rng(0).permutation(len(both))
    place = np.argsort(order)
    bases = [[0, 4, len(X) + 1], [2, len(X) + 3]]
    apart = CoRankRLS(0.2, 0.3, views=[View(basis=basis) for basis in bases]).fit(
        X, y, qid=qid, X_unscored=X_u, qid_unscored=qid_u
    )
    views = [View(basis=place[basis]) for basis in bases]
    scores = np.concatenate([y, np.full(len(X_u), np.nan)])
    mixed = CoRankRLS(0.2, 0.3, views=views).fit(both[order], scores[order], qid=np.concatenate([qid, qid_u])[order])
    assert_close(mixed.predict_views(new), apart.predict_views(new), 1e-12)
    assert mixed.n_unscored_ == len(X_u)
    assert mixed.n_unscored_queries_ == len(set(qid_u))
    assert mixed.n_queries_ == len(set(qid))


def test_path_of_alphas_equals_single_fits():
    X, y, qid, X_u, qid_u, new = data(seed=9)
    learner = CoRankRLS(nu=0.2, basis=8, random_state=1)
    alphas = 2.0 ** np.arange(-12, 13, 4)
    path = learner.fit_path(X, y, alphas, qid=qid, X_unscored=X_u, qid_unscored=qid_u)
    assert not hasattr(learner, "dual_coef_")
    for alpha, model in zip(alphas, path, strict=True):
        single = CoRankRLS(alpha, 0.2, basis=8, random_state=1).fit(X, y, qid=qid, X_unscored=X_u, qid_unscored=qid_u)
        assert model.alpha == alpha
        assert_close(model.predict_views(new), single.predict_views(new))
        assert model.disagreement_ == pytest.approx(single.disagreement_, rel=1e-6)


@pytest.mark.parametrize("cost", ["magnitude", "unit"])
def test_several_outputs_are_learnt_one_by_one(cost):
    X, y, qid, X_u, qid_u, new = data(seed=10, outputs=3)
    model = CoRankRLS(0.3, 0.1, basis=6, cost=cost, random_state=0).fit(
        X, y, qid=qid, X_unscored=X_u, qid_unscored=qid_u
    )
    assert model.predict(new).shape == (6, 3)
    assert model.predict_views(new).shape == (6, 2, 3)
    for k in range(3):
        one = CoRankRLS(0.3, 0.1, basis=6, cost=cost, random_state=0).fit(
            X, y[:, k], qid=qid, X_unscored=X_u, qid_unscored=qid_u
        )
        assert_close(model.predict_views(new)[:, :, k], one.predict_views(new))
        assert model.disagreement_[k] == pytest.approx(one.disagreement_, rel=1e-8)


def test_a_weight_of_two_repeats_an_item():
    X, y, qid, X_u, qid_u, new = data(seed=11)
    views = [View(basis=X[:5]), View(basis=X_u[:4])]
    weight = np.where(np.arange(len(X)) % 3 == 0, 2, 1)
    weighted = CoRankRLS(0.3, 0.1, views=views).fit(
        X, y, qid=qid, X_unscored=X_u, qid_unscored=qid_u, sample_weight=weight
    )
    again = np.repeat(np.arange(len(X)), weight)
    repeated = CoRankRLS(0.3, 0.1, views=views).fit(
        X[again], y[again], qid=qid[again], X_unscored=X_u, qid_unscored=qid_u
    )
    assert_close(weighted.predict_views(new), repeated.predict_views(new))
    assert weighted.basis_ == [None, None]


def test_order_and_level_do_not_matter():
    X, y, qid, X_u, qid_u, new = data(seed=12)
    views = [View(basis=X[:5]), View(basis=X_u[:4])]
    model = CoRankRLS(0.3, 0.1, views=views).fit(X, y, qid=qid, X_unscored=X_u, qid_unscored=qid_u)
    rng = np.random.default_rng(0)
    a, b = rng.permutation(len(X)), rng.permutation(len(X_u))
    shifted = y + rng.normal(size=qid.max() + 1)[qid]
    other = CoRankRLS(0.3, 0.1, views=views).fit(
        X[a], shifted[a], qid=[f"q{q}" for q in qid[a]], X_unscored=X_u[b], qid_unscored=qid_u[b]
    )
    assert_close(other.predict_views(new), model.predict_views(new))


def test_drawn_bases_have_nothing_in_common_while_there_are_enough_items():
    X, y, qid, X_u, qid_u, _ = data(seed=13)
    size = (len(X) + len(X_u)) // 3
    model = CoRankRLS(views=3, basis=size, random_state=0).fit(X, y, qid=qid, X_unscored=X_u, qid_unscored=qid_u)
    assert len(np.unique(np.concatenate(model.basis_))) == 3 * size
    again = CoRankRLS(views=3, basis=size, random_state=0).fit(X, y, qid=qid, X_unscored=X_u, qid_unscored=qid_u)
    assert all(np.array_equal(one, other) for one, other in zip(model.basis_, again.basis_, strict=True))
    large = CoRankRLS(views=3, basis=size + 1, random_state=0).fit(X, y, qid=qid, X_unscored=X_u, qid_unscored=qid_u)
    assert [len(set(basis.tolist())) for basis in large.basis_] == [size + 1] * 3
    default = CoRankRLS(random_state=0).fit(X, y, qid=qid, X_unscored=X_u, qid_unscored=qid_u)
    assert len(np.unique(np.concatenate(default.basis_))) == 2 * ((len(X) + len(X_u)) // 2)


COLUMNS = {
    "numbers": [0, 2],
    "mask": [True, False, True, False],
    "slice": slice(0, 3, 2),
    "names": ["a", "c"],
}


@pytest.mark.parametrize("columns", COLUMNS.values(), ids=COLUMNS)
def test_columns_of_a_view(columns):
    X, y, qid, X_u, qid_u, new = (
        pd.DataFrame(part, columns=[*"abcd"]) if np.ndim(part) == 2 else part for part in data()
    )
    views = [{"columns": columns, "basis": [0, 1, 2]}, {"columns": ["b", "d"], "basis": [3, 4]}]
    model = CoRankRLS(views=views).fit(X, y, qid=qid, X_unscored=X_u, qid_unscored=qid_u)
    plain = [View(columns=[0, 2], basis=[0, 1, 2]), View(columns=[1, 3], basis=[3, 4])]
    expected = (
        CoRankRLS(views=plain)
        .fit(X.to_numpy(), y, qid=qid, X_unscored=X_u.to_numpy(), qid_unscored=qid_u)
        .predict_views(new.to_numpy())
    )
    np.testing.assert_array_equal(model.predict_views(new), expected)
    np.testing.assert_array_equal(model.columns_[0], [0, 2])


def own_kernel(a, b):
    return float(np.exp(-0.25 * ((a - b) ** 2).sum()))


def test_kernels_by_name_function_and_object():
    X, y, qid, X_u, qid_u, new = data(seed=14)
    views = ["laplacian", own_kernel, RBF(np.sqrt(2.0))]
    model = CoRankRLS(views=views, basis=5, random_state=0).fit(X, y, qid=qid, X_unscored=X_u, qid_unscored=qid_u)
    named = [View("laplacian"), View("rbf", gamma=0.25), View("gaussian", gamma=0.25)]
    expected = CoRankRLS(views=named, basis=5, random_state=0).fit(X, y, qid=qid, X_unscored=X_u, qid_unscored=qid_u)
    assert_close(model.predict_views(new), expected.predict_views(new))


def test_sparse_items():
    X, y, qid, X_u, qid_u, new = data(seed=15)
    for part in (X, X_u, new):
        part[np.abs(part) < 0.5] = 0.0
    dense = CoRankRLS(basis=5, views=[{"columns": [0, 1]}, {}], random_state=0)
    expected = dense.fit(X, y, qid=qid, X_unscored=X_u, qid_unscored=qid_u).predict_views(new)
    for form in (sparse.csr_array, sparse.csc_matrix):
        model = CoRankRLS(basis=5, views=[{"columns": [0, 1]}, {}], random_state=0)
        found = model.fit(form(X), y, qid=qid, X_unscored=form(X_u), qid_unscored=qid_u).predict_views(form(new))
        assert_close(found, expected)
        assert sparse.issparse(model.X_fit_[0])


def test_float32_items():
    X, y, qid, X_u, qid_u, new = data(seed=16)
    single = [part.astype(np.float32) for part in (X, X_u, new)]
    double = [part.astype(np.float64) for part in single]
    model = CoRankRLS(basis=5, random_state=0)
    found = model.fit(single[0], y, qid=qid, X_unscored=single[1], qid_unscored=qid_u).predict_views(single[2])
    expected = model.fit(double[0], y, qid=qid, X_unscored=double[1], qid_unscored=qid_u).predict_views(double[2])
    assert_close(found, expected, 1e-12)
