"""Hold-outs of the objects of one side (rows or columns) of complete scores, without refitting.

Rows leave here; columns are the same turned round. In the eigenbasis of the columns a complete problem falls apart into
one ridge regression over the rows for each direction b, ``(μ₂b K₁ + E_b) a_b = ỹ_b`` with ``Ỹ = Y P₂``. Its inverse is
``Γ_b = P₁ diag(S_b) P₁ᵀ``, ``S = 1/(μ₁μ₂ᵀ + E)``. With ``T = (P₁ᵀ Y P₂) ∘ S`` the coefficients are ``a_b = P₁ T_b``;
those without the rows I are a Schur complement:

    ``z_b = Γ_b,II⁻¹ (a_b)_I``,   ``a_b⁽ᴵ⁾ = a_b - Γ_b,:I z_b``,   zero on I.

The z are the residuals ``Ỹ_I - f`` in the eigenbasis, because ``Γ_b⁻¹ a_b = ỹ_b``. The scores of the new rows are
``F_I = φ_I V₂ᵀ`` with

    ``φ_Ib = K₁[I, :] a_b⁽ᴵ⁾ = (V₁)_I [T_b - S_b ∘ ((P₁)_Iᵀ z_b)]``.

For single rows, ``Γ_b,ii = Σ_a P₁_ia² S_ab``, all of it is a few matrix products. If the side itself is ranked
(``P₁ = CU₁``), Γ_b is the inverse on vectors whose entries add up to zero, and the same holds: the coefficients without
I are those that are also zero on I. All queries lose the same |I| objects, so that ``E = alpha / ω(m₁ - |I|)`` in S.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelrank.base.arrays import Float, Index
from kernelrank.dyads.rotated_side import RotatedSide

__all__ = ["new_object_coefficients", "new_object_residuals"]


def new_object_residuals(P: Float, T: Float, S: Float, folds: Sequence[Index] | None) -> Float:
    """Return z for every object, (m, r₂); rows of objects in no fold are zero.

    Parameters
    ----------
    P : ndarray, shape (m, r1)
        Eigenvectors of the side that loses objects.
    T, S : ndarray, shape (r1, r2)
    folds : sequence of ndarray of int, or None
        Objects that leave together; None if each leaves alone.

    Returns
    -------
    ndarray, shape (m, r2)
    """
    if folds is None:
        return (P @ T) / ((P * P) @ S)
    Z = np.zeros((len(P), T.shape[1]))
    for fold in folds:
        Z[fold] = _fold_residuals(P[fold], T, S)
    return Z


def _fold_residuals(P: Float, T: Float, S: Float) -> Float:
    """Return z of one fold, (u, r₂): one u × u system for each direction, O(u² r₁ r₂ + u³ r₂)."""
    size = len(P)
    gamma = ((P[:, None, :] * P).reshape(size * size, -1) @ S).reshape(size, size, -1).transpose(2, 0, 1)
    return np.asarray(np.linalg.solve(gamma, (P @ T).T[:, :, None])[:, :, 0].T)


def new_object_coefficients(side: RotatedSide, T: Float, S: Float, folds: Sequence[Index] | None) -> Float:
    """Return φ for every object, (m, r₂): the scores of the new objects are ``φ V₂ᵀ``.

    Parameters
    ----------
    side : RotatedSide
        The side that loses objects.
    T, S, folds
        As in `new_object_residuals`.

    Returns
    -------
    ndarray, shape (m, r2)
    """
    P, V = side.P, side.V
    Z = new_object_residuals(P, T, S, folds)
    if folds is None:
        return np.asarray(V @ T - ((V * P) @ S) * Z)
    phi = np.zeros_like(Z)
    for fold in folds:
        size = len(fold)
        between = ((V[fold][:, None, :] * P[fold]).reshape(size * size, -1) @ S).reshape(size, size, -1)
        phi[fold] = V[fold] @ T - np.einsum("ijb,jb->ib", between, Z[fold])
    return phi
