"""Spectral: one eigendecomposition that serves every alpha, every output and every hold-out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from kernelrank.arrays import Float
from kernelrank.comparisons import Comparisons
from kernelrank.features import Features
from kernelrank.solvers.base import Solution, Solver
from kernelrank.solvers.cholesky import Cholesky, NormalEquations
from kernelrank.solvers.double_precision import report_error, spectral_error
from kernelrank.solvers.spectrum import spectrum, trusted_alpha

__all__ = ["Spectral", "Spectrum"]


@dataclass(frozen=True)
class Spectrum:
    """``A = V diag(μ) Vᵀ`` with the right-hand side in the same basis, ``Vᵀ b``.

    Parameters
    ----------
    values, vectors, rotated : ndarray, shapes (s,), (s, s), (s, outputs)
        μ, V and ``Vᵀ b``.
    equations : NormalEquations
        What was decomposed; its matrix is kept only where small alphas need it.
    trusted : float
        The alpha from which on the spectrum is used.
    """

    values: Float
    vectors: Float
    rotated: Float
    equations: NormalEquations
    trusted: float

    @classmethod
    def of(cls, equations: NormalEquations) -> Spectrum:
        """Decompose normal equations, whose matrix is overwritten."""
        trusted = trusted_alpha(equations.A)
        kept = replace(equations, A=equations.A.copy() if trusted > 0.0 else np.zeros((0, 0)))
        values, vectors = spectrum(equations.A, equations.rounding)
        return cls(values, vectors, vectors.T @ equations.b, kept, trusted)


@dataclass(frozen=True)
class Spectral(Solver[Spectrum]):
    """Decompose A once; then ``x = V (Vᵀ b / (μ + alpha))``.

    Notes
    -----
    O(s³) time once, where s is the smaller of m and r, then O(s²) for each alpha and output. Memory 2 s² numbers. Where
    A is so uneven that a spectrum would lose digits, small alphas are solved by factorisations, ``s³/3`` each, and A is
    kept as well.
    """

    name: str = field(init=False, default="spectral")

    def prepare(self, features: Features, comparisons: Comparisons) -> Spectrum:
        """Form the normal equations and decompose them."""
        return Spectrum.of(NormalEquations.of(features, comparisons))

    def solve(self, state: Spectrum, alpha: float, **_: object) -> Solution:
        """Solve for one alpha."""
        equations, rotated = state.equations, state.rotated
        if alpha < state.trusted:
            return Cholesky().solve(equations, alpha)
        x = state.vectors @ (rotated / (state.values + alpha)[:, None])
        error = spectral_error(state.values, rotated, alpha, primal=equations.primal, sums=equations.sums(x))
        report_error(alpha, error)
        return Solution(equations.back(x), x)
