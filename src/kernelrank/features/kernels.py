"""The full kernel: features known only through their inner products with every training item."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from kernelrank.base.arrays import Float, Index, Matrix, is_sparse
from kernelrank.comparisons import Comparisons
from kernelrank.features.basis import uniformly
from kernelrank.features.kernel_map import kernel_scores
from kernelrank.features.map import Features
from kernelrank.features.reduced_set import ReducedSet
from kernelrank.kernels import Kernel

__all__ = ["FullKernel"]

KEPT_MATRIX_BYTES = 2**32
"""Up to this size, m = 23,000, conjugate gradients keep the kernel matrix."""


class FullKernel(Features):
    """The m × m kernel matrix over all training items.

    Parameters
    ----------
    kernel : Kernel
    X : array or sparse matrix, shape (m, n), or (m, m) if precomputed

    Notes
    -----
    A direct solver asks for the matrix once and overwrites it; conjugate gradients keep one copy of up to 4 GiB, and
    beyond that compute its rows anew in each step.
    """

    n_columns = None

    def __init__(self, kernel: Kernel, X: Matrix) -> None:
        self.kernel = kernel
        self.X = self.items = X
        self.n_items = X.shape[0]
        self.semidefinite = kernel.semidefinite

    @cached_property
    def _kept(self) -> Float | None:
        """The kernel matrix, or None where it would be too large to keep."""
        if not self.kernel.precomputed and 8 * self.n_items**2 > KEPT_MATRIX_BYTES:
            return None
        if self.kernel.precomputed and not is_sparse(self.X) and self.X.dtype == np.float64:
            return np.asarray(self.X)
        return self.kernel.matrix(self.X)

    @cached_property
    def kept_items(self) -> Matrix | None:
        """The items that a model keeps: a copy, whatever becomes of X; None if the kernel is precomputed."""
        if self.kernel.precomputed:
            return None
        return self.X.copy() if is_sparse(self.X) else np.array(self.X)

    @property
    def recomputable(self) -> bool:
        """Whether the kernel is not precomputed."""
        return not self.kernel.precomputed

    def on_few_items(self, size: int, random_state: np.random.RandomState) -> ReducedSet:
        """Map the items by any few of them."""
        return ReducedSet(self.kernel, self.X, uniformly(min(size, self.n_items), self.n_items, random_state))

    def block(self, rows: Index, columns: Index) -> Float:
        """Return the kernel between some items and others."""
        if self.kernel.precomputed:
            return self.kernel.matrix(self.X[rows][:, columns])
        return self.kernel.matrix(self.X[rows], self.X[columns])

    def diagonal(self) -> Float:
        """Return k(x, x) of every item."""
        return self.kernel.diagonal(self.X)

    def energy(self) -> float:
        """Return the sum of k(x, x)."""
        return float(np.abs(self.diagonal()).sum())

    def centred_kernel(self, comparisons: Comparisons) -> Float:
        """Return ``C K Cᵀ``."""
        K = self.kernel.matrix(self.X)
        self.kernel_scale = float(np.abs(np.diagonal(K)).max())
        return comparisons.centre_kernel(K)

    def uncentred_diagonal(self, comparisons: Comparisons) -> Float:
        """Return the largest k(x, x) times the squared lengths of the rows of C."""
        return np.asarray(self.kernel_scale * comparisons.root_squares())

    def kernel_multiply(self, V: Float) -> Float:
        """Return ``K V``; rows that are too many to be kept are computed in blocks and forgotten."""
        if self._kept is None:
            return kernel_scores(self.kernel, self.X, self.X, V)
        return self._kept @ V

    def from_dual(self, a: Float) -> Float:
        """Return the coefficients of the items, which a holds already."""
        return a

    def predict(self, X: Matrix, coefficients: Float) -> Float:
        """Return ``k(X, X_train) a``."""
        return kernel_scores(self.kernel, X, self.X, coefficients)

    def split(self, kept: Index, held: Index, *, keep_basis: bool = False) -> tuple[Features, Matrix]:  # noqa: ARG002
        """Take the items apart, or the rows and columns of a precomputed kernel."""
        if self.kernel.precomputed:
            return FullKernel(self.kernel, self.X[kept][:, kept]), self.X[held][:, kept]
        return FullKernel(self.kernel, self.X[kept]), self.X[held]
