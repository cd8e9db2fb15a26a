"""Cholesky: the cheapest direct solution for a single alpha."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import numpy as np
from scipy.linalg import lapack

from kernelrank.arrays import Float
from kernelrank.comparisons import Comparisons
from kernelrank.features import Features
from kernelrank.solvers.base import FactorisedSolution, Solution, Solver
from kernelrank.solvers.normal_equations import NormalEquations
from kernelrank.solvers.rounding import Rounding, report_error
from kernelrank.solvers.spectrum import spectrum

__all__ = ["Cholesky"]

Solve: TypeAlias = Callable[[Float], Float]
"""From a right-hand side to its solution."""


@dataclass(frozen=True)
class Cholesky(Solver[NormalEquations]):
    """Factorise ``A + alpha I`` once for each alpha.

    Notes
    -----
    ``s³/3`` multiplications for each alpha, where s is the smaller of m and r; about twenty times fewer than a
    spectrum. With ``last=True`` the matrix is factorised in place, so one s × s array is all there ever is.
    """

    name: str = field(init=False, default="cholesky")

    def prepare(self, features: Features, comparisons: Comparisons) -> NormalEquations:
        """Form the normal equations."""
        return NormalEquations.of(features, comparisons)

    def solve(self, state: NormalEquations, alpha: float, *, last: bool = False, **_: object) -> Solution:
        """Solve for one alpha; `last` promises that the state is not needed again."""
        rounding = Rounding.of_factor(state.A, primal=state.primal, summands=state.summands)
        # A is symmetric, so its transpose is the same matrix in the column order that LAPACK overwrites in place.
        A = (state.A if last else state.A.copy()).T
        index = np.arange(len(A))
        diagonal = A[index, index]
        A[index, index] = diagonal + alpha
        factor, failed_at = lapack.dpotrf(A, lower=1, clean=0, overwrite_a=1)
        solve: Solve = partial(_back_substitution, factor)
        if failed_at > 0:
            rounding, solve = _spectrum_of(A, diagonal, state, alpha)
        b = np.asfortranarray(state.b)
        x = solve(b)
        report_error(alpha, rounding.relative_error(solve, x, b, alpha, state.sums(x)))
        kept = factor.T if failed_at == 0 and state.primal else None
        return FactorisedSolution(state.back(x), x, factor=kept)


def _back_substitution(factor: Float, b: Float) -> Float:
    x, _info = lapack.dpotrs(factor, b, lower=1)
    return np.asarray(x)


def _spectrum_of(A: Float, diagonal: Float, state: NormalEquations, alpha: float) -> tuple[Rounding, Solve]:
    """Solve through the spectrum where rounding stopped the factorisation; an indefinite kernel is refused there.

    The factorisation wrote below the diagonal and on it only, so the part above still holds the matrix.
    """
    upper = np.triu(A, 1)
    values, vectors = spectrum(upper + upper.T + np.diag(diagonal), state.rounding)
    shrunk = vectors / (values + alpha)
    return Rounding.of_spectrum(values, primal=state.primal), lambda b: np.asarray(shrunk @ (vectors.T @ b))
