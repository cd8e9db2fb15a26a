"""Parquet files and folders, read in chunks of whole queries."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelrank.data.ranking import Ranking
from kernelrank.data.words import LONGEST_LABEL, long_message
from kernelrank.errors import FileFormatError, MissingExtraError

__all__ = ["read_parquet_chunks"]


def read_parquet_chunks(
    path: str | os.PathLike[str],
    *,
    target: str,
    query: str | None = None,
    features: Sequence[str] | None = None,
    chunk_rows: int = 100_000,
) -> Iterator[Ranking]:
    """Read a Parquet file, or a folder of them, in chunks that never cut a query.

    Parameters
    ----------
    path : str or path-like
        A file, or a folder whose files are read in the order of their names.
    target : str
        The column of scores.
    query : str, optional
        The column of query labels; the rows of a query must stand together.
    features : sequence of str, optional
        The columns of features; all other numeric ones unless given, but the index of a data frame.
    chunk_rows : int, default=100_000
        About how many rows make a chunk.

    Yields
    ------
    Ranking
        X dense, in float64, or float32 if every column is; docid is empty.

    Notes
    -----
    O(bytes) time; memory a few chunks, whatever the size of the file.
    """
    dataset = open_parquet(path)
    names = feature_columns(dataset, str(path), target, query, features)
    columns = [*names, target, *([query] if query else [])]
    pending: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]] = []
    waiting = 0
    for batch in _batches(dataset.files, columns, min(chunk_rows, 2**17)):
        if batch.num_rows == 0:
            continue
        pending.append(_arrays(batch, names, target, query, str(path)))
        waiting += batch.num_rows
        if waiting >= chunk_rows:
            chunk, pending = _cut(pending)
            waiting = sum(len(part[1]) for part in pending)
            if chunk is not None:
                yield chunk
    if pending:
        yield _joined(pending)


def open_parquet(path: str | os.PathLike[str]) -> Any:
    """Open a Parquet file or folder as a pyarrow dataset; no row is read."""
    try:
        import pyarrow.dataset
    except ImportError:
        raise MissingExtraError("pyarrow", "data") from None
    if not os.path.exists(path):
        raise FileFormatError("there is no such file or folder", str(path))
    try:
        dataset = pyarrow.dataset.dataset(os.fspath(path), format="parquet")
    except (pyarrow.ArrowInvalid, OSError) as error:
        raise FileFormatError(f"this is no Parquet file: {error}", str(path)) from None
    if not dataset.files:
        raise FileFormatError("the folder holds no Parquet file", str(path))
    return dataset


def _batches(files: Sequence[str], columns: list[str], batch_size: int) -> Iterator[Any]:
    """Read batches file by file, each when it is asked for.

    A scan of the whole dataset reads ahead without end while its batches are worked on, and keeps what it has read: its
    memory grows with the file.
    """
    import pyarrow.parquet

    for path in files:
        with pyarrow.parquet.ParquetFile(path, pre_buffer=False) as file:
            absent = [name for name in columns if name not in file.schema_arrow.names]
            if absent:
                raise FileFormatError(f"there is no column {absent[0]!r}, which another file of the folder has", path)
            yield from file.iter_batches(batch_size=batch_size, columns=columns)


def feature_columns(
    dataset: Any, path: str, target: str, query: str | None, features: Sequence[str] | None
) -> list[str]:
    """Return the names of the columns of features: those given, or all other numeric ones; each must be there."""
    known = dataset.schema.names
    for name in [target, *([query] if query else []), *(features or [])]:
        if name not in known:
            raise FileFormatError(f"there is no column {name!r}; the columns are {', '.join(known)}", path)
    if features is not None:
        return list(features)
    return numeric_columns(dataset.schema, path, (target, query))


def numeric_columns(schema: Any, path: str, taken: Sequence[str | None]) -> list[str]:
    """Return the names of the numeric columns that are not taken; the index of a pandas data frame is no feature."""
    from pyarrow.types import is_decimal, is_floating, is_integer

    stored = (schema.pandas_metadata or {}).get("index_columns", [])
    index = {name for name in stored if isinstance(name, str)}  # a range is described and has no column
    names = [
        field.name
        for field in schema
        if any(is_kind(field.type) for is_kind in (is_integer, is_floating, is_decimal))
        and field.name not in index.union(taken)
    ]
    if not names:
        raise FileFormatError("no numeric column is left for the features", path)
    return names


def _arrays(
    batch: Any, names: list[str], target: str, query: str | None, path: str
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
    """Turn one batch into arrays; a missing value is an error that names its column."""
    for name in batch.schema.names:
        if batch.column(name).null_count:
            raise FileFormatError(f"column {name!r} has {batch.column(name).null_count} missing values", path)
    columns = [batch.column(name).to_numpy(zero_copy_only=False) for name in names]
    single = all(column.dtype == np.float32 for column in columns)
    X = np.empty((batch.num_rows, len(names)), dtype=np.float32 if single else np.float64)
    for number, column in enumerate(columns):
        X[:, number] = column
    y = batch.column(target).to_numpy(zero_copy_only=False).astype(np.float64)
    return X, y, None if query is None else query_labels(batch.column(query), query, path)


def query_labels(column: Any, name: str, path: str) -> NDArray[Any]:
    """Return the queries of a batch; a label of absurd length is an error."""
    import pyarrow.compute

    if pyarrow.types.is_string(column.type) or pyarrow.types.is_large_string(column.type):
        longest = pyarrow.compute.max(pyarrow.compute.binary_length(column)).as_py() or 0
        if longest > LONGEST_LABEL:
            raise FileFormatError(long_message("a query label", longest), path, column=name)
    labels: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return labels


def _joined(parts: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]]) -> Ranking:
    X, y, qid = (None if part[0] is None else np.concatenate(part) for part in zip(*parts, strict=True))
    assert y is not None
    return Ranking(X, y, qid, np.full(len(y), "", dtype=object))


def _cut(
    parts: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]],
) -> tuple[Ranking | None, list[tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]]]:
    """Take the queries that are complete; the last one may go on and waits."""
    if parts[-1][2] is None:
        return _joined(parts), []
    X, y, qid, _ = _joined(parts)
    assert qid is not None
    changes = np.flatnonzero(qid[1:] != qid[:-1]) + 1
    if len(changes) == 0:
        return None, [(X, y, qid)]
    stop = int(changes[-1])
    whole = Ranking(X[:stop], y[:stop], qid[:stop], np.full(stop, "", dtype=object))
    return whole, [(X[stop:].copy(), y[stop:], qid[stop:])]
