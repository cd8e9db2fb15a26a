"""Hold-outs of complete scores of one set of objects: a cell leaves with its mirror image, an object with both.

What leaves is closed under (a, b) → (b, a), and so is the plain problem with ``K ⊗ K``: its solution is the sum of
those of ``Y₊ = (Y + Yᵀ)/2`` and ``Y₋ = (Y - Yᵀ)/2``, which stay symmetric and skew-symmetric whatever leaves. So one
formula serves the relations symmetric (``Y = Y₊``), reciprocal (``Y = Y₋``) and any (both). With ``K = U diag(μ) Uᵀ``,
p_i row i of U, ``S = 1/(μμᵀ + alpha)`` and ``A = U [(UᵀYU) ∘ S] Uᵀ``:

**A cell with its mirror**: residual ``A±_ij / (g_ij ± h_ij)`` with ``g_ij = (p_i²)ᵀ S p_j²`` and
``h_ij = (p_i∘p_j)ᵀ S (p_i∘p_j)``; ``A_ii / g_ii`` on the diagonal.

**An object i**: residuals ``E = e_i rᵀ ± r e_iᵀ`` on its row and its column, ``r = Uρ``, must have ``(ΓE)_i = A±_i``:

    ``N ρ = Uᵀ a_i``,  ``N = diag(S p_i²) ± diag(p_i) S diag(p_i)``,

and row i of the residuals is ``Uρ``, its entry i doubled for + and zero for -. There ``N p_i = 0``, and any multiple of
``p_i p_iᵀ`` may be added to N. One m × m system for each object, where training again needs a decomposition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve

from kernelrank.base.arrays import Float
from kernelrank.dyads.complete import Spectral
from kernelrank.dyads.folds import DyadicFolds
from kernelrank.dyads.new_cells import cell_inverse
from kernelrank.dyads.one_set import symmetrised
from kernelrank.dyads.problem import DyadicProblem, Regularisation

__all__ = ["OneSetHoldout"]


@dataclass(frozen=True)
class OneSetHoldout:
    """Complete scores of one set of objects after the decomposition; regression only.

    Parameters
    ----------
    problem : DyadicProblem
    rotated : ndarray, shape (m, m, outputs)
        ``Uᵀ Y U``.
    """

    problem: DyadicProblem
    rotated: Float

    @classmethod
    def prepare(cls, problem: DyadicProblem) -> OneSetHoldout:
        """Decompose the kernel and rotate the scores, as the fit does."""
        return cls(problem, Spectral.prepare(problem).rotated)

    def handles(self, folds: DyadicFolds) -> bool:
        """Return whether there is a shortcut: for single cells and for single objects."""
        return folds.cells is None and folds.rows is None and folds.setting != "both"

    def scores(self, folds: DyadicFolds, regularisations: Sequence[Regularisation]) -> Float:
        """Return every cell as if it were new, (m, m, outputs, regularisations): O(m⁴) time for each."""
        assert self.problem.Y is not None
        U, Y = self.problem.row_spectrum.eigenvectors, self.problem.Y
        scores = np.empty((*Y.shape, len(regularisations)))
        for number, regularisation in enumerate(regularisations):
            S = self.problem.shrinkage(regularisation)
            A = np.stack([U @ (self.rotated[:, :, k] * S) @ U.T for k in range(Y.shape[2])], axis=2)
            if folds.setting == "cell":
                residuals = _cell_residuals(U, S, A)
            elif folds.setting == "row":
                residuals = _object_residuals(U, S, A)
            else:
                residuals = _object_residuals(U, S, A.swapaxes(0, 1)).swapaxes(0, 1)
            scores[..., number] = Y - residuals
        return scores


def _cell_residuals(U: Float, S: Float, A: Float) -> Float:
    g, h = cell_inverse(U, U, S), np.empty_like(S)
    for i, p in enumerate(U):
        both = U * p
        h[i] = np.einsum("ja,ja->j", both @ S, both)
    np.fill_diagonal(h, 0.0)
    plus, minus = g + h, g - h
    residuals = symmetrised(A, 1) / plus[:, :, None] + symmetrised(A, -1) / minus[:, :, None]
    return np.asarray(residuals)


def _object_residuals(U: Float, S: Float, A: Float) -> Float:
    """Return the row i of residuals without object i, for every i, (m, m, outputs)."""
    residuals = np.empty_like(A)
    halves = [(sign, symmetrised(A, sign)) for sign in (1, -1)]
    for i, p in enumerate(U):
        residuals[i] = 0.0
        for sign, half in halves:
            if not half.any():
                continue
            scale = S @ (p * p)
            N = sign * (p[:, None] * S * p)
            N[np.diag_indices_from(N)] += scale
            if sign < 0:
                N += scale.mean() * np.outer(p, p)
            r = U @ solve(N, U.T @ half[i], assume_a="sym", overwrite_a=True, check_finite=False)
            r[i] *= 1 + sign
            residuals[i] += r
    return residuals
