"""Items without scores in Parquet files and folders, read in blocks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelrank.data.parquet import numeric_columns, open_parquet, query_labels
from kernelrank.errors import FileFormatError

__all__ = ["read_parquet_items"]


def read_parquet_items(
    path: str | os.PathLike[str],
    *,
    query: str | None = None,
    features: Sequence[str] | None = None,
    block_rows: int = 2**14,
) -> Iterator[tuple[NDArray[Any], NDArray[Any] | None]]:
    """Read items and their queries; a query may go on from one block to the next.

    Parameters
    ----------
    path : str or path-like
        A file, or a folder whose files are read in the order of their names.
    query : str, optional
        The column of query labels.
    features : sequence of str, optional
        The columns of features; all other numeric ones unless given, but the index of a data frame.
    block_rows : int, default=16_384
        How many rows make a block, at most.

    Yields
    ------
    X : ndarray, shape (k, n_features)
        In float64, or float32 if every column is.
    qid : ndarray, shape (k,), or None

    Notes
    -----
    O(bytes) time; memory one row group and one block.
    """
    dataset = open_parquet(path)
    import pyarrow.parquet

    names = _feature_names(dataset.schema, str(path), query, features)
    columns = [*names, *([] if query is None else [query])]
    for file_path in dataset.files:
        with pyarrow.parquet.ParquetFile(file_path, pre_buffer=False) as file:
            absent = [name for name in columns if name not in file.schema_arrow.names]
            if absent:
                raise FileFormatError(f"there is no column {absent[0]!r}, which another file has", file_path)
            for batch in file.iter_batches(batch_size=block_rows, columns=columns):
                if batch.num_rows:
                    yield _arrays(batch, names, query, file_path)


def _feature_names(schema: Any, path: str, query: str | None, features: Sequence[str] | None) -> list[str]:
    """Return the names of the columns of features; each must be there."""
    for name in [*([] if query is None else [query]), *(features or [])]:
        if name not in schema.names:
            raise FileFormatError(f"there is no column {name!r}; the columns are {', '.join(schema.names)}", path)
    if features is not None:
        return list(features)
    return numeric_columns(schema, path, (query,))


def _arrays(batch: Any, names: list[str], query: str | None, path: str) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Turn one batch into arrays; a missing value is an error that names its column."""
    for name in batch.schema.names:
        if batch.column(name).null_count:
            raise FileFormatError(f"column {name!r} has {batch.column(name).null_count} missing values", path)
    columns = [batch.column(name).to_numpy(zero_copy_only=False) for name in names]
    single = all(column.dtype == np.float32 for column in columns)
    X = np.empty((batch.num_rows, len(names)), dtype=np.float32 if single else np.float64)
    for number, column in enumerate(columns):
        X[:, number] = column
    return X, None if query is None else query_labels(batch.column(query), query, path)
