"""The loops over pairs: constant time for each, compiled.

Items are numbered by their place in descending order of the scores. Row p of a block is item ``start + p``, column q is
item ``columns + q``. Both loops add pairs in the right order less those in the wrong order to `agreement`, and store
the differences unless `difference` has no room for them.
"""

from __future__ import annotations

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
    e, y : ndarray, shape (m, k)
        ``Γ y`` and the scores.
    agreement : ndarray, shape (k,)
    difference : ndarray, shape (k, pairs) or (k, 0)
    """
    m, k = y.shape
    store = difference.shape[1] > 0
    for p in range(G.shape[0]):
        i = start + p
        place = offset[i] - end[i]
        for j in range(end[i], m):
            g = G[p, j - columns]
            determinant = gamma[i] * gamma[j] - g * g
            for c in range(k):
                truth = y[i, c] - y[j, c]
                d = truth - ((gamma[j] + g) * e[i, c] - (g + gamma[i]) * e[j, c]) / determinant
                if d * truth > 0.0:
                    agreement[c] += 1.0
                elif d * truth < 0.0:
                    agreement[c] -= 1.0
                if store:
                    difference[c, place + j] = d


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
    h, y : ndarray, shape (m, k)
        ``H y`` and the scores, which have the weighted mean zero if there is an intercept.
    weight : ndarray, shape (m,)
    share : float
        One over the total weight if there is an intercept, else zero.
    agreement : ndarray, shape (k,)
    difference : ndarray, shape (k, pairs) or (k, 0)
    threshold : float
        A pair whose determinant is smaller than this beside its weights has lost digits: it is not counted but noted.
    doubtful : ndarray of int64, shape (room,)
        The numbers of such pairs, as far as there is room.
    n_doubtful : int
        How many there are already.
    """
    m, k = y.shape
    store = difference.shape[1] > 0
    for p in range(H.shape[0]):
        i = start + p
        place = offset[i] - end[i]
        P_ii = weight[i] * (1.0 - share * weight[i]) - eta[i]
        for j in range(end[i], m):
            x = H[p, j - columns]
            P_ij = -share * weight[i] * weight[j] - x
            P_jj = weight[j] * (1.0 - share * weight[j]) - eta[j]
            determinant = P_ii * P_jj - P_ij * P_ij
            if determinant < threshold * weight[i] * weight[j]:
                if n_doubtful < len(doubtful):
                    doubtful[n_doubtful] = place + j
                n_doubtful += 1
                continue
            rest = share / (1.0 - share * (weight[i] + weight[j]))
            for c in range(k):
                centre = -rest * (weight[i] * y[i, c] + weight[j] * y[j, c])
                u_i, u_j = y[i, c] - centre, y[j, c] - centre
                z_i = h[i, c] - eta[i] * u_i - x * u_j
                z_j = h[j, c] - x * u_i - eta[j] * u_j
                d = ((P_jj + P_ij) * z_i - (P_ij + P_ii) * z_j) / determinant
                truth = y[i, c] - y[j, c]
                if d * truth > 0.0:
                    agreement[c] += 1.0
                elif d * truth < 0.0:
                    agreement[c] -= 1.0
                if store:
                    difference[c, place + j] = d
    return n_doubtful
