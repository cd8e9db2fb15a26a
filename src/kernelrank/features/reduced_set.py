"""The reduced set: predictions are combinations of kernels with a few basis items.

Minimising over ``f = K_MR b`` with the norm ``bᵀ K_RR b`` is the primal problem on the empirical kernel map
``Φ = K_MR U⁻¹`` with ``Uᵀ U = K_RR``; then ``b = U⁻¹ w``. While Φ is small it is kept, once somebody asks for it;
beyond that its rows are computed in blocks as they are needed, so that memory is r² and a block, whatever the number of
items. A single fit needs no Φ where ``K_RR`` is well conditioned: its equations are those of ``K_MR``, mapped.
"""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.linalg import solve_triangular

from kernelrank.base.arrays import Float, Index, Matrix, product, transpose_product
from kernelrank.comparisons import Comparisons
from kernelrank.features.basis import uniformly
from kernelrank.features.explicit import ExplicitFeatures
from kernelrank.features.kernel_map import KernelMap, KernelRows, kernel_scores
from kernelrank.features.map import Features
from kernelrank.kernels import Kernel, refuse_indefinite_on

__all__ = ["ReducedSet"]

KEPT_BYTES = 2**28
"""Up to this size the features are kept; beyond, they are computed whenever they are needed."""

WELL_CONDITIONED = 5e5
"""Up to this condition number of the kernel of the basis, one tries to map the equations instead of the rows."""


KEPT_KERNEL_BYTES = 2**32
"""Up to this size an iterative solver keeps the kernels of the items with the basis."""


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

    linear = False
    basis: Index

    def __init__(self, kernel: Kernel, X: Matrix, basis: Index) -> None:
        items = X[basis]
        if len(basis) < X.shape[0]:
            refuse_indefinite_on(kernel, X)
        K_RR = kernel.matrix(items[:, basis]) if kernel.precomputed else kernel.matrix(items)
        self._make(KernelMap.of(kernel, K_RR), X, items, basis)

    @classmethod
    def elsewhere(cls, kernel: Kernel, X: Matrix, basis_items: Matrix) -> ReducedSet:
        """Map items by basis items that are not among them."""
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
        self._rows = KernelRows(kernel_map, *items)
        self._kernels: KernelRows | Float = KernelRows(kernel_map, *items, plain=True)
        self.n_items, self.n_columns = self._rows.shape
        self._stored = 8 * self.n_items * self.n_columns <= KEPT_BYTES
        self.items = X

    @cached_property
    def X(self) -> Matrix:  # type: ignore[override]  # noqa: N802
        """Φ (m × r) where it is kept, from the first time that it is asked for; else what computes its rows."""
        rows: Any = self._rows
        return rows[:] if self._stored else rows

    @property
    def stored(self) -> bool:
        """Whether the features are kept."""
        return self._stored

    def kept(self) -> Self:
        """Keep the features whatever their size, for a solver that multiplies with them many times."""
        if not self._stored:
            self._stored = True
            self.__dict__.pop("X", None)
        return self

    @property
    def kept_items(self) -> Matrix | None:
        """The basis items; None if the kernel is precomputed."""
        return None if self.kernel.precomputed else self.basis_items

    @property
    def recomputable(self) -> bool:
        """True: the few items are drawn from the basis, whose kernels are known."""
        return True

    def on_few_items(self, size: int, random_state: np.random.RandomState) -> ReducedSet:
        """Map the items by a part of the basis; kernels with all of it are kept as far as there is room."""
        self._keep_kernels()
        return self.smaller(uniformly(min(size, self.map.rank), self.map.rank, random_state))

    def _keep_kernels(self) -> None:
        """Keep the kernels with the basis while they take up to 4 GiB, where the features are not kept themselves."""
        small = 8 * self.n_items * self.n_columns <= KEPT_KERNEL_BYTES
        if small and not self._stored and isinstance(self._kernels, KernelRows):
            self._kernels = self._kernels[:]

    def smaller(self, columns: Index) -> ReducedSet:
        """Map the same items by the part of the basis that belongs to s columns. O(r s²) time."""
        U = self.map.U[:, columns]
        taken = self.map.taken[columns]
        features = type(self).__new__(type(self))
        basis = self.basis[taken] if len(self.basis) else self.basis
        basis_items = self.basis_items[taken]
        features._make(KernelMap.of(self.kernel, U.T @ U), self.items, basis_items, basis)
        return features

    def energy(self) -> float:
        """Return the sum of the squared features; where they are not known, of k(x, x), which is no smaller."""
        if self._stored and (self.kernel.precomputed or "X" in self.__dict__):
            return super().energy()
        return float(self.kernel.diagonal(self.items).sum())

    def multiply(self, W: Float) -> Float:
        """Return ``Φ W``; if Φ is not kept, as ``K_MR (U⁻¹ W)``, because mapping every row would cost O(m r²)."""
        if self._stored:
            return super().multiply(W)
        return product(self._kernels, solve_triangular(self.map.U, W, check_finite=False))

    def transpose_multiply(self, V: Float) -> Float:
        """Return ``Φᵀ V``, or ``U⁻ᵀ (K_RM V)`` where Φ is not kept."""
        if self._stored:
            return super().transpose_multiply(V)
        inner = transpose_product(self._kernels, V)
        solved: Float = solve_triangular(self.map.U, inner, trans="T", check_finite=False)
        return solved

    def part(self, items: Index) -> ReducedSet:
        """Map some of the items by the same basis, whose items need not be among them."""
        part = copy(self)
        part.n_items, part.items = len(items), self.items[items]
        part._rows, part._kernels = self._rows.part(items), _rows_of(self._kernels, items)
        if "X" in self.__dict__:
            part.X = _rows_of(self.X, items)
        return part

    def split(self, kept: Index, held: Index, *, keep_basis: bool = False) -> tuple[Features, Matrix]:
        """Map the kept items by the basis items among them, or by all."""
        X = self.items
        if keep_basis:
            return self.part(kept), X[held]
        number = np.full(X.shape[0], -1, dtype=np.int64)
        number[kept] = np.arange(len(kept))
        basis = number[self.basis]
        items, rows = (X[kept][:, kept], X[held][:, kept]) if self.kernel.precomputed else (X[kept], X[held])
        return ReducedSet(self.kernel, items, basis[basis >= 0]), rows

    def normal_equations(self, comparisons: Comparisons) -> tuple[Float, Float]:
        """Return ``Φᵀ L Φ`` and ``Φᵀ M N``; from the kernels themselves where the basis is well conditioned."""
        if (self._stored and "X" in self.__dict__) or self.map.condition > WELL_CONDITIONED:
            return super().normal_equations(comparisons)
        # Kernels are as large as the squares of features, so that their squares may overflow.
        with np.errstate(over="ignore", invalid="ignore"):
            equations = self.map.transform_equations(*comparisons.normal_equations(self._kernels))
            accurate = self.map.keeps_digits(equations[0])
        return equations if accurate else super().normal_equations(comparisons)

    def coefficient_sums(self, comparisons: Comparisons, w: Float) -> Float:
        """Return a bound of the sums that scores are computed by, relative to the root of L."""
        return np.asarray(np.sqrt(comparisons.diagonal().sum()) * self.map.sums(w))

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


def _rows_of(rows: KernelRows | Matrix, items: Index) -> Any:
    """Return the rows of some items, still computed on demand if they were."""
    return rows.part(items) if isinstance(rows, KernelRows) else rows[items]
