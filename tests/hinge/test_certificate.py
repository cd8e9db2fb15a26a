"""The certificate is true: minima in fractions, planes that are no planes, tolerances below what rounding allows."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from kernelrank.base.labels import Queries
from kernelrank.comparisons import ScoredQueries
from kernelrank.errors import NotConverged
from kernelrank.estimators import RankSVM
from kernelrank.features import ExplicitFeatures
from kernelrank.hinge import Hinge
from kernelrank.hinge.problem import PairProblem, Plane, Proof
from tests.oracles.exact_minimum import minimum, objective
from tests.oracles.pairs import scored_edges

METHODS = [("bundle", "hinge"), ("newton", "hinge"), ("newton", "squared_hinge")]


def quietly(model, *data, **options):
    """Fit; the gap that is left may be above tol, and is warned of only then."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", NotConverged)
        model.fit(*data, **options)
    assert bool(caught) == (model.gap_ > model.tol)
    return model


def check(model, X, edges, least):
    """The gap is at least the true one, and the objective is that of the coefficients but for rounding."""
    reached = objective(X, edges, model.alpha, model.loss, model.coef_)
    assert float((reached - least) / reached) <= model.gap_
    size = 1 + 2 * np.abs(X).sum(axis=1).max() * np.abs(model.coef_).max()
    hinges = edges.w2.sum() * (size if model.loss == "hinge" else size**2)
    added = hinges + model.alpha * float(model.coef_ @ model.coef_)
    assert abs(float(reached) - model.objective_) <= 8 * np.finfo(float).eps * added


REPRODUCTIONS = [
    # w left the minimum along rounding noise, and a lower bound above the upper one was called a gap of zero.
    ("bundle", 1.0, 1e-6, [2.0, 1.5, 0.0, -1.0], [0, 2, 0, 0]),
    ("bundle", 1.0, 1e-9, [-0.5, -0.75, -0.25, 0.25, 1.75], [0, 1, 0, 2, 2]),
    ("bundle", 1.0, 1e-3, [1.5, 2.25, -0.5, 0.75, -1.0], [1, 0, 2, 0, 2]),
    ("bundle", 0.1, 1e-6, [0.75, 0.25, 0.75, -0.25, 0.25, 0.5], [2, 2, 2, 0, 0, 1]),
    # β came from margins in a band as narrow as their rounding.
    ("newton", 1e-3, 1e-6, [-0.75, 1.25, 0.75], [0, 2, 2]),
    ("newton", 1e-3, 1e-6, [-1.5, 1.0, -0.75], [0, 2, 0]),
]


@pytest.mark.parametrize(("solver", "alpha", "tol", "x", "y"), REPRODUCTIONS)
def test_gaps_that_were_not_true(solver, alpha, tol, x, y):
    x, y = np.array(x), np.array(y, dtype=float)
    model = RankSVM(alpha, solver=solver, tol=tol).fit(x[:, None], y)
    edges = scored_edges(y, None, cost="unit")
    check(model, x[:, None], edges, minimum(x, edges, alpha, "hinge"))
    assert model.gap_ <= tol


def test_the_example_of_the_report_finds_its_minimum():
    model = RankSVM(1.0, solver="bundle", tol=1e-6).fit([[2.0], [1.5], [0.0], [-1.0]], [0.0, 2.0, 0.0, 0.0])
    np.testing.assert_allclose(model.coef_, 0.5, atol=1e-12)
    assert model.objective_ == pytest.approx(1.75, rel=1e-12)


def draw(seed):
    """One feature with duplicates, ties, queries of one item and item weights, zero too."""
    rng = np.random.default_rng(seed)
    while True:
        m = int(rng.integers(2, 9))
        x = rng.choice([1e-2, 1.0, 30.0]) * (np.round(4 * rng.standard_normal(m)) / 4)
        x = x if rng.random() < 0.5 else x + rng.standard_normal(m)
        y, qid = rng.integers(0, 4, m).astype(float), rng.integers(0, rng.choice([1, 2, 5]), m)
        weight = None if rng.random() < 0.5 else rng.integers(0, 4, m).astype(float)
        edges = scored_edges(y, qid, cost="unit", weight=weight)
        if edges.w2.sum() > 0:
            return x, y, qid, weight, edges, 10.0 ** rng.uniform(-3, 3), 10.0 ** rng.integers(-12, -2)


@pytest.mark.parametrize(("solver", "loss"), METHODS)
def test_no_gap_is_below_the_true_one(solver, loss):
    missed = 0
    for seed in range(30):
        x, y, qid, weight, edges, alpha, tol = draw(seed)
        model = RankSVM(alpha, solver=solver, loss=loss, tol=tol)
        quietly(model, x[:, None], y, qid=qid, sample_weight=weight)
        check(model, x[:, None], edges, minimum(x, edges, alpha, loss))
        missed += model.gap_ > tol
    assert missed <= 2  # rounding keeps few from their tolerance, all of them below 1e-10


