"""The feature map of a view: its columns, its kernel and its basis; and those of several views side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from kernelrank.base.arrays import Float, Index, Matrix
from kernelrank.features.kernel_map import KernelMap
from kernelrank.kernels import Kernel

__all__ = ["JointRows", "ViewMap"]


@dataclass(frozen=True)
class ViewMap:
    """The empirical kernel map of a basis, on some of the columns.

    Parameters
    ----------
    kernel : Kernel
    columns : ndarray of int64, or None
        The columns that the kernel sees; None for all.
    items : array or sparse matrix, shape (r, n)
        The basis items, with these columns only.
    map : KernelMap

    Notes
    -----
    O(r² n + r³) time to build, and O(t r n + t r²) for the features of t items.
    """

    kernel: Kernel
    columns: Index | None
    items: Matrix
    map: KernelMap

    @classmethod
    def of(cls, kernel: Kernel, columns: Index | None, basis_items: Matrix) -> ViewMap:
        """Factorise the kernel of basis items, which come with all columns."""
        items = basis_items if columns is None else basis_items[:, columns]
        return cls(kernel, columns, items, KernelMap.of(kernel, kernel.matrix(items)))

    @property
    def rank(self) -> int:
        """The number of features."""
        return self.map.rank

    @property
    def kernel_scale(self) -> float:
        """The largest k(x, x) of the basis items taken."""
        return float((self.map.U**2).sum(axis=0).max())

    def features(self, X: Matrix) -> Float:
        """Return the features of some items (t × rank), in a fresh array."""
        return self.map.features(self.kernel.matrix(self._seen(X), self.items[self.map.taken]))

    def energy(self, X: Matrix) -> float:
        """Return the sum of k(x, x) over some items; infinite if it overflows."""
        return float(np.abs(self.kernel.diagonal(self._seen(X))).sum())

    def _seen(self, X: Matrix) -> Matrix:
        return X if self.columns is None else X[:, self.columns]

    def without(self, places: Index) -> Float:
        """Return Q with orthonormal columns, such that ``Φ Q`` are features of the basis without some of its items.

        A model ``f = Φ w`` is made of the items left when w is a combination of their features, and its norm is that of
        w. So Q spans these features: a QR decomposition with pivots that ends where rounding is all that is left, as
        the factorisation of the map does. Items without a column of their own may take the place of those that leave.

        Parameters
        ----------
        places : ndarray of int64
            Places in the basis.

        Returns
        -------
        ndarray, shape (rank, rank of what is left)

        Notes
        -----
        O(r³) time, whatever the number of items.
        """
        left = np.setdiff1d(np.arange(self.map.size), places)
        if len(left) == self.map.size:
            return np.eye(self.rank)
        if len(left) == 0:
            return np.zeros((self.rank, 0))
        Q, R, _ = qr(self.features_of_basis()[left].T, mode="economic", pivoting=True, check_finite=False)
        squares = np.diagonal(R) ** 2
        kept = int((squares > self.map.size * np.finfo(np.float64).eps * squares[0]).sum())
        basis: Float = Q[:, :kept]
        return basis

    def features_of_basis(self) -> Float:
        """Return the features of the basis items themselves (r × rank): columns of the factor for those taken."""
        Phi = self.map.features(self.kernel.matrix(self.items, self.items[self.map.taken]))
        Phi[self.map.taken] = self.map.U.T
        return Phi


class JointRows:
    """The features of several views side by side, computed on demand and never stored.

    Parameters
    ----------
    views : sequence of ViewMap
    X : array or sparse matrix, shape (m, n)
    """

    dtype = np.dtype(np.float64)

    def __init__(self, views: Sequence[ViewMap], X: Matrix) -> None:
        self.views = views
        self.X = X
        self.shape = (X.shape[0], sum(view.rank for view in views))

    def __getitem__(self, rows: slice | Index) -> Float:
        """Return the features of some items, shape (t, Σ rank), in a fresh array."""
        items = self.X[rows]
        return np.hstack([view.features(items) for view in self.views])
