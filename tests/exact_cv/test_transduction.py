"""Transduction equals the minimum of its literal objective, whichever way it is computed."""

from __future__ import annotations

import numpy as np
import pytest

from kernelrank.base.labels import Queries
from kernelrank.comparisons import ScoredQueries
from kernelrank.comparisons.scored import QUERY_WEIGHTS
from kernelrank.errors import InvalidInputError
from kernelrank.exact_cv import ItemSets, Problem, transduction
from kernelrank.exact_cv.transduction import BlockMinimum, DenseMinimum, FoldResiduals, transduce
from kernelrank.features import ExplicitFeatures, FullKernel
from kernelrank.kernels import Kernel
from tests.oracles.pairs import root_features
from tests.oracles.transduction import exact_transduction, minimise, objective

# Queries of one to four items, out of order; those with odd numbers are unscored.
QID = np.array([0, 0, 1, 0, 1, 1, 2, 3, 3, 2, 4, 5, 2, 6, 6, 3])
UNSCORED = np.flatnonzero(QID % 2 == 1)
FOLDS = {"queries": QID, "unions": QID % 3, "halves": (QID > 2).astype(int)}
ANCHORS = np.array([0.01, 1.0, 100.0])

# How the minimum is found: 2 columns are fewer than half of the unscored items, 5 are not, and 30 exceed the items.
ROUTES = {
    "blocks": ("linear", 2, True, BlockMinimum),
    "dense primal": ("linear", 5, True, DenseMinimum),
    "dense dual": ("linear", 30, False, DenseMinimum),
    "kernel": ("rbf", 3, False, DenseMinimum),
}


