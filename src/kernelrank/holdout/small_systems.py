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

    Parameters
    ----------
    M : ndarray, shape (sets, u (u + 1) / 2, n)
        Packed lower triangles for every λ.
    base : ndarray, shape (sets, u, u)
    sign : float
    null : ndarray, shape (sets, u, u)
        Fills the directions where the matrix is known to be zero and e is too; t is the mean of the diagonal.
    e : ndarray, shape (sets, n, u, k)

    Returns
    -------
    ndarray, shape (sets, n)
        The smallest pivot beside the diagonal entry of `base`, or of the matrix where that is zero: what is tiny has
        lost digits.
    """
    n_sets, u, k = e.shape[0], e.shape[2], e.shape[3]
    worst = np.empty((n_sets, e.shape[1]))
    R = np.empty((u, u))
    for q in range(n_sets):
        for number in range(e.shape[1]):
            t = 0.0
            for i in range(u):
                t += (base[q, i, i] + sign * M[q, i * (i + 3) // 2, number]) / u
            if t <= 0.0:
                t = 1.0
            smallest = np.inf
            for i in range(u):
                for j in range(i + 1):
                    value = base[q, i, j] + sign * M[q, i * (i + 1) // 2 + j, number] + t * null[q, i, j]
                    floor = value if base[q, i, i] == 0.0 else base[q, i, i]
                    for c in range(j):
                        value -= R[i, c] * R[j, c]
                    if j < i:
                        R[i, j] = value / R[j, j]
                    else:
                        smallest = min(smallest, value / floor)
                        R[i, i] = np.sqrt(max(value, 1e-300))
            worst[q, number] = smallest
            for c in range(k):
                for i in range(u):
                    value = e[q, number, i, c]
                    for j in range(i):
                        value -= R[i, j] * e[q, number, j, c]
                    e[q, number, i, c] = value / R[i, i]
                for i in range(u - 1, -1, -1):
                    value = e[q, number, i, c]
                    for j in range(i + 1, u):
                        value -= R[j, i] * e[q, number, j, c]
                    e[q, number, i, c] = value / R[i, i]
    return worst
