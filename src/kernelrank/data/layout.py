"""The layout of a ranking file: what only the whole file can say, and the matrix that follows from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array

from kernelrank.arrays import available_bytes, in_gigabytes
from kernelrank.compiled import compiled
from kernelrank.data.line import LARGEST_INDEX
from kernelrank.data.rows import Rows
from kernelrank.errors import FileFormatError, InvalidInputError

__all__ = ["Layout"]


@dataclass
class Layout:
    """How the rows of one file become a matrix; `add` each of its rows, then ask.

    Parameters
    ----------
    path : str
        What error messages call the file.
    n_features : int or None
        The number of columns; None: the largest index decides.
    zero_based : bool or "auto"
        Whether the first feature is 0 or 1; "auto": 0 if an index 0 occurs.
    dtype : dtype-like
        float64 or float32.
    sparse : bool or "auto"
        Whether the matrix is sparse; "auto": unless a dense one takes no more memory.
    """

    path: str
    n_features: int | None
    zero_based: bool | Literal["auto"]
    dtype: DTypeLike
    sparse: bool | Literal["auto"]
    n_rows: int = 0
    n_values: int = 0
    largest_index: int = -1
    line_of_largest: int = 0
    index_zero_occurs: bool = False
    integer_qids: bool = True

    def __post_init__(self) -> None:
        if self.n_features is not None and not 0 <= self.n_features <= LARGEST_INDEX + 1:
            raise InvalidInputError(f"n_features must be from 0 to {LARGEST_INDEX + 1}, got {self.n_features}")
        if not (isinstance(self.zero_based, bool) or self.zero_based == "auto"):
            raise InvalidInputError(f"zero_based must be True, False or 'auto', got {self.zero_based!r}")
        if np.dtype(self.dtype) not in (np.dtype(np.float64), np.dtype(np.float32)):
            raise InvalidInputError(f"dtype must be float64 or float32, got {self.dtype!r}")

    def add(self, rows: Rows) -> None:
        """Take note of some rows, and refuse what can already be refused. Time O(size)."""
        self.n_rows += len(rows)
        self.n_values += len(rows.values)
        self.integer_qids &= rows.qids is None or rows.qids.dtype.kind == "i"
        if len(rows.indices) == 0:
            return
        cell = int(np.argmax(rows.indices))
        if rows.indices[cell] > self.largest_index:
            self.largest_index = int(rows.indices[cell])
            self.line_of_largest = rows.line_of_cell(cell)
        cell = int(np.argmin(rows.indices))
        if rows.indices[cell] == 0:
            if self.zero_based is False:
                message = "feature 0, but the first feature is 1; zero_based=True makes it 0"
                raise FileFormatError(message, self.path, rows.line_of_cell(cell))
            self.index_zero_occurs = True

    @property
    def first_index(self) -> int:
        """The index of the first column: 0 or 1."""
        zero_based = self.index_zero_occurs if self.zero_based == "auto" else self.zero_based
        return 0 if zero_based else 1

    @property
    def n_columns(self) -> int:
        """The number of columns, checked against the largest index."""
        needed = max(self.largest_index + 1 - self.first_index, 0)
        if self.n_features is None:
            return needed
        if needed > self.n_features:
            last = self.n_features - 1 + self.first_index
            message = f"feature {self.largest_index} is beyond the last one, {last}: n_features={self.n_features}"
            raise FileFormatError(message, self.path, self.line_of_largest)
        return self.n_features

    @property
    def is_sparse(self) -> bool:
        """Whether the matrix is sparse: an index and a value for each entry take less than all values."""
        if self.sparse != "auto":
            return self.sparse
        size = np.dtype(self.dtype).itemsize
        return (size + 4) * self.n_values < size * self.n_rows * self.n_columns

    def _refuse_too_wide(self, n_rows: int) -> None:
        """Refuse a dense matrix that does not fit into memory, before it is asked for."""
        needed, available = n_rows * self.n_columns * np.dtype(self.dtype).itemsize, available_bytes()
        if available is not None and needed > available:
            raise FileFormatError(
                f"feature {self.largest_index} makes a matrix of {n_rows:,} rows and {self.n_columns:,} columns, which "
                f"needs {in_gigabytes(needed)} of memory if it is dense; {in_gigabytes(available)} are there. Read it "
                "with sparse=True",
                self.path,
                self.line_of_largest,
            )

    def refuse_empty(self) -> None:
        """Raise an error if no row was added."""
        if self.n_rows == 0:
            raise FileFormatError("the file has no rows", self.path)

    def converted(self, rows: Rows) -> NDArray[Any]:
        """Return the values of some rows in the wanted type; what float32 cannot hold is an error."""
        with np.errstate(over="ignore"):
            values = rows.values.astype(self.dtype, copy=False)
        if values.dtype != np.float64:
            lost = np.isinf(values) & np.isfinite(rows.values)
            if lost.any():
                cell = int(np.argmax(lost))
                message = (
                    f"the value {float(rows.values[cell])!r} of feature {rows.indices[cell]} is too large for float32"
                )
                raise FileFormatError(message, self.path, rows.line_of_cell(cell))
        return values

    def matrix(self, values: NDArray[Any], indices: NDArray[np.int32], counts: NDArray[np.int64]) -> Any:
        """Build X; `indices` as they stand in the file are overwritten. Time and memory O(size)."""
        n_columns = self.n_columns
        indices -= np.int32(self.first_index)
        bounds = np.zeros(len(counts) + 1, dtype=np.int64)
        np.cumsum(counts, out=bounds[1:])
        if not self.is_sparse:
            self._refuse_too_wide(len(counts))
            dense = np.zeros((len(counts), n_columns), dtype=self.dtype)
            scatter(values, indices, bounds, dense)
            return dense
        index_type = np.int32 if len(values) <= LARGEST_INDEX else np.int64
        parts = (values, indices.astype(index_type, copy=False), bounds.astype(index_type))
        X = csr_array(parts, shape=(len(counts), n_columns))
        X.has_canonical_format = True  # the indices of each row increase, and SciPy need not look
        return X


@compiled
def scatter(values: NDArray[Any], indices: NDArray[np.int32], bounds: NDArray[np.int64], dense: NDArray[Any]) -> None:
    """Put each value into its place; unlike SciPy's sums into zeros this keeps the sign of -0.0."""
    for row in range(len(bounds) - 1):
        for cell in range(bounds[row], bounds[row + 1]):
            dense[row, indices[cell]] = values[cell]
