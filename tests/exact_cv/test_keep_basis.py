"""Basis items that are held out stay in the basis when that is asked for, and only then."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from kernelrank.errors import InvalidInputError
from kernelrank.estimators import RLS, RankRLS, RankSVM
from kernelrank.features import kernels
from kernelrank.model_selection import RLSCV, RankRLSCV, leave_one_out, leave_query_out
from kernelrank.model_selection.holdout import holdout
from tests.oracles.pairs import fit_weights, scored_edges

GAUSSIAN = {"kernel": "rbf", "gamma": 0.5}
ALPHAS = np.array([0.01, 1.0, 30.0])


def draw(seed, m=36):
    rng = np.random.default_rng(seed)
    X, y, qid = rng.standard_normal((m, 3)), rng.integers(0, 4, m).astype(float), rng.integers(0, 7, m)
    return X, y, qid, np.sort(rng.permutation(m)[: rng.integers(4, m // 2)])


def gaussian(X, Z):
    return np.exp(-0.5 * ((X[:, None] - Z) ** 2).sum(axis=2))


def mapped(X, basis):
    """The features of all items by the whole basis, whose kernel may be singular."""
    values, vectors = np.linalg.eigh(gaussian(X[basis], X[basis]))
    large = values > 1e-10 * values[-1]
    return gaussian(X, X[basis]) @ (vectors[:, large] / np.sqrt(values[large]))


def literal(X, y, qid, basis, held, alpha, **options):
    """Delete the items, leave the basis as it is, train, predict."""
    Phi = mapped(X, basis)
    w = fit_weights(np.delete(Phi, held, axis=0), scored_edges(y, qid, **options).without(held), alpha)
    return Phi[held] @ w


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("options", [{}, {"query_weight": "queries"}, {"ties": "exclude"}, {"cost": "unit"}])
def test_leave_query_out(seed, options):
    X, y, qid, basis = draw(seed)
    model = RankRLS(basis=basis, **GAUSSIAN, **options)
    found = leave_query_out(model, X, y, qid, alphas=ALPHAS, held_out_basis="keep")
    for label in np.unique(qid):
        held = np.flatnonzero(qid == label)
        for k, alpha in enumerate(ALPHAS):
            expected = literal(X, y, qid, basis, held, alpha, **options)
            np.testing.assert_allclose(found[held, k], expected, rtol=1e-8, atol=1e-8)
    removed = leave_query_out(model, X, y, qid, alphas=ALPHAS)
    assert np.abs(found - removed).max() > 1e-3


@pytest.mark.parametrize("recomputed", [True, False])
@pytest.mark.parametrize("duplicate", [True, False])
def test_parts_of_queries_are_refitted_with_the_whole_basis(monkeypatch, recomputed, duplicate):
    if recomputed:
        monkeypatch.setattr(kernels, "KEPT_FEATURE_BYTES", 0)
    X, y, qid, basis = draw(1)
    if duplicate:
        X[basis[1]] = X[basis[0]]
    held = [np.array([basis[0], basis[2], 5]), np.flatnonzero(qid == 2)]
    found = holdout(RankRLS(0.5, basis=basis, **GAUSSIAN), X, y, held, qid=qid, held_out_basis="keep")
    for items, scores in zip(held, found, strict=True):
        np.testing.assert_allclose(scores, literal(X, y, qid, basis, items, 0.5), rtol=1e-8, atol=1e-9)


def test_precomputed_kernels():
    X, y, qid, basis = draw(2)
    held = [np.array([basis[0], 5]), np.flatnonzero(qid == 2)]
    K = gaussian(X, X)
    found = holdout(RankRLS(0.5, kernel="precomputed", basis=basis), K, y, held, qid=qid, held_out_basis="keep")
    for items, scores in zip(held, found, strict=True):
        np.testing.assert_allclose(scores, literal(X, y, qid, basis, items, 0.5), rtol=1e-8, atol=1e-9)


def test_regression():
    X, y, _, basis = draw(3)
    found = leave_one_out(RLS(0.1, basis=basis, **GAUSSIAN), X, y, held_out_basis="keep")
    Phi = mapped(X, basis)
    for item in range(len(y)):
        rest = np.delete(Phi, item, axis=0)
        w = np.linalg.solve(rest.T @ rest + 0.1 * np.eye(rest.shape[1]), rest.T @ np.delete(y, item))
        np.testing.assert_allclose(found[item], Phi[item] @ w, rtol=1e-8, atol=1e-9)


def test_searches_choose_by_what_they_are_told():
    X, y, qid, basis = draw(0)
    for choice in ("remove", "keep"):
        model = RankRLSCV(ALPHAS[:2], basis=basis, held_out_basis=choice, **GAUSSIAN).fit(X, y, qid=qid)
        expected = leave_query_out(RankRLS(model.alpha_, basis=basis, **GAUSSIAN), X, y, qid, held_out_basis=choice)
        np.testing.assert_allclose(model.holdout_scores_, expected, rtol=1e-10, atol=1e-12)
        model = RLSCV(ALPHAS[:2], basis=basis, held_out_basis=choice, **GAUSSIAN).fit(X, y)
        expected = leave_one_out(RLS(model.alpha_, basis=basis, **GAUSSIAN), X, y, held_out_basis=choice)
        np.testing.assert_allclose(model.holdout_scores_, expected, rtol=1e-10, atol=1e-12)


def test_without_a_basis_nothing_changes():
    X, y, qid, _ = draw(0)
    kept = leave_query_out(RankRLS(**GAUSSIAN), X, y, qid, held_out_basis="keep")
    np.testing.assert_array_equal(kept, leave_query_out(RankRLS(**GAUSSIAN), X, y, qid))


def test_what_is_not_known_is_named():
    X, y, qid, basis = draw(0)
    with pytest.raises(InvalidInputError, match="held_out_basis must be 'remove' or 'keep', got 'stay'"):
        leave_query_out(RankRLS(basis=basis), X, y, qid, held_out_basis="stay")
    with pytest.raises(ValueError, match="held_out_basis"):
        RankRLSCV(basis=basis, held_out_basis="stay").fit(X, y, qid=qid)
    for model in (Ridge(), RankSVM(basis=basis)):
        with pytest.raises(InvalidInputError, match="held_out_basis='keep' is for RLS, RLSClassifier and RankRLS"):
            holdout(model, X, y, [[0]], held_out_basis="keep")
