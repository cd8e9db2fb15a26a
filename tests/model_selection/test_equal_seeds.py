"""A basis and folds that share a seed are drawn independently, and hold-outs of a basis equal refits."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.model_selection import KFold

from kernelrank.errors import EmptyBasisWarning
from kernelrank.estimators import RLS, CoRankRLS, NystromMap, RankRLS
from kernelrank.features import basis_stream
from kernelrank.model_selection import RLSCV, RankRLSCV
from kernelrank.model_selection.holdout import holdout

pytestmark = pytest.mark.filterwarnings("ignore::kernelrank.errors.EdgeOfGridWarning")

FOLDS = KFold(10, shuffle=True, random_state=0)


def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return X[:200], y[:200]


def refits(search, X, y, basis):
    """The scores of every fold by models whose basis lost its items, for every alpha."""
    scores = np.empty((len(y), len(search.alphas)))
    for train, test in FOLDS.split(X):
        left = np.searchsorted(train, np.intersect1d(basis, train))
        model = search._learner({"gamma": search.gamma}).set_params(basis=left)
        for number, alpha in enumerate(search.alphas):
            scores[test, number] = clone(model).set_params(alpha=alpha).fit(X[train], y[train]).predict(X[test])
    return scores


@pytest.mark.parametrize("learner", [RLSCV, RankRLSCV])
def test_the_basis_is_no_fold(learner):
    X, y = diabetes()
    search = learner([0.01, 1.0], kernel="gaussian", gamma=20.0, basis=20, random_state=0, cv=FOLDS).fit(X, y)
    for _, test in FOLDS.split(X):
        assert len(np.intersect1d(search.basis_, test)) < 10
    expected = refits(search, X, y, search.basis_)[:, [0.01, 1.0].index(search.alpha_)]
    difference = search.holdout_scores_ - expected
    for _, test in FOLDS.split(X):
        shift = 0.0 if learner is RLSCV else difference[test].mean()
        np.testing.assert_allclose(difference[test], shift, atol=1e-8 * np.abs(expected).max())


def test_a_seed_always_draws_the_same_basis():
    X, y = diabetes()
    first, second = (RLS(kernel="gaussian", basis=20, random_state=3).fit(X, y).basis_ for _ in range(2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first, NystromMap(20, random_state=3).fit(X).basis_)
    states = [RLS(kernel="gaussian", basis=20, random_state=np.random.RandomState(3)).fit(X, y).basis_ for _ in "12"]
    np.testing.assert_array_equal(*states)
    assert not np.array_equal(first, RLS(kernel="gaussian", basis=20, random_state=4).fit(X, y).basis_)
    shuffled = np.sort(np.random.RandomState(3).permutation(len(y))[:20])
    views = CoRankRLS(basis=20, nu=0.0, random_state=3).fit(X, y).basis_
    for basis in (first, *views):
        assert len(np.intersect1d(basis, shuffled)) < 10
    assert basis_stream(np.int64(3)).randint(1000) == basis_stream(3).randint(1000)
    with pytest.raises(ValueError, match="Seed must be between"):
        basis_stream(-1)


@pytest.mark.parametrize("learner", [RLS(basis=[3, 5]), RankRLS(basis=[3, 5]), RankRLS(basis=[3, 5], cost="unit")])
@pytest.mark.parametrize("n", [40, 200])
def test_a_basis_that_is_held_out_is_told(learner, n):
    X, y = diabetes()
    X, y = X[:n], y[:n]
    learner = clone(learner).set_params(kernel="gaussian", gamma=20.0)
    with pytest.warns(EmptyBasisWarning, match="1 of 2 held-out sets include all 2 basis items"):
        scores = holdout(learner, X, y, [range(n // 2), [3, 7]])
    assert not scores[0].any()
    assert scores[1].any()
