"""Unknown cells: conjugate gradients over weights B of pairs of features, preconditioned by the complete problem.

With features ``K₁ = Φ₁ Φ₁ᵀ`` and ``K₂ = Φ₂ Φ₂ᵀ``, ``F = Φ₁ B Φ₂ᵀ`` and ``‖f‖² = ‖B‖²``, the minimum solves

    ``Φ₁ᵀ [L (Φ₁ B Φ₂ᵀ)] Φ₂ + E ∘ B = Φ₁ᵀ [L y] Φ₂``,

L over the known cells and zero elsewhere. In the features of `side_basis` this is about ``M = μ₁ μ₂ᵀ + E``, so the
iteration is over ``√M ∘ B``. E is constant for the Kronecker kernel. For two-step learning, ``E = α₁μ₂ᵀ + α₂μ₁ + α₁α₂``
in the eigenbasis of the kernels makes the minimum the fixed point at which unknown cells are filled with predictions:
from ``f = Hỹ`` and ``ỹ = f + L(y - f)`` follows ``(H⁻¹ - I) f = L(y - f)``, and ``H⁻¹ - I`` is ``E / (μ₁ μ₂ᵀ)`` there.

With one set of objects and f(a, b) = ±f(b, a), B is (skew-)symmetric: gradients are projected.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Float
from kernelrank.dyads.cell_laplacian import CellLaplacian
from kernelrank.dyads.cell_products import CellProducts
from kernelrank.dyads.dyadic_side import DyadicSide
from kernelrank.dyads.dyadic_solution import DyadicSolution
from kernelrank.dyads.known_cells import KnownCells
from kernelrank.dyads.one_set import symmetrised
from kernelrank.dyads.problem import DyadicProblem, Regularisation
from kernelrank.dyads.side_basis import SideBasis
from kernelrank.solvers import ConjugateGradient
from kernelrank.solvers.iterative import Operator
from kernelrank.solvers.precision import check_finite, overflow_is_checked

__all__ = ["Eigenbasis"]

LEAST_KNOWN = 0.05
"""An object of which less than this share of the average is known counts as if so much were known."""


@dataclass(frozen=True)
class Eigenbasis:
    """Problems with unknown cells, in features that make the complete problem diagonal.

    Parameters
    ----------
    problem : DyadicProblem
    systems : tuple of CellSystem
        One for each set of outputs that know the same cells.
    iteration : ConjugateGradient
    primal : bool
        Whether the features are those of linear kernels.
    """

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
        result, n_iter = None, 1
        for (outputs, _), system in zip(self.problem.output_cells(), self.systems, strict=True):
            begin = None if start is None else start.part(outputs)
            values, steps = system.solve(regularisation, self.iteration, begin)
            if result is None:
                result = np.empty((*values.shape[:2], self.problem.n_outputs))
            result[:, :, outputs] = values
            n_iter = max(n_iter, steps)
        assert result is not None
        check_finite(result)
        if self.primal:
            return DyadicSolution(weights=result, n_iter=n_iter)
        return DyadicSolution(dual=result, n_iter=n_iter)


@dataclass(frozen=True)
class CellSystem:
    """The equations of outputs that know the same cells.

    Parameters
    ----------
    rows, columns : SideBasis
    left, right : ndarray, shapes (m1, r1) and (m2, r2)
        Φ₁ and Φ₂ for products with L, which cannot tell those of a ranked side from centred ones.
    products : CellProducts
    laplacian : CellLaplacian
    sign : {1, -1, 0}
    """

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
        shares.append(np.maximum(sums, LEAST_KNOWN * sums.mean()))
    return shares[0], shares[1]
