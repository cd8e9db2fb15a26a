"""The reduced set: predictions are combinations of kernels with a few basis items.

Minimising over ``f = K_MR b`` with the norm ``bᵀ K_RR b`` is the primal problem on the empirical kernel map
``Φ = K_MR T`` with ``T Tᵀ = K_RR⁺``; then ``b = T w``. T comes from the eigendecomposition of ``K_RR``, where
directions below rounding, ε times the largest eigenvalue, are left out: they change the kernel by no more than that.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from kernelrank.arrays import Float, Index, Matrix
from kernelrank.errors import InvalidInputError
from kernelrank.features.explicit import ExplicitFeatures
from kernelrank.features.full_kernel import kernel_scores
from kernelrank.kernels import Kernel

__all__ = ["ReducedSet", "choose_basis"]


class ReducedSet(ExplicitFeatures):
    """The empirical kernel map of a basis.

    Parameters
    ----------
    kernel : Kernel
    X : array or sparse matrix, shape (m, n), or (m, m) if precomputed
    basis : ndarray of int, shape (r,)
        The items that form the basis.

    Notes
    -----
    O(m r n + m r² + r³) time and m × r numbers of memory.
    """

    def __init__(self, kernel: Kernel, X: Matrix, basis: Index) -> None:
        self.kernel = kernel
        self.basis = basis
        self.basis_items = X[basis]
        K_RR = kernel.matrix(X[basis][:, basis]) if kernel.precomputed else kernel.matrix(self.basis_items)
        root, self.map = _roots(K_RR)
        K_MR = kernel.matrix(X[:, basis]) if kernel.precomputed else kernel.matrix(X, self.basis_items)
        Phi = K_MR @ self.map
        # The basis items' own rows are known without the division by small eigenvalues.
        Phi[basis] = root
        super().__init__(Phi)

    def from_primal(self, w: Float) -> Float:
        """Return ``b = T w``, the coefficients of the basis items."""
        return self.map @ w

    def from_dual(self, a: Float) -> Float:
        """Return ``T Φᵀ a``."""
        return self.map @ self.transpose_multiply(a)

    def predict(self, X: Matrix, coefficients: Float) -> Float:
        """Return ``k(X, X_R) b``."""
        rows = X[:, self.basis] if self.kernel.precomputed else X
        return kernel_scores(self.kernel, rows, self.basis_items, coefficients)


def _roots(K: Float) -> tuple[Float, Float]:
    """Return R with ``R Rᵀ = K`` and T with ``T Tᵀ = K⁺`` and ``K T = R``."""
    values, vectors = eigh(K, overwrite_a=True, check_finite=False, driver="evd")
    kept = values > np.finfo(np.float64).eps * values[-1]
    if not kept.any():
        raise InvalidInputError("the kernel of the basis is zero: every basis item is the zero vector")
    root = np.sqrt(values[kept])
    return vectors[:, kept] * root, vectors[:, kept] / root


def choose_basis(basis: int | Index, n_items: int, random_state: np.random.RandomState) -> Index:
    """Return the items of a basis: a number of them drawn uniformly without repetition, or those given.

    Parameters
    ----------
    basis : int or array of int
    n_items : int
        The number of training items.
    random_state : numpy.random.RandomState

    Returns
    -------
    ndarray of int64, ascending if drawn

    Examples
    --------
    >>> choose_basis(3, 3, np.random.RandomState(0))
    array([0, 1, 2])
    """
    if isinstance(basis, (int, np.integer)):
        if not 1 <= basis <= n_items:
            raise InvalidInputError(
                f"basis={basis} asks for more basis items than there are items, or for none ({n_items} items)"
            )
        return np.sort(random_state.permutation(n_items)[:basis]).astype(np.int64)
    chosen = np.asarray(basis)
    if chosen.ndim != 1 or len(chosen) == 0 or chosen.dtype.kind not in "iu":
        raise InvalidInputError("basis must be an integer or a non-empty list of item numbers")
    if chosen.min() < 0 or chosen.max() >= n_items:
        wrong = chosen[(chosen < 0) | (chosen >= n_items)][0]
        raise InvalidInputError(f"basis has the item {wrong}, but the items go from 0 to {n_items - 1}")
    if len(np.unique(chosen)) != len(chosen):
        raise InvalidInputError("basis names an item twice")
    return chosen.astype(np.int64)
