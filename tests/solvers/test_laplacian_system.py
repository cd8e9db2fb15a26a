"""The system without a root of L has the minimum over the pairs, or hands over to the form that has a root."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelrank.comparisons import PreferenceGraph
from kernelrank.errors import InvalidInputError, LostDigitsWarning
from kernelrank.estimators import RankRLS
from kernelrank.features import ExplicitFeatures, FullKernel
from kernelrank.kernels import Kernel
from kernelrank.solvers import Cholesky, choose_solver
from kernelrank.solvers.direct import LaplacianSystem
from tests.oracles.pairs import Edges
from tests.solvers.test_exactness import KERNELS, assert_exact, problems


def drawn_pairs(m, count, seed):
    """Pairs among all items but the last, in several parts, some of them repeated."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, max(m - 1, 1), size=count)
    second = (first + rng.integers(1, m, size=count)) % m
    return np.column_stack([first, second]), rng.uniform(0.5, 2.0, count), 10.0 ** rng.uniform(-1, 1, count)


@pytest.mark.parametrize("kernel", KERNELS)
@settings(max_examples=60, deadline=None)
@pytest.mark.filterwarnings("ignore::kernelrank.errors.LostDigitsWarning")
@given(problem=problems(), density=st.sampled_from([0.3, 1.0, 3.0]), seed=st.integers(0, 1000))
def test_it_finds_the_minimum_over_the_pairs(kernel, problem, density, seed):
    X, _, _, _, alpha = problem
    pairs, magnitude, weight = drawn_pairs(len(X), max(1, int(density * len(X))), seed)
    graph = PreferenceGraph(len(X), pairs, magnitude=magnitude, weight=weight)
    features = ExplicitFeatures(X) if kernel == "linear" else FullKernel(Kernel(kernel, **KERNELS[kernel]), X)
    solver = LaplacianSystem()
    solution = solver.solve(solver.prepare(features, graph), alpha)
    edges = Edges(len(X), pairs[:, 0], pairs[:, 1], magnitude, weight)
    assert_exact(features.predict(X, solution.coefficients)[:, 0], X, edges, alpha, kernel)


def large_problem(kernel, m=150, shift=0.0, seed=0, **options):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, 3)) + shift
    pairs = rng.integers(0, m, size=(2 * m, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return FullKernel(Kernel(kernel, **options), X), PreferenceGraph(
        m, pairs, magnitude=np.ones(len(pairs)), weight=np.ones(len(pairs))
    )


@pytest.mark.parametrize("alpha", [2.0**-15, 1.0, 2.0**15])
@pytest.mark.parametrize(
    ("kernel", "shift", "options"),
    [("rbf", 0.0, {"gamma": 0.3}), ("rbf", 1e4, {"gamma": 0.3}), ("poly", 0.0, {"degree": 2, "gamma": 1.0})],
)
def test_it_agrees_with_the_symmetric_form(kernel, shift, options, alpha):
    features, graph = large_problem(kernel, shift=shift, **options)
    assert isinstance(choose_solver(features, graph), LaplacianSystem)
    found, expected = (
        features.predict(features.X, solver.solve(solver.prepare(features, graph), alpha).coefficients)
        for solver in (LaplacianSystem(), Cholesky())
    )
    np.testing.assert_allclose(found - found.mean(), expected - expected.mean(), atol=1e-8 * np.ptp(expected))


def test_scores_and_several_alphas_have_other_solvers():
    features, graph = large_problem("rbf")
    assert isinstance(choose_solver(features, graph, 1), LaplacianSystem)
    assert not isinstance(choose_solver(features, graph, 2), LaplacianSystem)
    assert not isinstance(choose_solver(ExplicitFeatures(features.X), graph), LaplacianSystem)
    dense = PreferenceGraph(3, np.array([[0, 1], [1, 2]]), magnitude=np.ones(2), weight=np.ones(2))
    assert not isinstance(choose_solver(FullKernel(Kernel("rbf"), features.X[:3]), dense), LaplacianSystem)


def test_it_reports_itself_and_predicts_alike_precomputed():
    features, graph = large_problem("rbf", gamma=0.3)
    X, K = features.X, features.kernel.matrix(features.X)
    model = RankRLS(0.1, kernel="rbf", gamma=0.3).fit_pairs(X, graph.pairs)
    same = RankRLS(0.1, kernel="precomputed").fit_pairs(K, graph.pairs)
    assert model.solver_ == same.solver_ == "lu"
    np.testing.assert_allclose(same.predict(K), model.predict(X), atol=1e-10)


def test_an_indefinite_kernel_is_refused_by_the_symmetric_form():
    features, graph = large_problem("sigmoid", gamma=1.0, coef0=1.0)
    solver = LaplacianSystem()
    state = solver.prepare(features, graph)
    assert not state.definite
    with pytest.raises(InvalidInputError, match="not positive semidefinite"):
        solver.solve(state, 1e-3)


def test_digits_that_are_lost_are_told_by_the_symmetric_form():
    X = np.linspace(0.0, 1.0, 200)[:, None]
    pairs = np.column_stack([np.arange(1, 200), np.arange(199)])
    magnitude = 1.0 + np.sin(np.arange(199.0))
    with pytest.warns(LostDigitsWarning):
        model = RankRLS(1e-14, kernel="rbf", gamma=0.01).fit_pairs(X, pairs, magnitude=magnitude)
    assert model.solver_ == "cholesky"
