"""Tridiagonal: ``A = Q T Qᵀ`` serves every alpha and output, at a third of the cost of eigenvectors.

``(A + alpha I)⁻¹ b = Q (T + alpha I)⁻¹ Qᵀ b``. Householder's reflections make T, which has two different diagonals, and
Q is kept as these reflections: O(s) time for the system of an alpha, O(s²) to turn its solution back. The eigenvectors
of T, which are most of a spectrum's cost, are needed by hold-outs but not by a path.

A is rounded as by a spectrum, by ε times its largest eigenvalue. Where that would lose digits, or where rounding made
``T + alpha I`` indefinite, an alpha is solved by Cholesky's factorisation of A: LAPACK leaves what stands on one side
of the diagonal as it was.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from scipy.linalg import eigvalsh_tridiagonal, lapack

from kernelrank.base.arrays import Float
from kernelrank.comparisons import Comparisons
from kernelrank.features import Features
from kernelrank.solvers.base import Solution, Solver
from kernelrank.solvers.direct import Cholesky, NormalEquations, refuse_negative, trusted_alpha
from kernelrank.solvers.precision import Rounding, report_error

__all__ = ["Tridiagonal", "TridiagonalForm"]

BLOCK = 64
"""So many reflections are applied at once."""


@dataclass(frozen=True)
class TridiagonalForm:
    """``A = Q T Qᵀ`` with the right-hand side in the same basis, ``Qᵀ b``.

    Parameters
    ----------
    equations : NormalEquations
        What was reduced; its matrix has A above the diagonal only.
    own : ndarray, shape (s,)
        The diagonal of A.
    diagonal, beside : ndarray, shapes (s,), (s - 1,)
        T.
    reflections, scales : ndarray, shapes (s - 1, s - 1), (s - 1,)
        Q, but for its first row and column, which are those of the identity.
    rotated : ndarray, shape (s, outputs)
        ``Qᵀ b``.
    rounding : Rounding
        That of a spectrum with the same largest eigenvalue.
    trusted : float
        The alpha from which on the form is used.
    """

    equations: NormalEquations
    own: Float
    diagonal: Float
    beside: Float
    reflections: Float
    scales: Float
    rotated: Float
    rounding: Rounding
    trusted: float

    @classmethod
    def of(cls, equations: NormalEquations) -> TridiagonalForm:
        """Reduce normal equations, whose matrix is overwritten."""
        A = equations.A
        s, trusted, own = len(A), trusted_alpha(A), np.diagonal(A).copy()
        # The transpose of a symmetric matrix is the same one, in the order that LAPACK overwrites.
        work = int(lapack.dsytrd_lwork(s, lower=1)[0])
        reduced, diagonal, beside, scales, _ = lapack.dsytrd(A.T, lower=1, lwork=work, overwrite_a=1)
        smallest, largest = _outermost(diagonal, beside)
        refuse_negative(smallest, largest, equations.rounding)
        reflections = np.asfortranarray(reduced[1:, :-1])
        rotated = _turn("T", reflections, scales, equations.b)
        kept = replace(equations, A=reduced)
        rounding = Rounding.of_spectrum(np.full(s, largest), primal=equations.primal)
        return cls(kept, own, diagonal, beside, reflections, scales, rotated, rounding, trusted)

    def whole(self) -> NormalEquations:
        """Return the equations with the matrix as it was."""
        upper = np.triu(self.equations.A, 1)
        return replace(self.equations, A=upper + upper.T + np.diag(self.own))

    def back(self, x: Float) -> Float:
        """Return ``Q x``."""
        return _turn("N", self.reflections, self.scales, x)


@dataclass(frozen=True)
class Tridiagonal(Solver[TridiagonalForm]):
    """Reduce A once; then ``x = Q (T + alpha I)⁻¹ Qᵀ b``.

    Notes
    -----
    ``2 s³ / 3`` multiplications once, where s is the smaller of m and r; O(s²) for each alpha and output. Memory 2 s²
    numbers.
    """

    name: str = field(init=False, default="tridiagonal")

    def prepare(self, features: Features, comparisons: Comparisons) -> TridiagonalForm:
        """Form the normal equations and reduce them."""
        return TridiagonalForm.of(NormalEquations.of(features, comparisons))

    def solve(self, state: TridiagonalForm, alpha: float, **_: object) -> Solution:
        """Solve for one alpha."""
        if alpha < state.trusted or len(state.beside) == 0:
            return Cholesky().solve(state.whole(), alpha, last=True)
        diagonal, beside, failed_at = lapack.dpttrf(state.diagonal + alpha, state.beside)
        if failed_at:
            return Cholesky().solve(state.whole(), alpha, last=True)
        equations, rotated = state.equations, state.rotated

        def solve(b: Float) -> Float:
            return np.asarray(lapack.dpttrs(diagonal, beside, b)[0])

        turned = solve(rotated)
        x = state.back(turned)
        report_error(alpha, state.rounding.relative_error(solve, turned, rotated, alpha, equations.sums(x)))
        return Solution(equations.back(x), x)


def _outermost(diagonal: Float, beside: Float) -> tuple[float, float]:
    """Return the smallest and the largest eigenvalue; bisection fails now and then, and all of them are found then."""
    try:
        first, last = (
            eigvalsh_tridiagonal(diagonal, beside, select="i", select_range=(k, k)) for k in (0, len(diagonal) - 1)
        )
    except np.linalg.LinAlgError:
        first = last = eigvalsh_tridiagonal(diagonal, beside, lapack_driver="sterf")
    return float(first[0]), float(last[-1])


def _turn(trans: Literal["N", "T"], reflections: Float, scales: Float, V: Float) -> Float:
    """Return ``Q V`` or ``Qᵀ V``."""
    turned = np.array(V, order="F")
    if len(scales):
        rest = np.asfortranarray(turned[1:])
        turned[1:] = lapack.dormqr("L", trans, reflections, scales, rest, BLOCK * max(1, V.shape[1]), overwrite_c=1)[0]
    return turned
