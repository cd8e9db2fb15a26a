"""The automatic choice of a solver of dyads."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import LinAlgError, LinAlgWarning, eigh, solve, svd

from kernelrank.base.arrays import Float, Index, Matrix, blocks, dense_rows, transpose_product
from kernelrank.dyads.problem import (
    DyadicProblem,
    DyadicSide,
    DyadicSolution,
    KnownCells,
    PreparedSolver,
    Regularisation,
    SideSpectrum,
    symmetrised,
)
from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.kernels import check_precomputed, refuse_indefinite
from kernelrank.solvers import ConjugateGradient
from kernelrank.solvers.iterative import Operator
from kernelrank.solvers.precision import MARGIN, TOLERATED, check_finite, overflow_is_checked

DYADIC_SOLVERS = ("auto", "spectral", "primal", "direct", "eigenbasis", "vec_trick")

UNITS = ((1.1, 0.7), (1.3, 1.7), (0.9, 1.9))
"""By how much features are multiplied for a check of rounding: by no power of two, which would change nothing."""

SMALL = 10_000
"""Up to so many dyads there are several checks: few dyads may agree by chance."""


def prepare(
    problem: DyadicProblem, solver: str, *, tol: float, max_iter: int | None, regularisation: Regularisation
) -> PreparedSolver:
    """Choose a solver, unless one is named, and do its expensive step.

    ============================================= ============== ======================================================
    scores and kernels                            solver         cost
    ============================================= ============== ======================================================
    linear, no more features than objects, both   ``primal``     complete: O(m₁m₂d); else O(l d) an iteration
    complete Y                                    ``spectral``   O(m₁³ + m₂³), and 4 products
    unknown cells, at most 600 known              ``direct``     O(l³), by the kernel of all known dyads
    unknown cells, a tenth known or more          ``eigenbasis`` O(m₁³ + m₂³), and 4 products an iteration
    unknown cells, fewer                          ``vec_trick``  O(l (m₁ + m₂)) an iteration
    two-step learning with unknown cells          ``eigenbasis`` as above, whatever is known
    ranking, symmetric or reciprocal              as if unknown  there is no closed form
    ============================================= ============== ======================================================

    The first row that fits is taken; l cells are known, and d features are on the side that has fewer.
    """
    two_step = not regularisation.constant
    chosen = _automatic(problem, two_step) if solver == "auto" else solver
    closed = problem.complete and problem.is_product
    if chosen == "primal" and not (problem.rows.few_columns and problem.columns.few_columns):
        raise InvalidInputError(
            "solver='primal' needs linear kernels with no more features than objects on both sides: use solver='auto'"
        )
    if chosen == "spectral" and not closed:
        raise InvalidInputError(
            "solver='spectral' needs complete Y, and for a ranking a relation that is neither symmetric nor "
            "reciprocal: use solver='auto'"
        )
    if chosen in ("vec_trick", "direct") and two_step:
        raise InvalidInputError(f"solver={chosen!r} does not apply to two-step learning: use solver='auto'")
    if chosen == "spectral":
        return CompleteSpectral.prepare(problem)
    if chosen == "primal" and closed:
        return CompletePrimal.prepare(problem)
    if chosen == "direct":
        return FewCells.prepare(problem)
    iteration = ConjugateGradient(tol, max_iter)
    if chosen == "vec_trick":
        return VecTrick.prepare(problem, iteration)
    return Eigenbasis.prepare(problem, iteration, primal=chosen == "primal", two_step=two_step)


def _automatic(problem: DyadicProblem, two_step: bool) -> str:
    if problem.rows.few_columns and problem.columns.few_columns:
        return "primal"
    if problem.complete and problem.is_product:
        return "spectral"
    if not two_step and FewCells.fits(problem):
        return "direct"
    density = min(cells.density for _, cells in problem.output_cells())
    # From this share of known cells on, the complete problem is a good preconditioner.
    return "eigenbasis" if two_step or density >= 0.1 else "vec_trick"


def solution_block(
    problem: DyadicProblem,
    solution: DyadicSolution,
    rows: Index,
    columns: Index,
    *,
    roots: tuple[Float, Float] | None = None,
) -> Float:
    """Return the scores of some rows and columns of a problem, (t₁, t₂, outputs).

    roots: The features that the weights belong to, if these are not those of the items.
    """
    if solution.weights is not None and roots is not None:
        left, right, values = roots[0][rows], roots[1][columns], solution.weights
    elif solution.weights is not None:
        left, right = dense_rows(problem.rows.items, rows), dense_rows(problem.columns.items, columns)
        values = solution.weights
    else:
        assert solution.dual is not None
        (left, right), values = problem.score_rows(rows, columns), solution.dual
    return np.stack([left @ values[:, :, k] @ right.T for k in range(values.shape[2])], axis=2)


def lost_digits(
    problem: DyadicProblem,
    solution: DyadicSolution,
    solver: str,
    *,
    tol: float,
    max_iter: int | None,
    regularisation: Regularisation,
) -> float:
    """Return by how much rounding has moved scores of known objects, relative to the largest.

    Where rounding could matter, the problem is solved again in other units of both kernels and of alpha.
    """
    if problem.rounding(regularisation) <= TOLERATED / 10:
        return 0.0
    # So many objects of each side are predicted.
    objects = [np.arange(min(size, 100)) for size in problem.shape]
    found, error = solution_block(problem, solution, *objects), 0.0
    size = max(
        float(np.abs(found).max()), *(1e-3 * float(np.abs(cells.y).max()) for _, cells in problem.output_cells())
    )
    for unit, other_unit in UNITS[: None if problem.shape[0] * problem.shape[1] <= SMALL else 1]:
        units = unit, unit if problem.columns is problem.rows else other_unit
        other, scaled = problem.in_units(*units), regularisation.in_units(*units)
        again = prepare(other, solver, tol=tol, max_iter=max_iter, regularisation=scaled).solve(scaled)
        error = max(error, float(np.abs(solution_block(other, again, *objects) - found).max()))
    return MARGIN * error / size if size > 0.0 else 0.0


# Complete -------------------------------------------------------------------------------------------------------------
#
# Complete scores: the minimum in closed form, from two eigendecompositions or from few features.
#
# ``A = U₁ [(U₁ᵀ Y U₂) ∘ S] U₂ᵀ`` costs two eigendecompositions and four matrix products; another alpha two products
# more. With linear kernels of few features, ``X₁ᵀX₁ = V₁ diag(μ₁) V₁ᵀ`` and the same of the columns, the weights are
#
#     ``W = V₁ [(V₁ᵀ X₁ᵀ Y X₂ V₂) ∘ S] V₂ᵀ``,  ``f(x, z) = xᵀ W z``,
#
# with the centred features of a side that is ranked.


@dataclass(frozen=True)
class CompleteSpectral:
    """Complete scores by the eigendecompositions of both kernels.

    Shapes: rotated (m1, m2, outputs).
    """

    problem: DyadicProblem
    rotated: Float
    name: str = "spectral"

    @classmethod
    def prepare(cls, problem: DyadicProblem) -> CompleteSpectral:
        """Decompose both kernels and rotate the scores: O(m₁³ + m₂³ + m₁²m₂ + m₁m₂²)."""
        U1, U2 = problem.row_spectrum.eigenvectors, problem.column_spectrum.eigenvectors
        return cls(problem, _each_output(lambda Y: U1.T @ problem.centred(Y) @ U2, problem.matrix))

    def solve(self, regularisation: Regularisation, start: DyadicSolution | None = None) -> DyadicSolution:  # noqa: ARG002
        """Return the dual coefficients A in two products for each output; there is no use for a start."""
        U1, U2 = self.problem.row_spectrum.eigenvectors, self.problem.column_spectrum.eigenvectors
        with overflow_is_checked():
            S = self.problem.shrinkage(regularisation)
            # What no object has a kernel with reaches no prediction, but would cost digits: up to Y / alpha in A.
            S[~self.problem.row_spectrum.known] = 0.0
            S[:, ~self.problem.column_spectrum.known] = 0.0
            A = _each_output(lambda rotated: U1 @ (rotated * S) @ U2.T, self.rotated)
        check_finite(A)
        return DyadicSolution(dual=A)


@dataclass(frozen=True)
class CompletePrimal:
    """Complete scores and linear kernels with no more features than objects on both sides.

    Shapes: rotated (d1, d2, outputs).
    """

    problem: DyadicProblem
    row_basis: tuple[Float, Float]
    column_basis: tuple[Float, Float]
    rotated: Float
    name: str = "primal"

    @classmethod
    def prepare(cls, problem: DyadicProblem) -> CompletePrimal:
        """Decompose both scatter matrices: O(m₁m₂d + m₁d₁² + m₂d₂² + d₁³ + d₂³), d the smaller number of features."""
        rows, columns = problem.rows.items, problem.columns.items
        bases = [
            feature_basis(side, centred=problem.ranked == name)
            for name, side in (("rows", problem.rows), ("columns", problem.columns))
        ]

        def rotate(Y: Float) -> Float:
            return bases[0][1].T @ _scatter(rows, problem.centred(Y), columns) @ bases[1][1]

        return cls(problem, bases[0], bases[1], _each_output(rotate, problem.matrix))

    def solve(self, regularisation: Regularisation, start: DyadicSolution | None = None) -> DyadicSolution:  # noqa: ARG002
        """Return the weights W of products of a feature of each side."""
        (mu1, V1), (mu2, V2) = self.row_basis, self.column_basis
        costs = self.problem.complete_regularisation(regularisation).costs(mu1, mu2)
        with overflow_is_checked():
            S = 1.0 / (mu1[:, None] * mu2[None, :] + costs)
            W = _each_output(lambda rotated: V1 @ (rotated * S) @ V2.T, self.rotated)
        check_finite(W)
        return DyadicSolution(weights=W)


def feature_basis(side: DyadicSide, *, centred: bool) -> tuple[Float, Float]:
    """Return μ and V of ``XᵀX``, or of ``XᵀCX``: O(m d² + d³) time, never an m × m matrix."""
    X: Matrix = side.items
    if centred:
        X = dense_rows(X, slice(None))
        X = X - X.mean(axis=0)
    scatter = transpose_product(X, np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64))
    values, vectors = eigh(scatter, driver="evd", overwrite_a=True, check_finite=False)
    return np.maximum(values, 0.0), vectors


def _scatter(X: Matrix, Y: Float, Z: Matrix) -> Float:
    """Return ``Xᵀ Y Z``, the smaller side first."""
    if X.shape[1] <= Z.shape[1]:
        return transpose_product(Z, transpose_product(X, Y).T).T
    return transpose_product(X, transpose_product(Z, Y.T).T)


def _each_output(function: object, values: Float) -> Float:
    assert callable(function)
    if values.shape[2] == 1:
        return np.asarray(function(values[:, :, 0]))[:, :, None]
    return np.stack([function(values[:, :, k]) for k in range(values.shape[2])], axis=2)


# Few cells ------------------------------------------------------------------------------------------------------------
#
# Few known cells: the kernel of all pairs of them is built, and one dense system is solved.
#
# The dual problem ``(C K Cᵀ + alpha I) u = C y`` of `vec_trick.py`, with the kernel K of the l known dyads, symmetrised
# or made skew-symmetric if the relation is, by Cholesky's factorisation: O(l³), exact to rounding at any alpha.
#
# Where K is so much larger than alpha that K itself has lost digits, hold-outs solve ``(‖C(y - Φw)‖² + alpha ‖w‖²)`` by
# the singular values of CΦ, with the features ``Φ = Φ₁ ⊗ Φ₂`` of the known dyads: nothing is squared. The same w comes
# out if f(a, b) = ±f(b, a): features ``½ (φ_a ⊗ φ_b ± φ_b ⊗ φ_a)`` make W (skew-)symmetric.

FEW_CELLS = 600
"""Up to so many known cells a dense system costs less than iterations."""


@dataclass(frozen=True)
class FewCells:
    """Problems with few known cells."""

    problem: DyadicProblem
    name: str = "direct"
    roots: tuple[Float, Float] | None = None

    @classmethod
    def prepare(cls, problem: DyadicProblem) -> FewCells:
        """Check that both kernels are positive semidefinite: nothing is decomposed."""
        refuse_indefinite_sides(problem)
        return cls(problem)

    def by_features(self) -> FewCells:
        """Return the problem in features, Φ₁ and Φ₂, if these are not many: slower, and exact for a smaller alpha."""
        sides = self.problem.rows, self.problem.columns
        left, right = (side.root_features(np.arange(side.n_objects)) for side in sides)
        if left.shape[1] * right.shape[1] > FEW_CELLS:
            return self
        return replace(self, roots=(left, right))

    @staticmethod
    def fits(problem: DyadicProblem) -> bool:
        """Return whether so few cells are known."""
        return max(len(cells.rows) for _, cells in problem.output_cells()) <= FEW_CELLS

    def without(self, leaving: NDArray[np.bool_]) -> FewCells:
        """Return the problem without some cells."""
        return replace(self, problem=self.problem.without_cells(leaving))

    def solve(self, regularisation: Regularisation, start: DyadicSolution | None = None) -> DyadicSolution:  # noqa: ARG002
        """Return the dual coefficients; a starting point is not used."""
        assert regularisation.constant
        if self.roots is not None:
            W = np.empty((self.roots[0].shape[1], self.roots[1].shape[1], self.problem.n_outputs))
            for (outputs, _), parts in zip(self.problem.output_cells(), self._decomposed, strict=True):
                vectors, values, rotated = parts
                w = vectors @ ((values / (values**2 + regularisation.both))[:, None] * rotated)
                W[:, :, outputs] = w.reshape(*W.shape[:2], -1)
            check_finite(W)
            return DyadicSolution(weights=W)
        A = np.empty((*self.problem.shape, self.problem.n_outputs))
        for outputs, cells in self.problem.output_cells():
            A[:, :, outputs] = self._solve_cells(cells, regularisation.both)
        check_finite(A)
        return DyadicSolution(dual=A)

    @cached_property
    def _decomposed(self) -> list[tuple[Float, Float, Float]]:
        """The right singular vectors and the singular values of CΦ, and the scores rotated, for each set of outputs."""
        assert self.roots is not None
        found = []
        for _, cells in self.problem.output_cells():
            laplacian, sign = CellLaplacian.of_cells(self.problem, cells), self.problem.sign
            left, right = self.roots
            if sign == 0:  # constants of a query count for nothing, and would cost digits
                left = left - left.mean(axis=0) if self.problem.ranked == "rows" else left
                right = right - right.mean(axis=0) if self.problem.ranked == "columns" else right
            features = left[cells.rows][:, :, None] * right[cells.columns][:, None, :]
            if sign:
                mirrored = left[cells.columns][:, :, None] * right[cells.rows][:, None, :]
                features = 0.5 * (features + sign * mirrored)
            system = laplacian.centre(features.reshape(len(cells.rows), -1))
            U, values, V = svd(system, full_matrices=False, check_finite=False)
            found.append((V.T, values, U.T @ laplacian.centre(cells.y)))
        return found

    def _solve_cells(self, cells: KnownCells, alpha: float) -> Float:
        laplacian, products, sign = CellLaplacian.of_cells(self.problem, cells), CellProducts(cells), self.problem.sign
        (K1, K2), rows, columns = self.problem.centred_kernels, cells.rows, cells.columns
        K = K1[np.ix_(rows, rows)] * K2[np.ix_(columns, columns)]
        if sign:
            # With CK in place of K where an object of the ranked side meets one that is not ranked.
            ranked = self.problem.ranked is not None
            meets = self.problem.rows.score_rows(np.arange(len(K1)), ranked=ranked)
            first, second = (rows, columns) if self.problem.ranked != "rows" else (columns, rows)
            K = 0.5 * (K + sign * meets[np.ix_(first, second)] * meets[np.ix_(first, second)].T)
        system, target = laplacian.centre(laplacian.centre(K).T), laplacian.centre(cells.y)
        try:
            shifted = system + alpha * np.eye(len(system))
            with warnings.catch_warnings():
                warnings.simplefilter("error", LinAlgWarning)
                u = solve(shifted, target, assume_a="pos", overwrite_a=True, check_finite=False)
        except (LinAlgError, LinAlgWarning):
            # Rounding of a kernel far larger than alpha made it indefinite, or nearly so.
            values, vectors = eigh(system, driver="evd", overwrite_a=True, check_finite=False)
            u = vectors @ (vectors.T @ target / (np.maximum(values, 0.0) + alpha)[:, None])
        a = laplacian.centre_transpose(u)
        return np.stack([products.scatter(a[:, k], sign) for k in range(a.shape[1])], axis=2)


# Eigenbasis -----------------------------------------------------------------------------------------------------------
#
# Unknown cells: conjugate gradients over weights B of pairs of features, preconditioned by the complete problem.
#
# With features ``K₁ = Φ₁ Φ₁ᵀ`` and ``K₂ = Φ₂ Φ₂ᵀ``, ``F = Φ₁ B Φ₂ᵀ`` and ``‖f‖² = ‖B‖²``, the minimum solves
#
#     ``Φ₁ᵀ [L (Φ₁ B Φ₂ᵀ)] Φ₂ + E ∘ B = Φ₁ᵀ [L y] Φ₂``,
#
# L over the known cells and zero elsewhere. In the features of `side_basis` this is about ``M = μ₁ μ₂ᵀ + E``, so the
# iteration is over ``√M ∘ B``. E is constant for the Kronecker kernel. For two-step learning, ``E = α₁μ₂ᵀ + α₂μ₁ +
# α₁α₂`` in the eigenbasis of the kernels makes the minimum the fixed point at which unknown cells are filled with
# predictions: from ``f = Hỹ`` and ``ỹ = f + L(y - f)`` follows ``(H⁻¹ - I) f = L(y - f)``, and ``H⁻¹ - I`` is ``E / (μ₁
# μ₂ᵀ)`` there.
#
# With one set of objects and f(a, b) = ±f(b, a), B is (skew-)symmetric: gradients are projected.


@dataclass(frozen=True)
class Eigenbasis:
    """Problems with unknown cells, in features that make the complete problem diagonal."""

    problem: DyadicProblem
    systems: tuple[CellSystem, ...]
    iteration: ConjugateGradient
    primal: bool

    @property
    def name(self) -> str:
        """What the solver is called."""
        return "primal" if self.primal else "eigenbasis"

    @classmethod
    def prepare(
        cls, problem: DyadicProblem, iteration: ConjugateGradient, *, primal: bool, two_step: bool
    ) -> Eigenbasis:
        """Decompose the kernels: O(m₁³ + m₂³), or O(m d²) for few linear features."""
        systems = tuple(
            CellSystem.of_cells(problem, cells, primal=primal, two_step=two_step) for _, cells in problem.output_cells()
        )
        return cls(problem, systems, iteration, primal)

    def without(self, leaving: NDArray[np.bool_]) -> Eigenbasis:
        """Return the problem without some cells, in the same features: nothing is decomposed again."""
        problem = self.problem.without_cells(leaving)
        systems = tuple(
            replace(system, products=CellProducts(cells), laplacian=CellLaplacian.of_cells(problem, cells))
            for system, (_, cells) in zip(self.systems, problem.cells, strict=True)
        )
        return replace(self, problem=problem, systems=systems)

    def solve(self, regularisation: Regularisation, start: DyadicSolution | None = None) -> DyadicSolution:
        """Iterate until the residual is small; each step costs four products with the features."""
        first, n_iter = self.systems[0], 1
        result = np.empty((len(first.rows.back), len(first.columns.back), self.problem.n_outputs))
        for (outputs, _), system in zip(self.problem.output_cells(), self.systems, strict=True):
            begin = None if start is None else start.part(outputs)
            values, steps = system.solve(regularisation, self.iteration, begin)
            result[:, :, outputs] = values
            n_iter = max(n_iter, steps)
        check_finite(result)
        if self.primal:
            return DyadicSolution(weights=result, n_iter=n_iter)
        return DyadicSolution(dual=result, n_iter=n_iter)


@dataclass(frozen=True)
class CellSystem:
    """The equations of outputs that know the same cells."""

    rows: SideBasis
    columns: SideBasis
    left: Float
    right: Float
    products: CellProducts
    laplacian: CellLaplacian
    sign: int

    @classmethod
    def of_cells(cls, problem: DyadicProblem, cells: KnownCells, *, primal: bool, two_step: bool) -> CellSystem:
        """Find features of both sides in which known cells make about a diagonal system."""
        laplacian = CellLaplacian.of_cells(problem, cells)
        centred = problem.ranked if problem.sign == 0 else None

        def basis(side: DyadicSide, name: str, known: Float) -> SideBasis:
            if primal:
                return SideBasis.of_features(side, known, centred=centred == name)
            if two_step:
                return SideBasis.of_spectrum(side)
            return SideBasis.of_kernel(side, known, centred=centred == name)

        known = _known_shares(cells, laplacian.weight)
        if two_step:
            # Its costs E are those of the eigenvalues of the kernels themselves.
            known = (np.ones(cells.shape[0]), np.ones(cells.shape[1]))
        if problem.sign:
            known = (0.5 * (known[0] + known[1]),) * 2
        rows = basis(problem.rows, "rows", known[0])
        columns = rows if problem.sign else basis(problem.columns, "columns", known[1])
        left, right = rows.features, columns.features
        if problem.ranked == "rows":
            left = left - left.mean(axis=0)
        elif problem.ranked == "columns":
            right = right - right.mean(axis=0)
        return cls(rows, columns, left, right, CellProducts(cells), laplacian, problem.sign)

    def solve(
        self, regularisation: Regularisation, iteration: ConjugateGradient, start: DyadicSolution | None
    ) -> tuple[Float, int]:
        """Return dual coefficients or weights, (·, ·, outputs), and the number of iterations."""
        mu1, mu2 = self.rows.eigenvalues, self.columns.eigenvalues
        costs = regularisation.costs(mu1, mu2)
        with overflow_is_checked():
            share = 1.0 if regularisation.constant else self.products.cells.density
            scale = 1.0 / np.sqrt(share * mu1[:, None] * mu2[None, :] + costs)
            target = self.laplacian.apply(self.products.cells.y)
            b = self._each(lambda k: scale * self._gradient(target[:, k]), target.shape[1])

        def multiply(V: Float) -> Float:
            def product(k: int) -> Float:
                B = scale * V[:, k].reshape(scale.shape)
                f = self.products.gather(self.left @ B, self.right)
                return scale * (self._gradient(self.laplacian.apply(f[:, None])[:, 0]) + costs * B)

            return self._each(product, V.shape[1])

        operator = Operator(multiply, lambda V: V, b, None, lambda V: V)
        begin = None if start is None else self._begin(start, scale)
        solution = iteration.solve(operator, 0.0, start=begin)
        shape = (*scale.shape, -1)
        B = scale[:, :, None] * solution.coefficients.reshape(shape)
        back = [self.rows.back @ B[:, :, k] @ self.columns.back.T for k in range(B.shape[2])]
        return np.stack(back, axis=2), int(solution.n_iter or 1)

    def _gradient(self, values: Float) -> Float:
        """Return ``Φ₁ᵀ Z Φ₂`` for values Z of the cells, projected on what the relation allows."""
        Z = self.products.scatter_product(values, self.right)
        return symmetrised(self.left.T @ Z, self.sign)

    def _begin(self, start: DyadicSolution, scale: Float) -> Float:
        """Return the unknowns of an earlier solution."""
        if start.weights is not None:
            W = start.weights
            return self._each(lambda k: (self.rows.back.T @ W[:, :, k] @ self.columns.back) / scale, W.shape[2])
        A = start.dual
        assert A is not None
        return self._each(
            lambda k: symmetrised(self.rows.coefficients_of(self.columns, A[:, :, k]), self.sign) / scale, A.shape[2]
        )

    @staticmethod
    def _each(function: object, n_outputs: int) -> Float:
        assert callable(function)
        return np.stack([np.ravel(function(k)) for k in range(n_outputs)], axis=1)


def _known_shares(cells: KnownCells, weight: Float) -> tuple[Float, Float]:
    """Return r and c whose product ``r cᵀ`` has the sums over rows and columns of the weights of the cells."""
    total = np.sqrt(weight.sum())
    shares = []
    for numbers, size in zip((cells.rows, cells.columns), cells.shape, strict=True):
        sums = np.bincount(numbers, weights=weight, minlength=size) / total
        # An object of which less than this share of the average is known counts as if so much were known.
        shares.append(np.maximum(sums, 0.05 * sums.mean()))
    return shares[0], shares[1]


# Vec trick ------------------------------------------------------------------------------------------------------------
#
# Few known cells: conjugate gradients over these, by the generalised vec trick.
#
# The dual problem ``(C K Cᵀ + alpha I) u = C y``, with the kernel K of the known dyads and the root C of L, needs
# products with K only: ``K a = (K₁ A K₂)`` at the cells, A the sparse matrix with a at the cells. That is O(l (m₁ +
# m₂)) for l cells by two products with a sparse pattern, and the kernel of all pairs of dyads is never built. Then ``F
# = K₁ A K₂`` with ``a = Cᵀ u``.


def refuse_indefinite_sides(problem: DyadicProblem) -> None:
    """Raise an error for a kernel that is not positive semidefinite, without decomposing it."""
    for side in {id(side): side for side in (problem.rows, problem.columns)}.values():
        if side.kernel.precomputed:
            check_precomputed(side.items)
        else:
            refuse_indefinite(side.kernel, side.K)


@dataclass(frozen=True)
class VecTrick:
    """Problems with few known cells, over their dual coefficients."""

    problem: DyadicProblem
    iteration: ConjugateGradient
    name: str = "vec_trick"

    @classmethod
    def prepare(cls, problem: DyadicProblem, iteration: ConjugateGradient) -> VecTrick:
        """Check that both kernels are positive semidefinite: nothing is decomposed."""
        refuse_indefinite_sides(problem)
        return cls(problem, iteration)

    def without(self, leaving: NDArray[np.bool_]) -> VecTrick:
        """Return the problem without some cells."""
        return replace(self, problem=self.problem.without_cells(leaving))

    def solve(self, regularisation: Regularisation, start: DyadicSolution | None = None) -> DyadicSolution:
        """Iterate until the residual is small; each step costs one product with each kernel."""
        assert regularisation.constant
        A, n_iter = np.empty((*self.problem.shape, self.problem.n_outputs)), 1
        for outputs, cells in self.problem.output_cells():
            begin = None if start is None else start.part(outputs)
            dual, steps = self._solve_cells(cells, regularisation.both, begin)
            A[:, :, outputs] = dual
            n_iter = max(n_iter, steps)
        check_finite(A)
        return DyadicSolution(dual=A, n_iter=n_iter)

    def _solve_cells(self, cells: KnownCells, alpha: float, start: DyadicSolution | None) -> tuple[Float, int]:
        laplacian, products = CellLaplacian.of_cells(self.problem, cells), CellProducts(cells)
        sign = self.problem.sign
        K1, K2 = self.problem.centred_kernels if sign == 0 else (self.problem.rows.K, self.problem.columns.K)

        def kernel_product(a: Float) -> Float:
            return products.gather(K1, products.scatter_product(a, K2, sign).T)

        def multiply(U: Float) -> Float:
            a = laplacian.centre_transpose(U)
            return laplacian.centre(np.stack([kernel_product(a[:, k]) for k in range(a.shape[1])], axis=1))

        begin = None
        if start is not None and start.dual is not None:
            begin = laplacian.from_dual(start.dual[cells.rows, cells.columns])
        operator = Operator(multiply, lambda U: U, laplacian.centre(cells.y), None, laplacian.centre_transpose)
        solution = self.iteration.solve(operator, alpha, start=begin)
        n_iter = int(solution.n_iter or 1)
        if n_iter < (self.iteration.max_iter or 10 * len(cells.y)):
            # Where K is far larger than alpha, the residual that is kept up to date is not the residual any more.
            solution = self.iteration.solve(operator, alpha, start=solution.unknowns)
            n_iter += int(solution.n_iter or 0)
        a = solution.coefficients
        A = np.stack([products.scatter(a[:, k], sign) for k in range(a.shape[1])], axis=2)
        return A, n_iter


# Cell Laplacian -------------------------------------------------------------------------------------------------------
#
# The comparisons of known cells: each with its score, or the cells of a query with each other.
#
# With the counts w of the cells, regression has ``L = diag(w)``. A ranking has, for each query (a row, if the columns
# are ranked) with the total count W, ``L = ω(W) (diag(w) - w wᵀ / W)``, and the root ``C v = √ω √w ∘ (v - v̄)`` with
# ``CᵀC = L``, v̄ the mean of v weighted by w. All are O(l) for l cells and keep no matrix.


@dataclass(frozen=True)
class CellLaplacian:
    """L over known cells, by products.

    Shapes: count (l,), weight (l,), query (l,), total (n_queries,).
    """

    count: Float
    weight: Float
    query: Index | None
    total: Float

    @classmethod
    def of_cells(cls, problem: DyadicProblem, cells: KnownCells) -> CellLaplacian:
        """Compare the known cells as a problem says."""
        if problem.ranked is None:
            return cls(cells.count, cells.count, None, np.zeros(0))
        query = cells.rows if problem.ranked == "columns" else cells.columns
        total: Float = np.bincount(query, weights=cells.count).astype(np.float64)
        if total.max(initial=0.0) < 2:
            side = "row" if problem.ranked == "columns" else "column"
            raise NothingToCompareError(f"no {side} has two known scores: there is nothing to compare")
        return cls(cells.count, cells.count * problem.omega(total)[query], query, total)

    def apply(self, V: Float) -> Float:
        """Return ``L V`` for columns (l, outputs)."""
        return self.weight[:, None] * (V - self._means(V))

    def centre(self, V: Float) -> Float:
        """Return ``C V``."""
        return np.sqrt(self.weight)[:, None] * (V - self._means(V))

    def centre_transpose(self, U: Float) -> Float:
        """Return ``Cᵀ U``."""
        root = np.sqrt(self.weight)[:, None]
        if self.query is None:
            return root * U
        scaled = np.divide(U, root, out=np.zeros_like(U), where=root > 0)
        return self.weight[:, None] * (scaled - self._means(scaled))

    def from_dual(self, A: Float) -> Float:
        """Return u with ``Cᵀ u = A``, where the coefficients of each query add up to zero."""
        root = np.sqrt(self.weight)[:, None]
        return np.divide(A, root, out=np.zeros_like(A), where=root > 0)

    def _means(self, V: Float) -> Float | float:
        """Return the mean of its query for each cell; zero for regression."""
        if self.query is None:
            return 0.0
        weighted = (self.count[:, None] * V).T
        sums = np.stack([np.bincount(self.query, weights=w, minlength=len(self.total)) for w in weighted], axis=1)
        means: Float = np.divide(sums, self.total[:, None], out=np.zeros_like(sums), where=self.total[:, None] > 0)
        return means[self.query]


# Cell products --------------------------------------------------------------------------------------------------------
#
# Products with a matrix of which some cells are known: ``(P Qᵀ)`` at the cells, and a sparse matrix times Q.
#
# Either the cells are visited one after the other, O(l r) for l cells and r columns, or the whole matrix is formed by a
# dense product, O(m₁ m₂ r): a dense product does some twenty times as many operations a second as a visit of cells.

DENSE = 0.05
"""From this share of known cells on, the whole matrix is formed."""


@dataclass(frozen=True)
class CellProducts:
    """The pattern of known cells, as products need it."""

    cells: KnownCells

    @property
    def dense(self) -> bool:
        """Whether whole matrices are formed."""
        return self.cells.density >= DENSE

    @cached_property
    def _flat(self) -> Index:
        return self.cells.rows * self.cells.shape[1] + self.cells.columns

    @cached_property
    def _row_starts(self) -> Index:
        counts = np.bincount(self.cells.rows, minlength=self.cells.shape[0])
        return np.concatenate([[0], np.cumsum(counts)])

    def gather(self, P: Float, Q: Float) -> Float:
        """Return the entries of ``P Qᵀ`` at the cells, (l,), for P (m₁, r) and Q (m₂, r)."""
        if self.dense:
            return np.asarray((P @ Q.T).ravel()[self._flat])
        values = np.empty(len(self.cells.rows))
        for part in blocks(len(values), 8 * P.shape[1]):
            np.einsum("ij,ij->i", P[self.cells.rows[part]], Q[self.cells.columns[part]], out=values[part])
        return values

    def scatter(self, values: Float, sign: int = 0) -> Float:
        """Return Z, (m₁, m₂), with some values at the cells and zeros elsewhere; ``(Z ± Zᵀ)/2`` by the sign."""
        matrix = np.zeros(self.cells.shape)
        matrix.ravel()[self._flat] = values
        return symmetrised(matrix, sign)

    def scatter_product(self, values: Float, Q: Float, sign: int = 0) -> Float:
        """Return the matrix of `scatter` times Q, shape (m₁, r), without forming it if few cells are known."""
        if self.dense:
            return self.scatter(values, sign) @ Q
        Z = sparse.csr_array((values, self.cells.columns, self._row_starts), shape=self.cells.shape)
        return np.asarray(Z @ Q if sign == 0 else 0.5 * (Z @ Q + sign * (Z.T @ Q)))


# Side basis -----------------------------------------------------------------------------------------------------------
#
# Features of one side in which the complete problem is diagonal: ``K = Φ Φᵀ`` and ``Φᵀ diag(r) Φ = diag(μ)``.
#
# r says how much of each object is known. If the counts of the cells are about ``r cᵀ``, the normal equations are about
# diagonal in the products of such features of both sides, ``μ₁ μ₂ᵀ + alpha``, whatever is known of which object: this
# is what conjugate gradients are preconditioned by.
#
# From ``√r K √r = U diag(μ) Uᵀ``: ``Φ = U √μ / √r``, and ``Ψ = √r U / √μ`` turns weights B of pairs of features into
# dual coefficients ``Ψ₁ B Ψ₂ᵀ``. A ranked side has features less their mean weighted by r; Ψ then adds up to zero. With
# few linear features ``Xᵀ diag(r) X = V diag(μ) Vᵀ`` and ``Φ = X V``.


@dataclass(frozen=True)
class SideBasis:
    """Features Φ of a side, and the way back to coefficients.

    Shapes: features (m, r), eigenvalues (r,), back (m, r) or (n_features, r).
    """

    features: Float
    eigenvalues: Float
    back: Float

    @classmethod
    def of_kernel(cls, side: DyadicSide, known: Float, *, centred: bool) -> SideBasis:
        """Decompose the kernel of a side, scaled by how much is known of each object: O(m³)."""
        root = np.sqrt(known)
        if not centred:
            return cls._scaled(side.decomposed(root[:, None] * side.K * root), root)
        K, share = side.centred_K, known / known.sum()
        mean = K @ share
        K = K - mean[:, None] - mean + share @ mean
        # Ψ adds up to zero to the last digit: what is left of constants would meet the whole of K in a prediction.
        return cls._scaled(side.decomposed(root[:, None] * K * root, side.scale * float(known.max()), root), root)

    @classmethod
    def _scaled(cls, spectrum: SideSpectrum, root: Float) -> SideBasis:
        kept = _kept(spectrum.eigenvalues, spectrum.rounding)
        values, vectors = spectrum.eigenvalues[kept], spectrum.eigenvectors[:, kept]
        inverse = np.divide(1.0, np.sqrt(values), out=np.zeros_like(values), where=values > 0)
        return cls(vectors * np.sqrt(values) / root[:, None], values, root[:, None] * vectors * inverse)

    @classmethod
    def of_spectrum(cls, side: DyadicSide) -> SideBasis:
        """Take the eigendecomposition of the kernel itself, as if all objects were known to the same share."""
        return cls._scaled(side.spectrum, np.ones(side.n_objects))

    @classmethod
    def of_features(cls, side: DyadicSide, known: Float, *, centred: bool) -> SideBasis:
        """Decompose the scatter matrix of few linear features: O(m d² + d³)."""
        X = dense_rows(side.items, slice(None))
        if centred:
            X = X - (known / known.sum()) @ X
        values, vectors = eigh((X.T * known) @ X, driver="evd", overwrite_a=True, check_finite=False)
        kept = _kept(values, len(values) * float(np.finfo(np.float64).eps) * float(values[-1]))
        return cls(X @ vectors[:, kept], values[kept], vectors[:, kept])

    def coefficients_of(self, other: SideBasis, A: Float) -> Float:
        """Return ``Φ₁ᵀ A Φ₂``: weights of pairs of features from dual coefficients."""
        return self.features.T @ A @ other.features


def _kept(values: Float, rounding: float) -> slice:
    """Return which eigenvalues, in ascending order, are more than rounding; one at least."""
    return slice(min(int(np.searchsorted(values, max(rounding, 0.0), side="right")), len(values) - 1), None)
