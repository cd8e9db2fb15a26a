"""Cutting planes: the small problem inside the bundle method."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from kernelrank.hinge.bundle import MOST_UNUSED, CuttingPlanes, maximise_on_simplex
from kernelrank.hinge.problem import Plane


def value(Q, b, beta):
    return b @ beta - 0.5 * beta @ Q @ beta


def excess(Q, b, beta):
    """How much the best vertex promises beyond beta: zero at the maximum, and a bound of what is missing."""
    height = b - Q @ beta
    return height.max() - height @ beta


@given(st.integers(1, 30), st.integers(0, 10), st.sampled_from([1e-6, 1.0, 1e6]), st.integers(0, 10**6))
@settings(deadline=None, max_examples=150)
def test_the_maximum_is_found_whatever_the_rank(k, rank, scale, seed):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((k, rank)) * scale
    if k > 2:
        A[-1] = A[0]  # the same slope twice
    Q, b = A @ A.T, rng.standard_normal(k) * rng.choice([0.0, 1.0, 100.0])
    start = np.zeros(k)
    start[rng.integers(k)] = 1.0
    beta = maximise_on_simplex(Q, b, start)
    assert np.all(beta >= 0)
    assert beta.sum() == pytest.approx(1.0)
    size = np.abs(b).max() + np.abs(np.diagonal(Q)).max()
    assert excess(Q, b, beta) <= 1e-8 * size + 1e-300


def test_another_library_agrees():
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((8, 5)), rng.standard_normal(8)
    Q = A @ A.T
    beta = maximise_on_simplex(Q, b, np.eye(8)[0])
    result = minimize(
        lambda x: -value(Q, b, x),
        np.full(8, 1 / 8),
        jac=lambda x: Q @ x - b,
        bounds=[(0, 1)] * 8,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1, "jac": lambda x: np.ones(8)},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    assert value(Q, b, beta) >= -result.fun - 1e-12


def test_planes_that_stay_unused_leave_and_the_bound_holds():
    planes = CuttingPlanes(1, 0.5)
    planes.add(Plane(np.array([-2.0]), 2.0))
    planes.add(Plane(np.array([0.0]), -50.0))  # never the highest
    for _ in range(MOST_UNUSED):
        assert len(planes) == 2
        planes.minimise()
    planes.add(Plane(np.array([0.0]), 0.0))
    assert len(planes) == 2
    w, bound = planes.minimise()
    assert w[0] == pytest.approx(1.0)
    assert bound == pytest.approx(0.5)
