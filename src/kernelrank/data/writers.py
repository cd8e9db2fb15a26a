"""The writer of items: every format that can be read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from scipy.sparse import issparse

from kernelrank.data.columns import NAMES, plain_name
from kernelrank.data.delimited_writer import write_delimited
from kernelrank.data.file_format import FileFormat, compression_suffix, file_format
from kernelrank.data.items import Items
from kernelrank.data.parquet_writer import write_parquet
from kernelrank.data.ranking_writer import write_ranking
from kernelrank.errors import InvalidInputError

__all__ = ["write_items", "written_format"]

PLAIN_TEXT = (".txt", ".dat")

MOST_COLUMNS = 2**20
MOST_CELLS = 2**33
"""How large a table is made of sparse items, which may have few values and any number of columns."""


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
    """Return the format that `write_items` writes: the one that is requested, or that of the suffix.

    Examples
    --------
    >>> written_format("train.csv.gz"), written_format("train.txt")
    ('csv', 'svmlight')
    """
    name = Path(path)
    suffix = (name.with_suffix("") if compression_suffix(path) else name).suffix.lower()
    if format is None and suffix in PLAIN_TEXT:
        return "svmlight"
    return file_format(path, format, sniff=False)


def _refuse_too_wide(items: Items, kind: FileFormat) -> None:
    """Raise an error for a sparse matrix whose zeros would fill the disk."""
    m, n = items.X.shape
    if issparse(items.X) and (n > MOST_COLUMNS or m * n > MOST_CELLS):
        raise InvalidInputError(
            f"{items.path}: as {kind} the sparse items would become a dense table of {m:,} rows and {n:,} columns; "
            f"the limit is {MOST_COLUMNS:,} columns and {MOST_CELLS:,} cells. Write them as svmlight, which stores no "
            "zeros"
        )


def _item_columns(items: Items) -> dict[str, NDArray[Any]]:
    named = {
        "target": items.y,
        "qid": items.qid,
        "id": items.ids,
        "sample_weight": items.weight,
        "group": items.groups,
    }
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
