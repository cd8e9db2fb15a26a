r"""The system of a Newton step, ``(Φᵀ H Φ + 2 alpha I) d = b``.

Conjugate gradients solve it from products with Φ and H. How many they take grows with the condition number: where
alpha is small and the band of a smoothed hinge is narrow, there would be thousands. But then few items have pairs
inside the band. With Φ_s and H_s of these s items alone,

    ``(Φᵀ H Φ + 2 alpha I)⁻¹ b = (b - Φ_sᵀ (2 alpha I + H_s K_s)⁻¹ H_s Φ_s b) / (2 alpha)``,  ``K_s = Φ_s Φ_sᵀ``,

an s × s system; with fewer than s columns, ``Φ_sᵀ H_s Φ_s + 2 alpha I`` itself is smaller. The inverse preconditions
conjugate gradients, which then take one step, or two where rounding matters.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lu_factor, lu_solve
from scipy.sparse import csr_array

from kernelrank.base.arrays import Float, Index, is_sparse
from kernelrank.losses import Curvature
from kernelrank.solvers.pair_problem import PairProblem
from kernelrank.solvers.truncated_system import solve_roughly

__all__ = ["NewtonSystem"]

INNER = 250
"""The largest number of conjugate-gradient steps in a Newton step."""

HARD = 10
"""From so many conjugate-gradient steps on a system is hard; with many items and few columns there are one to five."""

FEWEST, FEW = 5, 4_000
"""Conjugate gradients always have so many steps before a factorisation is thought of, and there is none of more than
that many items, for H_s, K_s and the factor take s² numbers each."""

DENSE, SPARSE = 20, 100
"""A product with a stored feature and one with its transpose take as long as so many operations of a factorisation."""

KERNEL, MANY_KERNEL, MANY = 2.0, 0.4, 500
"""What one feature of a kernel between two items costs, in operations of a factorisation: with few items, and with more
than `MANY`, whose products run at the full speed of BLAS."""

FILLED = 0.1
"""Up to this share of entries that are not zero, H_s is multiplied as a sparse matrix."""


class NewtonSystem:
    """Systems of one problem and one alpha, each solved in the way that costs less.

    Parameters
    ----------
    problem : PairProblem
    alpha : float
        Regularisation strength.

    Notes
    -----
    A conjugate-gradient step costs two products with Φ and O(m log m). A factorisation for s items costs O(s³), and
    O(s r) for each item whose kernels are not known yet, memory 4 s²; with r < s dense columns O(s r²), memory s².
    """

    def __init__(self, problem: PairProblem, alpha: float) -> None:
        self.problem, self.alpha = problem, alpha
        self.steps = 0  # that conjugate gradients last took without a factorisation
        self.known: Index = np.zeros(0, dtype=np.int64)
        self.kernel: Float = np.zeros((0, 0))  # of the known items
        self.place: Index = np.full(problem.features.n_items, -1)  # of each item among those known

    def solve(self, curvature: Curvature, b: Float, forcing: float) -> tuple[Float, Float]:
        """Solve for one right side to a relative residual of `forcing`; also return Φ d."""
        most = self._steps_worth_a_factor(curvature.n_curved)
        if self.steps < most:
            rough = self.problem.preconditioner(curvature.trace, self.alpha)
            d, d_scores, self.steps = self._iterate(curvature, b, rough, forcing, most)
            if self.steps < most or most == INNER:
                return d, d_scores
        d, d_scores, _ = self._iterate(curvature, b, self._inverse(curvature), forcing, INNER)
        return d, d_scores

    @property
    def hard(self) -> bool:
        """Whether conjugate gradients took many steps, because the system is far from its preconditioner."""
        return self.steps >= HARD

    def _steps_worth_a_factor(self, s: int) -> int:
        """Return how many conjugate-gradient steps cost as much as a factorisation for s items."""
        if s > FEW:
            return INNER
        problem = self.problem
        if self._by_columns(s):
            operations = problem.size**2 * (problem.size / 3.0 + 2.0 * s) + 30.0 * s**2
        else:
            each = KERNEL if s < MANY else MANY_KERNEL
            kernels = each * s * problem.size * max(s - len(self.known), 0)
            operations = 2.0 / 3.0 * s**3 + 30.0 * s**2 + kernels
        step = (SPARSE if problem.features.sparse else DENSE) * problem.stored
        return int(min(INNER, operations / step + FEWEST))

    def _iterate(
        self, curvature: Curvature, b: Float, precondition: Callable[[Float], Float], forcing: float, most: int
    ) -> tuple[Float, Float, int]:
        """Return d, Φ d and the number of steps."""
        features, steps = self.problem.features, 0

        def hessian(v: Float) -> tuple[Float, Float]:
            nonlocal steps
            steps += 1
            v_scores = features.multiply(v)
            return features.transpose_multiply(curvature(v_scores)) + 2.0 * self.alpha * v, v_scores

        d, d_scores = solve_roughly(hessian, b, precondition, np.zeros(features.n_items), forcing, most)
        return d, d_scores, steps

    def _inverse(self, curvature: Curvature) -> Callable[[Float], Float]:
        """Return the inverse of the whole system, as a function."""
        items, H = curvature.matrix()
        features, two_alpha = self.problem.features, 2.0 * self.alpha
        few_filled = csr_array(H) if np.count_nonzero(H) < FILLED * H.size else H
        if self._by_columns(len(items)):
            rows = features.rows(items)
            A: Float = rows.T @ (few_filled @ rows)
            A[np.diag_indices_from(A)] += two_alpha
            columns = cho_factor(A, overwrite_a=True, check_finite=False)
            return lambda v: np.asarray(cho_solve(columns, v, check_finite=False))
        A = few_filled @ self._kernel(items)
        A[np.diag_indices_from(A)] += two_alpha
        factor = lu_factor(A, overwrite_a=True, check_finite=False)

        def inverse(v: Float) -> Float:
            inner = np.zeros(features.n_items)
            inner[items] = lu_solve(factor, few_filled @ features.multiply(v)[items], check_finite=False)
            return (v - features.transpose_multiply(inner)) / two_alpha

        return inverse

    def _by_columns(self, s: int) -> bool:
        """Whether the system of the columns is smaller than that of s items."""
        return self.problem.size < s and not self.problem.features.sparse

    def _kernel(self, items: Index) -> Float:
        """Return K_s; what is known of it already is kept."""
        missing = items[self.place[items] < 0]
        if len(missing) > 0:
            if len(self.kernel) + len(missing) > FEW:
                self.known, self.kernel, missing = items[:0], np.zeros((0, 0)), items
            k, known = len(self.known), np.concatenate([self.known, missing])
            grown = np.empty((len(known), len(known)))
            grown[:k, :k] = self.kernel
            grown[k:] = self._products(missing, known)
            grown[:k, k:] = grown[k:, :k].T
            self.known, self.kernel = known, grown
            self.place[:] = -1
            self.place[known] = np.arange(len(known))
        places = self.place[items]
        return self.kernel[np.ix_(places, places)]

    def _products(self, some: Index, others: Index) -> Float:
        """Return the kernel between some items and others."""
        features = self.problem.features
        if is_sparse(features.X):
            products = (features.X[some] @ features.X[others].T).tocoo()
            kernel = np.zeros(products.shape)
            kernel[products.coords] = products.data
            return kernel
        rows = features.rows(others)
        return (rows if len(some) == len(others) else features.rows(some)) @ rows.T
