"""The loops over pairs: constant time for each, compiled.

Items are numbered by their place in descending order of the scores. Row p of a block is item ``start + p``, column q is
item ``columns + q``. Both loops add pairs in the right order less those in the wrong order to `agreement`, and store
the differences unless `difference` has no room for them. The innermost loops have no branches, so that several pairs
are held out at a time.
"""

from __future__ import annotations

import numpy as np

from kernelrank.arrays import Float, Index
from kernelrank.compiled import compiled

__all__ = ["pairs_by_residuals", "pairs_by_smoother"]


@compiled
def pairs_by_residuals(
    G: Float,
    start: int,
    columns: int,
    end: Index,
    gamma: Float,
    e: Float,
    y: Float,
    twin: Index,
    agreement: Float,
    offset: Index,
    difference: Float,
) -> None:
    """Hold out the pairs of a block of rows of Γ.

    Parameters
    ----------
    G : ndarray, shape (rows, m - columns)
        The block.
    start, columns : int
    end, offset : ndarray of int64, shape (m,)
        Where the partners of each item begin, and where its differences are stored.
    gamma : ndarray, shape (m,)
        The diagonal of Γ.
    e, y : ndarray, shape (k, m)
        ``Γ y`` and the scores.
    twin : ndarray of int64, shape (m,)
        The same for items with the same row, whose difference is zero; -1 for those that are alone.
    agreement : ndarray, shape (k,)
    difference : ndarray, shape (k, pairs) or (k, 0)
    """
    k, m = y.shape
    store = difference.shape[1] > 0
    found = np.empty(m)
    for p in range(G.shape[0]):
        i = start + p
        first = end[i]
        for c in range(k):
            for j in range(first, m):
                g = G[p, j - columns]
                missed = (gamma[j] + g) * e[c, i] - (g + gamma[i]) * e[c, j]
                determinant = gamma[i] * gamma[j] - g * g
                # Zero where rounding took all digits, of items with the same row above all.
                found[j] = y[c, i] - y[c, j] - missed / (determinant + int(determinant == 0.0))
            if twin[i] >= 0:
                for j in range(first, m):
                    if twin[j] == twin[i]:
                        found[j] = 0.0
            right = 0
            for j in range(first, m):
                sign = found[j] * (y[c, i] - y[c, j])
                right += int(sign > 0.0) - int(sign < 0.0)
            agreement[c] += right
            if store:
                difference[c, offset[i] : offset[i] + m - first] = found[first:m]


@compiled
def pairs_by_smoother(
    H: Float,
    start: int,
    columns: int,
    end: Index,
    eta: Float,
    h: Float,
    y: Float,
    weight: Float,
    share: float,
    twin: Index,
    agreement: Float,
    offset: Index,
    difference: Float,
    threshold: float,
    doubtful: Index,
    n_doubtful: int,
) -> int:
    """Hold out the pairs of a block of rows of the smoother ``H = L - λ Γ``; return the new number of doubtful ones.

    Parameters
    ----------
    H : ndarray, shape (rows, m - columns)
        The block.
    start, columns : int
    end, offset : ndarray of int64, shape (m,)
        Where the partners of each item begin, and where its differences are stored.
    eta : ndarray, shape (m,)
        The diagonal of H.
    h, y : ndarray, shape (k, m)
        ``H y`` and the scores, which have the weighted mean zero if there is an intercept.
    weight : ndarray, shape (m,)
    share : float
        One over the total weight if there is an intercept, else zero.
    twin : ndarray of int64, shape (m,)
        The same for items with the same row, whose difference is zero; -1 for those that are alone.
    agreement : ndarray, shape (k,)
    difference : ndarray, shape (k, pairs) or (k, 0)
    threshold : float
        A pair whose determinant is smaller than this beside its weights has lost digits: it is not counted but noted.
    doubtful : ndarray of int64, shape (room,)
        The numbers of such pairs, as far as there is room.
    n_doubtful : int
        How many there are already.
    """
    k, m = y.shape
    store = difference.shape[1] > 0
    found, determinant = np.empty(m), np.empty(m)
    diagonal = weight * (1.0 - share * weight) - eta
    for p in range(H.shape[0]):
        i = start + p
        first = end[i]
        lost = 0
        for j in range(first, m):
            g = -share * weight[i] * weight[j] - H[p, j - columns]
            determinant[j] = diagonal[i] * diagonal[j] - g * g
            lost += int(determinant[j] < threshold * weight[i] * weight[j])
            determinant[j] += int(determinant[j] == 0.0) * 1e-30 * weight[i] * weight[j]
        for c in range(k):
            for j in range(first, m):
                x = H[p, j - columns]
                g = -share * weight[i] * weight[j] - x
                rest = share * (weight[i] * y[c, i] + weight[j] * y[c, j]) / (1.0 - share * (weight[i] + weight[j]))
                u_i, u_j = y[c, i] + rest, y[c, j] + rest
                z_i = h[c, i] - eta[i] * u_i - x * u_j
                z_j = h[c, j] - x * u_i - eta[j] * u_j
                found[j] = ((diagonal[j] + g) * z_i - (g + diagonal[i]) * z_j) / determinant[j]
            if twin[i] >= 0:
                for j in range(first, m):
                    if twin[j] == twin[i]:
                        found[j] = 0.0
            right = 0
            for j in range(first, m):
                sign = found[j] * (y[c, i] - y[c, j])
                right += int(sign > 0.0) - int(sign < 0.0)
            if lost > 0:
                for j in range(first, m):
                    if determinant[j] < threshold * weight[i] * weight[j]:
                        sign = found[j] * (y[c, i] - y[c, j])
                        right -= int(sign > 0.0) - int(sign < 0.0)
            agreement[c] += right
            if store:
                difference[c, offset[i] : offset[i] + m - first] = found[first:m]
        if lost > 0:
            for j in range(first, m):
                if determinant[j] < threshold * weight[i] * weight[j]:
                    if n_doubtful < len(doubtful):
                        doubtful[n_doubtful] = offset[i] + j - first
                    n_doubtful += 1
    return n_doubtful
