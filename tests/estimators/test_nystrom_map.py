from __future__ import annotations

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import kernelrank as kr
from kernelrank.base.labels import Queries
from kernelrank.errors import InvalidInputError
from kernelrank.features.kernels import SELECTIONS, by_leverage, by_query
from kernelrank.kernels import Kernel

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 4))
y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(60)
qid = np.repeat(["a", "b", "c"], [40, 15, 5])


@parametrize_with_checks(
    [kr.NystromMap(), kr.NystromMap(5, basis_selection="k_means"), kr.NystromMap(5, basis_selection="leverage")]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "options", [*({"basis_selection": rule} for rule in SELECTIONS), {"basis": [3, 50, 7]}], ids=str
)
def test_inner_products_are_the_nystrom_kernel(options):
    nystrom = kr.NystromMap(**{"basis": 12, **options}, gamma=0.3, random_state=0).fit(X, qid=qid)
    R = nystrom.basis_items_
    expected = rbf_kernel(X, R, gamma=0.3) @ np.linalg.inv(rbf_kernel(R, gamma=0.3)) @ rbf_kernel(R, X, gamma=0.3)
    Phi = nystrom.transform(X)
    np.testing.assert_allclose(Phi @ Phi.T, expected, atol=1e-10)
    assert Phi.shape == (60, nystrom.rank_)
    if nystrom.basis_ is not None:
        np.testing.assert_array_equal(R, X[nystrom.basis_])


def test_it_is_what_scikit_learn_approximates():
    ours = kr.NystromMap(60, gamma=0.3).fit_transform(X)
    theirs = Nystroem(gamma=0.3, n_components=60, random_state=0).fit_transform(X)
    np.testing.assert_allclose(ours @ ours.T, theirs @ theirs.T, atol=1e-8)


def test_duplicated_basis_items_lower_the_rank():
    twice = np.vstack([X[:5], X[:5]])
    nystrom = kr.NystromMap(10, gamma=0.3).fit(twice)
    assert nystrom.rank_ == 5
    np.testing.assert_allclose(nystrom.transform(twice) @ nystrom.transform(twice).T, rbf_kernel(twice, gamma=0.3))


def test_weights_become_a_reduced_set():
    nystrom = kr.NystromMap(15, gamma=0.3, random_state=1).fit(X)
    model = kr.RankRLS(0.1).fit(nystrom.transform(X), np.column_stack([y, -y]))
    coefficients = nystrom.reduced_set(model.coef_)
    scores = rbf_kernel(X, nystrom.basis_items_, gamma=0.3) @ coefficients
    np.testing.assert_allclose(scores, model.predict(nystrom.transform(X)), atol=1e-9)
    one = nystrom.reduced_set(model.coef_[0])
    np.testing.assert_allclose(one, coefficients[:, 0])


def test_in_a_pipeline_it_is_rank_rls_with_a_basis():
    basis = [1, 5, 9, 30, 44]
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(kr.NystromMap(gamma=0.3, basis=basis), kr.RankRLS(0.2)).fit(X, y, qid=qid)
    alone = kr.RankRLS(0.2, kernel="rbf", gamma=0.3, basis=basis).fit(X, y, qid=qid)
    np.testing.assert_allclose(pipeline.predict(X), alone.predict(X), atol=1e-10)


def test_sparse_items_and_names():
    nystrom = kr.NystromMap(7, gamma=0.3, random_state=0)
    dense = nystrom.fit_transform(X)
    np.testing.assert_allclose(nystrom.fit_transform(sparse.csr_array(X)), dense, atol=1e-8)
    assert nystrom.get_feature_names_out()[0] == "nystrommap0"


def test_it_is_saved_and_loaded(tmp_path):
    nystrom = kr.NystromMap(7, gamma=0.3, random_state=0).fit(X)
    kr.save(nystrom, tmp_path / "map.kr")
    np.testing.assert_array_equal(kr.load(tmp_path / "map.kr").transform(X), nystrom.transform(X))


def test_queries_give_in_turns():
    queries = Queries.from_labels(qid, 60)
    drawn = by_query(12, queries, np.random.RandomState(0))
    assert np.bincount(queries.codes[drawn]).tolist() == [4, 4, 4]
    drawn = by_query(30, queries, np.random.RandomState(0))
    assert np.bincount(queries.codes[drawn]).tolist() in ([13, 12, 5], [12, 13, 5])
    with pytest.raises(InvalidInputError, match="needs qid"):
        kr.NystromMap(basis_selection="per_query").fit(X)


