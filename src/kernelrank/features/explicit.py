"""Explicit features: the columns of X, dense or sparse, are the features; the kernel is linear."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from kernelrank.base.arrays import (
    Float,
    Index,
    Matrix,
    Sparse,
    column_magnitudes,
    dense_rows,
    is_sparse,
    product,
    squared_length,
    transpose_product,
)
from kernelrank.comparisons import Comparisons
from kernelrank.features.map import ColumnFeatures, Features

__all__ = ["ExplicitFeatures"]

COLUMN_BYTES = 2**24
"""The size of a block of columns that is centred at once for the dual form."""


class ExplicitFeatures(ColumnFeatures):
    """Φ = X. Nothing here copies X whole, or makes a sparse one dense.

    Parameters
    ----------
    X : array or sparse matrix, shape (m, n)

    Examples
    --------
    >>> import numpy as np
    >>> ExplicitFeatures(np.eye(2)).predict(np.array([[3.0, 4.0]]), np.array([[1.0], [2.0]]))
    array([[11.]])
    """

    linear = True

    def __init__(self, X: Matrix) -> None:
        self.X = self.items = X
        self.n_items, self.n_columns = X.shape
        self.sparse = is_sparse(X)

    @cached_property
    def _transposed(self) -> Sparse | None:
        """``Xᵀ`` of a sparse X, which shares its arrays: SciPy checks them whenever it transposes."""
        return self.X.T if is_sparse(self.X) else None

    @property
    def longest_row(self) -> int:
        """The largest number of stored entries in a row."""
        if not is_sparse(self.X):
            return self.n_columns
        counts = np.diff(self.X.indptr) if self.X.format == "csr" else np.bincount(self.X.indices, minlength=1)
        return int(counts.max(initial=0))

    def column_magnitudes(self) -> Float:
        """Return the largest absolute value in each column."""
        return column_magnitudes(self.X)

    def part(self, items: Index) -> ColumnFeatures:
        """Take some rows of X."""
        return ExplicitFeatures(self.X[items])

    def split(self, kept: Index, held: Index, *, keep_basis: bool = False) -> tuple[Features, Matrix]:  # noqa: ARG002
        """Take the rows of X apart."""
        return ExplicitFeatures(self.X[kept]), self.X[held]

    def shifted_features(self, comparisons: Comparisons) -> ColumnFeatures:
        """Return equivalent sparse columns that lose fewer digits, such as centred ones; dense ones unchanged."""
        return ExplicitFeatures(comparisons.shifted_features(self.X)) if self.sparse else self

    def energy(self) -> float:
        """Return the sum of the squares of X."""
        return squared_length(self.X)

    def gram(self, comparisons: Comparisons) -> Float:
        """Return ``Xᵀ L X``."""
        return comparisons.gram(self.X)

    def normal_equations(self, comparisons: Comparisons) -> tuple[Float, Float]:
        """Return ``Xᵀ L X`` and ``Xᵀ M N``."""
        return comparisons.normal_equations(self.X)

    def gram_diagonal(self, comparisons: Comparisons) -> Float:
        """Return the diagonal of ``Xᵀ L X``."""
        return comparisons.gram_diagonal(self.X)

    def rows(self, items: Index) -> Float:
        """Return some rows of X."""
        return dense_rows(self.X, items)

    def multiply(self, W: Float) -> Float:
        """Return ``X W``."""
        return product(self.X, W)

    def transpose_multiply(self, V: Float) -> Float:
        """Return ``Xᵀ V``."""
        return transpose_product(self.X, V) if self._transposed is None else product(self._transposed, V)

    def centred_kernel(self, comparisons: Comparisons) -> Float:
        """Accumulate ``(C X)(C X)ᵀ`` over blocks of columns; a sparse X is multiplied first and centred then."""
        if is_sparse(self.X):
            X: Sparse = comparisons.shifted_features(self.X).astype(np.float64, copy=False)
            return comparisons.centre_kernel(np.ascontiguousarray((X @ X.T).toarray()))
        total: Float | None = None
        step = max(1, COLUMN_BYTES // (8 * self.n_items))
        for start in range(0, self.n_columns, step):
            Z = comparisons.centre(np.array(self.X[:, start : start + step], dtype=np.float64))
            squares = Z @ Z.T
            total = squares if total is None else np.add(total, squares, out=total)
        assert total is not None
        return total

    def kernel_multiply(self, V: Float) -> Float:
        """Return ``X Xᵀ V``."""
        return self.multiply(self.transpose_multiply(V))

    def from_primal(self, w: Float) -> Float:
        """Return the weights of the columns, which w holds already."""
        return w

    def from_dual(self, a: Float) -> Float:
        """Return ``Xᵀ a``."""
        return self.transpose_multiply(a)

    def predict(self, X: Matrix, coefficients: Float) -> Float:
        """Return ``X w``."""
        return product(X, coefficients)
