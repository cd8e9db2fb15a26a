"""The minimum over scores of unscored queries, for every anchor.

Minimises ``‖ρ + T_V δ‖² + γ ‖δ‖²``; see `kernelrank.exact_cv.transduction`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import eigh, lapack

from kernelrank.base.arrays import Float, Index

if TYPE_CHECKING:
    from kernelrank.exact_cv.transduction import FoldResiduals

__all__ = ["BlockMinimum", "DenseMinimum"]


@dataclass(frozen=True)
class DenseMinimum:
    """``δ = -(N + γ I)⁻¹ g`` with ``N = T_Vᵀ T_V`` (v × v) and ``g = T_Vᵀ ρ`` (v × k)."""

    N: Float
    g: Float

    @classmethod
    def of(cls, residuals: FoldResiduals, rho: Float) -> DenseMinimum:
        """Add up N and g: O(m v s + m v²) time."""
        v = len(residuals.unscored)
        N, g = np.zeros((v, v)), np.zeros((v, rho.shape[1]))
        for items, rows in residuals.rows():
            N += rows.T @ rows
            g += rows.T @ rho[items]
        return cls(N, g)

    def corrections(self, anchors: Float) -> Float:
        """Return δ for every anchor, shape (v, k, n): a Cholesky factorisation for one, a spectrum for several."""
        if len(anchors) == 1:
            shifted = self.N.copy()
            shifted[np.diag_indices_from(shifted)] += anchors[0]
            factor, failed_at = lapack.dpotrf(shifted, lower=1, clean=0, overwrite_a=1)
            if failed_at == 0:
                delta, _ = lapack.dpotrs(factor, -self.g, lower=1)
                return np.asarray(delta[:, :, None])
        values, vectors = eigh(self.N, driver="evd", check_finite=False)
        shrunk = (vectors.T @ -self.g)[:, :, None] / (np.maximum(values, 0.0)[:, None, None] + anchors)
        return np.asarray((vectors @ shrunk.reshape(len(values), -1)).reshape(shrunk.shape))


@dataclass(frozen=True)
class BlockMinimum:
    """The same for ``T_V = A - B Q_Vᵀ`` in the singular vectors of the blocks of A; nothing v × v is formed.

    Parameters
    ----------
    blocks : list of (ndarray, ndarray)
        For each fold the numbers of its unscored items and the right singular vectors Y of its block.
    sigma : ndarray, shape (v,)
    left, right : ndarray, shape (v, s)
        B̂ and Q̂.
    rest : ndarray, shape (s, s)
        S.
    g : ndarray, shape (v, k)
        ``T_Vᵀ ρ`` in the same basis.
    """

    blocks: list[tuple[Index, Float]]
    sigma: Float
    left: Float
    right: Float
    rest: Float
    g: Float

    @classmethod
    def of(cls, residuals: FoldResiduals, rho: Float) -> BlockMinimum:
        """Turn every block into its singular vectors: O(u³ + u² s) time for a fold of u items."""
        B, Q = residuals.left, residuals.right
        v, s = len(residuals.unscored), Q.shape[1]
        blocks, sigma, g = [], np.empty(v), np.empty((v, rho.shape[1]))
        left, right = np.empty((v, s)), np.empty((v, s))
        scored = [fold.items for fold in residuals.folds if len(fold.columns) == 0]
        beyond_reach = B[np.concatenate(scored)] if scored else np.zeros((0, s))
        rest, summed = beyond_reach.T @ beyond_reach, B.T @ rho
        for fold in residuals.folds:
            B_U, rho_U, own = B[fold.items], rho[fold.items], fold.columns
            if len(own) == 0:
                continue
            Q_U, root = Q[fold.items[fold.places]], residuals.own_root(fold)
            X, sigma[own], Y_transposed = np.linalg.svd(root + B_U @ Q_U.T, full_matrices=False)
            left[own], right[own] = X.T @ B_U, Y_transposed @ Q_U
            if len(own) < len(fold.items):
                beyond = B_U - X @ left[own]
                rest += beyond.T @ beyond
            # Not by X and σ: where λ is large, residuals of scored items would drown those of unscored ones in them.
            outside = summed - B_U.T @ rho_U
            g[own] = Y_transposed @ (root.T @ rho_U) - right[own] @ outside
            blocks.append((own, Y_transposed.T))
        return cls(blocks, sigma, left, right, rest, g)

    def corrections(self, anchors: Float) -> Float:
        """Return δ for every anchor, shape (v, k, n)."""
        delta = np.empty((*self.g.shape, len(anchors)))
        for number, anchor in enumerate(anchors):
            rotated = self._solve(float(anchor))
            for own, Y in self.blocks:
                delta[own, :, number] = Y @ rotated[own]
        return delta

    def _solve(self, anchor: float) -> Float:
        """Return δ in the singular vectors for one anchor."""
        D, s = (self.sigma**2 + anchor)[:, None], self.left.shape[1]
        system = np.empty((2 * s, 2 * s))
        system[:s, :s] = -self.rest - self.left.T @ (self.left * (anchor / D))
        system[s:, :s] = self.right.T @ (self.left * (self.sigma[:, None] / D)) - np.eye(s)
        system[:s, s:] = system[s:, :s].T
        system[s:, s:] = self.right.T @ (self.right / D)
        plain = -self.g / D
        right = np.concatenate([self.left.T @ (self.sigma[:, None] * plain), self.right.T @ plain])
        _, _, inner, _ = lapack.dsysv(system, right, lower=1)
        outer: Float = plain - (self.sigma[:, None] * (self.left @ inner[:s]) + self.right @ inner[s:]) / D
        return outer