def test_leverage_prefers_items_that_stand_alone():
    crowd = np.vstack([0.01 * rng.standard_normal((95, 2)), 10.0 * rng.standard_normal((5, 2))])
    counts = np.zeros(100)
    for seed in range(40):
        counts[by_leverage(10, Kernel("rbf", gamma=1.0), crowd, np.random.RandomState(seed))] += 1
    assert counts[95:].mean() > 5 * counts[:95].mean()


def test_features_that_are_not_kept_give_the_same_model(monkeypatch):
    options = {"kernel": "rbf", "gamma": 0.3, "basis": list(range(0, 60, 4))}
    kept = kr.RankRLS(0.2, **options).fit(X, y, qid=qid)
    pairs = rng.permutation(60).reshape(-1, 2)
    kept_pairs = kr.RankRLS(0.2, **options).fit_pairs(X, pairs)
    monkeypatch.setattr("kernelrank.features.kernels.KEPT_FEATURE_BYTES", 0)
    for solver in ("cholesky", "spectral"):
        found = kr.RankRLS(0.2, solver=solver, **options).fit(X, y, qid=qid)
        np.testing.assert_allclose(found.dual_coef_, kept.dual_coef_, rtol=1e-8, atol=1e-10)
    found = kr.RankRLS(0.2, **options).fit_pairs(X, pairs)
    np.testing.assert_allclose(found.dual_coef_, kept_pairs.dual_coef_, rtol=1e-8, atol=1e-10)
    regression = kr.RLS(0.2, **options).fit(X, y)
    np.testing.assert_allclose(regression.predict(X).std(), y.std(), rtol=0.3)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kernel", ["rbf", "polynomial", "linear"])
def test_without_items_it_is_the_map_of_the_others(kernel, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, rng.integers(2, 6)))
    if seed % 3 == 0:
        X[20:] = X[rng.integers(0, 20, size=20)]  # duplicates in the basis
    basis = rng.choice(40, size=rng.integers(2, 20), replace=False)
    gone = rng.choice(basis, size=rng.integers(0, len(basis)), replace=False)
    options = {"kernel": kernel, "gamma": 0.3, "degree": 2}
    whole = kr.NystromMap(basis, **options).fit(X)
    before = whole.transform(X)
    smaller = whole.without(gone)
    anew = kr.NystromMap(basis[~np.isin(basis, gone)], **options).fit(X)
    Phi, expected = smaller.transform(X), anew.transform(X)
    scale = np.abs(expected @ expected.T).max()
    np.testing.assert_allclose(Phi @ Phi.T, expected @ expected.T, atol=1e-8 * scale)
    np.testing.assert_array_equal(smaller.basis_, anew.basis_)
    np.testing.assert_array_equal(smaller.basis_items_, anew.basis_items_)
    assert Phi.shape[1] == smaller.rank_ == anew.rank_ == len(smaller.get_feature_names_out())
    w = rng.standard_normal(smaller.rank_)
    scores = whole.kernel_.matrix(X, smaller.basis_items_) @ smaller.reduced_set(w)
    np.testing.assert_allclose(scores, Phi @ w, atol=1e-6 * scale)
    np.testing.assert_array_equal(whole.transform(X), before)


def test_items_are_removed_in_two_steps_and_from_sparse_items_and_centres(tmp_path):
    nystrom = kr.NystromMap([1, 5, 9, 30, 44, 50], gamma=0.3).fit(sparse.csr_array(X))
    Phi = nystrom.without([5]).without([30, 44, 44]).transform(X)
    expected = kr.NystromMap([1, 9, 50], gamma=0.3).fit_transform(X)
    np.testing.assert_allclose(Phi @ Phi.T, expected @ expected.T, atol=1e-8)
    smaller = kr.NystromMap(6, gamma=0.3, basis_selection="k_means", random_state=0).fit(X).without([2])
    R = smaller.basis_items_
    expected = rbf_kernel(X, R, gamma=0.3) @ np.linalg.inv(rbf_kernel(R, gamma=0.3)) @ rbf_kernel(R, X, gamma=0.3)
    np.testing.assert_allclose(smaller.transform(X) @ smaller.transform(X).T, expected, atol=1e-8)
    kr.save(smaller, tmp_path / "map.kr")
    np.testing.assert_array_equal(kr.load(tmp_path / "map.kr").transform(X), smaller.transform(X))


def test_items_that_cannot_be_removed():
    nystrom = kr.NystromMap([3, 8, 20]).fit(X)
    for items, message in (
        ([8, 9], "the item 9 is not in the basis"),
        ([-1], "the item -1 is not in the basis"),
        ([20, 3, 8], "all 3 basis items would be removed"),
        ([8.0], "a list of item numbers"),
        (8, "a list of item numbers"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            nystrom.without(items)
    assert nystrom.without([]).rank_ == 3