@pytest.mark.parametrize(("solver", "loss"), METHODS)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_array], ids=["dense", "csr", "csc"])
def test_several_features_of_which_one_counts(solver, loss, form):
    """With x in the directions 3, 4 and 12 only w along them matters: one feature, and a norm of 169."""
    for seed in range(100, 108):
        x, y, qid, weight, edges, alpha, tol = draw(seed)
        x = np.round(1024 * x) / 1024
        X = np.column_stack([3 * x, 4 * x, np.zeros(len(x)), 12 * x])
        model = quietly(RankSVM(alpha, solver=solver, loss=loss, tol=tol), form(X), y, qid=qid, sample_weight=weight)
        check(model, X, edges, minimum(x, edges, Fraction(alpha) / 169, loss))


@pytest.mark.parametrize(("solver", "loss"), METHODS)
@pytest.mark.parametrize("basis", [[0], [2, 0]], ids=["one", "two"])
def test_a_basis_has_the_same_certificate(solver, loss, basis):
    """The kernel of one feature with itself: every basis spans the same scores."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x, y = rng.integers(1, 9, 8) / 4, rng.integers(0, 3, 8).astype(float)
        edges = scored_edges(y, None, cost="unit")
        model = RankSVM(0.7, kernel="poly", degree=1, gamma=1.0, coef0=0.0, basis=basis, solver=solver, loss=loss)
        quietly(model.set_params(tol=1e-9), x[:, None], y)
        w = float(model.predict([[1.0]])[0])
        least = minimum(x, edges, 0.7, loss)
        assert float(least) >= (1 - model.gap_) * model.objective_ * (1 - 1e-13)  # of the computed kernel
        assert float(objective(x[:, None], edges, 0.7, loss, [w])) == pytest.approx(model.objective_, rel=1e-12)
        assert model.gap_ <= 1e-9


@pytest.mark.parametrize(("solver", "loss"), METHODS)
def test_a_tolerance_below_rounding_ends_with_an_honest_gap(solver, loss):
    x, y = np.array([0.3, 1.7, 0.9, 1.1, 2.3]), np.array([0.0, 1.0, 1.0, 0.0, 2.0])
    model = RankSVM(0.1, solver=solver, loss=loss, tol=0.0)
    with pytest.warns(NotConverged, match="the limit of double precision here"):
        model.fit(x[:, None], y)
    assert 0 < model.gap_ < 1e-12
    assert model.n_iter_ < 100
    edges = scored_edges(y, None, cost="unit")
    check(model, x[:, None], edges, minimum(x, edges, 0.1, loss))


def test_features_far_from_zero_cost_digits_and_the_gap_says_so():
    x, y = np.array([0.3, 1.7, 0.9, 1.1, 2.3]) + 1e8, np.array([0.0, 1.0, 1.0, 0.0, 2.0])
    edges = scored_edges(y, None, cost="unit")
    for solver, loss in METHODS:
        model = quietly(RankSVM(0.1, solver=solver, loss=loss, tol=1e-12), x[:, None], y)
        check(model, x[:, None], edges, minimum(x, edges, 0.1, loss))
        assert model.gap_ > 1e-10


def problem(x, y):
    graph = ScoredQueries(y[:, None], Queries.from_labels(None, len(y)), cost="unit")
    return PairProblem(ExplicitFeatures(x[:, None]), graph)


def test_a_bound_above_the_objective_proves_nothing():
    state, w = problem(np.array([0.0, 1.0]), np.array([0.0, 1.0])), np.array([0.5])
    loss, scores = Hinge(state.pairs), np.array([0.0, 0.5])
    for enough in (0.0, 1e-3):
        proof = Proof(state, loss, 1.0, enough)
        true = proof.by_plane(w, scores, loss.at(scores), lambda _: Plane(np.array([-1.0]), 1.0))
        assert (true.objective, true.gap) == (0.75, pytest.approx(0.0, abs=1e-13))
        false = proof.by_plane(w, scores, loss.at(scores), lambda _: Plane(np.array([-1.0]), 1.5))
        assert false.gap == 1.0


def test_scores_that_are_not_those_of_w_are_computed_anew():
    state, w = problem(np.array([0.0, 1.0]), np.array([0.0, 1.0])), np.array([0.5])
    loss, kept = Hinge(state.pairs), np.array([0.0, 0.6])
    proof = Proof(state, loss, 1.0, 0.0)
    found = proof.by_plane(w, kept, loss.at(kept), lambda _: Plane(np.array([-1.0]), 1.0))
    assert found.objective == 0.75


@pytest.mark.parametrize("alpha", [0.005, 0.002])
def test_many_columns_do_not_loosen_the_proof(alpha):
    # The scores of many columns are small beside the sum of their terms, and so is what errors of a plane amount to.
    rng = np.random.default_rng(5)
    X = rng.standard_normal((60, 6_000))
    model = RankSVM(alpha).fit(X, X @ rng.standard_normal(6_000))
    assert model.gap_ <= 1e-3
