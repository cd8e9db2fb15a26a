"""Positive semidefinite kernels: which are so by construction, and a check of those that may not be."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from kernelrank.base.arrays import Float, Matrix, blocks, is_sparse
from kernelrank.errors import InvalidInputError
from kernelrank.kernels.kernel import Kernel

__all__ = ["check_precomputed", "check_symmetric", "negative_part", "refuse_indefinite", "refuse_indefinite_on"]

ADVICE = "a kernel must be positive semidefinite. If it was rounded on its way here, add a small number to its diagonal"

COMPUTED_DIGITS = 1e-10
"""How much of its largest value a kernel that was computed may miss: distances far from the origin lose digits."""

SAMPLE = 200
"""On so many items, beside a basis, a kernel is checked."""


def check_precomputed(K: Matrix) -> None:
    """Raise an error for a precomputed training kernel that is not square, symmetric and positive semidefinite.

    Semidefinite means: adding 10 m ε times the largest entry to the diagonal, which is what rounding may take away,
    lets a Cholesky factorisation run through. O(m³/3) time, one m × m copy.

    Parameters
    ----------
    K : array or sparse matrix, shape (m, m)
    """
    check_symmetric(K)
    A = np.array(K.toarray() if is_sparse(K) else K, dtype=np.float64)
    epsilon = float(np.finfo(np.float32 if K.dtype == np.float32 else np.float64).eps)
    negative = negative_part(A, 10 * epsilon)
    if negative:
        raise InvalidInputError(
            f"the precomputed kernel is indefinite: its leading {negative} × {negative} part has a negative "
            f"eigenvalue; {ADVICE}"
        )


def check_symmetric(K: Matrix) -> None:
    """Raise an error for a precomputed kernel that is not square and symmetric; O(m²) time.

    Parameters
    ----------
    K : array or sparse matrix, shape (m, m)
    """
    if K.shape[0] != K.shape[1]:
        raise InvalidInputError(
            f"Precomputed matrix must be square at fit (kernel='precomputed'): X has shape {K.shape[0]} × {K.shape[1]}"
        )
    A = np.asarray(K.toarray() if is_sparse(K) else K, dtype=np.float64)
    epsilon = float(np.finfo(np.float32 if K.dtype == np.float32 else np.float64).eps)
    gap = max((float(np.abs(A[rows] - A[:, rows].T).max()) for rows in blocks(len(A), 8 * len(A))), default=0.0)
    if gap > 100 * epsilon * float(np.abs(A).max(initial=0.0)):
        raise InvalidInputError(f"the precomputed kernel is not symmetric: it differs from its transpose by {gap:.3g}")


def refuse_indefinite(kernel: Kernel, K: Float) -> None:
    """Raise an error for a kernel whose matrix over some items is clearly indefinite.

    Nothing is done for kernels that are positive semidefinite by construction, and for precomputed ones, which
    `check_precomputed` has seen whole. O(r³/3) time and a copy of K otherwise.

    Parameters
    ----------
    kernel : Kernel
    K : ndarray, shape (r, r)

    Examples
    --------
    >>> X = np.arange(6.0).reshape(3, 2)
    >>> refuse_indefinite(Kernel("sigmoid"), Kernel("sigmoid").matrix(X))
    Traceback (most recent call last):
    kernelrank.errors.InvalidInputError: the kernel sigmoid is indefinite, not positive semidefinite: ...
    """
    if kernel.semidefinite or kernel.precomputed:
        return
    negative = negative_part(K.copy(), COMPUTED_DIGITS)
    if negative:
        raise InvalidInputError(
            f"the kernel {kernel.name} is indefinite, not positive semidefinite: its matrix over {negative} items has "
            f"a negative eigenvalue; {ADVICE}; otherwise use another kernel, such as 'rbf'"
        )


def refuse_indefinite_on(kernel: Kernel, X: Matrix) -> None:
    """Raise an error for a kernel that is indefinite on the items, or on 200 of them."""
    if kernel.semidefinite or kernel.precomputed:
        return
    size = min(SAMPLE, X.shape[0])
    refuse_indefinite(kernel, kernel.matrix(X[np.linspace(0, X.shape[0] - 1, size).astype(np.int64)]))


def negative_part(A: Float, digits: float) -> int:
    """Return the size of the leading part of A that has a negative eigenvalue; zero if there is none.

    Eigenvalues down to `digits` times the largest entry for each row count as zero. A is overwritten.
    """
    scale = float(np.abs(A).max(initial=0.0))
    A[np.diag_indices_from(A)] += digits * len(A) * max(scale, float(np.finfo(np.float64).tiny))
    _, failed_at = lapack.dpotrf(A.T, lower=1, clean=0, overwrite_a=1)
    return int(failed_at)
