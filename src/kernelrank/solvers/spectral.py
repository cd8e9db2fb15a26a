"""Spectral: one eigendecomposition that serves every alpha, every output and every hold-out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from kernelrank.arrays import Float
from kernelrank.comparisons import Comparisons
from kernelrank.features import Features
from kernelrank.solvers.base import Solution, Solver
from kernelrank.solvers.cholesky import Cholesky
from kernelrank.solvers.normal_equations import NormalEquations
from kernelrank.solvers.spectrum import spectrum, trusted_alpha

__all__ = ["Spectral", "Spectrum"]


@dataclass(frozen=True)
class Spectrum:
    """``A = V diag(μ) Vᵀ`` with the right-hand side in the same basis, ``Vᵀ b``."""

    values: Float
    vectors: Float
    rotated: Float
    back: Callable[[Float], Float]
    equations: NormalEquations | None = None
    """The equations themselves, where a spectrum loses digits that a factorisation keeps."""
    trusted: float = 0.0
    """The alpha from which on the spectrum is used."""


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
        equations = NormalEquations.of(features, comparisons)
        trusted = trusted_alpha(equations.A)
        kept = replace(equations, A=equations.A.copy()) if trusted > 0.0 else None
        values, vectors = spectrum(equations.A, equations.rounding)
        return Spectrum(values, vectors, vectors.T @ equations.b, equations.back, kept, trusted)

    def solve(self, state: Spectrum, alpha: float, **_: Any) -> Solution:
        """Solve for one alpha."""
        if state.equations is not None and alpha < state.trusted:
            return Cholesky().solve(state.equations, alpha)
        x = state.vectors @ (state.rotated / (state.values + alpha)[:, None])
        return Solution(state.back(x), x)
