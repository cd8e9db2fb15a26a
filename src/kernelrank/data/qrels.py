"""Qrels: judgements in the form of TREC, ``query iteration document relevance``."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelrank.data.line import shown
from kernelrank.data.output_stream import opened_output
from kernelrank.data.trec import as_words, read_trec, refuse_repeated
from kernelrank.data.words import as_strings
from kernelrank.errors import FileFormatError, InvalidInputError

__all__ = ["Qrels", "read_qrels", "write_qrels"]

COLUMNS = "query iteration document relevance"
LARGEST_RELEVANCE = 2**31 - 1


class Qrels(NamedTuple):
    """Judgements of items in queries.

    Parameters
    ----------
    qid : ndarray of str, shape (m,)
        The queries.
    ids : ndarray of str, shape (m,)
        The items; none occurs twice in a query.
    grades : ndarray of int64, shape (m,)
        How relevant they are; TREC uses numbers below zero for spam.
    """

    qid: NDArray[np.object_]
    ids: NDArray[np.object_]
    grades: NDArray[np.int64]


def read_qrels(path: str | os.PathLike[str]) -> Qrels:
    r"""Read TREC judgements. Time and memory O(bytes).

    Parameters
    ----------
    path : str or path-like
        ``-`` is standard input; decompressed by suffix.

    Returns
    -------
    Qrels
        The rows in the order of the file.

    Raises
    ------
    FileFormatError
        At the first line that cannot be read, or a document that is judged twice in a query.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "qrels.txt"
    ...     _ = path.write_text("q1 0 d7 2\n")
    ...     read_qrels(path).grades
    array([2])
    """
    name, lines = read_trec(path, COLUMNS, "judgements")
    grades = np.empty(len(lines), dtype=np.int64)
    for row, line in enumerate(lines):
        word = line.words[3]
        if not re.fullmatch(r"[+-]?[0-9]{1,18}", word) or abs(int(word)) > LARGEST_RELEVANCE:
            message = f"the relevance {shown(word.encode())} is not an integer of up to 32 bits"
            raise FileFormatError(message, name, line.number, column="relevance")
        grades[row] = int(word)
    qid, ids = (as_strings(line.words[k] for line in lines) for k in (0, 2))
    return Qrels(qid, ids, grades)


def write_qrels(qrels: Qrels, path: str | os.PathLike[str]) -> None:
    """Write TREC judgements in the order that they have. Time and memory O(m); the file appears whole or not at all.

    Parameters
    ----------
    qrels : Qrels
        `grades` may be of floats, if they are whole numbers.
    path : str or path-like
        ``-`` is standard output; compressed by suffix.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "qrels.txt"
    ...     write_qrels(Qrels(["q1", "q1"], ["d1", "d2"], [0.0, 2.0]), path)
    ...     print(path.read_text(), end="")
    q1 0 d1 0
    q1 0 d2 2
    """
    grades = np.asarray(qrels.grades, dtype=np.float64)
    if grades.ndim != 1 or len(grades) == 0:
        raise InvalidInputError(f"grades must have shape (m,), with m at least 1; got {grades.shape}")
    whole = np.isfinite(grades) & (grades == np.round(grades)) & (np.abs(grades) <= LARGEST_RELEVANCE)
    if not whole.all():
        item = int(np.argmin(whole))
        raise InvalidInputError(f"grades[{item}] is {float(grades[item])!r}: TREC judgements are whole numbers")
    qid, ids = as_words(qrels.qid, "qid", len(grades)), as_words(qrels.ids, "ids", len(grades))
    refuse_repeated(qid, ids)
    with opened_output(path) as file:
        for label, name, level in zip(qid.tolist(), ids.tolist(), grades.tolist(), strict=True):
            file.write(f"{label} 0 {name} {int(level)}\n".encode())
