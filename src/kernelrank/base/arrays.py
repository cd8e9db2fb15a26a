"""Array types, and how many rows fit into one block."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ContextDecorator
from copy import copy
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.linalg import blas
from threadpoolctl import LibController, ThreadpoolController

Float: TypeAlias = NDArray[np.float64]
Index: TypeAlias = NDArray[np.int64]
Sparse: TypeAlias = sparse.csr_array | sparse.csc_array
Matrix: TypeAlias = NDArray[np.floating[Any]] | Sparse
"""Items or features, m × n: dense, in float64 or float32, or sparse. What computes rows on demand, as
`kernelrank.features.KernelRows` does, has the same shape, dtype and slices, and stands where no product is formed."""

BLOCK_BYTES = 2**20
"""The size of a block: small enough for a core's cache, large enough for BLAS."""


def is_sparse(X: object) -> TypeGuard[Sparse]:
    """Return whether this is a sparse matrix, to a type checker too."""
    return bool(sparse.issparse(X))


def is_structured(y: object) -> TypeGuard[NDArray[np.void]]:
    """Return whether this is an array with named fields, as times and events are (`kernelrank.base.labels`)."""
    return isinstance(y, np.ndarray) and y.dtype.names is not None


def is_full(X: object) -> bool:
    """Return whether a sparse matrix stores so many entries that products of dense blocks of it are faster."""
    return is_sparse(X) and X.nnz > 0.2 * X.shape[0] * X.shape[1]


class DenseRows:
    """A sparse matrix whose rows become dense on demand.

    Shapes: X (m, n).
    """

    dtype = np.dtype(np.float64)

    def __init__(self, X: Sparse) -> None:
        self.X, self.shape = X.tocsr(), X.shape

    def __getitem__(self, rows: slice | Index) -> Float:
        """Return some rows."""
        return np.asarray(self.X[rows].toarray(), dtype=np.float64)


def dense_rows(X: Matrix, rows: slice | Index) -> Float:
    """Return some rows in float64, dense; a view where they are so already and `rows` is a slice."""
    part = X[rows]
    return np.asarray(part.toarray() if is_sparse(part) else part, dtype=np.float64)


