"""Ranking files: SVMlight and LETOR, read at once or in chunks.

A `Layout` collects what depends on the whole file, and makes the matrix from it.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse
from scipy.sparse import csr_array

from kernelrank.base.arrays import Float, available_bytes, blocks, in_gigabytes
from kernelrank.base.labels import Queries
from kernelrank.data.items import ArrayBuilder, Items, check_chunk_rows, cut, scattered_message, scattered_row
from kernelrank.data.letor_rows import LARGEST_INDEX, LetorRows, read_rows
from kernelrank.data.text import (
    DECOMPRESSORS,
    Source,
    labels_as_strings,
    shown,
    source_name,
)
from kernelrank.errors import FileFormatError, InvalidInputError


@dataclass
class Layout:
    """The layout of the matrix of a file; `add` all of its rows first."""

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

    def add(self, rows: LetorRows) -> None:
        """Add some rows to the layout, and raise the errors that are already certain. Time O(size)."""
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
        """Raise an error for a dense matrix that does not fit into memory, before it is allocated."""
        needed, available = n_rows * self.n_columns * np.dtype(self.dtype).itemsize, available_bytes()
        if available is not None and needed > available:
            raise FileFormatError(
                f"feature {self.largest_index} makes a matrix of {n_rows:,} rows and {self.n_columns:,} "
                f"columns, which needs {in_gigabytes(needed)} of memory if it is dense; "
                f"{in_gigabytes(available)} are available. Read it with sparse=True",
                self.path,
                self.line_of_largest,
            )

    def refuse_empty(self) -> None:
        """Raise an error if no row was added."""
        if self.n_rows == 0:
            raise FileFormatError("the file has no rows", self.path)

    def converted(self, rows: LetorRows) -> NDArray[Any]:
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
        shape = len(counts), self.n_columns
        indices -= np.int32(self.first_index)
        bounds = np.concatenate([[0], np.cumsum(counts)])
        if self.is_sparse:
            index_type = np.int32 if len(values) <= LARGEST_INDEX else np.int64
            X = csr_array((values, indices.astype(index_type, copy=False), bounds.astype(index_type)), shape=shape)
            X.has_canonical_format = True  # the indices of each row increase, and SciPy need not look
            return X
        self._refuse_too_wide(len(counts))
        if len(values) == math.prod(shape):  # no row leaves a column out
            return values.reshape(shape)
        dense = np.zeros(shape, dtype=values.dtype)
        for rows in blocks(shape[0], 16 * shape[1]):  # unlike SciPy's sums into zeros this keeps the sign of -0.0
            cells = slice(bounds[rows.start], bounds[rows.stop])
            dense[np.repeat(np.arange(rows.start, rows.stop), counts[rows]), indices[cells]] = values[cells]
        return dense


class Ranking(NamedTuple):
    """Items with scores and queries.

    Parameters
    ----------
    X : csr_array or ndarray, shape (m, n_features)
        The features of the items.
    y : ndarray of float64, shape (m,)
        Their scores.
    qid : ndarray of int64 or str, shape (m,), or None
        Their queries: integers if all labels are (as Python writes them, so that "007" is a string). None for
        a file without queries.
    docid : ndarray of str, shape (m,)
        Their names; empty where the file has none.
    """

    X: Any
    y: NDArray[np.float64]
    qid: NDArray[Any] | None
    docid: NDArray[np.object_]


def read_ranking(
    source: Source,
    *,
    n_features: int | None = None,
    dtype: DTypeLike = np.float64,
    zero_based: bool | Literal["auto"] = "auto",
    sparse: bool | Literal["auto"] = True,
    allow_nonfinite: bool = False,
) -> Ranking:
    r"""Read a ranking file in the SVMlight or LETOR format.

    A line is ``target qid:label index:value ... # docid = name``; blank lines and comments are skipped. The
    name is the word after ``docid =``, or else the first word of the comment.

    Time O(bytes). Memory: 9/8 of the features that the file names (12 bytes each) and a block of one
    mebibyte; `sparse=False` needs the dense result besides.

    Parameters
    ----------
    source : path or file object
        Decompressed if its suffix is ``.gz``, ``.xz``, ``.lzma`` or ``.bz2``. Text is UTF-8.
    n_features : int, optional
        The number of columns; by default the largest index in the file.
    dtype : dtype-like, default=float64
        The type of X: float64 or float32.
    zero_based : bool or "auto", default="auto"
        Whether the first feature is 0 or 1. "auto": 0 if an index 0 occurs anywhere in the file.
    sparse : bool or "auto", default=True
        Whether X is a `scipy.sparse.csr_array` or a NumPy array. "auto": an array where it takes no more memory.
    allow_nonfinite : bool, default=False
        Whether targets and values may be NaN or infinite.

    Returns
    -------
    Ranking
        ``X, y, qid, docid``.

    Raises
    ------
    FileFormatError
        At the first line that cannot be read; the message names the file and the line.

    See Also
    --------
    read_ranking_chunks : the same file in bounded memory.
    write_ranking : write such a file.

    Examples
    --------
    >>> import io
    >>> file = io.StringIO("2 qid:10 1:0.5 3:1 # docid = GX08\n0 qid:10 2:4 # docid = GX09\n")
    >>> X, y, qid, docid = read_ranking(file, sparse=False)
    >>> X
    array([[0.5, 0. , 1. ],
           [0. , 4. , 0. ]])
    >>> y, qid, docid
    (array([2., 0.]), array([10, 10]), array(['GX08', 'GX09'], dtype=object))
    """
    layout = Layout(source_name(source), n_features, zero_based, dtype, sparse)
    return read_with_lines(source, layout, allow_nonfinite=allow_nonfinite)[0]


def read_with_lines(
    source: Source, layout: Layout, *, allow_nonfinite: bool = False
) -> tuple[Ranking, NDArray[np.int64]]:
    """Read a ranking file, and the line of each row; see `read_ranking`."""
    values, indices = ArrayBuilder(layout.dtype), ArrayBuilder(np.int32)
    pieces = []
    for rows in read_rows(source, allow_nonfinite=allow_nonfinite):
        layout.add(rows)
        values.append(layout.converted(rows))
        indices.append(rows.indices)
        pieces.append(replace(rows, indices=rows.indices[:0].copy(), values=rows.values[:0].copy()))
    layout.refuse_empty()
    rows = pieces[0].joined(pieces[1:])
    X = layout.matrix(values.finished(), indices.finished(), rows.counts)
    return Ranking(X, rows.targets, rows.qids, rows.docids), rows.lines


def read_ranking_chunks(
    source: Source,
    *,
    chunk_rows: int = 10_000,
    whole_queries: bool = False,
    n_features: int | None = None,
    dtype: DTypeLike = np.float64,
    zero_based: bool | Literal["auto"] = "auto",
    sparse: bool | Literal["auto"] = True,
    allow_nonfinite: bool = False,
) -> Iterator[Ranking]:
    r"""Read a ranking file in chunks, for files larger than memory.

    The file is read twice: first for its number of features, its first index and the type of its labels, so
    that all chunks are alike and joined they are what `read_ranking` returns. Time O(bytes), memory O(chunk).

    Parameters
    ----------
    source : path or file object
        A file object must be seekable.
    chunk_rows : int, default=10_000
        How many rows a chunk has; the last one may have fewer.
    whole_queries : bool, default=False
        Whether a chunk holds whole queries only: it ends with the last query that fits into `chunk_rows`, and
        a query that does not fit is a chunk of its own. The rows of each query must be contiguous.
    n_features, dtype, zero_based, sparse, allow_nonfinite
        See `read_ranking`.

    Yields
    ------
    Ranking
        The rows in the order of the file.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO(b"2 qid:a 1:1\n1 qid:a 2:1\n0 qid:b 1:1\n")
    >>> [chunk.y.tolist() for chunk in read_ranking_chunks(file, chunk_rows=2)]
    [[2.0, 1.0], [0.0]]
    """
    check_chunk_rows(chunk_rows)
    layout = Layout(source_name(source), n_features, zero_based, dtype, sparse)
    chunks = chunks_with_lines(source, layout, chunk_rows, whole_queries, allow_nonfinite)
    return (chunk for chunk, _ in chunks)


def chunks_with_lines(
    source: Source, layout: Layout, chunk_rows: int, whole_queries: bool, allow_nonfinite: bool
) -> Iterator[tuple[Ranking, NDArray[np.int64]]]:
    """Read a ranking file in chunks, and the line of each row; see `read_ranking_chunks`."""
    rewind = _bookmark(source)
    for rows in read_rows(source, allow_nonfinite=allow_nonfinite):
        layout.add(rows)
        layout.converted(rows)
        if whole_queries and rows.qids is None:
            raise FileFormatError("whole_queries=True, but the row has no qid", layout.path, int(rows.lines[0]))
    layout.refuse_empty()
    rewind()
    yield from read_again(source, layout, chunk_rows, whole_queries, allow_nonfinite, once=whole_queries)


def read_again(
    source: Source,
    layout: Layout,
    chunk_rows: int,
    whole_queries: bool,
    allow_nonfinite: bool = False,
    *,
    once: bool = False,
) -> Iterator[tuple[Ranking, NDArray[np.int64]]]:
    """Read the chunks, and the line of each row; with `once`, a query that occurs again is an error."""
    seen: set[Any] = set()
    for rows in cut(read_rows(source, allow_nonfinite=allow_nonfinite), chunk_rows, whole_queries):
        qids = rows.qids
        if qids is not None and not layout.integer_qids:
            qids = labels_as_strings(qids)
        row = scattered_row(qids, seen) if once and qids is not None else None
        if row is not None:
            raise FileFormatError(scattered_message(qids.tolist()[row]), layout.path, int(rows.lines[row]))
        X = layout.matrix(layout.converted(rows), rows.indices, rows.counts)
        yield Ranking(X, rows.targets, qids, rows.docids), rows.lines


def _bookmark(source: Source) -> Callable[[], object]:
    """Return a function that seeks an open file back to its current position; a path is opened again."""
    if isinstance(source, (str, os.PathLike)):
        return lambda: None
    if not (hasattr(source, "seekable") and source.seekable()):
        raise InvalidInputError(
            "reading in chunks needs a file that can be read twice; use read_ranking, which reads once"
        )
    place = source.tell()
    return lambda: source.seek(place)


# Side files -----------------------------------------------------------------------------------------------------------
#
# Side files of LightGBM and XGBoost: queries and weights in files next to a file of items.
#
# Beside ``train.txt`` they are called ``train.txt.query`` or ``train.txt.group`` (the sizes of consecutive queries, one
# a line) and ``train.txt.weight`` (one number a line, for each item or for each query); ``train.query`` and the like
# are found, too. They are read where the file of items has no queries, or no weights, of its own.

ENDINGS = {"queries": (".query", ".group"), "weights": (".weight",)}


def with_side_files(items: Items, path: str | os.PathLike[str]) -> Items:
    r"""Add the queries and the weights of side files, if there are any.

    Time O(lines).
    """
    for what, known in (("queries", items.qid), ("weights", items.weight)):
        file = _found(Path(path), what)
        if file is None:
            continue
        note = f"the {what} are in {file.name}"
        if known is not None:
            note = f"{file.name} was ignored, because the data file has {what} itself"
        elif what == "queries":
            items = replace(items, qid=_queries(file, len(items)))
        else:
            items = replace(items, weight=_weights(file, items))
        items = replace(items, notes=(*items.notes, note))
    return items


def refuse_side_queries(path: str | os.PathLike[str]) -> None:
    """Raise an error for a file that is read in batches if its queries are in a side file."""
    side = _found(Path(path), "queries")
    if side is not None:
        name = os.fspath(path)
        raise InvalidInputError(
            f"{name}: Expected queries in the file itself, which is read in batches; they are in {side.name}. "
            f"Join the two: kernelrank convert {name} {Path(path).stem}.parquet."
        )


def _found(path: Path, what: str) -> Path | None:
    """Return the side file of a file, with the whole name of that or without its suffix."""
    plain = path.with_suffix("") if path.suffix in DECOMPRESSORS else path
    places = (path, plain, plain.with_suffix(""))
    sides = (place.with_name(place.name + ending) for place in places for ending in ENDINGS[what])
    return next((side for side in sides if side != path and side.is_file()), None)


def _numbers(file: Path, what: str) -> list[float]:
    """Read one finite number that is not negative from each line; blank lines are skipped."""
    found = []
    for number, line in enumerate(file.read_bytes().splitlines(), start=1):
        word = line.strip()
        if not word:
            continue
        try:
            value = float(word)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and value >= 0):
            raise FileFormatError(f"expected {what}, got {shown(word)}", str(file), number)
        found.append(value)
    return found


def _queries(file: Path, n_items: int) -> NDArray[np.int64]:
    sizes = np.array(_numbers(file, "the size of a query"))
    if np.any(sizes != np.rint(sizes)):
        raise FileFormatError("expected whole numbers, the sizes of queries", str(file))
    if sizes.sum() != n_items:
        raise FileFormatError(
            f"expected sizes of queries that add up to the {n_items:,} items; they add up to {sizes.sum():,.0f}",
            str(file),
        )
    return np.repeat(np.arange(1, len(sizes) + 1), sizes.astype(np.int64))


def _weights(file: Path, items: Items) -> NDArray[np.float64]:
    weights = np.array(_numbers(file, "a weight"))
    if len(weights) == len(items):
        return weights
    if items.qid is not None:
        _, first, numbers = np.unique(items.qid, return_index=True, return_inverse=True)
        # XGBoost has one weight for each query, in the order of the file.
        if len(weights) == len(first):
            return np.asarray(weights[np.argsort(np.argsort(first))[numbers]])
    queries = "" if items.qid is None else f", or each of the {len(np.unique(items.qid)):,} queries"
    raise FileFormatError(
        f"expected a weight for each of the {len(items):,} items{queries}; it has {len(weights):,}", str(file)
    )


# Fold folder ----------------------------------------------------------------------------------------------------------
#
# Folds: folders with training, validation and test files, as in LETOR.

PARTS = {
    "train": ("train", "trainingset"),
    "vali": ("vali", "validationset", "valid"),
    "test": ("test", "testset"),
}


class Fold(NamedTuple):
    """The files of one fold.

    Parameters
    ----------
    name : str
        What its folder is called.
    train, vali, test : Path
        The files to train with, to choose parameters by and to test with.
    """

    name: str
    train: Path
    vali: Path
    test: Path


def letor_folds(folder: str | os.PathLike[str]) -> tuple[Fold, ...]:
    """Find the folds in a folder: ``Fold1/train.txt``, ``Fold1/vali.txt``, ``Fold1/test.txt``, and so on.

    The files may be compressed (``train.txt.gz``). No file is opened. Time O(files).

    Parameters
    ----------
    folder : str or path-like
        The folder that holds the folds, or one fold.

    Returns
    -------
    tuple of Fold
        By number: Fold10 comes after Fold9.

    Raises
    ------
    FileFormatError
        When there is no such folder, no fold in it, or a fold without one of its files.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     (Path(folder) / "Fold1").mkdir()
    ...     for part in ("train", "vali", "test"):
    ...         (Path(folder) / "Fold1" / f"{part}.txt").touch()
    ...     [(fold.name, fold.train.name) for fold in letor_folds(folder)]
    [('Fold1', 'train.txt')]
    """
    root = Path(folder)
    if not root.is_dir():
        raise FileFormatError("there is no such folder", str(root))
    if find_part(root, "train") is not None:
        return (_fold(root),)
    folds = [child for child in root.iterdir() if child.is_dir() and re.fullmatch(r"(?i)fold[ _-]?\d+", child.name)]
    if not folds:
        message = "no fold is here: expected folders Fold1, Fold2, ... with train.txt, vali.txt and test.txt"
        raise FileFormatError(message, str(root))
    return tuple(_fold(child) for child in sorted(folds, key=fold_order))


def fold_order(folder: Path) -> tuple[int, str]:
    """Return what folds are sorted by: their numbers, then their names."""
    return int("0" + "".join(letter for letter in folder.name if letter in "0123456789")), folder.name


def _fold(folder: Path) -> Fold:
    files = {part: find_part(folder, part) for part in PARTS}
    for part, file in files.items():
        if file is None:
            raise FileFormatError(f"the fold has no {part}.txt: expected train.txt, vali.txt and test.txt", str(folder))
    return Fold(folder.name, **files)  # type: ignore[arg-type]


def find_part(folder: Path, part: str) -> Path | None:
    """Return the file of a fold, "train", "vali" or "test", by any name, compressed or not; None without one."""
    candidates = (folder / f"{name}.txt{suffix}" for name in PARTS[part] for suffix in ("", *DECOMPRESSORS))
    return next((file for file in candidates if file.is_file()), None)


# Query scaling --------------------------------------------------------------------------------------------------------
#
# Columns scaled inside each query, as LETOR's baselines are.


def scale_within_queries(X: Any, qid: Any) -> Float:
    """Scale the columns of every query to 0 to 1; a column that is constant inside a query becomes 0 there.

    O(m n) time; the result is dense, for a zero need not stay one.

    Shapes: X (m, n_features), qid (m,); returns (m, n_features).
    """
    dense = np.array(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
    for members in Queries.from_labels(qid, len(dense)):
        part = dense[members]
        low, high = part.min(axis=0), part.max(axis=0)
        dense[members] = (part - low) / np.where(high > low, high - low, 1.0)
    return dense


def scale_items_by_query(items: Items) -> Items:
    """Return the items of a file with their columns scaled inside each query."""
    if items.qid is None:
        raise FileFormatError("Expected queries; the file has none. Name the query column.", items.path)
    return replace(items, X=scale_within_queries(items.X, items.qid))
