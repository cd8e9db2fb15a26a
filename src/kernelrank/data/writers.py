"""The writer of items: every format that can be read."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from kernelrank.base.arrays import canonical
from kernelrank.base.labels import Queries
from kernelrank.data.items import Items
from kernelrank.data.table import NAMES, plain_name
from kernelrank.data.text import FileFormat, as_strings, compression_suffix, file_format, label_array, opened_output
from kernelrank.data.trec import Run, write_run
from kernelrank.errors import InvalidInputError, MissingExtraError


def write_items(items: Items, path: str | os.PathLike[str], *, format: str | None = None) -> tuple[str, ...]:
    """Write items to a file that `read_items` reads back exactly.

    Tables get the columns ``target``, ``qid``, ``id``, ``sample_weight`` and ``group``, where the items have them, and
    then the features; features without a name are called f1, f2 and so on. The write is atomic.

    Parameters
    ----------
    items : Items
    path : str or path-like
        ``-`` is standard output; compressed if its suffix is ``.gz``, ``.xz``, ``.bz2`` or ``.zst``.
    format : {"svmlight", "letor", "csv", "tsv", "parquet"}, optional
        Guessed from the suffix by default; ``.txt`` and ``.dat`` are SVMlight.

    Returns
    -------
    tuple of str
        Notes: what was left out because the format cannot hold it, and which columns to name when reading the file.

    Notes
    -----
    Time O(size), for tables O(m n_features) even where X is sparse; memory one block of rows beyond the items.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> items = Items(np.array([[36.0]]), np.array([1.0]), np.array([7]), None, None, None, ("age",), "", ())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.csv"
    ...     _ = write_items(items, path)
    ...     print(path.read_text(), end="")
    target,qid,age
    1,7,36
    """
    kind = written_format(path, format)
    if kind == "svmlight":
        return _write_ranking(items, path)
    if kind == "xlsx":
        raise InvalidInputError(f"{path}: Excel files cannot be written: use one of svmlight, csv, tsv, parquet")
    _refuse_too_wide(items, kind)
    names = items.column_names
    columns = _item_columns(items)
    if kind == "parquet":
        write_parquet(columns, path, matrix=items.X, matrix_names=names)
    else:
        write_delimited(columns, path, matrix=items.X, matrix_names=names, delimiter="\t" if kind == "tsv" else ",")
    return _misleading(columns, names)


def written_format(path: str | os.PathLike[str], format: str | None = None) -> FileFormat:
    """Return the format that `write_items` writes: the one that is requested, or that of the suffix."""
    name = Path(path)
    suffix = (name.with_suffix("") if compression_suffix(path) else name).suffix.lower()
    if format is None and suffix in (".txt", ".dat"):
        return "svmlight"
    return file_format(path, format, sniff=False)


def _refuse_too_wide(items: Items, kind: FileFormat) -> None:
    """Raise an error for a sparse matrix whose zeros would fill the disk."""
    m, n = items.X.shape
    most_columns, most_cells = 2**20, 2**33
    if issparse(items.X) and (n > most_columns or m * n > most_cells):
        raise InvalidInputError(
            f"{items.path}: as {kind} the sparse items would become a dense table of {m:,} rows and {n:,} columns; "
            f"the limit is {most_columns:,} columns and {most_cells:,} cells. Write them as svmlight, which stores no "
            "zeros"
        )


def _item_columns(items: Items) -> dict[str, NDArray[Any]]:
    named = {"target": items.y, "qid": items.qid, "id": items.ids}
    named |= {"sample_weight": items.weight, "group": items.groups}
    return {name: column for name, column in named.items() if column is not None}


def _write_ranking(items: Items, path: str | os.PathLike[str]) -> tuple[str, ...]:
    if items.y is None:
        raise InvalidInputError(f"{items.path} has no target, which SVMlight files need")
    write_ranking(path, items.X, items.y, qid=items.qid, docid=items.ids)
    lost = {"weights": items.weight, "groups": items.groups, "names of the features": items.feature_names}
    return tuple(
        f"the {name} were left out: SVMlight has no place for them" for name, value in lost.items() if value is not None
    )


def _misleading(columns: dict[str, NDArray[Any]], names: tuple[str, ...]) -> tuple[str, ...]:
    """List the features whose names would be taken for a target, a query or another role when the file is read."""
    told = {word: role for role, words in NAMES.items() for word in words}
    return tuple(
        f"the feature {name!r} looks like the {told[plain_name(name)]}: name the columns when you read the file"
        for name in names
        if plain_name(name) in told and not (plain_name(name) == "weight" and "qid" not in columns)
    )


# Delimited writer -----------------------------------------------------------------------------------------------------
#
# The writer of CSV and TSV files.


def write_delimited(
    columns: Mapping[str, NDArray[Any]],
    path: str | os.PathLike[str],
    *,
    matrix: Any = None,
    matrix_names: tuple[str, ...] = (),
    delimiter: str = ",",
) -> None:
    r"""Write columns of one length, and those of a matrix after them, as text with their names in the first line.

    Floats are written so that they are read back exactly, integers without their ".0". Time O(size), memory O(1) beyond
    the columns; a sparse matrix is never made dense as a whole. The write is atomic.

    Shapes: columns (m,), matrix (m, n).
    """
    special = re.compile(rf'[{re.escape(delimiter)}"\r\n]|^\s|\s$')

    def quoted(word: str) -> str:
        if "\0" in word or re.search(r"\r(?!\n)", word):
            raise InvalidInputError(f"{word!r} has a NUL or a carriage return, which text files cannot hold")
        return '"' + word.replace('"', '""') + '"' if special.search(word) else word

    def words(column: NDArray[Any]) -> list[str]:
        if column.dtype.kind == "f":
            return [_shown(value) for value in column.astype(np.float64).tolist()]
        if column.dtype.kind in "biu":
            return [str(int(value)) for value in column.tolist()]
        return [quoted(str(value)) for value in column.tolist()]

    header = delimiter.join(map(quoted, _distinct([*columns, *matrix_names], "columns"))) + "\n"
    with opened_output(path) as file:
        file.write(header.encode())
        for block in _blocks(columns, matrix, cells=1 << 20):
            file.writelines((delimiter.join(row) + "\n").encode() for row in zip(*map(words, block), strict=True))


def _blocks(columns: Mapping[str, NDArray[Any]], matrix: Any, cells: int) -> Iterator[list[Any]]:
    """Yield the columns of some rows at a time, those of the matrix last."""
    lengths = {name: len(column) for name, column in columns.items()}
    if matrix is not None:
        lengths["the matrix"] = matrix.shape[0]
    if len(set(lengths.values())) != 1:
        raise InvalidInputError(f"columns of different lengths: {lengths}")
    step = max(1, cells // (len(columns) + (0 if matrix is None else matrix.shape[1])))
    for start in range(0, next(iter(lengths.values())), step):
        parts: list[Any] = [column[start : start + step] for column in columns.values()]
        if matrix is not None:
            rows = matrix[start : start + step]
            parts += list(np.ascontiguousarray((rows.toarray() if issparse(rows) else rows).T))
        yield parts


def _distinct(names: list[str], what: str) -> list[str]:
    if len(set(names)) < len(names):
        twice = next(name for number, name in enumerate(names) if name in names[:number])
        raise InvalidInputError(f"two {what} are called {twice!r}")
    return names


# Parquet writer -------------------------------------------------------------------------------------------------------
#
# The writer of Parquet files.


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

    Shapes: columns (m,), matrix (m, n).
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "data") from None
    if compression_suffix(path):
        raise InvalidInputError(f"{path}: Parquet files are compressed inside; leave {compression_suffix(path)} out")
    names = _distinct([*columns, *matrix_names], "columns")
    types = [
        pyarrow.string() if column.dtype == object else pyarrow.from_numpy_dtype(column.dtype)
        for column in columns.values()
    ]
    types += [pyarrow.from_numpy_dtype(matrix.dtype) for _ in matrix_names]
    schema = pyarrow.schema(list(zip(names, types, strict=True)))
    with (
        opened_output(path) as file,
        pyarrow.parquet.ParquetWriter(file, schema, write_page_checksum=True) as writer,
    ):
        for block in _blocks(columns, matrix, cells=1 << 23):
            arrays = [pyarrow.array(part, type=kind) for part, kind in zip(block, types, strict=True)]
            writer.write_table(pyarrow.table(arrays, schema=schema))


# Ranking writer -------------------------------------------------------------------------------------------------------
#
# The writer of ranking files.


def write_ranking(
    path: str | os.PathLike[str],
    X: Any,
    y: Any,
    *,
    qid: Any = None,
    docid: Any = None,
    allow_nonfinite: bool = False,
) -> None:
    """Write a ranking file that `read_ranking` reads back exactly.

    A dense X is written whole, zeros included; of a sparse X what is stored, so that columns at the end may
    need `n_features` when it is read. Features are counted from one. The write is atomic.
    Time O(size), memory O(row) beyond X.

    Parameters
    ----------
    path : str or path-like
        ``-`` is standard output; compressed if its suffix is ``.gz``, ``.xz``, ``.lzma``, ``.bz2`` or ``.zst``.
    X : array-like, data frame or sparse, shape (m, n_features)
    y : array-like, shape (m,)
    qid : sequence, optional
        Query labels whose ``str`` has no white space and no ``#``, and differs where the labels do. Strings
        that are integers are read back as integers.
    docid : sequence of str, optional
        Names without white space; an empty one is not written.
    allow_nonfinite : bool, default=False
        Whether X and y may hold NaN and infinities; reading them must be allowed as well.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "train.txt"
    ...     write_ranking(path, [[0.5, 0.1]], [2], qid=["q7"], docid=["GX08"])
    ...     print(path.read_text(), end="")
    2 qid:q7 1:0.5 2:0.1 # docid = GX08
    """
    rows = _as_rows(X)
    m = rows.shape[0]
    targets = _checked_numbers(np.asarray(y), "y").astype(np.float64)
    if targets.shape != (m,):
        raise InvalidInputError(f"y has shape {targets.shape}, but X has {m} rows")
    if m == 0:
        raise InvalidInputError("X has no rows")
    if not allow_nonfinite:
        _refuse_nonfinite(rows.data if issparse(rows) else rows, "X")
        _refuse_nonfinite(targets, "y")
    labels = _label_words(qid, m)
    names = _name_words(docid, m)
    with opened_output(path) as stream:
        for target, label, cells, name in zip(targets.tolist(), labels, _cells(rows), names, strict=True):
            words = [_shown(target), label, *(f"{i}:{_shown(v)}" for i, v in cells), name]
            stream.write((" ".join(filter(None, words)) + "\n").encode())


def _as_rows(X: Any) -> Any:
    """Return X as a csr_array with increasing indices, or as a dense array."""
    if issparse(X):
        rows = csr_array(X)
        _checked_numbers(rows.data, "X")
        return canonical(rows)
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    values = np.asarray(frame.to_numpy() if isinstance(frame, nw.DataFrame) else X)
    if values.ndim != 2:
        raise InvalidInputError(f"X must have two dimensions, got shape {values.shape}")
    return _checked_numbers(values, "X")


def _checked_numbers(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Raise an error for what float64 cannot hold."""
    if values.dtype.kind not in "biuf" or values.dtype.itemsize > 8:
        raise InvalidInputError(f"{name} must hold numbers of up to 64 bits, got {values.dtype}")
    if values.dtype.kind in "iu" and np.any((values > 2**53) | (values < -(2**53))):
        raise InvalidInputError(f"{name} has integers beyond 2**53, which float64 cannot represent")
    return values


