"""The system of a Newton step, in each way that it is solved, against the dense matrix."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from kernelrank.base.labels import Queries
from kernelrank.comparisons import ScoredQueries
from kernelrank.features import ExplicitFeatures
from kernelrank.hinge import SmoothedHinge, newton
from kernelrank.hinge.newton import NewtonSystem
from kernelrank.hinge.problem import PairProblem


def draw(m, n, seed=0):
    rng = np.random.default_rng(seed)
    X, qid = rng.standard_normal((m, n)), rng.integers(0, 3, m)
    X[rng.random((m, n)) < 0.5] = 0.0
    y = X @ rng.standard_normal(n) + rng.standard_normal(m)
    return X, y, qid, rng


def problem_of(X, y, qid):
    return PairProblem(ExplicitFeatures(X), ScoredQueries(y[:, None], Queries.from_labels(qid, len(y)), ties="exclude"))


@pytest.mark.parametrize("columns", [7, 60, 300])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("steps", [0, 10**6])
def test_a_system_is_solved_by_either_way(columns, form, steps):
    X, y, qid, rng = draw(60, columns)
    problem = problem_of(form(X), y, qid)
    system = NewtonSystem(problem, 0.5)
    system.steps = steps  # so many are above what a factorisation costs
    for width in (2.0, 0.5, 0.1, 1.0):  # items leave and come back
        curvature = SmoothedHinge(problem.pairs, width).at(rng.standard_normal(60)).curvature
        items, H = curvature.matrix()
        b = rng.standard_normal(columns)
        A = X[items].T @ H @ X[items] + np.eye(columns)
        d, d_scores = system.solve(curvature, b, 1e-10)
        expected = np.linalg.solve(A, b)
        np.testing.assert_allclose(d, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
        np.testing.assert_allclose(d_scores, X @ d, rtol=0, atol=1e-10 * np.abs(d_scores).max())


def test_a_factorisation_takes_one_step(monkeypatch):
    X, y, qid, rng = draw(60, 300)
    problem = problem_of(X, y, qid)
    system = NewtonSystem(problem, 1e-6)
    system.steps = 10**6
    taken = []
    iterate = NewtonSystem._iterate
    monkeypatch.setattr(NewtonSystem, "_iterate", lambda *a: taken.append(iterate(*a)[2]) or iterate(*a))
    curvature = SmoothedHinge(problem.pairs, 1e-2).at(0.1 * rng.standard_normal(60)).curvature
    system.solve(curvature, rng.standard_normal(300), 0.01)
    assert taken == [1]


def test_kernels_of_many_items_are_forgotten(monkeypatch):
    monkeypatch.setattr(newton, "FEW", 25)
    X, y, qid, _ = draw(60, 80)
    system = NewtonSystem(problem_of(X, y, qid), 1.0)
    for items in (np.arange(20), np.arange(10, 30), np.arange(5, 25), np.array([40, 3, 59])):
        np.testing.assert_allclose(system._kernel(items), X[items] @ X[items].T, atol=1e-12)
        assert len(system.known) <= 25
