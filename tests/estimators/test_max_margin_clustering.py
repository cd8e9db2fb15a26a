"""Max-margin clustering: what labels cost, moves, the search against all labels, given labels, and bad input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernelrank.errors import InvalidInputError
from kernelrank.estimators import MaxMarginClustering
from kernelrank.estimators.clustering import ColumnCost, DenseCost
from kernelrank.features import ExplicitFeatures, FullKernel
from kernelrank.kernels import Kernel
from kernelrank.persistence import load, save
from tests.oracles.clustering import exhaustive_minimum, naive_search, objective


def problem(seed, least=8, most=40):
    """Random items, a kernel, a number of clusters, alpha and a balance."""
    rng = np.random.default_rng(seed)
    m, k = int(rng.integers(least, most + 1)), int(rng.integers(2, 5))
    X = rng.normal(size=(m, int(rng.integers(1, 6))))
    if seed % 2:
        X += 3 * rng.normal(size=(k, X.shape[1]))[rng.integers(k, size=m)]
    X[-2:] = X[0]
    gamma = 2.0 ** rng.integers(-5, 4)
    K = linear_kernel(X) if seed % 5 == 0 else rbf_kernel(X, gamma=gamma)
    return K, k, 2.0 ** rng.integers(-8, 6), float(rng.choice([0, 0.3, 0.6, 1.0]))


def sizes_allowed(labels, k, balance):
    return np.bincount(labels, minlength=k).min() >= max(1, np.floor(balance * len(labels) / k + 1e-9))


def test_the_objective_is_what_rls_leaves_of_the_labels():
    for seed, exponent in enumerate(range(-15, 16, 3)):
        K, k, _, balance = problem(seed)
        alpha = 2.0**exponent
        model = MaxMarginClustering(k, alpha=alpha, kernel="precomputed", balance=balance, n_init=2, random_state=0)
        model.fit(K)
        assert model.objective_ == pytest.approx(objective(K, model.labels_, k, alpha), rel=1e-8)
        assert model.lower_bound_ <= model.objective_
        assert sizes_allowed(model.labels_, k, balance)


def test_small_problems_are_solved_exactly():
    for seed in range(40):
        K, k, alpha, balance = problem(seed, 5, 9)
        model = MaxMarginClustering(k, alpha=alpha, kernel="precomputed", balance=balance, random_state=0).fit(K)
        least = max(1, int(balance * len(K) / k + 1e-9))
        optimum = exhaustive_minimum(K, k, least, alpha)
        assert model.objective_ == pytest.approx(optimum, rel=1e-8), seed
        assert model.lower_bound_ <= optimum * (1 + 1e-9)


def test_no_worse_than_fifty_restarts_of_a_naive_search():
    for seed in range(10):
        K, k, alpha, balance = problem(seed, 30, 60)
        model = MaxMarginClustering(k, alpha=alpha, kernel="precomputed", balance=balance, random_state=0).fit(K)
        least = max(1, int(balance * len(K) / k + 1e-9))
        naive = naive_search(K, k, least, alpha, 50, np.random.default_rng(seed))
        assert model.objective_ <= naive * (1 + 1e-8), seed


@pytest.mark.parametrize("form", ["dense", "columns"])
def test_a_descent_ends_where_no_move_helps(form):
    rng = np.random.default_rng(0)
    for seed in range(6):
        X = np.random.default_rng(seed).normal(size=(30, 6))
        k, least, alpha = 2 + seed % 3, 4, 2.0 ** (seed - 3)
        K = X @ X.T
        cost = DenseCost(FullKernel(Kernel("linear"), X), alpha) if form == "dense" else None
        cost = cost or ColumnCost(ExplicitFeatures(X), alpha)
        labels = rng.permutation(30) % k
        cost.descend(labels, k, least, rng.permutation(30))
        found = cost.objective(labels, k)
        assert found == pytest.approx(objective(K, labels, k, alpha), rel=1e-9)
        np.testing.assert_allclose(cost.apply(np.eye(30)), alpha * np.linalg.inv(K + alpha * np.eye(30)), atol=1e-12)
        for i in range(30):
            for cluster in range(k):
                moved = labels.copy()
                moved[i] = cluster
                if np.bincount(moved, minlength=k).min() >= least:
                    assert objective(K, moved, k, alpha) >= found - 1e-9
        if form == "dense":
            for i in range(30):
                for j in range(i):
                    swapped = labels.copy()
                    swapped[[i, j]] = labels[[j, i]]
                    assert objective(K, swapped, k, alpha) >= found - 1e-9


def test_a_swap_by_columns_lowers_the_objective_where_no_move_is_allowed():
    X = np.concatenate([np.full((6, 1), -1.0), np.full((6, 1), 1.0)])
    labels = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0])
    ColumnCost(ExplicitFeatures(X), 1.0).descend(labels, 2, 6, np.arange(12))
    assert len(set(labels[:6])) == 1
    assert len(set(labels[6:])) == 1


def test_a_basis_of_many_items_finds_the_clusters_of_blobs():
    X, truth = make_blobs(2500, 3, centers=3, random_state=0, cluster_std=0.5)
    model = MaxMarginClustering(3, basis=40, gamma=0.1, n_init=2, random_state=0).fit(X)
    assert adjusted_rand_score(truth, model.labels_) == 1.0
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    few = MaxMarginClustering(3, basis=model.basis_, gamma=0.1, n_init=2, random_state=0).fit(X)
    assert few.objective_ == pytest.approx(model.objective_)


def test_given_labels_stay_and_decide_between_clusters():
    X, truth = make_moons(80, noise=0.05, random_state=0)
    given = np.full(80, -1)
    for c in range(2):
        given[np.flatnonzero(truth == c)[:4]] = c
    model = MaxMarginClustering(2, gamma=5.0, random_state=0).fit(X, labels=given)
    np.testing.assert_array_equal(model.labels_[given >= 0], given[given >= 0])
    assert adjusted_rand_score(truth, model.labels_) == 1.0
    fixed = MaxMarginClustering(2, gamma=5.0).fit(X, labels=1 - truth)
    np.testing.assert_array_equal(fixed.labels_, 1 - truth)
    K = rbf_kernel(X, gamma=5.0)
    assert fixed.objective_ == pytest.approx(objective(K, 1 - truth, 2, 1.0), rel=1e-8)


def test_clusters_are_numbered_by_their_first_items_and_predicted():
    X, _ = make_blobs(60, centers=4, random_state=3)
    model = MaxMarginClustering(4, gamma=0.2, random_state=0).fit(X)
    assert list(dict.fromkeys(model.labels_)) == [0, 1, 2, 3]
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    again = clone(model).fit(sparse.csr_array(X))
    np.testing.assert_array_equal(again.labels_, model.labels_)


def test_a_saved_model_predicts_the_same(tmp_path):
    X, _ = make_blobs(40, centers=2, random_state=0)
    model = MaxMarginClustering(random_state=0).fit(X)
    save(model, tmp_path / "clusters.kr")
    loaded = load(tmp_path / "clusters.kr")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.objective_ == model.objective_
    assert loaded.lower_bound_ == model.lower_bound_
    np.testing.assert_array_equal(loaded.labels_, model.labels_)


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        ([0, 1], {}, r"one label for each of 6 items; got the shape \(2,\)"),
        ([0.0] * 6, {}, "integers, -1 where unknown; got float64"),
        ([0, 1, 2, -1, -1, -1], {}, "from -1 .unknown. to 1; got 2 for item 2"),
        ([0, 0, 0, 0, 0, -1], {"balance": 1.0}, "leave 1 items free, and 3 are needed. Lower balance"),
        (None, {"n_clusters": 7}, "as many items as clusters; got n_samples = 6 and n_clusters = 7"),
        (None, {"balance": 1.5}, "balance"),
        (None, {"n_clusters": 0}, "n_clusters"),
    ],
)
def test_bad_input_is_named(labels, options, message):
    X = np.random.default_rng(0).normal(size=(6, 2))
    with pytest.raises(ValueError, match=message) as caught:
        MaxMarginClustering(**options).fit(X, labels=labels)
    assert isinstance(caught.value, InvalidInputError) or "parameter" in str(caught.value)


def test_one_cluster_has_all_items():
    model = MaxMarginClustering(1).fit([[0.0], [1.0], [5.0]])
    assert model.labels_.tolist() == [0, 0, 0]
    assert model.predict([[9.0]]).tolist() == [0]


@parametrize_with_checks([MaxMarginClustering(n_init=5)])
def test_scikit_learn_check(estimator, check):
    check(estimator)
