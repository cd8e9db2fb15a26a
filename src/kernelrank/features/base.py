"""The contract of a feature map: a kernel over the training items, as a solver meets it."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from kernelrank.arrays import Float, Index, Matrix
from kernelrank.comparisons import Comparisons

__all__ = ["ColumnFeatures", "Features"]


class Features(ABC):
    """Features Φ (m × r) of the training items with ``Φ Φᵀ = K``; Φ itself may be unknown.

    Predictions are linear in coefficients of the map's own kind: weights of columns, of all items, or of basis items.
    `from_primal` and `from_dual` turn a solution of either form into them.
    """

    n_items: int
    """The number of items, m."""

    n_columns: int | None
    """The number of columns r of Φ, or None if only the kernel is known."""

    items: Matrix
    """The training items that the features are made of."""

    sparse: bool = False
    """Whether products with Φ cost O(nnz) and Φ must not be made dense."""

    kernel_scale: float = np.inf
    """The largest k(x, x), once the kernel has been computed; infinite where no kernel can be indefinite."""

    @abstractmethod
    def energy(self) -> float:
        """Return ``Σ k(x_i, x_i)`` over the items, or a bound of it; infinite if it overflows."""

    @abstractmethod
    def centred_kernel(self, comparisons: Comparisons) -> Float:
        """Return ``C K Cᵀ``, where ``CᵀC = L``, as a fresh array."""

    @abstractmethod
    def kernel_multiply(self, V: Float) -> Float:
        """Return ``K V``."""

    @abstractmethod
    def from_dual(self, a: Float) -> Float:
        """Turn dual coefficients, ``f = K a``, into those of the map."""

    @abstractmethod
    def predict(self, X: Matrix, coefficients: Float) -> Float:
        """Return the scores of new items."""


class ColumnFeatures(Features):
    """A feature map whose columns are known, so that the problem has a primal form."""

    n_columns: int

    @property
    def stored(self) -> bool:
        """Whether the columns are stored, and not computed whenever they are asked for."""
        return True

    def shifted_features(self, comparisons: Comparisons) -> ColumnFeatures:  # noqa: ARG002
        """Return features for which the problem is the same, and products with the graph lose fewer digits."""
        return self

    @abstractmethod
    def gram(self, comparisons: Comparisons) -> Float:
        """Return ``Φᵀ L Φ`` (r × r)."""

    @abstractmethod
    def normal_equations(self, comparisons: Comparisons) -> tuple[Float, Float]:
        """Return ``Φᵀ L Φ`` (r × r) and ``Φᵀ M N`` (r × outputs)."""

    @abstractmethod
    def gram_diagonal(self, comparisons: Comparisons) -> Float:
        """Return the diagonal of ``Φᵀ L Φ``."""

    @abstractmethod
    def rows(self, items: Index) -> Float:
        """Return the features of some items, dense."""

    @abstractmethod
    def multiply(self, W: Float) -> Float:
        """Return ``Φ W``."""

    @abstractmethod
    def transpose_multiply(self, V: Float) -> Float:
        """Return ``Φᵀ V``."""

    @abstractmethod
    def from_primal(self, w: Float) -> Float:
        """Turn primal coefficients, ``f = Φ w``, into those of the map."""
