"""A path through the tridiagonal form has the minimum of every alpha, as the oracle that writes the pairs out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelrank.base.labels import Queries
from kernelrank.comparisons import ScoredQueries
from kernelrank.errors import InvalidInputError, LostDigitsWarning
from kernelrank.estimators import RankRLS
from kernelrank.features import ExplicitFeatures
from kernelrank.solvers.direct import Tridiagonal
from tests.oracles.digits import gaussian_rank_rls
from tests.oracles.pairs import scored_edges
from tests.solvers.test_exactness import KERNELS, assert_exact, problems

OTHERS = [2.0**-15, 2.0**-3, 1.0, 7.0, 2.0**15]


@pytest.mark.parametrize("kernel", KERNELS)
@settings(max_examples=40, deadline=None)
@given(problem=problems(), cost=st.sampled_from(["magnitude", "unit", "relative"]))
@pytest.mark.filterwarnings("ignore::kernelrank.errors.LostDigitsWarning")
def test_every_alpha_of_a_path_is_exact(kernel, problem, cost):
    X, y, qid, weight, alpha = problem
    edges = scored_edges(y, qid, weight=weight, cost=cost)
    if not np.any(edges.z > 0):
        return
    alphas = [alpha, *OTHERS]
    path = RankRLS(kernel=kernel, cost=cost, **KERNELS[kernel]).fit_path(X, y, alphas, qid=qid, sample_weight=weight)
    assert all(model.solver_ == "tridiagonal" for model in path)
    for model, value in zip(path, alphas, strict=True):
        assert_exact(model.predict(X), X, edges, value, kernel)


def test_a_smooth_kernel_and_small_alphas_in_fifty_digits():
    rng = np.random.default_rng(0)
    X, y, qid = rng.standard_normal((24, 2)), rng.standard_normal(24), np.repeat(np.arange(3), 8)
    alphas = [2.0**-15, 1e-8, 1e-3, 1.0, 10.0, 100.0]
    path = RankRLS(kernel="rbf", gamma=0.05).fit_path(X, y, alphas, qid=qid)
    for model, alpha in list(zip(path, alphas, strict=True))[:3]:
        found, expected = model.predict(X), gaussian_rank_rls(X, y, qid, alpha, 0.05)
        error = (found - found.mean()) - (expected - expected.mean())
        assert np.abs(error).max() <= (1e-6 if alpha == 1e-8 else 1e-8) * np.ptp(expected)


def test_small_alphas_beside_a_near_tie_are_factorised():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((30, 2)), rng.standard_normal(30)
    y[1] = y[0] + 1e-8
    model = RankRLS(kernel="rbf", gamma=0.5, cost="relative")
    path = model.fit_path(X, y, [1e-3, 1.0, 10.0, 1e2, 1e3, 1e4])
    expected = [RankRLS(alpha, kernel="rbf", gamma=0.5, cost="relative").fit(X, y).predict(X) for alpha in (1e-3, 1.0)]
    for fitted, scores in zip(path, expected, strict=False):
        found = fitted.predict(X)
        np.testing.assert_allclose(found - found.mean(), scores - scores.mean(), atol=1e-10 * np.ptp(scores))


def test_rounding_that_makes_the_form_indefinite_is_survived():
    X = np.repeat(np.random.default_rng(0).standard_normal((10, 2)), 5, axis=0)
    with pytest.warns(LostDigitsWarning):
        path = RankRLS(kernel="rbf").fit_path(X, np.arange(50.0), [1e-18, 1e-17, 1e-16, 1e-15, 1e-14, 1.0])
    assert all(np.all(np.isfinite(model.dual_coef_)) for model in path)


def test_an_indefinite_kernel_is_refused():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 2)), rng.standard_normal(20)
    with pytest.raises(InvalidInputError, match="not positive semidefinite"):
        RankRLS(kernel=lambda a, b: -float(a @ b)).fit_path(X, y, 10.0 ** np.arange(-3, 4))


@pytest.mark.parametrize("columns", [1, 2])
def test_the_smallest_systems(columns):
    X = np.random.default_rng(0).standard_normal((5, columns))
    graph = ScoredQueries(np.arange(5.0)[:, None], Queries.from_labels(None, 5))
    solver = Tridiagonal()
    found = solver.solve(solver.prepare(ExplicitFeatures(X), graph), 0.5).coefficients
    centred = X - X.mean(axis=0)
    expected = np.linalg.solve(5 * centred.T @ centred + 0.5 * np.eye(columns), 5 * centred.T @ np.arange(5.0))
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-12)
