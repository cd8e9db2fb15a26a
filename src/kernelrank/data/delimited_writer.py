"""The writer of CSV and TSV files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from kernelrank.data.output_stream import opened_output
from kernelrank.errors import InvalidInputError

__all__ = ["write_delimited"]

BLOCK_CELLS = 1 << 20


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

    Parameters
    ----------
    columns : mapping of str to ndarray, shape (m,)
    path : str or path-like
        See `opened_output`.
    matrix : ndarray or csr_array, shape (m, n), optional
    matrix_names : tuple of str
    delimiter : str, default=","

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.csv"
    ...     write_delimited({"name": np.array(["a, b"]), "age": np.array([36.0])}, path)
    ...     print(path.read_text(), end="")
    name,age
    "a, b",36
    """
    special = re.compile(rf'[{re.escape(delimiter)}"\r\n]|^\s|\s$')
    names = [*columns, *matrix_names]
    for name in names:
        _refuse_unreadable(name)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidInputError(f"two columns are called {twice!r}")

    def quoted(word: str) -> str:
        return '"' + word.replace('"', '""') + '"' if special.search(word) else word

    with opened_output(path) as file:
        file.write((delimiter.join(quoted(name) for name in names) + "\n").encode())
        for start, stop in _blocks(columns, matrix, len(names)):
            parts = [_words(column[start:stop], quoted) for column in columns.values()]
            if matrix is not None:
                block = matrix[start:stop].toarray() if issparse(matrix) else matrix[start:stop]
                parts += [_words(column, quoted) for column in block.T]
            file.writelines((delimiter.join(row) + "\n").encode() for row in zip(*parts, strict=True))


def _blocks(columns: Mapping[str, NDArray[Any]], matrix: Any, width: int) -> Iterator[tuple[int, int]]:
    lengths = {name: len(column) for name, column in columns.items()}
    if matrix is not None:
        lengths["the matrix"] = matrix.shape[0]
    if len(set(lengths.values())) != 1:
        raise InvalidInputError(f"columns of different lengths: {lengths}")
    m = next(iter(lengths.values()))
    step = max(1, BLOCK_CELLS // width)
    for start in range(0, m, step):
        yield start, min(start + step, m)


def _words(column: NDArray[Any], quoted: Any) -> list[str]:
    if column.dtype.kind == "f":
        return [repr(value).removesuffix(".0") for value in column.astype(np.float64).tolist()]
    if column.dtype.kind in "biu":
        return [str(int(value)) for value in column.tolist()]
    words = [str(value) for value in column.tolist()]
    for word in words:
        _refuse_unreadable(word)
    return [quoted(word) for word in words]


def _refuse_unreadable(word: str) -> None:
    if "\0" in word or re.search(r"\r(?!\n)", word):
        raise InvalidInputError(f"{word!r} has a NUL or a carriage return, which text files cannot hold")
