"""Stored rankings: files and folders that are read in batches, whatever their format and size."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kernelrank.base.progress import track
from kernelrank.data.chunks import check_chunk_rows, cut
from kernelrank.data.columns import ColumnRequest
from kernelrank.data.file_format import file_format
from kernelrank.data.item_rows import TableReader
from kernelrank.data.letor import Layout, Ranking, read_again
from kernelrank.data.letor_rows import read_rows
from kernelrank.data.parquet import ParquetTable
from kernelrank.data.readers import open_table
from kernelrank.data.table import Table
from kernelrank.errors import FileFormatError, InvalidInputError

__all__ = ["StoredRanking", "open_stored", "read_parquet_chunks"]

CHUNK_BYTES = 2**25
"""About how large the features of a chunk are: many blocks of a Gram matrix, and little memory."""

DENSE = 0.1
"""From this share of entries on, a text file is read into dense chunks, which BLAS multiplies."""


class StoredRanking(ABC):
    """A ranking on disk that can be read any number of times.

    Attributes
    ----------
    path : str
    n_items, n_features : int
    names : list of str or None
        What the columns are called.
    has_queries : bool
    """

    path: str
    n_items: int
    n_features: int
    names: list[str] | None = None
    has_queries: bool
    most_rows: int = 100_000

    @abstractmethod
    def chunks(self, *, whole_queries: bool) -> Iterator[Ranking]:
        """Read the items in their order, in chunks of some 32 MiB; rows of a query that are contiguous in one."""

    @property
    def chunk_rows(self) -> int:
        """How many rows make a chunk."""
        return min(self.most_rows, max(1_000, CHUNK_BYTES // (8 * max(1, self.n_features))))


class StoredTable(StoredRanking):
    """A file with named columns: Parquet, CSV or TSV. Text is read through once, for its size and its labels.

    Parameters
    ----------
    table : Table
    request : ColumnRequest
        Which columns are the scores, the queries and the features.
    dtype : dtype, optional
        The type of X; float32 if all features are stored so, else float64, unless given.
    """

    def __init__(self, table: Table, request: ColumnRequest, dtype: np.dtype[Any] | None = None) -> None:
        reader = TableReader.opened(table, request)
        roles = reader.roles
        reader.dtype = dtype or table.precision(roles.features)
        reader.in_words = False  # scores are numbers: a word is an error that names its row
        self.path, self.has_queries = table.path, roles.query is not None
        self.notes = (*table.notes, *roles.notes)
        self.names, self.n_features = [table.names[column] for column in roles.features], len(roles.features)
        n_items = table.n_rows
        if n_items is None or (roles.query is not None and table.varying_labels(roles.query)):
            name = os.path.basename(table.path)
            blocks = track(reader.read(), n_items, f"looking through {name}", size=len, noun="rows")
            with contextlib.closing(blocks):
                n_items = sum(len(rows) for rows in blocks)
        self.n_items, self.reader = n_items, reader

    def chunks(self, *, whole_queries: bool) -> Iterator[Ranking]:
        """Read the items in their order."""
        for rows in cut(self.reader.read(), self.chunk_rows, whole_queries and self.has_queries):
            items = self.reader.items(rows)
            scores = np.full(len(items), np.nan) if items.y is None else items.y
            yield Ranking(items.X, scores, items.qid, np.full(len(items), "", dtype=object))


class StoredText(StoredRanking):
    """An SVMlight or LETOR file. It is read through once for its size and its layout.

    Parameters
    ----------
    path : str
    n_features : int, optional
        How many features there must be; the largest index decides unless given.
    """

    # Rows of text are joined and cut, and joined again; small chunks stay in the cache.
    most_rows = 10_000

    def __init__(self, path: str, n_features: int | None = None) -> None:
        self.path = path
        layout = Layout(path, n_features, "auto", np.float64, True)
        n_values = 0
        self.has_queries = False
        pieces = track(read_rows(path), None, f"looking through {Path(path).name}", size=len, noun="rows")
        with contextlib.closing(pieces):
            for rows in pieces:
                layout.add(rows)
                n_values += len(rows.indices)
                self.has_queries = rows.qids is not None
        layout.refuse_empty()
        self.n_items, self.n_features = layout.n_rows, layout.n_columns
        layout.sparse = n_values < DENSE * self.n_items * self.n_features
        self.layout = layout

    def chunks(self, *, whole_queries: bool) -> Iterator[Ranking]:
        """Read the items in their order."""
        return read_again(self.path, self.layout, self.chunk_rows, whole_queries and self.has_queries)


def open_stored(
    path: str | os.PathLike[str],
    *,
    target: Any = None,
    query: Any = None,
    features: Sequence[str] | None = None,
    n_features: int | None = None,
    needs_target: bool = True,
) -> StoredRanking:
    r"""Open a file of any format, determined by `file_format`; a folder contains Parquet files.

    Parameters
    ----------
    path : str or path-like
    target : str, optional
        The column of scores; part of the file in SVMlight and LETOR files.
    query : str, optional
        The column of queries; part of the file in SVMlight and LETOR files.
    features : sequence of str, optional
        The columns of features; all others that hold numbers unless given, but the index of a data frame.
    n_features : int, optional
        How many features there must be.
    needs_target : bool, default=True
        Whether a table needs a column of scores. Without one all scores are NaN.

    Returns
    -------
    StoredRanking

    Notes
    -----
    O(1) for Parquet, unless queries are floats; a text file is read through, O(bytes). Memory a block.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "train.txt"
    ...     _ = file.write_text("1 qid:7 1:0.5\n0 qid:7 2:1\n")
    ...     stored = open_stored(file)
    ...     stored.n_items, stored.n_features, stored.has_queries
    (2, 2, True)
    """
    name = os.fspath(path)
    if not os.path.exists(name):
        raise FileFormatError("there is no such file or folder", name)
    kind = file_format(name)
    if kind == "svmlight":
        for argument, value in (("y", target), ("qid", query)):
            if value is not None:
                message = f"{argument} was given, but {name} holds the scores and queries of its rows itself"
                raise InvalidInputError(message)
        return StoredText(name, n_features)
    table = open_table(name, kind)
    if needs_target or target is not None:
        _require_name(table, "y", "scores", target)
    if query is not None:
        _require_name(table, "qid", "queries", query)
    request = ColumnRequest.exactly(target or "", query or "", features=features, n_features=n_features)
    return StoredTable(table, dataclasses.replace(request, needs_target=needs_target))


def _require_name(table: Table, argument: str, content: str, name: Any) -> None:
    """Raise an error for a table without the names of its columns: none is guessed."""
    if not isinstance(name, str):
        raise InvalidInputError(
            f"{table.path} has named columns: {argument} must be the name of its column of {content}, got "
            f"{type(name).__name__}; the columns are {', '.join(table.names)}"
        )


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
        The column of query labels; the rows of a query must be contiguous.
    features : sequence of str, optional
        The columns of features; all others that hold numbers or booleans unless given, but the index of a data frame.
    chunk_rows : int, default=100_000
        How many rows a chunk has, at most; a query that has more is a chunk of its own.

    Yields
    ------
    Ranking
        X dense, in float64, or float32 if every column is; docid is empty.

    Raises
    ------
    FileFormatError
        For a value that is missing, infinite or not a number; the message names its row and column.

    See Also
    --------
    read_item_chunks : files of every format, with recognised columns.

    Notes
    -----
    O(bytes) time; memory a few chunks, whatever the size of the file.
    """
    check_chunk_rows(chunk_rows)
    if not os.path.exists(path):
        raise FileFormatError("there is no such file or folder", os.fspath(path))
    stored = StoredTable(ParquetTable(path), ColumnRequest.exactly(target, query or "", features=features))
    stored.most_rows = chunk_rows
    yield from stored.chunks(whole_queries=True)
