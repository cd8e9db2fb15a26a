"""Few known cells: conjugate gradients over these, by the generalised vec trick.

The dual problem ``(C K Cᵀ + alpha I) u = C y``, with the kernel K of the known dyads and the root C of L, needs
products with K only: ``K a = (K₁ A K₂)`` at the cells, A the sparse matrix with a at the cells. That is O(l (m₁ + m₂))
for l cells by two products with a sparse pattern, and the kernel of all pairs of dyads is never built. Then
``F = K₁ A K₂`` with ``a = Cᵀ u``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Float
from kernelrank.dyads.cell_laplacian import CellLaplacian
from kernelrank.dyads.cell_products import CellProducts
from kernelrank.dyads.dyadic_solution import DyadicSolution
from kernelrank.dyads.known_cells import KnownCells
from kernelrank.dyads.problem import DyadicProblem, Regularisation
from kernelrank.kernels import check_precomputed, refuse_indefinite
from kernelrank.solvers import ConjugateGradient
from kernelrank.solvers.iterative import Operator
from kernelrank.solvers.precision import check_finite

__all__ = ["VecTrick", "refuse_indefinite_sides"]


def refuse_indefinite_sides(problem: DyadicProblem) -> None:
    """Raise an error for a kernel that is not positive semidefinite, without decomposing it."""
    for side in {id(side): side for side in (problem.rows, problem.columns)}.values():
        if side.kernel.precomputed:
            check_precomputed(side.items)
        else:
            refuse_indefinite(side.kernel, side.K)


@dataclass(frozen=True)
class VecTrick:
    """Problems with few known cells, over their dual coefficients.

    Parameters
    ----------
    problem : DyadicProblem
    iteration : ConjugateGradient
    """

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
