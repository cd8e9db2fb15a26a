"""Heavy columns: sparse data in which a few columns hold most entries, in the dual form.

Raw term counts are such data: the frequencies of words fall as one over their rank, and documents differ in length. The
diagonal of the primal form equalises the columns, but not the rows; with more columns than items it also changes
the null space. So the k heaviest columns H are solved exactly, and the others, the light columns T, are approximated by
their diagonal: with the root ``CᵀC = L`` and ``A = C X Xᵀ Cᵀ``, the system ``(A + alpha I) x = b`` is preconditioned by

    ``M = D + (C H)(C H)ᵀ``,   ``D = alpha I + diag(C T Tᵀ Cᵀ)``,

which Woodbury's identity inverts by a k × k matrix,

    ``z = M⁻¹ r = D⁻¹(r - C H u)``,   ``S u = Hᵀ Cᵀ D⁻¹ r``,   ``S = I + Hᵀ Cᵀ D⁻¹ C H``.

**Half of the products.** From these, ``Hᵀ Cᵀ z = Hᵀ Cᵀ D⁻¹ r - (S - I) u = u``: the product of z with the heavy
columns, ``(C H)(C H)ᵀ z = C H u``, is known already. It follows the direction p as z does. So a step multiplies once
with H, Hᵀ, T and Tᵀ each, no more entries than without a preconditioner.

**Rounding.** u is known to as many digits as S keeps, and S has entries of the size of 1 / D. An item with heavy
columns only would have D = alpha; so D is at least a hundredth of its mean. The true residual is computed at the end.

**When to stop.** The error of the scores is ``A (A + alpha I)⁻¹ r``, no longer than the residual r.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import sparse
from scipy.linalg import blas, lapack

from kernelrank.base.arrays import Float, Sparse, is_sparse, one_thread, weighted_squares
from kernelrank.base.progress import working
from kernelrank.comparisons import Comparisons
from kernelrank.features import Features
from kernelrank.solvers.base import Solution, Solver, Step
from kernelrank.solvers.iterative import differ_much, inner_products

__all__ = ["HeavyColumns", "HeavySystem", "heavy_count"]

MOST_HEAVY, HEAVY_BYTES = 1_000, 2**27
"""How many columns are solved exactly at most, and what they may take as a dense matrix."""

FEWEST_HEAVY = 100
"""With fewer, this takes longer than it saves."""

LEAST_SHARE = 0.01
"""What the diagonal is at least, beside its mean."""

DRIFT = 3.0
"""The true residual may be so many times `tol` at the end."""


def heavy_count(features: Features, comparisons: Comparisons) -> int:
    """Return how many columns can be solved exactly; zero where that does not help.

    It helps where there are more columns than items, columns differ much in length, and a root of L has one row for
    each item.
    """
    columns, m = features.columns, features.n_items
    count = min(MOST_HEAVY, m // 8, HEAVY_BYTES // (8 * max(m, 1)))
    if features.primal is not None or columns is None or not comparisons.cheap_root or count < FEWEST_HEAVY:
        return 0
    if len(comparisons.root_squares()) != m:
        return 0
    return count if differ_much(columns.gram_diagonal(comparisons)) else 0


@dataclass(frozen=True)
class HeavySystem:
    """The columns taken apart, and what does not depend on alpha.

    Parameters
    ----------
    features : Features
    comparisons : Comparisons
    heavy, light : sparse matrix, shape (m, k) and (m, n - k)
    heavy_transposed, light_transposed : sparse matrix, shape (k, m) and (n - k, m)
        By rows as well, which are multiplied faster than columns.
    light_squares : ndarray, shape (m,)
        About the diagonal of ``C T Tᵀ Cᵀ``.
    """

    features: Features
    comparisons: Comparisons
    heavy: Sparse
    light: Sparse
    heavy_transposed: Sparse
    light_transposed: Sparse
    light_squares: Float


@dataclass(frozen=True)
class HeavyColumns(Solver[HeavySystem]):
    """Iterate in the dual form, the heaviest columns solved exactly.

    Parameters
    ----------
    tol : float, default=1e-5
        The relative error of the scores at which an output is done.
    max_iter : int, optional
        The largest number of iterations; ten times the number of items unless given.

    Notes
    -----
    To begin with O(k³) time and the products of entries of one row, k ≤ 1,000 columns being solved exactly; with ties
    left out O(m k²) time and m k numbers. Then O(nnz + k²) a step.
    """

    tol: float = 1e-5
    max_iter: int | None = None
    name: str = field(init=False, default="conjugate_gradient")

    def prepare(self, features: Features, comparisons: Comparisons) -> HeavySystem:
        """Take the columns apart by their squared lengths inside queries."""
        columns = features.columns
        assert columns is not None
        columns = columns.shifted_features(comparisons)
        assert is_sparse(columns.X)
        order = np.argsort(-columns.gram_diagonal(comparisons), kind="stable")
        count = heavy_count(features, comparisons)
        X = columns.X.tocsc().astype(np.float64, copy=False)
        if max(X.nnz, *X.shape) <= np.iinfo(np.int32).max:  # half of the bytes of an index
            X = sparse.csc_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
        heavy, light = X[:, np.sort(order[:count])], X[:, np.sort(order[count:])]
        squares = comparisons.root_squares() * weighted_squares(np.ones(light.shape[1]), light.T)
        return HeavySystem(features, comparisons, heavy.tocsr(), light.tocsr(), heavy.T, light.T, squares)

    def solve(
        self, state: HeavySystem, alpha: float, *, start: Float | None = None, step: Step | None = None, **_: object
    ) -> Solution:
        """Solve for one alpha, from zero whatever `start` is."""
        del start
        return self.attempt(state, alpha, step)[0]

    def attempt(self, state: HeavySystem, alpha: float, step: Step | None = None) -> tuple[Solution, bool]:
        """Solve; return whether the scores are known to `tol`, or `step` stopped the iteration."""
        graph = state.comparisons
        with working("conjugate gradients"), one_thread():
            x, n_iter, stopped = self._iterate(state, alpha, step)
        a = graph.centre_transpose(x)
        assert state.features.columns is not None
        coefficients = state.features.from_dual(a)
        missed = graph.root_target() - alpha * x
        rest = missed - graph.centre(state.features.columns.multiply(coefficients))
        residual = _largest_ratio(_lengths(rest), _lengths(missed))
        return Solution(coefficients, coefficients, n_iter, residual), stopped or residual <= DRIFT * self.tol

    def _iterate(self, state: HeavySystem, alpha: float, step: Step | None) -> tuple[Float, int, bool]:
        """Return x, the number of steps, and whether `step` stopped them."""
        graph, light, light_transposed = state.comparisons, state.light, state.light_transposed
        divide = _Division(state, alpha)
        b = graph.root_target()
        x, r, whole = np.zeros_like(b), b.copy(), _lengths(b)
        p, heavy_p = divide(r)
        size = inner_products(r, p)
        n_iter = 0
        for n_iter in range(1, 1 + (10 * len(b) if self.max_iter is None else self.max_iter)):
            product = graph.centre(light @ (light_transposed @ graph.centre_transpose(p)))
            product += heavy_p
            product += alpha * p
            curvature = inner_products(p, product)
            length = np.divide(size, curvature, out=np.zeros_like(size), where=curvature > 0)
            x += length * p
            product *= length
            r -= product
            residual = _largest_ratio(_lengths(r), whole)
            if step is not None and step(n_iter, residual):
                return x, n_iter, True
            if residual <= self.tol and _largest_ratio(_lengths(r), _lengths(b - alpha * x)) <= self.tol:
                break
            z, heavy_z = divide(r)
            following = inner_products(r, z)
            growth = np.divide(following, size, out=np.zeros_like(size), where=size > 0)
            size = following
            for direction, new in ((p, z), (heavy_p, heavy_z)):
                direction *= growth
                direction += new
        return x, n_iter, False


class _Division:
    """``M⁻¹ r`` for one alpha, and its product with the heavy columns."""

    def __init__(self, state: HeavySystem, alpha: float) -> None:
        self.graph, self.heavy, self.transposed = state.comparisons, state.heavy, state.heavy_transposed
        squares = state.light_squares
        D = np.maximum(squares, LEAST_SHARE * squares.mean()) + alpha
        self.inverse_diagonal = (1.0 / D)[:, None]
        S = self.graph.root_gram(self.heavy, 1.0 / D).T  # symmetric, in the order that LAPACK overwrites
        S[np.diag_indices_from(S)] += 1.0
        factor, _ = lapack.dpotrf(S, overwrite_a=1)
        self.inverse, _ = lapack.dpotri(factor, overwrite_c=1)

    def __call__(self, r: Float) -> tuple[Float, Float]:
        right = self.transposed @ self.graph.centre_transpose(r * self.inverse_diagonal)
        one = right.shape[1] == 1
        u = blas.dsymv(1.0, self.inverse, right[:, 0])[:, None] if one else blas.dsymm(1.0, self.inverse, right)
        heavy = self.graph.centre(self.heavy @ u)
        z = r - heavy
        z *= self.inverse_diagonal
        return z, heavy


def _lengths(U: Float) -> Float:
    """Return the length of each column."""
    return np.sqrt(inner_products(U, U))


def _largest_ratio(lengths: Float, whole: Float) -> float:
    """Return the largest of the ratios; none counts where the whole is zero."""
    return float(np.divide(lengths, whole, out=np.zeros_like(whole), where=whole > 0).max())