def _refuse_nonfinite(values: NDArray[Any], name: str) -> None:
    if not np.all(np.isfinite(values)):
        raise InvalidInputError(f"{name} has NaN or infinity: set allow_nonfinite=True to write them")


def _cells(rows: Any) -> Iterator[Iterator[tuple[int, float]]]:
    """Yield the features of each row, counted from one."""
    if issparse(rows):
        for start, stop in itertools.pairwise(rows.indptr.tolist()):
            values = rows.data[start:stop].astype(np.float64).tolist()
            yield zip((rows.indices[start:stop] + 1).tolist(), values, strict=True)
    else:
        for row in rows:
            yield zip(range(1, len(row) + 1), row.astype(np.float64).tolist(), strict=True)


def _label_words(qid: Any, m: int) -> Iterator[str]:
    if qid is None:
        return itertools.repeat("", m)
    queries = Queries.from_labels(qid, m)
    words = [str(label) for label in queries.labels]
    for word in words:
        if not word or re.search(r"[\x00-\x20\x7f]", word) or "#" in word:
            message = f"the query label {word!r} is empty or has white space or a #, and cannot be written"
            raise InvalidInputError(message)
    if len(set(words)) < len(words):
        twice = next(word for i, word in enumerate(words) if word in words[:i])
        message = f"two query labels, such as 1 and '1', are both written as {twice!r}: rename one of them"
        raise InvalidInputError(message)
    return (f"qid:{words[code]}" for code in queries.codes.tolist())


