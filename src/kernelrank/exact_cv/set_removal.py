r"""A problem with a diagonal matrix without a few preferences, for one alpha.

In the notation of `preference_sets`: ``M = A - D_EᵀW_E D_E``, and Woodbury's formula gives
``M⁻¹ = A⁻¹ + A⁻¹D_EᵀW^½ (I - W^½ P_EE W^½)⁻¹ W^½D_E A⁻¹``.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from kernelrank.base.arrays import Float

__all__ = ["PIVOT", "SetRemoval"]

PIVOT = 1e-6
"""The smallest pivot of ``I - P W`` that is trusted: what is lost beside it is the rest of double precision."""


class SetRemoval:
    """A problem without a set E, ``M = A - D_EᵀW_E D_E``, for one alpha.

    Parameters
    ----------
    rows : ndarray, shape (u, s)
        ``D_E``.
    weight : ndarray, shape (u,)
    shrunk : ndarray, shape (s,)
        The diagonal of ``A⁻¹``.
    factor : ndarray, shape (u, u)
        The Cholesky factor of ``I - W^½ P_EE W^½``.
    """

    def __init__(self, rows: Float, weight: Float, shrunk: Float, factor: Float) -> None:
        self.shrunk, self.factor = shrunk, factor
        self.rows, self.root = rows, np.sqrt(weight)
        self.weighted = self.root[:, None] * rows

    @classmethod
    def of(cls, rows: Float, weight: Float, shrunk: Float) -> SetRemoval | None:
        """Factorise; None where digits are lost."""
        scaled = rows * np.sqrt(weight)[:, None] * np.sqrt(shrunk)
        factor, info = lapack.dpotrf(np.eye(len(rows)) - scaled @ scaled.T, lower=1, overwrite_a=1)
        if info != 0 or float(np.diagonal(factor).min(initial=1.0)) ** 2 <= PIVOT:
            return None
        return cls(rows, weight, shrunk, factor)

    def model(self, target: Float, magnitude: Float) -> Float:
        """Return the coefficients of the model without E, ``A⁻¹(DᵀWz - D_EᵀW_E q_E)``."""
        r = magnitude - self.rows @ (self.shrunk * target)
        q, _ = lapack.dpotrs(self.factor, self.root * r, lower=1)
        return np.asarray(self.shrunk * (target - self.weighted.T @ q.ravel()))

    def solve(self, V: Float) -> Float:
        """Return ``M⁻¹ V``, shape (s, k)."""
        x = self.shrunk[:, None] * V
        inner, _ = lapack.dpotrs(self.factor, self.weighted @ x, lower=1)
        return np.asarray(x + self.shrunk[:, None] * (self.weighted.T @ inner))
