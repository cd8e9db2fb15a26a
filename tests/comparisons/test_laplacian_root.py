"""The root of a Laplacian is its Cholesky factor, entry by entry, whatever the weights are."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from kernelrank.comparisons.graph import laplacian_root


def draw(seed, n, *, spread, density=1.0):
    rng = np.random.default_rng(seed)
    W = np.triu(10.0 ** rng.uniform(-spread, spread, size=(n, n)) * (rng.random((n, n)) < density), 1)
    return W + W.T


def exact_root(W):
    """Cholesky's factor with sixty digits; rows without a pivot are zero."""
    n = len(W)
    with mpmath.workdps(60):
        L = mpmath.matrix(n, n)
        for i in range(n):
            for j in range(n):
                if i != j:
                    L[i, j] = -mpmath.mpf(float(W[i, j]))
                    L[i, i] += mpmath.mpf(float(W[i, j]))
        U = np.zeros((n, n))
        for k in range(n):
            if L[k, k] < mpmath.mpf(10) ** -40:
                continue
            row = [L[k, j] / mpmath.sqrt(L[k, k]) for j in range(n)]
            for i in range(k + 1, n):
                for j in range(k + 1, n):
                    L[i, j] -= row[i] * row[j]
            U[k, k:] = [float(value) for value in row[k:]]
        return U


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("spread", [0, 3, 10])
def test_every_entry_has_its_digits(seed, spread):
    W = draw(seed, 9, spread=spread, density=1.0 if seed % 2 else 0.3)
    np.testing.assert_allclose(laplacian_root(W.copy()), exact_root(W), rtol=1e-13, atol=1e-19)


@pytest.mark.parametrize("n", [1, 63, 64, 65, 200])
def test_panels(n):
    W = draw(n, n, spread=1, density=0.5)
    U = laplacian_root(W.copy())
    assert np.all(np.tril(U, -1) == 0.0)
    L = np.diag(W.sum(axis=1)) - W
    np.testing.assert_allclose(U.T @ U, L, atol=1e-12 * max(1.0, np.abs(L).max()))