def make_problem(kernel, n_features, query_weight, weight=None, outputs=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((len(QID), n_features))
    y = rng.standard_normal((len(QID), outputs)) + 10.0 * QID[:, None]
    hidden = y.copy()
    hidden[UNSCORED] = 1e3  # must not be looked at

    def features(X):
        return ExplicitFeatures(X) if kernel == "linear" else FullKernel(Kernel(kernel), X)

    graph = ScoredQueries(hidden, Queries.from_labels(QID, len(QID)), weight=weight, query_weight=query_weight)
    problem = Problem(features(X), graph)
    return problem, Kernel(kernel).matrix(X), y


def sets_of(name):
    labels = FOLDS[name]
    return [np.flatnonzero(labels == label) for label in np.unique(labels)]


@pytest.mark.parametrize("route", ROUTES)
def test_the_route_is_the_one_meant(route, monkeypatch):
    kernel, n_features, primal, kind = ROUTES[route]
    taken = []
    for minimum in (BlockMinimum, DenseMinimum):
        make = minimum.of
        monkeypatch.setattr(minimum, "of", lambda *args, make=make, kind=minimum: (taken.append(kind), make(*args))[1])
    problem, _, _ = make_problem(kernel, n_features, "pairs")
    folds = ItemSets.of(sets_of("queries"), len(QID))
    transduce(problem, UNSCORED, folds, 1.0, ANCHORS)
    assert taken == [kind]
    assert FoldResiduals.of(problem, folds, 1.0, UNSCORED).primal == primal


@pytest.mark.parametrize("query_weight", QUERY_WEIGHTS)
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("folds", ["queries", "unions"])
def test_equals_minimising_the_objective_by_retraining(query_weight, route, folds):
    kernel, n_features, _, _ = ROUTES[route]
    problem, K, y = make_problem(kernel, n_features, query_weight)
    held = sets_of(folds)
    found, _ = transduce(problem, UNSCORED, ItemSets.of(held, len(QID)), 0.5, np.array([0.3]))
    Phi = root_features(K)

    def literal(candidate):
        return objective(candidate, Phi, y[:, 0], QID, UNSCORED, held, 0.5, 0.3, query_weight)

    expected = minimise(literal, len(UNSCORED))
    np.testing.assert_allclose(found[:, 0, 0], expected, rtol=0, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("alpha", [2.0**-15, 1.0, 2.0**15])
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(("query_weight", "folds"), [("pairs", "queries"), ("items", "halves"), ("queries", "unions")])
def test_equals_the_objective_in_fifty_digits(alpha, route, query_weight, folds):
    kernel, n_features, _, _ = ROUTES[route]
    problem, K, y = make_problem(kernel, n_features, query_weight)
    held = sets_of(folds)
    sets = ItemSets.of(held, len(QID))
    together, inductive = transduce(problem, UNSCORED, sets, alpha, ANCHORS)
    expected, predicted = exact_transduction(K, y[:, 0], QID, UNSCORED, held, alpha, ANCHORS, query_weight)
    np.testing.assert_allclose(inductive[:, 0], predicted, rtol=0, atol=1e-8 * np.abs(predicted).max())
    for number, anchor in enumerate(ANCHORS):
        within = 1e-8 * np.abs(expected[:, number]).max()
        np.testing.assert_allclose(together[:, 0, number], expected[:, number], rtol=0, atol=within)
        alone, _ = transduce(problem, UNSCORED, sets, alpha, np.array([anchor]))
        np.testing.assert_allclose(alone[:, 0, 0], expected[:, number], rtol=0, atol=within)


@pytest.mark.parametrize("route", ROUTES)
def test_item_weights(route):
    kernel, n_features, _, _ = ROUTES[route]
    weight = 0.5 + np.arange(len(QID)) % 3
    weight[[3, 5]] = 0.0  # one scored and one unscored item take no part
    problem, K, y = make_problem(kernel, n_features, "pairs", weight)
    held = sets_of("unions")
    found, inductive = transduce(problem, UNSCORED, ItemSets.of(held, len(QID)), 0.5, np.array([0.3]))
    Phi = root_features(K)

    def literal(candidate):
        return objective(candidate, Phi, y[:, 0], QID, UNSCORED, held, 0.5, 0.3, "pairs", weight)

    expected = minimise(literal, len(UNSCORED))
    np.testing.assert_allclose(found[:, 0, 0], expected, rtol=0, atol=1e-8 * np.abs(expected).max())
    idle = np.flatnonzero((weight[UNSCORED] == 0) | (QID[UNSCORED] == 5))
    np.testing.assert_allclose(found[idle, 0, 0], inductive[idle, 0], rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("route", ROUTES)
def test_outputs_are_transduced_as_if_alone(route):
    kernel, n_features, _, _ = ROUTES[route]
    problem, _, y = make_problem(kernel, n_features, "items", outputs=3)
    folds = ItemSets.of(sets_of("queries"), len(QID))
    together, _ = transduce(problem, UNSCORED, folds, 0.1, ANCHORS)
    for k in range(3):
        graph = ScoredQueries(y[:, k : k + 1], problem.graph.queries, query_weight="items")
        one, _ = transduce(Problem(problem.features, graph), UNSCORED, folds, 0.1, ANCHORS)
        np.testing.assert_allclose(together[:, k], one[:, 0], rtol=0, atol=1e-11 * np.abs(one).max())


@pytest.mark.parametrize("route", ROUTES)
def test_the_mean_of_a_query_is_that_of_the_inductive_prediction(route):
    kernel, n_features, _, _ = ROUTES[route]
    problem, _, _ = make_problem(kernel, n_features, "queries")
    found, inductive = transduce(problem, UNSCORED, ItemSets.of(sets_of("unions"), len(QID)), 0.5, ANCHORS)
    moved = found - inductive[:, :, None]
    assert np.abs(moved).max() > 1e-3
    for label in np.unique(QID[UNSCORED]):
        np.testing.assert_allclose(moved[QID[UNSCORED] == label].sum(axis=0), 0.0, atol=1e-12 * np.abs(found).max())


@pytest.mark.parametrize("route", ROUTES)
def test_a_shift_of_a_scored_query_changes_nothing(route):
    kernel, n_features, _, _ = ROUTES[route]
    problem, _, _ = make_problem(kernel, n_features, "pairs")
    folds = ItemSets.of(sets_of("queries"), len(QID))
    found, _ = transduce(problem, UNSCORED, folds, 0.5, ANCHORS)
    shifted = ScoredQueries(problem.graph.scores + 1e6 * (QID == 2)[:, None], problem.graph.queries)
    again, _ = transduce(Problem(problem.features, shifted), UNSCORED, folds, 0.5, ANCHORS)
    np.testing.assert_allclose(again, found, rtol=0, atol=1e-9 * np.abs(found).max())


def lonely_feature(scale):
    """Items of which one fold alone has the last feature."""
    problem, _, y = make_problem("linear", 5, "pairs")
    X = problem.features.X.copy()
    X[:, 4] *= scale * (QID == 3)
    return Problem(ExplicitFeatures(X), problem.graph), X, y


def test_a_fold_that_alone_carries_a_feature_takes_the_dual_form():
    problem, X, y = lonely_feature(10.0)
    held = sets_of("queries")
    folds = ItemSets.of(held, len(QID))
    assert not FoldResiduals.of(problem, folds, 2.0**-15, UNSCORED).primal
    assert FoldResiduals.of(problem, folds, 1.0, UNSCORED).primal
    found, _ = transduce(problem, UNSCORED, folds, 2.0**-15, np.array([0.01]))
    expected, _ = exact_transduction(X @ X.T, y[:, 0], QID, UNSCORED, held, 2.0**-15, [0.01])
    np.testing.assert_allclose(found[:, 0], expected, rtol=0, atol=1e-8 * np.abs(expected).max())


def test_an_alpha_lost_in_rounding_is_refused():
    problem, _, _ = lonely_feature(1e9)
    with pytest.raises(InvalidInputError, match=r"alpha=0\.01 is too small for the residuals of fold 3"):
        transduce(problem, UNSCORED, ItemSets.of(sets_of("queries"), len(QID)), 0.01, ANCHORS)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_duplicated_items_and_a_singular_kernel(kernel):
    problem, _, y = make_problem(kernel, 3, "items")
    X = problem.features.X.copy()
    X[8:] = X[:8]
    features = (lambda X: ExplicitFeatures(X)) if kernel == "linear" else (lambda X: FullKernel(Kernel("rbf"), X))
    problem = Problem(features(X), problem.graph, lambda kept, held: (features(X[kept]), X[held]))
    held, K = sets_of("queries"), Kernel(kernel).matrix(X)
    for alpha in (2.0**-15, 1.0):
        found, _ = transduce(problem, UNSCORED, ItemSets.of(held, len(QID)), alpha, np.array([1.0]))
        expected, _ = exact_transduction(K, y[:, 0], QID, UNSCORED, held, alpha, [1.0], "items")
        np.testing.assert_allclose(found[:, 0], expected, rtol=0, atol=1e-8 * np.abs(expected).max())


def test_too_many_items_are_refused(monkeypatch):
    monkeypatch.setattr(transduction, "DIRECT_LIMIT", 10)
    problem, _, _ = make_problem("rbf", 3, "pairs")
    with pytest.raises(InvalidInputError, match="= 16; the limit is 10"):
        transduce(problem, UNSCORED, ItemSets.of(sets_of("queries"), len(QID)), 1.0, ANCHORS)
