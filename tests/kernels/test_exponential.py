"""The compiled exponential: to the last digit but one, at every size, and where numbers end."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from kernelrank.features import ReducedSet, kernel_scores
from kernelrank.kernels import Kernel
from kernelrank.kernels import kernel as module
from kernelrank.kernels.kernel import SMALLEST, exponential


@pytest.fixture(params=["numpy", "compiled"])
def way(request, monkeypatch):
    monkeypatch.setattr(module, "MANY", 2**60 if request.param == "numpy" else 0)
    return request.param


def exponentials(x):
    values = np.array(x, dtype=np.float64, ndmin=2)
    out = np.full_like(values, np.nan)
    exponential(values, out, values.size)
    return out


@pytest.mark.parametrize("scale", [1e-300, 1e-17, 1e-3, 1.0, 30.0, 700.0])
def test_it_has_all_digits(way, scale):
    x = -scale * np.random.default_rng(0).random((7, 41))
    with mpmath.workdps(40):
        exact = np.array([[float(mpmath.exp(mpmath.mpf(value))) for value in row] for row in x])
    np.testing.assert_allclose(exponentials(x), exact, rtol=2.3e-16)


def test_what_rounding_made_positive_counts_as_zero(way):
    np.testing.assert_array_equal(exponentials([0.0, -0.0, 1e-9, 5.0]), [[1.0, 1.0, 1.0, 1.0]])


def test_the_ends(way):
    found = exponentials([-np.inf, -1e300, -800.0, SMALLEST, np.nan])[0]
    np.testing.assert_array_equal(found[:3], 0.0)
    assert found[3] == pytest.approx(np.exp(SMALLEST), rel=1e-15)
    assert np.isnan(found[4])


def test_in_place(way):
    x = np.array([[-1.0, -2.0], [-3.0, -0.5]])
    exact = np.exp(x)
    exponential(x, x, x.size)
    np.testing.assert_allclose(x, exact, rtol=2.3e-16)


@pytest.mark.parametrize("m", [1, 3, 300])
def test_kernels_are_those_of_numpy(monkeypatch, m):
    X = np.random.default_rng(m).standard_normal((m, 5))
    kernel = Kernel("rbf", 0.3)
    plain = kernel.matrix(X), kernel.matrix(X, X[:2])
    monkeypatch.setattr(module, "MANY", 0)
    for found, expected in zip((kernel.matrix(X), kernel.matrix(X, X[:2])), plain, strict=True):
        np.testing.assert_allclose(found, expected, rtol=5e-16)
    assert np.array_equal(kernel.matrix(X), kernel.matrix(X).T)


def test_all_blocks_of_a_matrix_go_the_same_way(monkeypatch):
    X = np.random.default_rng(0).standard_normal((9, 2))
    ways = []
    monkeypatch.setattr(module, "MANY", 9 * 3)
    monkeypatch.setattr(module, "_exponentiate", lambda values, *_: ways.append(values.shape))
    features = ReducedSet(Kernel("rbf", 0.3), X, np.arange(3))
    ways.clear()  # the basis alone is not many
    assert features._kernels[2:4].shape == (2, 3)
    kernel_scores(features.kernel, X, X[:3], np.ones((3, 1)))
    assert ways == [(2, 3), (9, 3)]
