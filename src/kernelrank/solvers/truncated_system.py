"""The system of a Newton step, solved by preconditioned conjugate gradients no further than the step needs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernelrank.base.arrays import Float

__all__ = ["solve_roughly"]


def solve_roughly(
    hessian: Callable[[Float], tuple[Float, Float]],
    b: Float,
    precondition: Callable[[Float], Float],
    x_scores: Float,
    forcing: float,
    most: int,
) -> tuple[Float, Float]:
    """Solve ``H d = b`` from zero; also return Φ d, which each product has found on its way.

    Parameters
    ----------
    hessian : callable
        Maps v (p,) to ``H v`` and ``Φ v``.
    b : ndarray, shape (p,)
    precondition : callable
        Multiplies with a symmetric matrix that resembles the inverse of H.
    x_scores : ndarray, shape (m,)
        Zeros.
    forcing : float
        The relative residual at which to stop, in the norm of the preconditioner.
    most : int
        The largest number of products.

    Returns
    -------
    (ndarray, ndarray)
    """
    x = np.zeros_like(b)
    r, z = b, precondition(b)
    p, size = z, float(b @ z)
    first = size
    for _ in range(most):
        product, p_scores = hessian(p)
        curvature = float(p @ product)
        if not curvature > 0:
            break
        length = size / curvature
        x, x_scores = x + length * p, x_scores + length * p_scores
        r = r - length * product
        z = precondition(r)
        previous, size = size, float(r @ z)
        if size <= forcing**2 * first:
            break
        p = z + (size / previous) * p
    return x, x_scores
