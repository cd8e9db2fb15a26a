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
from typing import Literal, TypeAlias

import numpy as np
from scipy.linalg import eigh, eigvalsh_tridiagonal, lapack

from kernelrank.base.arrays import Float, blocks
from kernelrank.base.labels import Grouping, Queries
from kernelrank.comparisons import Comparisons, ScoredQueries
from kernelrank.errors import InvalidInputError
from kernelrank.features import Features
from kernelrank.kernels.kernel import negative_part
from kernelrank.solvers.base import FactorisedSolution, Solution, Solver
from kernelrank.solvers.precision import Rounding, report_error, spectral_error, trusted_alpha

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
    """Solve through the spectrum where rounding stopped the factorisation; an indefinite kernel is an error there.

    The factorisation wrote below the diagonal and on it only, so the part above still holds the matrix.
    """
    upper = np.triu(A, 1)
    values, vectors = spectrum(upper + upper.T + np.diag(diagonal), state.rounding)
    shrunk = vectors / (values + alpha)
    return Rounding.of_spectrum(values, primal=state.primal), lambda b: np.asarray(shrunk @ (vectors.T @ b))


@dataclass(frozen=True)
class Spectrum:
    """``A = V diag(μ) Vᵀ`` with the right-hand side in the same basis, ``Vᵀ b``."""

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


# Tridiagonal ----------------------------------------------------------------------------------------------------------
#
# Tridiagonal: ``A = Q T Qᵀ`` serves every alpha and output, at a third of the cost of eigenvectors.
#
# ``(A + alpha I)⁻¹ b = Q (T + alpha I)⁻¹ Qᵀ b``. Householder's reflections make T, which has two different diagonals,
# and Q is kept as these reflections: O(s) time for the system of an alpha, O(s²) to turn its solution back. The
# eigenvectors of T, which are most of a spectrum's cost, are needed by hold-outs but not by a path.
#
# A is rounded as by a spectrum, by ε times its largest eigenvalue. Where that would lose digits, or where rounding made
# ``T + alpha I`` indefinite, an alpha is solved by Cholesky's factorisation of A: LAPACK leaves what stands on one side
# of the diagonal as it was.


@dataclass(frozen=True)
class TridiagonalForm:
    """``A = Q T Qᵀ`` with the right-hand side in the same basis, ``Qᵀ b``.

    Shapes: own (s,), rotated (s, outputs).
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
        rest, room = np.asfortranarray(turned[1:]), 64 * max(1, V.shape[1])  # for 64 reflections at once
        turned[1:] = lapack.dormqr("L", trans, reflections, scales, rest, room, overwrite_c=1)[0]
    return turned


# Laplacian system -----------------------------------------------------------------------------------------------------
#
# The system ``(L K + alpha I) a = M N`` itself, for a graph without a cheap root and one alpha.
#
# The symmetric form ``C K Cᵀ`` needs a root ``CᵀC = L``: m³/3 multiplications for the root and m³ for the products,
# where the solution takes m³/6. Where L is sparse, ``L K`` is cheap, and an LU factorisation of the system takes m³/3.
#
# * **The mean.** Items and scores may be far from the origin. Solutions add up to zero, and ``L 1 = 0``, so
#   ``J K J`` with ``J = I - 11ᵀ/m`` gives the same a, and nothing large cancels.
# * **Pivots.** The transpose is factorised. Its columns are the rows of the system, and partial pivoting does not
#   depend on the scale of a column: an item with pairs of large weights costs others no digits.
# * **Parts.** Where the graph is connected, a adds up to zero, so what rounding adds to that is taken away.
# * **Digits.** A correction ``(L K + alpha I)⁻¹(M N - alpha a - L (K a))`` takes O(m²) time. What it changes in the
#   differences of predictions, ``√(fᵀ L f)``, is their error. If corrections do not become negligible, the
#   symmetric form is used after all; it estimates how many digits are lost.
# * **Indefinite kernels** are an error in the symmetric form. So a kernel that is not positive semidefinite by
#   construction is first factorised itself, which costs half as much again.


@dataclass(frozen=True)
class CentredKernel:
    """``J K J`` beside the graph, and whether it is positive semidefinite."""

    features: Features
    comparisons: Comparisons
    K: Float
    definite: bool


@dataclass(frozen=True)
class LaplacianSystem(Solver[CentredKernel]):
    """Factorise ``L K + alpha I``, without a root of L.

    O(l m) time for l pairs and ``m³/3`` multiplications for each alpha; memory 2 m² numbers.
    """

    name: str = field(init=False, default="lu")

    def prepare(self, features: Features, comparisons: Comparisons) -> CentredKernel:
        """Compute the kernel of all items, centred."""
        m = comparisons.n_items
        J = ScoredQueries(np.zeros((m, 1)), Queries.from_labels(None, m), query_weight="items")
        K = features.centred_kernel(J)
        # It was rounded beside its size before it was centred.
        beside = 1.0 if features.semidefinite else features.kernel_scale / max(float(np.abs(K).max()), 1e-300)
        digits = 10.0 * float(np.finfo(np.float64).eps) * max(1.0, beside)
        definite = features.semidefinite or negative_part(K.copy(), digits) == 0
        return CentredKernel(features, comparisons, K, definite)

    def solve(self, state: CentredKernel, alpha: float, **_: object) -> Solution:
        """Solve for one alpha."""
        a = _solve(state, alpha) if state.definite else None
        if a is not None:
            return Solution(state.features.from_dual(a), a)
        symmetric = Cholesky()
        equations = symmetric.prepare(state.features, state.comparisons)
        return replace(symmetric.solve(equations, alpha, last=True), solver=symmetric.name)


def _solve(state: CentredKernel, alpha: float) -> Float | None:
    """Return the solution, with three corrections at most, or None where predictions would lose digits."""
    graph, K = state.comparisons, state.K
    system = np.empty_like(K)
    for columns in blocks(len(K), 8 * len(K)):
        system[:, columns] = graph.apply(np.ascontiguousarray(K[:, columns]))
    system[np.diag_indices(len(K))] += alpha
    factors, pivots, singular = lapack.dgetrf(system.T, overwrite_a=1)
    b = graph.target()
    parts = Grouping(graph.parts, int(graph.parts.max()) + 1, np.ones(len(K)))
    a, f = np.zeros_like(b), np.zeros_like(b)
    for _ in range(0 if singular else 4):
        residual = parts.subtract_means(b - alpha * a - graph.apply(f))
        a = parts.subtract_means(a + lapack.dgetrs(factors, pivots, residual, trans=1)[0])
        before, f = f, K @ a
        if np.all(_spread(graph, f - before) <= 1e-10 * _spread(graph, f)):
            return a
    return None


def _spread(graph: Comparisons, f: Float) -> Float:
    """Return ``√(fᵀ L f)`` for each column: how much scores differ over the pairs."""
    return np.asarray(np.sqrt(np.maximum(np.einsum("ij,ij->j", f, graph.apply(f)), 0.0)))