def _name_words(docid: Any, m: int) -> Iterator[str]:
    if docid is None:
        return itertools.repeat("", m)
    names = [str(name) for name in docid]
    if len(names) != m:
        raise InvalidInputError(f"docid has {len(names)} entries, but X has {m} rows")
    for name in names:
        if re.search(r"[\x00-\x20\x7f]", name):
            raise InvalidInputError(f"the docid {name!r} has white space, and cannot be written")
    return (f"# docid = {name}" if name else "" for name in names)


def _shown(value: float) -> str:
    """Write a float so that it is read back exactly, integers without their ".0"."""
    return repr(value).removesuffix(".0")


# Scores ---------------------------------------------------------------------------------------------------------------
#
# Predicted scores of items, written in one of four formats.

ScoresFormat = Literal["scores", "trec", "csv", "parquet"]


def write_scores(
    path: str | os.PathLike[str],
    scores: Any,
    *,
    format: str = "scores",
    qid: Any = None,
    ids: Any = None,
    tag: str = "kernelrank",
) -> None:
    """Write predicted scores.

    Parameters
    ----------
    path : str or path-like
        ``-`` is standard output; compressed if its suffix is ``.gz``, ``.xz``, ``.bz2`` or ``.zst``.
    scores : array-like, shape (m,)
    format : {"scores", "trec", "csv", "parquet"}, default="scores"
        One score in each line, in the order of the items; a TREC run; a table with the columns ``qid`` and ``id``
        (where they are given) and ``score``.
    qid : sequence, shape (m,), optional
        The queries. A run without them has one, called 1.
    ids : sequence, shape (m,), optional
        What the items are called. A run without them has the numbers of the rows, counted from one.
    tag : str, default="kernelrank"
        The last column of a TREC run.

    Notes
    -----
    All scores are read back exactly. Time O(m), O(m log m) for a run, which is sorted; memory O(m). The file appears
    whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "scores.csv"
    ...     write_scores(path, [0.5, 2.0], format="csv", ids=["a", "b"])
    ...     print(path.read_text(), end="")
    id,score
    a,0.5
    b,2
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1 or len(values) == 0:
        raise InvalidInputError(f"scores must have shape (m,), with m at least 1; got {values.shape}")
    if format not in get_args(ScoresFormat):
        raise InvalidInputError(f"format must be one of {', '.join(get_args(ScoresFormat))}, got {format!r}")
    if format == "scores":
        with opened_output(path) as file:
            file.writelines(f"{value!r}\n".encode() for value in values.tolist())
    elif format == "trec":
        queries = np.full(len(values), "1") if qid is None else qid
        names = as_strings(range(1, len(values) + 1)) if ids is None else ids
        write_run(Run(queries, names, values, tag), path)
    else:
        columns = _score_columns(values, qid, ids)
        if format == "csv":
            write_delimited(columns, path)
        else:
            write_parquet(columns, path)


def _score_columns(scores: NDArray[np.float64], qid: Any, ids: Any) -> dict[str, NDArray[Any]]:
    columns: dict[str, NDArray[Any]] = {}
    for name, values in (("qid", qid), ("id", ids)):
        if values is not None:
            column = label_array(values)
            if column.shape != scores.shape:
                raise InvalidInputError(f"{name} has shape {column.shape}, but there are {len(scores)} scores")
            columns[name] = column
    return columns | {"score": scores}


# Preference writer ----------------------------------------------------------------------------------------------------
#
# The writer of preference files: lines of winner and loser, with a magnitude and a weight.


def write_pairs(
    path: str | os.PathLike[str], pairs: Any, *, magnitude: Any = None, weight: Any = None, names: Any = None
) -> None:
    """Write a preference file that `read_pairs` reads back exactly.

    Time and memory O(l); the write is atomic.

    Parameters
    ----------
    path : str or path-like
        ``-`` is standard output; compressed if its suffix is ``.gz``, ``.xz``, ``.bz2`` or ``.zst``.
    pairs : array-like of int, shape (l, 2)
        Item numbers: winner, loser.
    magnitude : array-like, shape (l,), optional
        By how much. Needed if there are weights, because the weight is the last column of the file.
    weight : array-like, shape (l,), optional
        How much each pair counts.
    names : sequence of str, optional
        The names of the items; the file then has names instead of numbers. Pass the same names when you read it to get
        the same numbers.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "preferences.txt"
    ...     write_pairs(path, [[1, 0]], magnitude=[0.5], names=["coffee", "tea"])
    ...     print(path.read_text(), end="")
    tea coffee 0.5
    """
    items = np.asarray(pairs)
    if items.ndim != 2 or items.shape[1] != 2 or len(items) == 0:
        raise InvalidInputError(f"pairs must have shape (l, 2), with l at least 1; got {items.shape}")
    if items.dtype.kind not in "iu":
        raise InvalidInputError(f"pairs must hold item numbers, got {items.dtype}")
    if items.min() < 0:
        raise InvalidInputError(f"pairs[{int(np.argmax(items.min(axis=1) < 0))}] has a negative item number")
    if np.any(items[:, 0] == items[:, 1]):
        row = int(np.argmax(items[:, 0] == items[:, 1]))
        raise InvalidInputError(f"pairs[{row}]: item {int(items[row, 0])} is preferred to itself")
    if weight is not None and magnitude is None:
        raise InvalidInputError("weight needs magnitude: in a preference file the magnitude comes before the weight")
    given = {"magnitude": magnitude, "weight": weight}
    numbers = [_numbers(values, name, len(items)) for name, values in given.items() if values is not None]
    words = None if names is None else _item_words(names, int(items.max()))
    with opened_output(path) as file:
        for winner, loser, *rest in zip(*items.T.tolist(), *numbers, strict=True):
            pair = [str(winner), str(loser)] if words is None else [words[winner], words[loser]]
            file.write((" ".join([*pair, *map(_shown, rest)]) + "\n").encode())


def _numbers(values: Any, name: str, length: int) -> list[float]:
    numbers: NDArray[np.float64] = np.asarray(values, dtype=np.float64)
    if numbers.shape != (length,):
        raise InvalidInputError(f"{name} has shape {numbers.shape}, but there are {length} pairs")
    good = np.isfinite(numbers) & (numbers >= 0)
    if not good.all():
        row = int(np.argmin(good))
        raise InvalidInputError(f"{name}[{row}] is {float(numbers[row])!r}: expected a finite number, zero or more")
    return list(numbers.tolist())


def _item_words(names: Any, largest: int) -> list[str]:
    words = [str(name) for name in names]
    if largest >= len(words):
        raise InvalidInputError(f"pairs has item {largest}, but there are {len(words)} names")
    for word in words:
        if not word or re.search(r"[\x00-\x20\x7f,#]", word):
            message = f"the name {word!r} is empty or has white space, a comma or a #, and cannot be written"
            raise InvalidInputError(message)
    return _distinct(words, "items")
