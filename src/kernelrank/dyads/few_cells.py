"""Few known cells: the kernel of all pairs of them is built, and one dense system is solved.

The dual problem ``(C K Cᵀ + alpha I) u = C y`` of `vec_trick.py`, with the kernel K of the l known dyads, symmetrised
or made skew-symmetric if the relation is, by Cholesky's factorisation: O(l³), exact to rounding at any alpha.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, eigh, solve

from kernelrank.base.arrays import Float
from kernelrank.dyads.cell_laplacian import CellLaplacian
from kernelrank.dyads.cell_products import CellProducts
from kernelrank.dyads.dyadic_solution import DyadicSolution
from kernelrank.dyads.known_cells import KnownCells
from kernelrank.dyads.problem import DyadicProblem, Regularisation
from kernelrank.dyads.vec_trick import refuse_indefinite_sides
from kernelrank.solvers.precision import check_finite

__all__ = ["FEW_CELLS", "FewCells"]

FEW_CELLS = 600
"""Up to so many known cells a dense system costs less than iterations."""


@dataclass(frozen=True)
class FewCells:
    """Problems with few known cells.

    Parameters
    ----------
    problem : DyadicProblem
    """

    problem: DyadicProblem
    name: str = "direct"

    @classmethod
    def prepare(cls, problem: DyadicProblem) -> FewCells:
        """Check that both kernels are positive semidefinite: nothing is decomposed."""
        refuse_indefinite_sides(problem)
        return cls(problem)

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
        A = np.empty((*self.problem.shape, self.problem.n_outputs))
        for outputs, cells in self.problem.output_cells():
            A[:, :, outputs] = self._solve_cells(cells, regularisation.both)
        check_finite(A)
        return DyadicSolution(dual=A)

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
            u = solve(shifted, target, assume_a="pos", overwrite_a=True, check_finite=False)
        except LinAlgError:
            # Rounding of a kernel far larger than alpha made it indefinite.
            values, vectors = eigh(system, driver="evd", overwrite_a=True, check_finite=False)
            u = vectors @ (vectors.T @ target / (np.maximum(values, 0.0) + alpha)[:, None])
        a = laplacian.centre_transpose(u)
        return np.stack([products.scatter(a[:, k], sign) for k in range(a.shape[1])], axis=2)
