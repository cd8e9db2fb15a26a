"""The writer of Parquet files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from kernelrank.data.file_format import compression_suffix
from kernelrank.data.output_stream import opened_output
from kernelrank.errors import InvalidInputError, MissingExtraError

__all__ = ["write_parquet"]

GROUP_CELLS = 1 << 23


def write_parquet(
    columns: Mapping[str, NDArray[Any]],
    path: str | os.PathLike[str],
    *,
    matrix: Any = None,
    matrix_names: tuple[str, ...] = (),
) -> None:
    """Write columns of one length, and those of a matrix after them, as a Parquet file with checksums.

    A row group has up to 2²³ cells: its memory (64 MiB) is what is needed beyond the columns. Time O(size). The file
    appears whole or not at all.

    Parameters
    ----------
    columns : mapping of str to ndarray, shape (m,)
    path : str or path-like
        See `opened_output`.
    matrix : ndarray or csr_array, shape (m, n), optional
    matrix_names : tuple of str

    Raises
    ------
    MissingExtraError
        Without pyarrow.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "data") from None
    if compression_suffix(path):
        raise InvalidInputError(f"{path}: Parquet files are compressed inside; leave {compression_suffix(path)} out")
    names = [*columns, *matrix_names]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidInputError(f"two columns are called {twice!r}")
    types = [
        pyarrow.string() if column.dtype == object else pyarrow.from_numpy_dtype(column.dtype)
        for column in columns.values()
    ]
    types += [pyarrow.from_numpy_dtype(matrix.dtype) for _ in matrix_names]
    schema = pyarrow.schema(list(zip(names, types, strict=True)))
    m = matrix.shape[0] if matrix is not None else len(next(iter(columns.values())))
    step = max(1, GROUP_CELLS // len(names))
    with (
        opened_output(path) as file,
        pyarrow.parquet.ParquetWriter(file, schema, write_page_checksum=True) as writer,
    ):
        for start in range(0, m, step):
            stop = min(start + step, m)
            parts: list[Any] = [column[start:stop] for column in columns.values()]
            if matrix is not None:
                block = matrix[start:stop].toarray() if issparse(matrix) else matrix[start:stop]
                parts += list(np.ascontiguousarray(block.T))
            arrays = [pyarrow.array(part, type=kind) for part, kind in zip(parts, types, strict=True)]
            writer.write_table(pyarrow.table(arrays, schema=schema))
