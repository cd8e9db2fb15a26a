"""Complete scores: the minimum in closed form, from two eigendecompositions or from few features.

``A = U₁ [(U₁ᵀ Y U₂) ∘ S] U₂ᵀ`` costs two eigendecompositions and four matrix products; another alpha two products more.
With linear kernels of few features, ``X₁ᵀX₁ = V₁ diag(μ₁) V₁ᵀ`` and the same of the columns, the weights are

    ``W = V₁ [(V₁ᵀ X₁ᵀ Y X₂ V₂) ∘ S] V₂ᵀ``,  ``f(x, z) = xᵀ W z``,

with the centred features of a side that is ranked.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from kernelrank.base.arrays import Float, Matrix, dense_rows, transpose_product
from kernelrank.dyads.dyadic_side import DyadicSide
from kernelrank.dyads.dyadic_solution import DyadicSolution
from kernelrank.dyads.problem import DyadicProblem, Regularisation
from kernelrank.solvers.precision import check_finite, overflow_is_checked

__all__ = ["CompletePrimal", "Spectral"]


@dataclass(frozen=True)
class Spectral:
    """Complete scores by the eigendecompositions of both kernels.

    Parameters
    ----------
    problem : DyadicProblem
        Complete, with a closed form.
    rotated : ndarray, shape (m1, m2, outputs)
        ``U₁ᵀ Y U₂``.
    """

    problem: DyadicProblem
    rotated: Float
    name: str = "spectral"

    @classmethod
    def prepare(cls, problem: DyadicProblem) -> Spectral:
        """Decompose both kernels and rotate the scores: O(m₁³ + m₂³ + m₁²m₂ + m₁m₂²)."""
        assert problem.Y is not None
        U1, U2 = problem.row_spectrum.eigenvectors, problem.column_spectrum.eigenvectors
        return cls(problem, _each_output(lambda Y: U1.T @ problem.centred(Y) @ U2, problem.Y))

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

    Parameters
    ----------
    problem : DyadicProblem
    row_basis, column_basis : tuple of ndarray
        μ and V of each side, (d,) and (d, d).
    rotated : ndarray, shape (d1, d2, outputs)
        ``V₁ᵀ X₁ᵀ Y X₂ V₂``.
    """

    problem: DyadicProblem
    row_basis: tuple[Float, Float]
    column_basis: tuple[Float, Float]
    rotated: Float
    name: str = "primal"

    @classmethod
    def prepare(cls, problem: DyadicProblem) -> CompletePrimal:
        """Decompose both scatter matrices: O(m₁m₂d + m₁d₁² + m₂d₂² + d₁³ + d₂³), d the smaller number of features."""
        assert problem.Y is not None
        rows, columns = problem.rows.items, problem.columns.items
        bases = [
            feature_basis(side, centred=problem.ranked == name)
            for name, side in (("rows", problem.rows), ("columns", problem.columns))
        ]

        def rotate(Y: Float) -> Float:
            return bases[0][1].T @ _scatter(rows, problem.centred(Y), columns) @ bases[1][1]

        return cls(problem, bases[0], bases[1], _each_output(rotate, problem.Y))

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
