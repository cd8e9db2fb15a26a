"""Single cells are new: complete scores without one cell, and no refit.

**Regression.** All cells are one ridge regression with the inverse ``Γ = (U₁ ⊗ U₂) diag(S) (U₁ ⊗ U₂)ᵀ``. Without the
cells T the residuals are ``Γ_TT⁻¹ A_T``; for one cell ``A_ij / g_ij`` with ``g = (U₁∘U₁) S (U₂∘U₂)ᵀ``. For a few cells
``Γ_(ij)(kl) = (U₁_i ∘ U₁_k)ᵀ S (U₂_j ∘ U₂_l)``.

**A ranking of the columns.** The row i loses a cell and with it changes its weight ω, so take it away first, whole, and
learn from what is left of it afterwards. Without the row, its score in direction b has the mean ``c_ib = φ_ib`` and the
residual ``z_ib`` (`new_objects.py`), and f(i, ·) has the posterior variance ``V₂ diag(s_i / μ₂) V₂ᵀ`` with

    ``s_ib = K₁_ii - μ₂b (ρ_ib - κ_ib² / d_ib)``,  ``d = P₁² S``, ``κ = (P₁∘V₁) S``, ``ρ = V₁² S``,

diagonal in the same eigenbasis. So the row alone is a ranking with the kernel ``CU₂ diag(μ₂ s_i) U₂ᵀC`` and the noise
``λ = alpha / ω(m₂ - 1)``, from which column j leaves as a new object of the ranked side: with ``W = 1/(μ₂ s + λ)`` and
``a = W ∘ z``

    ``f_ij = [(c + s∘a) V₂ᵀ]_ij - [(s∘W) (V₂∘P₂)ᵀ]_ij (a P₂ᵀ)_ij / [W (P₂∘P₂)ᵀ]_ij``.

Both are a few matrix products for all cells at once.
"""

from __future__ import annotations

import numpy as np

from kernelrank.arrays import Float, Index, blocks
from kernelrank.dyads.rotated_side import RotatedSide

__all__ = ["cell_inverse", "cell_residuals", "few_cell_residuals", "ranked_cells"]


def cell_inverse(P1: Float, P2: Float, S: Float) -> Float:
    """Return g, (m₁, m₂): the diagonal of Γ."""
    return np.asarray(((P1 * P1) @ S) @ (P2 * P2).T)


def cell_residuals(P1: Float, P2: Float, T: Float, S: Float) -> Float:
    """Return ``Y - f`` for every cell, held out alone: O(m₁²m₂ + m₁m₂²)."""
    return np.asarray((P1 @ T @ P2.T) / cell_inverse(P1, P2, S))


def few_cell_residuals(P1: Float, P2: Float, S: Float, A: Float, rows: Index, columns: Index) -> Float:
    """Return ``Y - f`` of some cells that leave together, (t, outputs): O(t² m₁ m₂ + t³).

    Parameters
    ----------
    P1, P2 : ndarray, shape (m1, r1) and (m2, r2)
    S : ndarray, shape (r1, r2)
    A : ndarray, shape (m1, m2, outputs)
        ``Γ Y``.
    rows, columns : ndarray of int, shape (t,)
        Where the cells are.
    """
    size = len(rows)
    gamma = np.empty((size, size))
    for part in blocks(size, 16 * size * (P1.shape[1] + P2.shape[1])):
        left = (P1[rows[part], None, :] * P1[rows]).reshape(-1, P1.shape[1]) @ S
        right = (P2[columns[part], None, :] * P2[columns]).reshape(-1, P2.shape[1])
        gamma[part] = np.einsum("ij,ij->i", left, right).reshape(-1, size)
    return np.asarray(np.linalg.solve(gamma, A[rows, columns]))


def ranked_cells(rows: RotatedSide, columns: RotatedSide, T: Float, S: Float, noise: float) -> Float:
    """Return f for every cell, held out alone, where the columns are ranked for each row.

    Parameters
    ----------
    rows, columns : RotatedSide
    T, S : ndarray, shape (m1, m2)
        At the weight of whole rows.
    noise : float
        ``alpha / ω(m₂ - 1)``.
    """
    P1, V1, P2, V2 = rows.P, rows.V, columns.P, columns.V
    d, kappa, rho = (P1 * P1) @ S, (P1 * V1) @ S, (V1 * V1) @ S
    z = (P1 @ T) / d
    c = V1 @ T - kappa * z
    s = np.einsum("ij,ij->i", V1, P1)[:, None] - columns.mu * (rho - kappa**2 / d)
    W = 1.0 / (columns.mu * np.maximum(s, 0.0) + noise)
    a = W * z
    return np.asarray((c + s * a) @ V2.T - ((s * W) @ (V2 * P2).T) * (a @ P2.T) / (W @ (P2 * P2).T))
