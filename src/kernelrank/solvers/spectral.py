"""Spectral: one eigendecomposition that serves every alpha, every output and every hold-out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import eigh

from kernelrank.arrays import Float
from kernelrank.comparisons import Comparisons
from kernelrank.errors import InvalidInputError
from kernelrank.features import Features
from kernelrank.solvers.base import Solution, Solver
from kernelrank.solvers.normal_equations import NormalEquations

__all__ = ["Spectral", "Spectrum", "spectrum"]


@dataclass(frozen=True)
class Spectrum:
    """``A = V diag(μ) Vᵀ`` with the right-hand side in the same basis, ``Vᵀ b``."""

    values: Float
    vectors: Float
    rotated: Float
    back: Callable[[Float], Float]


@dataclass(frozen=True)
class Spectral(Solver[Spectrum]):
    """Decompose A once; then ``x = V (Vᵀ b / (μ + alpha))``.

    Notes
    -----
    O(s³) time once, where s is the smaller of m and r, then O(s²) for each alpha and output. Memory 2 s² numbers.
    """

    name: str = field(init=False, default="spectral")

    def prepare(self, features: Features, comparisons: Comparisons) -> Spectrum:
        """Form the normal equations and decompose them."""
        equations = NormalEquations.of(features, comparisons)
        values, vectors = spectrum(equations.A, equations.rounding)
        return Spectrum(values, vectors, vectors.T @ equations.b, equations.back)

    def solve(self, state: Spectrum, alpha: float, **_: Any) -> Solution:
        """Solve for one alpha."""
        x = state.vectors @ (state.rotated / (state.values + alpha)[:, None])
        return Solution(state.back(x), x)


def spectrum(A: Float, rounding: float) -> tuple[Float, Float]:
    """Return the eigenvalues and eigenvectors of a positive semidefinite matrix, which is overwritten.

    Eigenvalues that rounding made negative become zero; any that are more negative than `rounding` are an error.
    """
    if len(A) == 0:
        return np.zeros(0), np.zeros((0, 0))
    values, vectors = eigh(A, driver="evd", overwrite_a=True, check_finite=False)
    if values[0] < -rounding:
        raise InvalidInputError(
            "the kernel matrix is not positive semidefinite: after centring its smallest eigenvalue is "
            f"{values[0]:.3g} and its largest {values[-1]:.3g}"
        )
    return np.maximum(values, 0.0), vectors
