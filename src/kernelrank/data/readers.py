"""The reader of items: files of every format, whole or in chunks."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.progress import track
from kernelrank.data.delimited import DelimitedTable
from kernelrank.data.items import (
    ArrayBuilder,
    ItemRows,
    Items,
    TableReader,
    check_chunk_rows,
    cut,
    repeated,
    scattered_message,
    scattered_row,
)
from kernelrank.data.letor import (
    Layout,
    Ranking,
    chunks_with_lines,
    read_again,
    read_with_lines,
    refuse_side_queries,
    with_side_files,
)
from kernelrank.data.letor_rows import read_rows
from kernelrank.data.parquet import ParquetTable
from kernelrank.data.table import NAMES, ColumnOptions, ColumnRequest, Roles, Table, lists_columns, plain_name
from kernelrank.data.text import (
    FileFormat,
    Source,
    file_format,
    first_bytes,
    first_of,
    read_blocks,
    read_decimal,
    readable,
    rewind,
    shown,
    source_name,
)
from kernelrank.errors import FileFormatError, InvalidInputError


@lists_columns
def read_items(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    **columns: Unpack[ColumnOptions],
) -> Items:
    r"""Read the items of a file: SVMlight or LETOR, CSV, TSV or Parquet.

    Columns with well-known names (``relevance``, ``qid``, ``docid``, ``patient`` and the like) are recognised, and
    `Items.notes` lists them; all others are features, and must hold numbers. A row that cannot be read is an error that
    names the file, the line and the column; none is skipped.

    Parameters
    ----------
    path : str or path-like
        Decompressed if its suffix is ``.gz``, ``.xz``, ``.bz2`` or ``.zst``. ``-`` is standard input, compressed or
        not. A folder holds Parquet files.
    format : {"svmlight", "letor", "csv", "tsv", "parquet"}, optional
        Guessed from the suffix by default; for ``.txt``, ``.dat`` and ``-`` from the first line.
    target, query, id, weight, groups : str, optional
        Names of columns; an empty string if there is no such column, although a name would suggest one. Not for
        SVMlight files, whose columns have no names.
    features : sequence of str, optional
        Names or patterns (``gene*``) of the columns that make X, in this order; ``!name`` leaves columns out. All that
        have no other role unless given.
    exclude : sequence of str, default=()
        Names or patterns of columns to leave out.
    n_features : int, optional
        The expected number of features. In SVMlight files, the last features may be absent from the file.
    pos_label : str, optional
        The class that becomes 1, for a text target; of two classes the one that sorts last, as in scikit-learn, unless
        given.
    guess_positive : bool, default=False
        Whether to guess `pos_label` if it is not given, as the command does: the word that usually means a case
        (``case``, ``positive``, ``yes``, ...) becomes 1, whichever sorts last. `Items.notes` mentions it.
    needs_target : bool, default=True
        Whether a file without a target is an error. If not, `Items.y` may be None.
    missing_groups : bool, default=False
        Whether groups may be missing, as empty words. `Items.places` then has the line or row of each item.

    Returns
    -------
    Items
        X is a `scipy.sparse.csr_array` for SVMlight files where that takes less memory, else an array of float64.

    Raises
    ------
    FileFormatError
        At the first row that cannot be read; for a missing column, with a list of the columns.
    MissingExtraError
        For CSV, TSV, Parquet or ``.zst`` without pyarrow.

    See Also
    --------
    read_item_chunks : the same file in bounded memory.
    read_table : tables with missing cells, categories, decimal commas; Excel files.
    write_items : write items, also in other formats.

    Notes
    -----
    A column called ``weight`` is used as sample weight only in a file with queries: otherwise it is likely to be a
    body weight, and is a feature. Ids must be unique within a query. Integers of any size are read as the nearest
    float; NaN, infinities and empty cells are errors.

    Time O(bytes); memory 9/8 of the result and a block.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "cohort.csv"
    ...     _ = path.write_text("patient,outcome,age,bmi\np1,case,36,22.5\np2,control,41,27\n")
    ...     items = read_items(path, pos_label="case")
    >>> items.X.tolist(), items.y.tolist(), items.feature_names
    ([[36.0, 22.5], [41.0, 27.0]], [1.0, 0.0], ('age', 'bmi'))
    >>> print(*items.notes, sep="\n")
    the target is column 'outcome'
    the groups are column 'patient'
    the target 'case' is 1 and 'control' is 0, as requested
    """
    with readable(path) as source:
        return items_of_source(source, file_format(source, format), ColumnRequest(**columns))


def items_of_source(source: Source, kind: FileFormat, request: ColumnRequest) -> Items:
    """Read the items of an open file, or of a path."""
    if kind == "svmlight":
        _refuse_names(request, source_name(source))
        items = _ranking_items(source, request.n_features)
        return with_side_files(items, source) if isinstance(source, (str, os.PathLike)) else items
    return _table_items(open_table(source, kind), request)


@lists_columns
def read_item_chunks(
    path: str | os.PathLike[str],
    *,
    chunk_rows: int = 10_000,
    whole_queries: bool = False,
    format: str | None = None,
    **columns: Unpack[ColumnOptions],
) -> Iterator[Items]:
    r"""Read the items of a file in chunks, for files larger than memory.

    The file is read twice. The first pass finds what depends on all rows (the classes of a text target, whether all
    labels are integers) and all errors, so that chunks are consistent and come only from a file without errors.
    Concatenated they equal the result of `read_items`, except that duplicate ids are found within a chunk only.

    Parameters
    ----------
    path : str or path-like
        See `read_items`; standard input is kept in a temporary file.
    chunk_rows : int, default=10_000
        How many rows a chunk has; the last one may have fewer.
    whole_queries : bool, default=False
        Whether a chunk holds whole queries only: it ends with the last query that fits into `chunk_rows`, and a query
        that does not fit is a chunk of its own. The rows of each query must be contiguous.
    format, target, query, id, weight, groups, features, exclude
        See `read_items`.
    n_features, pos_label, guess_positive, needs_target, missing_groups
        See `read_items`.

    Yields
    ------
    Items
        The rows in the order of the file.

    Notes
    -----
    Time O(bytes); memory O(chunk + block), and one row group of a Parquet file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "train.csv"
    ...     _ = path.write_text("qid,y,age\na,1,36\na,0,41\nb,1,27\n")
    ...     [chunk.y.tolist() for chunk in read_item_chunks(path, chunk_rows=2)]
    [[1.0, 0.0], [1.0]]
    """
    check_chunk_rows(chunk_rows)
    return _chunks(path, format, ColumnRequest(**columns), chunk_rows, whole_queries)


def _chunks(
    path: str | os.PathLike[str], format: str | None, request: ColumnRequest, chunk_rows: int, whole_queries: bool
) -> Iterator[Items]:
    with readable(path) as source:
        kind = file_format(source, format)
        if kind == "svmlight":
            _refuse_names(request, source_name(source))
            yield from _ranking_item_chunks(source, request.n_features, chunk_rows, whole_queries)
        else:
            yield from _table_chunks(open_table(source, kind), request, chunk_rows, whole_queries)


SCORES = ("score", "scores", "prediction", "predictions", "predicted", "pred", "yscore", "yhat", "ypred", "probability")


def read_scores(path: str | os.PathLike[str], format: str | None = None) -> tuple[NDArray[Any], NDArray[Any] | None]:
    r"""Read predicted scores, one for each item of another file: a number in each line, or a column of a table.

    Parameters
    ----------
    path : str or path-like
        Lines as LightGBM, XGBoost and ``kernelrank predict`` write them, or a table with a column called ``score``,
        ``prediction`` or the like. Decompressed by suffix.
    format : {"lines", "csv", "tsv", "parquet"}, optional
        Guessed from the suffix and the first line by default.

    Returns
    -------
    scores : ndarray of float64, shape (m,)
        In the order of the file.
    ids : ndarray of str, shape (m,), or None
        The names of the items, if the table has a column of them.

    Examples
    --------
    >>> import io
    >>> read_scores(io.StringIO("0.5\n-1\n"))[0]
    array([ 0.5, -1. ])
    """
    with readable(path) as source:
        name = source_name(source)
        if format == "lines" or (format is None and holds_scores(source) == "lines"):
            rewind(source)
            values = []
            lines = itertools.chain.from_iterable(block.text.split(b"\n")[:-1] for block in read_blocks(source))
            for number, line in enumerate(map(bytes.strip, lines), start=1):
                value = read_decimal(line) if line else 0.0
                if value is None or not math.isfinite(value):
                    raise FileFormatError(f"expected one score, a finite number; got {shown(line)}", name, number)
                values += [value] if line else []
            return np.array(values), None
        table = open_table(source, file_format(source, format))
        plain = [plain_name(column) for column in table.names]
        found = [column for column, word in enumerate(plain) if word in SCORES]
        if len(found) != 1:
            raise table.error(f"expected one column of scores, called score or prediction; {table.known_names()}")
        ids = [column for column, word in enumerate(plain) if word in NAMES["id"]][:1]
        table.choose([*found, *ids], found)
        blocks = [(block.numbers(found)[:, 0], block.words(ids[0]) if ids else None) for block in table.blocks()]
        if not blocks:
            raise table.error("the file has no rows, only the names of columns")
        scores, names = zip(*blocks, strict=True)
        return np.concatenate(scores), np.concatenate(names) if ids else None


def holds_scores(source: Source) -> str:
    """Return how a file looks that has scores: "lines" or "table"; an empty string for any other."""
    kind = None
    with contextlib.suppress(InvalidInputError):
        kind = file_format(source)
    if kind in ("csv", "tsv", "parquet"):
        return "table" if {plain_name(name) for name in open_table(source, kind).names} & set(SCORES) else ""
    words = next((line.split() for line in first_bytes(source).splitlines() if line.strip()), [])
    return "lines" if len(words) == 1 and read_decimal(words[0]) is not None else ""


def open_table(source: Source, kind: FileFormat) -> Table:
    """Open a file with named columns."""
    if kind == "xlsx":
        raise FileFormatError("an Excel file: read it with kernelrank.data.read_table", source_name(source))
    return ParquetTable(source) if kind == "parquet" else DelimitedTable(source, kind)


def _table_items(table: Table, request: ColumnRequest) -> Items:
    reader = TableReader.opened(table, request)
    width = len(reader.roles.features)
    values = ArrayBuilder(np.float64)
    pieces = []
    blocks = track(reader.read(), None, f"reading {os.path.basename(table.path)}", size=len, noun="rows")
    with contextlib.closing(blocks):
        for rows in blocks:
            values.append(rows.X.ravel(), table.share_read)
            pieces.append(dataclasses.replace(rows, X=np.empty((0, width))))
    return reader.items(pieces[0].joined(pieces[1:], X=values.finished().reshape(-1, width)))


def _table_chunks(table: Table, request: ColumnRequest, chunk_rows: int, whole_queries: bool) -> Iterator[Items]:
    reader = TableReader.opened(table, request)
    if whole_queries and reader.roles.query is None:
        raise table.error("whole_queries=True needs a query column: name it with query=")
    for _ in reader.read():
        pass
    seen: set[object] = set()
    for rows in cut(reader.read(), chunk_rows, whole_queries):
        items = reader.items(rows)
        row = scattered_row(items.qid, seen) if whole_queries and items.qid is not None else None
        if row is not None and items.qid is not None:
            message = scattered_message(items.qid.tolist()[row])
            raise table.error(message, int(rows.positions[row]), reader.roles.query)
        yield items


def _refuse_names(request: ColumnRequest, path: str) -> None:
    if request.pos_label is not None:
        message = f"the positive class is given as {request.pos_label!r}, but the targets of SVMlight files are numbers"
        raise InvalidInputError(f"{path}: {message}: the larger one is positive")
    for name in (*NAMES, "features", "exclude"):
        if getattr(request, name):
            message = f"{name} is {getattr(request, name)!r}, but the columns of SVMlight files have no names"
            raise InvalidInputError(f"{path}: {message}")


def _ranking_items(source: Source, n_features: int | None) -> Items:
    """Read the items of a ranking file; see `read_ranking` for time and memory."""
    layout = Layout(source_name(source), n_features, "auto", np.float64, "auto")
    return _items_of(*read_with_lines(source, layout), source, layout)


def _ranking_item_chunks(
    source: Source, n_features: int | None, chunk_rows: int, whole_queries: bool
) -> Iterator[Items]:
    """Read the items of a ranking file in chunks; see `read_ranking_chunks` for time and memory."""
    layout = Layout(source_name(source), n_features, "auto", np.float64, "auto")
    for ranking, lines in chunks_with_lines(source, layout, chunk_rows, whole_queries, False):
        if ranking.qid is None and isinstance(source, (str, os.PathLike)):
            refuse_side_queries(source)
        yield _items_of(ranking, lines, source, layout)


def _items_of(ranking: Ranking, lines: NDArray[np.int64], source: Source, layout: Layout) -> Items:
    ids, notes = _find_ids(ranking, lines, source)
    name, first = source_name(source), layout.first_index
    return Items(ranking.X, ranking.y, ranking.qid, ids, None, None, None, name, notes, first_index=first)


def _find_ids(
    ranking: Ranking, lines: NDArray[np.int64], source: Source
) -> tuple[NDArray[np.object_] | None, tuple[str, ...]]:
    """Return the ids, if the comments hold one for each row; comments that say ``docid =`` must."""
    named = ranking.docid != ""
    if not named.any():
        return None, ()
    if not named.all():
        line = int(lines[np.argmin(named)])
        return None, (f"the ids were left out: line {line} has none",)
    pair = repeated(ranking.docid, ranking.qid)
    if pair is None:
        return ranking.docid, ()
    first, second = (int(lines[row]) for row in pair)
    docid = shown(ranking.docid[pair[1]])
    if not re.search(rb"#[\0- ]*docid[\0- ]*=", _line(source, second)):
        return None, (f"the ids were left out: the comments of lines {first} and {second} both begin with {docid}",)
    query = "" if ranking.qid is None else f" in query {shown(ranking.qid[pair[1]])}"
    message = f"the docid {docid} occurs twice{query}, first in line {first}: expected one item for each docid"
    raise FileFormatError(message, source_name(source), second)


def _line(source: Source, number: int) -> bytes:
    """Read a line again."""
    rewind(source)
    for block in read_blocks(source):
        if number < block.first_line + block.text.count(b"\n"):
            return block.line(number)
    return b""


# Stored ---------------------------------------------------------------------------------------------------------------
#
# Stored rankings: files and folders that are read in batches, whatever their format and size.


class StoredRanking(ABC):
    """A ranking on disk that can be read any number of times."""

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
        # 32 MiB are many blocks of a Gram matrix, and little memory.
        return min(self.most_rows, max(1_000, 2**25 // (8 * max(1, self.n_features))))


class StoredTable(StoredRanking):
    """A file with named columns: Parquet, CSV or TSV. Text is read through once, for its size and its labels."""

    transform: Callable[[Any], Any] | None = None
    """What is done to the features of a chunk."""
    fills: NDArray[np.float64] | None = None
    """What a missing number of each column becomes, if it may be missing; NaN where that is not known."""

    def __init__(
        self,
        table: Table,
        request: ColumnRequest,
        dtype: np.dtype[Any] | None = None,
        impute: str | NDArray[np.float64] | None = None,
    ) -> None:
        reader = TableReader.opened(table, request)
        roles = reader.roles
        reader.dtype = dtype or table.precision(roles.features)
        reader.in_words = False  # scores are numbers: a word is an error that names its row
        self.path, self.has_queries = table.path, roles.query is not None
        self.notes = (*table.notes, *roles.notes)
        self.names, self.n_features = [table.names[column] for column in roles.features], len(roles.features)
        n_items = table.n_rows
        self.reader = reader
        reader.may_lack = impute is not None
        if isinstance(impute, str):
            n_items = self._learn_fills(impute)
        elif n_items is None or (roles.query is not None and table.varying_labels(roles.query)):
            with contextlib.closing(self._looking(n_items)) as blocks:
                n_items = sum(len(rows) for rows in blocks)
        self.n_items = n_items
        self.fills = impute if isinstance(impute, np.ndarray) else self.fills

    def _looking(self, n_items: int | None) -> Generator[ItemRows]:
        name = os.path.basename(self.path)
        return track(self.reader.read(), n_items, f"looking through {name}", size=len, noun="rows")

    def _learn_fills(self, rule: str) -> int:
        """Learn the median or the mean of the columns in one reading, and return the number of rows.

        A median takes a further reading of the columns that lack a value, 2²⁵ values at a time. Those that lack none
        have no median.
        """
        reader, features = self.reader, self.reader.roles.features
        n_rows = 0
        known, total = np.zeros(len(features), dtype=np.int64), np.zeros(len(features))
        with contextlib.closing(self._looking(reader.table.n_rows)) as blocks:
            for rows in blocks:
                known += np.count_nonzero(~np.isnan(rows.X), axis=0)
                total += np.nansum(rows.X, axis=0, dtype=np.float64)
                n_rows += len(rows)
        lacking = np.flatnonzero(known < n_rows)
        for column in lacking[known[lacking] == 0].tolist():
            raise reader.table.error("no row has a value: leave the column out with exclude", None, features[column])
        self.fills = total / known if rule == "mean" else np.full(len(features), math.nan)
        parts = -(-n_rows * len(lacking) >> 25) if rule == "median" else 0
        for some in np.array_split(lacking, parts) if parts else ():
            roles = Roles(None, None, None, None, None, [features[column] for column in some], ())
            reader.table.choose(roles.columns, roles.columns)
            part = dataclasses.replace(reader, roles=roles)
            self.fills[some] = np.nanmedian(np.concatenate([rows.X for rows in part.read()]), axis=0)
        reader.choose()
        told = [f"{reader.table.names[features[column]]!r} {n_rows - known[column]:,}" for column in lacking]
        self.notes += (f"missing cells became the {rule} of their column ({first_of(told)})",) if told else ()
        return n_rows

    def _filled(self, rows: ItemRows) -> NDArray[Any]:
        X, missing = rows.X, np.isnan(rows.X)
        if self.fills is not None and missing.any():
            X = np.where(missing, self.fills.astype(X.dtype), X)
            for row, column in np.argwhere(np.isnan(X)):
                message = "the value is missing: expected a number, as in all rows that were learnt"
                raise self.reader.table.error(message, int(rows.positions[row]), self.reader.roles.features[column])
        return X

    def chunks(self, *, whole_queries: bool) -> Iterator[Ranking]:
        """Read the items in their order."""
        for rows in cut(self.reader.read(), self.chunk_rows, whole_queries and self.has_queries):
            items = self.reader.items(rows)
            scores = np.full(len(items), np.nan) if items.y is None else items.y
            X = items.X if self.fills is None else self._filled(rows)
            X = X if self.transform is None else self.transform(X)
            yield Ranking(X, scores, items.qid, np.full(len(items), "", dtype=object))


class StoredText(StoredRanking):
    """An SVMlight or LETOR file. It is read through once for its size and its layout.

    n_features: How many features there must be; the largest index decides unless given.
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
        # BLAS multiplies dense chunks, which pays from a tenth of the entries on.
        layout.sparse = n_values < 0.1 * self.n_items * self.n_features
        self.layout = layout

    def chunks(self, *, whole_queries: bool) -> Iterator[Ranking]:
        """Read the items in their order."""
        chunks = read_again(self.path, self.layout, self.chunk_rows, whole_queries and self.has_queries)
        return (chunk for chunk, _ in chunks)


