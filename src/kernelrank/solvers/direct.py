"""Direct solutions of the normal equations: Cholesky's factorisation for one alpha, a spectrum for every alpha.

The normal equations come in the smaller of two forms:

===========  =======================  ============  ==========================
form         matrix A                 right side b  coefficients
===========  =======================  ============  ==========================
primal       ``Φᵀ L Φ``  (r × r)      ``Φᵀ M N``    ``w = (A + alpha I)⁻¹ b``
dual         ``C K Cᵀ``  (k × k)      ``T``         ``a = Cᵀ(A + alpha I)⁻¹ b``
===========  =======================  ============  ==========================

where ``CᵀC = L`` and ``Cᵀ T = M N``. Both matrices are symmetric and positive semidefinite.

**Which digits are kept.** Eigenvalues are known to ε times the largest. Where a few items or columns are far larger
than the others, as a pair of nearly equal scores with the relative cost is, that may be all of the others. Cholesky's
factorisation rounds each entry beside its own row and column only, so it keeps the digits of small ones beside large
ones. So each of the two falls back on the other: where rounding stops a factorisation, the spectrum is used, and where
a spectrum would lose digits, a factorisation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

import numpy as np
from scipy.linalg import eigh, lapack

from kernelrank.base.arrays import Float
from kernelrank.comparisons import Comparisons
from kernelrank.errors import InvalidInputError
from kernelrank.features import Features
from kernelrank.solvers.base import FactorisedSolution, Solution, Solver
from kernelrank.solvers.precision import Rounding, report_error, spectral_error

__all__ = ["Cholesky", "NormalEquations", "Spectral", "Spectrum", "refuse_negative", "spectrum", "trusted_alpha"]

Solve: TypeAlias = Callable[[Float], Float]
"""From a right-hand side to its solution."""

GRADED = 1e4
"""A diagonal entry so many times the lower quartile stands far above the others."""

SPECTRUM_DIGITS = 1e-9
"""Up to this size of its rounding beside alpha, a spectrum will do."""


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
    """Solve through the spectrum where rounding stopped the factorisation; an indefinite kernel is an error there.

    The factorisation wrote below the diagonal and on it only, so the part above still holds the matrix.
    """
    upper = np.triu(A, 1)
    values, vectors = spectrum(upper + upper.T + np.diag(diagonal), state.rounding)
    shrunk = vectors / (values + alpha)
    return Rounding.of_spectrum(values, primal=state.primal), lambda b: np.asarray(shrunk @ (vectors.T @ b))


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


def trusted_alpha(A: Float) -> float:
    """Return the smallest alpha at which a spectrum is as accurate as a Cholesky factorisation; mostly zero.

    Parameters
    ----------
    A : ndarray, shape (s, s)

    Returns
    -------
    float
    """
    diagonal = np.diagonal(A)
    positive = diagonal[diagonal > 0.0]
    if len(positive) == 0 or positive.max() <= GRADED * np.partition(positive, len(positive) // 4)[len(positive) // 4]:
        return 0.0
    return float(np.finfo(np.float64).eps * positive.max() / SPECTRUM_DIGITS)


def spectrum(A: Float, rounding: float) -> tuple[Float, Float]:
    """Return the eigenvalues and eigenvectors of a positive semidefinite matrix, which is overwritten.

    Eigenvalues that rounding made negative become zero; any that are more negative than `rounding` are an error.
    """
    if len(A) == 0:
        return np.zeros(0), np.zeros((0, 0))
    values, vectors = eigh(A, driver="evd", overwrite_a=True, check_finite=False)
    refuse_negative(float(values[0]), float(values[-1]), rounding)
    return np.maximum(values, 0.0), vectors


def refuse_negative(smallest: float, largest: float, rounding: float) -> None:
    """Raise an error if the smallest eigenvalue is more negative than rounding errors explain."""
    if smallest < -rounding:
        raise InvalidInputError(
            "the kernel matrix is not positive semidefinite: after centring its smallest eigenvalue is "
            f"{smallest:.3g} and its largest {largest:.3g}"
        )
