r"""Systems with a small part removed, ``(A - T) x = c - t``, for many T and many diagonal A at once.

A is the diagonal matrix of all data, one for each alpha, and c its right-hand side; T and t are the parts of a set. The
solution ``A⁻¹c`` of all data is known, and leaves the residual ``T A⁻¹c - t``. A few of many data change it by little:
conjugate gradients with the preconditioner A need a handful of products with T, and converge as if the condition
number were ``1 / (1 - ‖A^-½ T A^-½‖)``. Adding ``A⁻¹r`` of the last residual r multiplies the error by ``A⁻¹T`` once
more and needs no product. A system in which T removes almost all of a direction of A is left to the caller.

**A probe.** Along such a direction the residual may be tiny and the solution far away, so a small residual says little,
and steps that never go there do not see it. So each system is solved for one more right-hand side, drawn at random,
with the smallest A, which loses most. Steps towards its solution cannot miss the direction.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Float, Index
from kernelrank.base.compiled import compiled

__all__ = ["CONVERGED", "solve_reduced"]

SMOOTH = 0.05
"""The smallest curvature beside that of A at which conjugate gradients go on: they keep all but two digits."""

STEPS = 30
"""The largest number of steps of conjugate gradients."""

PROBED = 1e-14
"""What is left of the square of a probe that has seen all directions."""

CONVERGED = 1e-12
"""The residual, beside the solution of all data, that is left before the last correction."""


def solve_reduced(
    multiply: Callable[[Float, Index | slice], Float],
    a: Float,
    x: Float,
    r: Float,
    size: Float,
    converged: float = CONVERGED,
) -> NDArray[np.bool_]:
    """Solve ``(diag(a_k) - T_b) x = c`` for all systems b and all columns k of a, from a first guess.

    Parameters
    ----------
    multiply : callable
        Takes an array (b', s, n) and which b' systems it is for, and returns the products of each T with its columns,
        in the same shape.
    a : ndarray, shape (s, n)
    x : ndarray, shape (b, s, n)
        The first guess, which becomes the solution.
    r : ndarray, shape (b, s, n)
        What it leaves of the right-hand side; it is changed.
    size : ndarray, shape (n,) or (b, n)
        ``xᵀAx`` of a solution of usual size, beside which errors are small.
    converged : float

    Returns
    -------
    ndarray of bool, shape (b, n)
        Which solutions have converged.

    Notes
    -----
    About four steps for sets that hold a hundredth of the data: one product each, and O(b n s) time besides.

    Examples
    --------
    >>> T = np.array([[[0.1, 0.0], [0.0, 0.2]]])
    >>> x, c = np.ones((1, 2, 1)), np.ones((1, 2, 1))
    >>> bool(solve_reduced(lambda p, some: T[some] @ p, np.ones((2, 1)), x, c - x + T @ x, np.ones(1)).all())
    True
    >>> x.round(4).ravel()
    array([1.1111, 1.25  ])
    """
    n = a.shape[1]
    if n > 1 and np.array_equal(a[:, -1], a[:, -2]):  # a column that fills vectors up: its place is free
        solved = _solve(multiply, a, x, r, size, converged)
        x[:, :, -1], solved[:, -1] = x[:, :, -2], solved[:, -2]
        return solved
    wider = np.concatenate([x, x[:, :, -1:]], axis=2)
    columns = [*range(n), -1]
    sizes = np.broadcast_to(size, (len(x), n))[:, columns]
    solved = _solve(multiply, a[:, columns], wider, r[:, :, columns], sizes, converged)
    x[...] = wider[:, :, :n]
    return np.ascontiguousarray(solved[:, :n])


def _solve(
    multiply: Callable[[Float, Index | slice], Float], a: Float, x: Float, r: Float, size: Float, converged: float
) -> NDArray[np.bool_]:
    """Solve for all columns but the last, which becomes the probe."""
    a = a.copy()
    a[:, -1] = a[:, np.argmin(a.sum(axis=0))]
    r[:, :, -1] = np.sqrt(a[:, -1]) * np.random.default_rng(0).standard_normal(len(a))
    inverse = 1.0 / a
    p = r * inverse
    rho = np.einsum("bsn,bsn->bn", r, p)
    least = np.broadcast_to(converged**2 * size, rho.shape).copy()
    least[:, -1] = PROBED * rho[:, -1]
    scratch = np.empty((2, a.shape[1]))
    for _ in range(STEPS):
        active = np.flatnonzero((rho > least).any(axis=1))
        if len(active) == 0:
            break
        some = active if 2 * len(active) < len(x) else slice(None)
        kept = (x, r, p, rho)
        x_, r_, p_, rho_ = moved = tuple(array[some] for array in kept)
        _advance(a, inverse, multiply(p_, some), x_, r_, p_, rho_, least[some], scratch)
        if some is active:
            for array, part in zip(kept, moved, strict=True):
                array[some] = part
    x += r * inverse
    solved = np.asarray(rho <= least)
    return np.asarray(solved & solved[:, -1:])


@compiled
def _advance(
    a: Float,
    inverse: Float,
    product: Float,
    x: Float,
    r: Float,
    p: Float,
    rho: Float,
    least: Float,
    scratch: Float,
) -> None:
    """Take one step of conjugate gradients where more than `least` is left; NaN where a system is too far from A."""
    size, count = a.shape
    for b in range(len(x)):
        for k in range(count):
            scratch[0, k] = scratch[1, k] = 0.0
        for i in range(size):
            for k in range(count):
                v = p[b, i, k]
                scratch[0, k] += a[i, k] * v * v
                scratch[1, k] += v * product[b, i, k]
        for k in range(count):
            norm, curvature = scratch[0, k], scratch[0, k] - scratch[1, k]
            smooth = rho[b, k] / curvature if curvature >= SMOOTH * norm else np.nan
            scratch[0, k] = smooth if rho[b, k] > least[b, k] else 0.0
            scratch[1, k] = 0.0
        for i in range(size):
            for k in range(count):
                step, v = scratch[0, k], p[b, i, k]
                x[b, i, k] += step * v
                r[b, i, k] -= step * (a[i, k] * v - product[b, i, k])
                scratch[1, k] += r[b, i, k] * r[b, i, k] * inverse[i, k]
        for k in range(count):
            shrunk = scratch[1, k] / rho[b, k]
            if rho[b, k] > least[b, k]:
                rho[b, k] = scratch[1, k]
            scratch[0, k] = shrunk
        for i in range(size):
            for k in range(count):
                p[b, i, k] = r[b, i, k] * inverse[i, k] + scratch[0, k] * p[b, i, k]
