"""The root of a Laplacian, by eliminating one item after the other without a subtraction.

Eliminating item k from a graph with weights ``w_kj`` and degree ``d = Σ_j w_kj`` is a step of Cholesky's factorisation
of its Laplacian: row k of U is ``√d`` at k and ``-w_kj / √d`` at the others, and what remains is the Laplacian of a
graph again, in which the weight of every pair of neighbours of k has grown by ``w_ki w_kj / d``. So weights are only
ever added up, and a degree is the sum of the weights that are left. Every entry of U is known to nearly all digits, as
in the elimination of [GTH85]_ for Markov chains, while Cholesky's on the matrix itself knows the last pivots to ε
times the largest degree: nothing, where two items weigh 10¹⁶ times what others do.

.. [GTH85] Grassmann, Taksar and Heyman (1985). Regenerative analysis and steady state distributions for Markov chains.
   Operations Research 33(5).
"""

from __future__ import annotations

import numpy as np

from kernelrank.base.arrays import Float
from kernelrank.base.compiled import compiled

__all__ = ["laplacian_root"]

PANEL = 64
"""So many items are eliminated before the weights of the others are touched, by a product of matrices."""


def laplacian_root(W: Float) -> Float:
    """Return the upper triangular U with ``Uᵀ U = diag(W 1) - W``.

    Parameters
    ----------
    W : ndarray, shape (n, n)
        Symmetric weights of the pairs that are not negative, with a diagonal of zeros; what stands above the diagonal
        is overwritten.

    Returns
    -------
    ndarray, shape (n, n)
        A row without neighbours among the later items is zero, as that of the last item is.

    Notes
    -----
    n³/3 multiplications and additions, most of them in products of matrices.

    Examples
    --------
    >>> laplacian_root(np.array([[0.0, 4.0], [4.0, 0.0]]))
    array([[ 2., -2.],
           [ 0.,  0.]])
    """
    n = len(W)
    U = np.zeros((n, n))
    for start in range(0, n, PANEL):
        panel = U[start : start + PANEL]
        _eliminate(W, panel, start)
        for first in range(start + PANEL, n, PANEL):
            rows = slice(first, first + PANEL)
            W[rows, first:] += panel[:, rows].T @ panel[:, first:]
    return U


@compiled
def _eliminate(W: Float, panel: Float, start: int) -> None:
    """Fill in some rows of U; W has the weights that the items before them left."""
    n = panel.shape[1]
    for k in range(panel.shape[0]):
        i = start + k
        row = panel[k]
        for j in range(i + 1, n):
            row[j] = W[i, j]
        for earlier in range(k):
            share = panel[earlier, i]
            for j in range(i + 1, n):
                row[j] += share * panel[earlier, j]
        degree = 0.0
        for j in range(i + 1, n):
            degree += row[j]
        if degree > 0.0:
            root = np.sqrt(degree)
            row[i] = root
            for j in range(i + 1, n):
                row[j] /= -root