def blocks(n_rows: int, row_bytes: int, block_bytes: int = BLOCK_BYTES) -> Iterator[slice]:
    """Cut rows into slices of about `block_bytes` each."""
    step = max(1, block_bytes // max(1, row_bytes))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def block_rows(n_columns: int, block_bytes: int = BLOCK_BYTES) -> int:
    """Return how many rows of a wide matrix make a block: a few hundred, so that BLAS is fast."""
    least = 512 if block_bytes >= BLOCK_BYTES else 1
    return max(least, block_bytes // (8 * max(1, n_columns)))


def row_slices(X: Matrix) -> Iterator[slice]:
    """Cut the rows of a dense matrix into blocks."""
    return blocks(X.shape[0], 1, block_rows(X.shape[1]))


def available_bytes() -> int | None:
    """Return the memory that this process may use, in bytes; None if unknown."""
    try:
        known = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    except (AttributeError, OSError, ValueError):
        return None
    with contextlib.suppress(ImportError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        known += [] if limit == resource.RLIM_INFINITY else [limit]
    return min(known)


def in_gigabytes(size: int) -> str:
    """Write a number of bytes for a message."""
    return f"{size / 1e9:,.1f} GB"


def as_columns(values: Float) -> Float:
    """View a vector as a matrix with one column; leave a matrix as it is."""
    return values[:, None] if values.ndim == 1 else values


def canonical(X: Sparse) -> Sparse:
    """Return a sparse matrix whose entries are sorted and stored once each; X itself if it is one.

    Otherwise the result is a copy in which duplicate entries are summed. O(nnz) time.
    """
    # SciPy caches the answer in the matrix. A fresh shell around the same arrays asks again, and leaves X as it is.
    shell = copy(X)
    for cached in ("_has_canonical_format", "_has_sorted_indices"):
        shell.__dict__.pop(cached, None)
    if shell.has_canonical_format:
        return X
    summed = X.copy()
    summed.sum_duplicates()
    return summed


def weighted_gram(weight: Float, Phi: Sparse) -> Float:
    """Return ``Φᵀ diag(weight) Φ`` of a sparse matrix as a dense one, C-contiguous."""
    gram = np.asarray((Phi.T @ (sparse.diags_array(weight) @ Phi)).toarray(), dtype=np.float64)
    return gram if gram.flags.c_contiguous else gram.T


def weighted_squares(weight: Float, Phi: Matrix) -> Float:
    """Return ``Σ_i weight_i φ_ij²`` for each column j of a dense or sparse matrix."""
    if is_sparse(Phi):
        return np.asarray(Phi.power(2).T @ weight, dtype=np.float64)
    squares: Float = np.einsum("i,ij,ij->j", weight, Phi, Phi, dtype=np.float64)
    return squares


def largest_value(X: Matrix) -> float:
    """Return the largest absolute value of an array or sparse matrix; zero if it is empty."""
    return float(np.abs(X.data if is_sparse(X) else X).max(initial=0.0))


def squared_length(X: Matrix) -> float:
    """Return the sum of the squares of all entries, or for single precision, which cannot overflow, a bound of it.

    O(nnz) time in one pass, without a copy of a contiguous X.
    """
    values = X.data if is_sparse(X) else X
    if values.dtype == np.float32:
        return float(values.size) * float(np.finfo(np.float32).max) ** 2
    if values.flags.c_contiguous or values.flags.f_contiguous:
        flat = values.ravel(order="K")
        return float(np.dot(flat, flat))
    return sum(float(np.vdot(values[rows], values[rows])) for rows in row_slices(values))


def column_magnitudes(X: Matrix) -> Float:
    """Return the largest absolute value in each column, without a copy of X."""
    if not is_sparse(X):
        # Many rows side by side are compared at once, where one of a few columns would be a loop of its own.
        together = max(1, min(1024 // X.shape[1], X.shape[0])) if X.flags.c_contiguous else 1
        whole = X.shape[0] // together * together
        parts = (X[:whole].reshape(-1, together * X.shape[1]), X[whole:])
        ends = [end(part, axis=0).reshape(-1, X.shape[1]) for part in parts if len(part) for end in (np.max, np.min)]
        return np.asarray(np.abs(np.concatenate(ends)).max(axis=0), dtype=np.float64)
    high, low = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    if X.format == "csr":
        np.maximum.at(high, X.indices, X.data)
        np.minimum.at(low, X.indices, X.data)
    elif X.nnz:
        filled = np.diff(X.indptr) > 0
        starts = X.indptr[:-1][filled]
        high[filled], low[filled] = np.maximum.reduceat(X.data, starts), np.minimum.reduceat(X.data, starts)
    return np.maximum(high, -low)


def product(X: Matrix, W: Float) -> Float:
    """Return ``X W`` in float64; a float32 X is cast block by block, never whole."""
    if is_sparse(X) or (isinstance(X, np.ndarray) and X.dtype == np.float64):
        return np.asarray(X @ W, dtype=np.float64)
    result = np.empty((X.shape[0], *W.shape[1:]))
    for rows in row_slices(X):
        result[rows] = np.asarray(X[rows], dtype=np.float64) @ W
    return result


def transpose_product(X: Matrix, V: Float) -> Float:
    """Return ``Xᵀ V`` in float64; a float32 X is cast block by block, never whole."""
    if is_sparse(X) or (isinstance(X, np.ndarray) and X.dtype == np.float64):
        return np.asarray(X.T @ V, dtype=np.float64)
    result = np.zeros((X.shape[1], *V.shape[1:]))
    for rows in row_slices(X):
        result += np.asarray(X[rows], dtype=np.float64).T @ V[rows]
    return result


class GramSum:
    """``Σ Bᵀ B`` over blocks of rows, n × n: added up in place and in one triangle.

    O(k n²) time for a block of k rows, half of a product's, and no memory beyond the n² numbers of the sum.
    """

    def __init__(self, n: int) -> None:
        self._upper = np.zeros((n, n), order="F")

    @classmethod
    def onto(cls, matrix: Float) -> GramSum:
        """Return a sum that starts with a symmetric C-contiguous matrix and is stored in its memory."""
        total = cls(0)
        total._upper = matrix.T
        return total

    def add(self, block: Float, scale: float = 1.0) -> None:
        """Add ``scale · Bᵀ B`` for a block B (k × n)."""
        if block.size:
            # The transpose of a C-ordered block is what BLAS reads without a copy.
            self._upper = blas.dsyrk(scale, np.ascontiguousarray(block).T, beta=1.0, c=self._upper, overwrite_c=1)

    def add_sum(self, other: GramSum) -> None:
        """Add the matrix of another sum."""
        self._upper += other._upper

    def matrix(self) -> Float:
        """Return the whole matrix, C-contiguous and in the memory of the sum: later additions change it."""
        upper = self._upper
        side = min(256, max(1, len(upper)))  # two squares of this side fit into a core's cache
        below = np.tri(side, k=-1, dtype=np.bool_)
        for start in range(0, len(upper), side):
            stop = start + side
            if stop < len(upper):
                upper[stop:, start:stop] = upper[start:stop, stop:].T
            square = upper[start:stop, start:stop]
            np.copyto(square, square.T.copy(), where=below[: len(square), : len(square)])
        return upper.T


# Argument types -------------------------------------------------------------------------------------------------------
#
# Types of arguments that users pass in several forms.

ItemsLike: TypeAlias = ArrayLike | sparse.sparray | sparse.spmatrix
"""Items with their features as users pass them: an array, rows of numbers, a data frame or a sparse matrix."""

RandomStateLike: TypeAlias = int | np.random.RandomState | np.random.Generator | None
"""A random seed, a generator of random numbers, or None for a new seed in each call."""


class Labels(Protocol):
    """One label for each item, feature or query: a list, an array or a column of a data frame."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Any]: ...


# Threads --------------------------------------------------------------------------------------------------------------
#
# Threads of BLAS: one pool at a time.
#
# The wheels of NumPy and SciPy each bring a BLAS of their own, and each keeps a pool of threads that wait actively for
# some milliseconds after a product. Where products of NumPy and factorisations of SciPy follow each other, the threads
# of one pool take the cores that the other one needs: with all threads such a loop can take several times as long as
# with one. Factorisations and large products are SciPy's here, so NumPy has one thread while a fit or a hold-out runs.
#
# Where both share one library, as in Conda's packages, nothing is limited.


@cache
def _libraries() -> ThreadpoolController:
    """Find the libraries with thread pools, once, because it takes as long as a small fit."""
    return ThreadpoolController()


def one_thread() -> AbstractContextManager[object]:
    """Return a context in which every BLAS has one thread, for products that cost less than to wake a second."""
    limited: AbstractContextManager[object] = _libraries().limit(limits=1, user_api="blas")
    return limited


def numpy_alone(files: list[str], package: Path) -> list[str]:
    """Return the BLAS libraries that only NumPy uses; none where it shares them with others."""
    homes = (package, package.with_name(f"{package.name}.libs"))
    own = [file for file in files if any(Path(file).is_relative_to(home) for home in homes)]
    return own if len(own) < len(files) else []


@cache
def _of_numpy() -> list[LibController]:
    """Find the libraries that only NumPy uses."""
    loaded = {lib.filepath: lib for lib in _libraries().lib_controllers if lib.user_api == "blas"}
    return [loaded[file] for file in numpy_alone(list(loaded), Path(np.__file__).parent)]


class OnePool(ContextDecorator):
    """A context, or a decorator, in which NumPy's own BLAS has one thread, until the last of several callers has left.

    Examples
    --------
    >>> with one_pool:
    ...     np.eye(2) @ np.ones(2)
    array([1., 1.])
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start anew: whoever was inside while its process forked never leaves in the child."""
        self.lock, self.inside, self.earlier = threading.Lock(), 0, list[int]()

    def __enter__(self) -> None:
        libraries = _of_numpy()
        with self.lock:
            self.inside += 1
            if self.inside == 1:
                self.earlier = [lib.get_num_threads() for lib in libraries]
                for lib in libraries:
                    lib.set_num_threads(1)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside == 0:
                for lib, number in zip(_of_numpy(), self.earlier, strict=True):
                    lib.set_num_threads(number)


one_pool = OnePool()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=one_pool.forget)
