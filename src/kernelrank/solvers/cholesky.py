"""Cholesky: the normal equations, and the cheapest direct solution for a single alpha.

The normal equations come in the smaller of two forms:

===========  =======================  ============  ==========================
form         matrix A                 right side b  coefficients
===========  =======================  ============  ==========================
primal       ``Φᵀ L Φ``  (r × r)      ``Φᵀ M N``    ``w = (A + alpha I)⁻¹ b``
dual         ``C K Cᵀ``  (k × k)      ``T``         ``a = Cᵀ(A + alpha I)⁻¹ b``
===========  =======================  ============  ==========================

where ``CᵀC = L`` and ``Cᵀ T = M N``. Both matrices are symmetric and positive semidefinite.
"""

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
from kernelrank.solvers.double_precision import Rounding, report_error
from kernelrank.solvers.spectrum import spectrum

__all__ = ["Cholesky", "NormalEquations"]

Solve: TypeAlias = Callable[[Float], Float]
"""From a right-hand side to its solution."""


def _no_sums(_: Float) -> float:
    return 0.0


@dataclass(frozen=True)
class NormalEquations:
    """``(A + alpha I) x = b``, and the way back from x to the coefficients of the feature map."""

    A: Float
    b: Float
    back: Callable[[Float], Float]
    rounding: float = np.inf
    """How negative rounding can make an eigenvalue of A; infinite in the primal, where A is made of squares."""
    primal: bool = True
    summands: Float | None = None
    """The size of what the diagonal of A is a difference of, where that is known, shape (s,)."""
    sums: Callable[[Float], Float | float] = _no_sums
    """From x to how large the coefficients of basis items are beside what predictions differ by; see `Rounding`."""

    @classmethod
    def of(cls, features: Features, comparisons: Comparisons) -> NormalEquations:
        """Form the equations: O(m r²) time in the primal, O(m² r) and a kernel matrix in the dual."""
        columns = features.primal
        if columns is not None:
            sums = partial(columns.coefficient_sums, comparisons)
            return cls(*columns.normal_equations(comparisons), columns.from_primal, sums=sums)
        A = features.centred_kernel(comparisons)
        scale = features.kernel_scale * float(comparisons.diagonal().max())
        return cls(
            A,
            comparisons.root_target(),
            lambda x: features.from_dual(comparisons.centre_transpose(x)),
            100 * len(A) * float(np.finfo(np.float64).eps) * scale,
            primal=False,
            summands=features.uncentred_diagonal(comparisons),
        )


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
