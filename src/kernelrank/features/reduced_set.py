"""The reduced set: predictions are combinations of kernels with a few basis items.

Minimising over ``f = K_MR b`` with the norm ``bᵀ K_RR b`` is the primal problem on the empirical kernel map
``Φ = K_MR U⁻¹`` with ``Uᵀ U = K_RR``; then ``b = U⁻¹ w``. While Φ is small it is kept; beyond that its rows are
computed in blocks as they are needed, so that memory is r² and a block, whatever the number of items.
"""

from __future__ import annotations

from copy import copy
from typing import Self

import numpy as np

from kernelrank.arrays import Float, Index, Matrix
from kernelrank.comparisons import Comparisons
from kernelrank.features.explicit import ExplicitFeatures
from kernelrank.features.full_kernel import kernel_scores
from kernelrank.features.kernel_map import KernelMap, KernelRows
from kernelrank.kernels import Kernel

__all__ = ["ReducedSet"]

KEPT_BYTES = 2**28
"""Up to this size the features are kept; beyond, they are computed whenever they are needed."""

WELL_CONDITIONED = 1e6
"""Up to this condition number of the kernel of the basis, the map may be applied to the equations instead of the rows:
they keep ten digits."""


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
    O(m r n + m r² + r³) time; memory r² and a block, and m × r numbers more while that is below 256 MiB.
    """

    def __init__(self, kernel: Kernel, X: Matrix, basis: Index) -> None:
        items = X[basis]
        K_RR = kernel.matrix(items[:, basis]) if kernel.precomputed else kernel.matrix(items)
        self._make(KernelMap.of(kernel, K_RR), X, items, basis)

    @classmethod
    def elsewhere(cls, kernel: Kernel, X: Matrix, basis_items: Matrix) -> ReducedSet:
        """Map items by a basis that is not among them."""
        features = cls.__new__(cls)
        features._make(KernelMap.of(kernel, kernel.matrix(basis_items)), X, basis_items, np.zeros(0, dtype=np.int64))
        return features

    def _make(self, kernel_map: KernelMap, X: Matrix, basis_items: Matrix, basis: Index) -> None:
        self.kernel = kernel_map.kernel
        self.basis = basis
        self.basis_items = basis_items
        self.map = kernel_map
        taken = kernel_map.taken
        items = (X[:, basis[taken]], None) if self.kernel.precomputed else (X, basis_items[taken])
        rows = KernelRows(kernel_map, *items)
        kept = 8 * rows.shape[0] * rows.shape[1] <= KEPT_BYTES
        self._kernels = None if kept else KernelRows(kernel_map, *items, plain=True)
        ExplicitFeatures.__init__(self, rows[:] if kept else rows)

    def kept(self) -> Self:
        """Keep the features whatever their size, for a solver that multiplies with them many times."""
        if self._kernels is not None:
            self.X, self._kernels = self.X[:], None
        return self

    def part(self, items: Index) -> ReducedSet:
        """Map some of the items by the same basis, whose items need not be among them."""
        part = copy(self)
        part.n_items = len(items)
        if self._kernels is None:
            part.X = self.X[items]
        else:
            part.X, part._kernels = self.X.part(items), self._kernels.part(items)
        return part

    def normal_equations(self, comparisons: Comparisons) -> tuple[Float, Float]:
        """Return ``Φᵀ L Φ`` and ``Φᵀ M N``; from the kernels themselves where the basis is well conditioned."""
        if self._kernels is None or self.map.condition > WELL_CONDITIONED:
            return super().normal_equations(comparisons)
        return self.map.transform_equations(*comparisons.normal_equations(self._kernels))

    def from_primal(self, w: Float) -> Float:
        """Return ``b = U⁻¹ w``, the coefficients of the basis items."""
        return self.map.coefficients(w)

    def from_dual(self, a: Float) -> Float:
        """Return ``U⁻¹ Φᵀ a``."""
        return self.map.coefficients(self.transpose_multiply(a))

    def predict(self, X: Matrix, coefficients: Float) -> Float:
        """Return ``k(X, X_R) b``."""
        rows = X[:, self.basis] if self.kernel.precomputed else X
        return kernel_scores(self.kernel, rows, self.basis_items, coefficients)
