"""Many small symmetric systems at once, in compiled loops."""

from __future__ import annotations

import numpy as np

from kernelrank.arrays import Float
from kernelrank.compiled import compiled

__all__ = ["packed_products", "solve_packed"]


def packed_products(rows: Float) -> Float:
    """Return the products of all pairs of rows of each set, column by column.

    Multiplied by ``d`` for many λ in one matrix product, they give ``Q_U diag(d) Q_Uᵀ`` for all λ at once.

    Parameters
    ----------
    rows : ndarray, shape (sets, u, s)

    Returns
    -------
    ndarray, shape (sets, u (u + 1) / 2, s)
        Row i of the lower triangle after row i - 1.
    """
    first, second = np.tril_indices(rows.shape[1])
    products: Float = rows[:, first]
    products *= rows[:, second]
    return products


@compiled
def solve_packed(M: Float, base: Float, sign: float, null: Float, e: Float) -> Float:
    """Solve ``(base + sign M + t null) r = e`` for every set and λ by Cholesky factorisations; r overwrites e.

    The innermost loops run over λ, whose numbers stand side by side, so that all λ are factorised together.

    Parameters
    ----------
    M : ndarray, shape (sets, u (u + 1) / 2, n)
        Packed lower triangles for every λ.
    base : ndarray, shape (sets, u, u)
    sign : float
    null : ndarray, shape (sets, u, u)
        Fills the directions where the matrix is known to be zero and e is too; t is the mean of the diagonal.
    e : ndarray, shape (sets, u, k, n)

    Returns
    -------
    ndarray, shape (sets, n)
        The smallest pivot beside the diagonal entry of `base`, or of the matrix where that is zero: what is tiny has
        lost digits.
    """
    n_sets, u, k, n = e.shape
    worst = np.full((n_sets, n), np.inf)
    R = np.empty((u, u, n))  # the factor, with the reciprocals of its diagonal
    t = np.empty(n)
    value = np.empty(n)
    for q in range(n_sets):
        t[:] = 0.0
        for i in range(u):
            for a in range(n):
                t[a] += (base[q, i, i] + sign * M[q, i * (i + 3) // 2, a]) / u
        for a in range(n):
            if t[a] <= 0.0:
                t[a] = 1.0
        for i in range(u):
            for j in range(i + 1):
                place = i * (i + 1) // 2 + j
                for a in range(n):
                    value[a] = base[q, i, j] + sign * M[q, place, a] + t[a] * null[q, i, j]
                if j == i:
                    for a in range(n):
                        R[i, i, a] = value[a] if base[q, i, i] == 0.0 else base[q, i, i]
                for c in range(j):
                    for a in range(n):
                        value[a] -= R[i, c, a] * R[j, c, a]
                if j < i:
                    for a in range(n):
                        R[i, j, a] = value[a] * R[j, j, a]
                else:
                    for a in range(n):
                        worst[q, a] = min(worst[q, a], value[a] / R[i, i, a])
                        R[i, i, a] = 1.0 / np.sqrt(max(value[a], 1e-300))
        for c in range(k):
            for i in range(u):
                for j in range(i):
                    for a in range(n):
                        e[q, i, c, a] -= R[i, j, a] * e[q, j, c, a]
                for a in range(n):
                    e[q, i, c, a] *= R[i, i, a]
            for i in range(u - 1, -1, -1):
                for j in range(i + 1, u):
                    for a in range(n):
                        e[q, i, c, a] -= R[j, i, a] * e[q, j, c, a]
                for a in range(n):
                    e[q, i, c, a] *= R[i, i, a]
    return worst