def open_stored(
    path: str | os.PathLike[str],
    *,
    target: Any = None,
    query: Any = None,
    features: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    n_features: int | None = None,
    needs_target: bool = True,
    impute: str | NDArray[np.float64] | None = None,
) -> StoredRanking:
    r"""Open a file of any format, determined by `file_format`; a folder contains Parquet files.

    O(1) for Parquet, unless queries are floats; a text file is read through, O(bytes). Memory a block.

    n_features: How many features there must be.
    needs_target: Whether a table needs a column of scores. Without one all scores are NaN.
    impute: "median" or "mean" of the column, which a missing number becomes, or the numbers; else it is an error.
    """
    name = os.fspath(path)
    if not os.path.exists(name):
        raise FileFormatError("there is no such file or folder", name)
    kind = file_format(name)
    if kind == "svmlight":
        for argument, value in (("y", target), ("qid", query)):
            if value is not None:
                raise InvalidInputError(
                    f"{argument} was given, but {name} holds the scores and queries of its rows itself"
                )
        if features is not None or exclude or isinstance(impute, str):
            raise InvalidInputError(f"{name}: features, exclude and impute are for files with named columns")
        return StoredText(name, n_features)
    table = open_table(name, kind)
    if needs_target or target is not None:
        _require_name(table, "y", "scores", target)
    if query is not None:
        _require_name(table, "qid", "queries", query)
    request = ColumnRequest.exactly(
        target or "", query or "", features=features, exclude=exclude, n_features=n_features
    )
    return StoredTable(table, dataclasses.replace(request, needs_target=needs_target), impute=impute)


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
