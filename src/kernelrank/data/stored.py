"""Stored rankings: files and folders that are read in batches, whatever their format and size."""

from __future__ import annotations

import contextlib
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from kernelrank.data.layout import Layout
from kernelrank.data.parquet import feature_columns, open_parquet, read_parquet_chunks
from kernelrank.data.ranking import Ranking, read_again
from kernelrank.data.rows import read_rows
from kernelrank.data.source import DECOMPRESSORS
from kernelrank.errors import FileFormatError, InvalidInputError
from kernelrank.progress import track

__all__ = ["StoredRanking", "open_stored"]

PARQUET = (".parquet", ".pq")
TEXT = (".svmlight", ".libsvm", ".svm", ".letor", ".txt", ".dat")

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
    most_rows: ClassVar[int] = 100_000

    @abstractmethod
    def chunks(self, *, whole_queries: bool) -> Iterator[Ranking]:
        """Read the items in their order, in chunks of some 32 MiB; rows of a query that stand together in one."""

    @property
    def chunk_rows(self) -> int:
        """How many rows make a chunk."""
        return min(self.most_rows, max(1_000, CHUNK_BYTES // (8 * max(1, self.n_features))))


class StoredParquet(StoredRanking):
    """A Parquet file, or a folder of them.

    Parameters
    ----------
    path : str
    target : str
        The column of scores.
    query : str or None
        The column of queries.
    """

    def __init__(self, path: str, target: str, query: str | None) -> None:
        dataset = open_parquet(path)
        self.path, self.target, self.query = path, target, query
        self.names = feature_columns(dataset, path, target, query, None)
        self.n_items, self.n_features = dataset.count_rows(), len(self.names)
        self.has_queries = query is not None
        if self.n_items == 0:
            raise FileFormatError("the file has no rows", path)

    def chunks(self, *, whole_queries: bool) -> Iterator[Ranking]:  # noqa: ARG002 - they are whole anyway
        """Read the items in their order."""
        return read_parquet_chunks(
            self.path, target=self.target, query=self.query, features=self.names, chunk_rows=self.chunk_rows
        )


class StoredText(StoredRanking):
    """An SVMlight or LETOR file. It is read through once for its size and its layout.

    Parameters
    ----------
    path : str
    """

    # Rows of text are joined and cut, and joined again; small chunks stay in the cache.
    most_rows = 10_000

    def __init__(self, path: str) -> None:
        self.path = path
        layout = Layout(path, None, "auto", np.float64, True)
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


def open_stored(path: str | os.PathLike[str], *, target: Any = None, query: Any = None) -> StoredRanking:
    r"""Open a ranking by the suffix of its path; a folder holds Parquet files.

    Parameters
    ----------
    path : str or path-like
    target : str, optional
        The column of scores; needed for Parquet, and part of the file in text.
    query : str, optional
        The column of queries; part of the file in text.

    Returns
    -------
    StoredRanking

    Notes
    -----
    O(1) for Parquet; a text file is read through, O(bytes). Memory a block.

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
    suffixes = [suffix.lower() for suffix in Path(name).suffixes]
    last = suffixes[-1] if suffixes else ""
    if os.path.isdir(name) or last in PARQUET:
        _require_names(name, target, query)
        return StoredParquet(name, target, query)
    if last in DECOMPRESSORS:
        last = suffixes[-2] if len(suffixes) > 1 else ""
    if last not in TEXT:
        raise FileFormatError(
            f"the suffix says no format that is known: {', '.join(PARQUET)} or a folder for Parquet, "
            f"{', '.join(TEXT)} for SVMlight and LETOR, compressed or not ({', '.join(DECOMPRESSORS)})",
            name,
        )
    for argument, value in (("y", target), ("qid", query)):
        if value is not None:
            raise InvalidInputError(f"{argument} was given, but {name} holds the scores and queries of its rows itself")
    return StoredText(name)


def _require_names(path: str, target: Any, query: Any) -> None:
    """Refuse Parquet without the names of its columns: none is guessed."""
    wrong = None if isinstance(target, str) else ("y", "scores")
    if wrong is None and not (query is None or isinstance(query, str)):
        wrong = ("qid", "queries")
    if wrong is not None:
        columns = ", ".join(open_parquet(path).schema.names)
        raise InvalidInputError(
            f"{path} is Parquet: {wrong[0]} must be the name of its column of {wrong[1]}, got "
            f"{type(target if wrong[0] == 'y' else query).__name__}; the columns are {columns}"
        )
