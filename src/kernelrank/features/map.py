"""The interface of a feature map: a kernel over the training items, as a solver uses it; duplicate items."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import (
    Float,
    Index,
    Matrix,
    Sparse,
    blocks,
    column_magnitudes,
    dense_rows,
    is_sparse,
    product,
    row_slices,
    squared_length,
    transpose_product,
)
from kernelrank.comparisons import Comparisons

Bits: TypeAlias = NDArray[np.uint64]


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

    linear: bool = False
    """Whether coefficients weigh the columns of X, so that a model keeps nothing else; otherwise they weigh items."""

    semidefinite: bool = True
    """Whether no kernel matrix of these items can be indefinite but by rounding."""

    basis: Index | None = None
    """The numbers of the basis items, where a few items stand for all; None otherwise."""

    @property
    def columns(self) -> ColumnFeatures | None:
        """The feature map itself if its columns are explicit (primal form); None otherwise."""
        return None

    @property
    def primal(self) -> ColumnFeatures | None:
        """The map itself where its columns are known and no more than the items: the primal form is the smaller one."""
        columns = self.columns
        return columns if columns is not None and columns.n_columns <= columns.n_items else None

    @property
    def size(self) -> int:
        """The size of the smaller form of the problem: the number of items, or of columns where these are fewer."""
        return self.n_items if self.n_columns is None else min(self.n_items, self.n_columns)

    @cached_property
    def duplicate_of(self) -> Index:
        """The number of the first item with the same row, or -1: duplicate rows have equal scores in any model."""
        return duplicate_rows(self.items)

    @property
    def kept_items(self) -> Matrix | None:
        """The items that a model keeps for predictions; None if it needs none, or only their kernels."""
        return None

    @property
    def recomputable(self) -> bool:
        """Whether kernels of any items can be computed again, so that `on_few_items` is possible."""
        return False

    def on_few_items(self, size: int, random_state: np.random.RandomState) -> ColumnFeatures:
        """Map all items by at most `size` basis items that are drawn, for a preconditioner."""
        raise NotImplementedError(f"{type(self).__name__} cannot recompute its kernel")

    def uncentred_diagonal(self, comparisons: Comparisons) -> Float | None:  # noqa: ARG002
        """Return a bound of the diagonal of ``C K Cᵀ`` without cancellation; None for explicit columns."""
        return None

    @abstractmethod
    def diagonal(self) -> Float:
        """Return k(x, x) of every item, shape (m,)."""

    @abstractmethod
    def block(self, rows: Index, columns: Index) -> Float:
        """Return the kernel between some items and others."""

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

    @abstractmethod
    def split(self, kept: Index, held: Index, *, keep_basis: bool = False) -> tuple[Features, Matrix]:
        """Return the features of the kept items, and the rows by which they predict those held out.

        A basis loses the items held out, unless `keep_basis`.
        """


class ColumnFeatures(Features):
    """A feature map whose columns are known, so that the problem has a primal form."""

    n_columns: int

    X: Matrix
    """Φ (m × r), or what computes its rows on demand."""

    @property
    def columns(self) -> ColumnFeatures:
        """The map itself."""
        return self

    @property
    def stored(self) -> bool:
        """Whether the columns are stored, and not computed on demand."""
        return True

    def diagonal(self) -> Float:
        """Return the squared lengths of the rows of Φ."""
        squares = np.empty(self.n_items)
        for rows in row_slices(self.X):
            squares[rows] = (dense_rows(self.X, rows) ** 2).sum(axis=1)
        return squares

    def block(self, rows: Index, columns: Index) -> Float:
        """Return inner products of rows of Φ."""
        return self.rows(rows) @ self.rows(columns).T

    def kept(self) -> Self:
        """Keep the columns whatever their size, for a solver that multiplies with them many times."""
        return self

    @property
    def longest_row(self) -> int:
        """The largest number of stored features of an item: how many terms a score has."""
        return self.n_columns

    @abstractmethod
    def column_magnitudes(self) -> Float:
        """Return the largest absolute value in each column, shape (r,)."""

    @abstractmethod
    def part(self, items: Index) -> ColumnFeatures:
        """Map some of the items only."""

    def coefficient_sums(self, comparisons: Comparisons, w: Float) -> Float | float:  # noqa: ARG002
        """Return the size of coefficients of basis items, relative to differences of predictions; see `Rounding`."""
        return 0.0

    def shifted_features(self, comparisons: Comparisons) -> ColumnFeatures:  # noqa: ARG002
        """Return equivalent features whose products with the graph lose fewer digits, such as centred ones."""
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


def duplicate_rows(X: Matrix) -> Index:
    """Return for each item the number of the first item with the same row; -1 for those that are alone.

    Every row gets a number of 64 bits, the sum of what is made of its entries: integers, so that the same rows have the
    same sum in any order. Rows that share one are compared.

    O(m n) time, or O(nnz), and O(m log m); memory O(m) and blocks, O(nnz) for a sparse X.

    Shapes: X (m, n); returns (m,).
    """
    if X.shape[0] < 2:
        return np.full(X.shape[0], -1, dtype=np.int64)
    if X.dtype == object:
        return _duplicate_objects(X[:, 0])
    _, first, group, sizes = np.unique(row_hashes(X, 0), return_index=True, return_inverse=True, return_counts=True)
    alike = np.flatnonzero(sizes[group] > 1)
    heads = first[group[alike]]
    same = np.zeros(len(alike), dtype=bool)
    for part in blocks(len(alike), 16 * X.shape[1]):
        same[part] = _equal(X[alike[part]], X[heads[part]])
    result = np.full(X.shape[0], -1, dtype=np.int64)
    result[alike[same]] = heads[same]
    return result


def _duplicate_objects(things: NDArray[Any]) -> Index:
    """Return for each object the number of the first that equals it; -1 for those that are alone."""
    keys = [_key(thing) for thing in things]
    first: dict[Any, int] = {}
    numbers = np.array([first.setdefault(key, number) for number, key in enumerate(keys)], dtype=np.int64)
    counts = np.bincount(numbers)
    return np.where(counts[numbers] > 1, numbers, -1)


def _key(thing: Any) -> Any:
    """Return what equal objects have in common; objects that cannot be hashed otherwise are equal to themselves."""
    if isinstance(thing, (list, tuple)):
        return (type(thing), *(_key(part) for part in thing))
    if isinstance(thing, set):
        return frozenset(thing)
    if isinstance(thing, np.ndarray) and thing.dtype != object:
        return (thing.shape, thing.dtype.str, thing.tobytes())
    try:
        hash(thing)
    except TypeError:
        return (object, id(thing))
    return thing


def row_hashes(X: Matrix, seed: int) -> Bits:
    """Return a number for each row: its numbers, stirred, times an odd number of their columns, modulo 2⁶⁴."""
    drawn = np.random.default_rng(seed).integers(2**63, size=(X.shape[1],), dtype=np.uint64)
    factors = drawn * np.uint64(2) + np.uint64(1)
    if is_sparse(X):
        rows = X.tocsr()
        return sums_between(_bits(rows.data) * factors[rows.indices], rows.indptr)
    sums = np.empty(X.shape[0], dtype=np.uint64)
    for part in row_slices(X):
        sums[part] = (_bits(np.asarray(X[part], dtype=np.float64)) * factors).sum(axis=1)
    return sums


def _bits(values: Float) -> Bits:
    """Return the binary digits of numbers, stirred; those of both zeros are zero."""
    positive = np.ascontiguousarray(values, dtype=np.float64) + 0.0
    return stir_bits(positive.view(np.uint64))


def stir_bits(bits: Bits) -> Bits:
    """Let every digit change the lower half: the last ones of a whole number are all zero."""
    mixed = (bits ^ (bits >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    return mixed ^ (mixed >> np.uint64(29))


def sums_between(values: Bits, bounds: NDArray[np.integer]) -> Bits:
    """Return the sums of consecutive parts, modulo 2⁶⁴, where differences of running sums are exact."""
    running = np.zeros(len(values) + 1, dtype=np.uint64)
    np.cumsum(values, out=running[1:])
    return np.asarray(running[bounds[1:]] - running[bounds[:-1]])


def _equal(A: Matrix, B: Matrix) -> NDArray[np.bool_]:
    """Return which rows of two matrices are the same."""
    if is_sparse(A):
        return np.asarray(abs(A - B).sum(axis=1) == 0).ravel()
    return np.asarray((A == B).all(axis=1))


# Explicit -------------------------------------------------------------------------------------------------------------
#
# Explicit features: the columns of X, dense or sparse, are the features; the kernel is linear.

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
