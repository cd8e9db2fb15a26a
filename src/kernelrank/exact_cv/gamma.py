"""Γ itself at one λ, in place of the kernel matrix.

For one ranking with item weights w (total W), and for RLS, the root of the Laplacian is ``C = P S`` with
``S = diag(√w)`` and the projection ``P = I - √w √wᵀ / W`` (RLS: ``P = I``), so that

    ``Γ = Cᵀ(C K Cᵀ + λ I)⁻¹ C = S P (C K Cᵀ + λ I)⁻¹ P S``.

The inverse has the eigenvector ``√w`` with eigenvalue ``1 / λ``, which P takes away again: a difference, and a large
one where λ is small. So that direction is lifted first by c, the trace of ``C K Cᵀ``:

    ``Γ = S (C K Cᵀ + λ I + c √w √wᵀ / W)⁻¹ S - w wᵀ / (W (λ + c))``,

where next to nothing is subtracted. Cholesky's factor and the inverse overwrite the kernel matrix: m³ multiplications
and additions in all, beside ``5/3 m³`` for a triangular inverse and its product with itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from kernelrank.arrays import Float
from kernelrank.comparisons import ItemScores, ScoredQueries
from kernelrank.compiled import compiled
from kernelrank.features import Features
from kernelrank.solvers.normal_equations import kernel_summands
from kernelrank.solvers.rounding import Rounding

__all__ = ["Gamma"]

TILE = 64
"""The side of a tile: two of them fit into the first level of any cache."""


@dataclass(frozen=True)
class Gamma:
    """The matrix that turns scores into dual coefficients, ``e = Γ y``.

    Parameters
    ----------
    matrix : ndarray, shape (m, m)
    coefficients : ndarray, shape (m, k)
        ``Γ y`` for every output.
    error : float
        The relative error that rounding leaves in predictions, as it is estimated.
    """

    matrix: Float
    coefficients: Float
    error: float

    @classmethod
    def of(cls, features: Features, graph: ItemScores | ScoredQueries, lam: float) -> Gamma | None:
        """Form Γ: O(m³) time, one m × m array.

        Parameters
        ----------
        features : Features
        graph : ItemScores or ScoredQueries
            RLS, or one query in which every item counts the same.
        lam : float

        Returns
        -------
        Gamma or None
            None where rounding stops the factorisation, or where λ is larger than the trace: scores are then tiny
            beside y, and no difference from y keeps their digits.
        """
        A = features.centred_kernel(graph)
        lift = float(np.trace(A))
        if lam > lift:
            return None
        rounding = Rounding.of_factor(A, primal=False, summands=kernel_summands(features, graph))
        root = np.sqrt(graph.weight)
        share = 0.0
        if isinstance(graph, ScoredQueries):
            _lift(A, root, lift / float(graph.weight.sum()))
            share = 1.0 / (float(graph.weight.sum()) * (lam + lift))
        A[np.diag_indices_from(A)] += lam
        # A is symmetric, so its transpose is the same matrix in the column order that LAPACK overwrites in place.
        factor, failed_at = lapack.dpotrf(A.T, lower=1, clean=0, overwrite_a=1)
        if failed_at > 0:
            return None
        target = graph.root_target()
        solution, _info = lapack.dpotrs(factor, target, lower=1)
        error = rounding.relative_error(lambda g: lapack.dpotrs(factor, g, lower=1)[0], solution, target, lam)
        inverse, _info = lapack.dpotri(factor, lower=1, overwrite_c=1)
        matrix = inverse.T
        _complete(matrix, root, share)
        return cls(matrix, root[:, None] * solution, error)


def _lift(A: Float, root: Float, c: float) -> None:
    """Add ``c √w √wᵀ``, a row at a time."""
    for row, weight in zip(A, c * root, strict=True):
        row += weight * root


@compiled
def _complete(G: Float, root: Float, share: float) -> None:
    """Turn the upper half of the inverse into all of Γ, a tile and its mirror image at a time."""
    m = len(G)
    for top in range(0, m, TILE):
        for left in range(top, m, TILE):
            for i in range(top, min(top + TILE, m)):
                for j in range(max(left, i), min(left + TILE, m)):
                    both = root[i] * root[j]
                    value = both * (G[i, j] - share * both)
                    G[i, j] = value
                    G[j, i] = value
