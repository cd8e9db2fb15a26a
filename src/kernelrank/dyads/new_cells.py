"""Hold-outs of single cells of complete scores, without refitting.

**Regression.** All cells are one ridge regression with the inverse ``Γ = (U₁ ⊗ U₂) diag(S) (U₁ ⊗ U₂)ᵀ``. Without the
cells T the residuals are ``Γ_TT⁻¹ A_T``; for one cell ``A_ij / g_ij`` with ``g = (U₁∘U₁) S (U₂∘U₂)ᵀ``. For a few cells
``Γ_(ij)(kl) = (U₁_i ∘ U₁_k)ᵀ S (U₂_j ∘ U₂_l)``.

**A ranking of the columns.** The row i loses a cell and with it changes its weight ω, so take it away first, whole, and
learn from what is left of it afterwards. Let λ be ``alpha / ω(m₂)``, as in S, and ``λ' = λ + δ = alpha / ω(m₂ - 1)``.
Without the row (`new_objects.py`) its score in direction b has the mean ``c = V₁T - κ∘z`` and the residual z, and
f(i, ·) has the posterior variance ``V₂ diag(s_i / μ₂) V₂ᵀ``, diagonal in the same eigenbasis:

    ``d = P₁² S``,  ``κ = (P₁∘V₁) S``,  ``z = P₁T / d``,  ``s = κ / d``;   ``λd + μ₂κ = 1``: a row of P₁² adds up to 1.

So the row alone is a ranking with the kernel ``CU₂ diag(μ₂ s_i) U₂ᵀC`` and the noise λ', from which column j leaves as
a new object of the ranked side. With ``W = 1/(μ₂ s + λ') = d / (1 + δd)`` and ``a = W ∘ z`` its residual, up to the
intercept of the row, is ``ρ = (a P₂ᵀ) / (W (P₂∘P₂)ᵀ)``, and

    ``f = (c + s∘a) V₂ᵀ - [(s∘W) (V₂∘P₂)ᵀ] ∘ ρ``.

``V₂ = P₂ diag(μ₂) + 1ℓᵀ`` with ``ℓ = 1ᵀV₂ / m₂``, the levels that CK₂C has lost. Put in, with ``μ₂c = YP₂ - z``,
``P₂P₂ᵀ = C`` and its diagonal ``1 - 1/m₂``, most terms cancel:

    ``f_ij = (YC)_ij - [1 - 1/m₂ + ((s∘W∘ℓ) P₂ᵀ)_ij] ρ_ij + [P₁(μ₁∘Tℓ) - δ(κ∘a)ℓ]_i``.

Both are a few matrix products for all cells at once.
"""

from __future__ import annotations

import numpy as np

from kernelrank.base.arrays import Float, Index, blocks
from kernelrank.dyads.rotated_side import RotatedSide

__all__ = ["cell_inverse", "cell_residuals", "few_cell_residuals", "ranked_cells"]

KEPT = 0.01
"""What is left of one by a subtraction that may cost two digits."""


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


def ranked_cells(rows: RotatedSide, columns: RotatedSide, Y: Float, T: Float, S: Float, noise: Float) -> Float:
    """Return f for every cell, held out alone, where the columns are ranked for each row.

    Parameters
    ----------
    rows, columns : RotatedSide
    Y, T, S : ndarray, shape (m1, m2)
        T and S at the weight of whole rows.
    noise : ndarray, shape (2,)
        λ and λ'.
    """
    P1, P2 = rows.P, columns.P
    delta, level = noise[1] - noise[0], columns.V.mean(axis=0)
    d, kappa = _sums(rows, columns.mu, S, noise[0])
    shrunk = delta * d
    shrunk += 1.0
    a = P1 @ T
    a /= shrunk
    kappa *= level
    levels = P1 @ (rows.mu * (T @ level)) - delta * np.einsum("ij,ij->i", kappa, a)
    d /= shrunk
    kappa /= shrunk
    residuals = a @ P2.T
    residuals /= d @ (P2 * P2).T
    factor = kappa @ P2.T
    factor += 1.0 - 1.0 / len(P2)
    residuals *= factor
    return np.asarray(Y + (levels - Y.mean(axis=1))[:, None] - residuals)


def _sums(rows: RotatedSide, mu2: Float, S: Float, noise: float) -> tuple[Float, Float]:
    """Return d and κ, (m₁, r₂): one of them by a product, the other by ``λd + μ₂κ = 1`` where that keeps its digits."""
    squares, mu1 = rows.P * rows.P, rows.mu[:, None]
    # The means of μ₂κ over the rows grow with μ₂, which is ascending.
    small = int(np.searchsorted(mu2 * (rows.mu @ S), 0.5 * len(S)))
    found = squares @ np.concatenate([mu1 * S[:, :small], S[:, small:]], axis=1)
    factor, divisor = np.full((2, len(mu2)), noise)
    factor[:small], divisor[small:] = mu2[:small], mu2[small:]
    other = found * -factor
    other += 1.0
    lost = np.flatnonzero(other.min(axis=0) < KEPT)
    other /= divisor
    other[:, lost] = squares @ (S[:, lost] * np.where(lost < small, 1.0, mu1))
    found[:, :small], other[:, :small] = other[:, :small], found[:, :small].copy()
    return found, other
