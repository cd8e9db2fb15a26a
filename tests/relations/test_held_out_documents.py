from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from kernelrank.errors import InvalidInputError
from kernelrank.estimators import RLS, RankRLS
from kernelrank.exact_cv.nested import NestedHoldout
from kernelrank.model_selection import leave_one_out
from kernelrank.relations.features import linear_kernel
from kernelrank.relations.scores import Learning, hold_out_documents
from tests.oracles.relations import train_and_score


def problem(seed, m=30, rank=7):
    """Items of a kernel of low rank, and documents of one to five items in any order."""
    generator = np.random.default_rng(seed)
    factor = generator.normal(size=(m, rank))
    y = np.where(generator.random(m) < 0.4, 1.0, -1.0)
    documents = generator.integers(0, m // 3, m)
    return factor @ factor.T, y, [f"d{code}" for code in documents]


@pytest.mark.parametrize("ranks", [False, True])
@pytest.mark.parametrize("alpha", [2.0**-15, 0.5, 2.0**15])
@pytest.mark.parametrize("seed", range(3))
def test_documents_inside_folds_are_scored_as_by_training_again(ranks, alpha, seed):
    K, y, documents = problem(seed)
    names = np.array(documents)
    fold = np.flatnonzero(np.isin(names, np.unique(names)[:3]))
    held_out = NestedHoldout(K, y, documents, alpha, intercept=ranks)
    for left_out in (None, np.empty(0, dtype=int), fold):
        inner = held_out.leave_group_out(left_out)
        gone = np.zeros(len(y), dtype=bool) if left_out is None else np.isin(np.arange(len(y)), left_out)
        assert np.array_equal(np.isnan(inner), gone)
        for name in np.unique(names[~gone]):
            test = np.flatnonzero((names == name) & ~gone)
            train = np.flatnonzero((names != name) & ~gone)
            expected = train_and_score(K, y, train, test, alpha, ranks=ranks)
            np.testing.assert_allclose(inner[test], expected, rtol=1e-7, atol=1e-8)
    rest = np.setdiff1d(np.arange(len(y)), fold)
    expected = train_and_score(K, y, rest, fold, alpha, ranks=ranks)
    np.testing.assert_allclose(held_out.leave_fold_out(fold), expected, rtol=1e-7, atol=1e-8)
    everything = np.arange(len(y))
    expected = train_and_score(K, y, everything, everything, alpha, ranks=ranks)
    np.testing.assert_allclose(K @ held_out.dual_coef + held_out.intercept, expected, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("kind", [RLS, RankRLS])
def test_it_agrees_with_the_hold_out_of_the_library(kind):
    K, y, documents = problem(5)
    options = {"query_weight": "items"} if kind is RankRLS else {}
    expected = leave_one_out(kind(0.5, kernel="precomputed", **options), K, y, groups=documents)
    found = NestedHoldout(K, y, documents, 0.5, intercept=kind is RankRLS).leave_group_out()
    difference = found - expected
    # RankRLS leaves the constant of each model open.
    for name in set(documents) if kind is RankRLS else []:
        own = np.array(documents) == name
        difference[own] -= difference[own].mean()
    np.testing.assert_allclose(difference, 0.0, atol=1e-9)


@pytest.mark.parametrize("learner", ["rls", "rankrls"])
def test_a_reduced_set_loses_the_basis_items_that_are_held_out(learner):
    K, y, documents = problem(3, rank=40)
    learning = Learning(learner, (0.25, 2.0), "auc", 12, 0)
    labels = y > 0
    found = hold_out_documents(learning, K, labels, documents)
    kind = RankRLS if learner == "rankrls" else RLS
    options = {"query_weight": "items"} if learner == "rankrls" else {}
    names = np.array(documents)
    for place, alpha in enumerate(learning.alphas):
        basis = np.flatnonzero(found.dual_coef[place])
        assert len(basis) == 12
        for name in np.unique(names):
            test, train = np.flatnonzero(names == name), np.flatnonzero(names != name)
            kept = np.flatnonzero(np.isin(train, basis))
            model = kind(alpha, kernel="precomputed", basis=kept, **options).fit(K[np.ix_(train, train)], y[train])
            difference = found.inner[place, 0, test] - model.predict(K[np.ix_(test, train)])
            constant = found.intercept[place] if learner == "rankrls" else 0.0
            np.testing.assert_allclose(difference, constant, atol=1e-8)
    assert (learner == "rls") == (not found.intercept.any())


def test_kernels_that_are_none_and_settings_are_refused():
    K, y, documents = problem(0)
    with pytest.raises(InvalidInputError, match=r"the kernel matrix plus alpha=0\.5 is not positive definite"):
        NestedHoldout(K - 10 * np.eye(len(y)), y, documents, 0.5)
    for settings, message in [
        (("svm", (1.0,), "auc", None, None), "learner must be one of rls, rankrls"),
        (("rls", (1.0,), "accuracy", None, None), "scoring must be one of auc, f"),
        (("rls", (1.0,), "auc", 0, None), "basis must be a whole number"),
        (("rls", (-1.0,), "auc", None, None), "alpha"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            Learning(*settings)


@pytest.mark.parametrize("share", [0.0, 0.15, 1.0])
def test_the_kernel_matrix_is_the_product(share, monkeypatch):
    from kernelrank.relations import features

    monkeypatch.setattr(features, "DENSE_SHARE", share)
    monkeypatch.setattr(features, "BLOCK", 3)
    generator = np.random.default_rng(0)
    X = sparse.random_array((20, 50), density=0.2, rng=generator, format="csr")
    dense = X.toarray()
    K = linear_kernel(X)
    np.testing.assert_allclose(K, dense @ dense.T, rtol=1e-12, atol=1e-14)
    assert np.array_equal(K, K.T)
    assert linear_kernel(sparse.csr_array((2, 3))).tolist() == [[0.0, 0.0], [0.0, 0.0]]
