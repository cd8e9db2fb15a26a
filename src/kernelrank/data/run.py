"""Runs: ranked lists in the form of TREC, ``query Q0 document rank score tag``."""

from __future__ import annotations

import math
import os
import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelrank.data.decimals import read_decimal
from kernelrank.data.line import shown
from kernelrank.data.output_stream import opened_output
from kernelrank.data.trec import as_words, read_trec, refuse_repeated
from kernelrank.data.words import as_strings
from kernelrank.errors import FileFormatError, InvalidInputError
from kernelrank.queries import Queries

__all__ = ["Run", "read_run", "write_run"]

COLUMNS = "query Q0 document rank score tag"


class Run(NamedTuple):
    """Scores of items in queries.

    Parameters
    ----------
    qid : ndarray of str, shape (m,)
        The queries.
    ids : ndarray of str, shape (m,)
        The items; none occurs twice in a query.
    scores : ndarray of float64, shape (m,)
        The larger, the higher in the list.
    tag : str
        What the run is called.
    """

    qid: NDArray[np.object_]
    ids: NDArray[np.object_]
    scores: NDArray[np.float64]
    tag: str


def read_run(path: str | os.PathLike[str]) -> Run:
    r"""Read a TREC run.

    As for every program that reads runs, the scores make the order and the ranks are not looked at, except that they
    must be integers. Time and memory O(bytes).

    Parameters
    ----------
    path : str or path-like
        ``-`` is standard input; decompressed by suffix.

    Returns
    -------
    Run
        The rows in the order of the file, with the tag of the first.

    Raises
    ------
    FileFormatError
        At the first line that cannot be read, or a document that occurs twice in a query.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "run.txt"
    ...     _ = path.write_text("q1 Q0 d7 1 0.5 mine\n")
    ...     read_run(path).scores
    array([0.5])
    """
    name, lines = read_trec(path, COLUMNS, "results")
    scores = np.empty(len(lines))
    for row, line in enumerate(lines):
        score = read_decimal(line.words[4].encode())
        if score is None or not math.isfinite(score):
            message = f"the score {shown(line.words[4].encode())} is not a finite number"
            raise FileFormatError(message, name, line.number, column="score")
        if not re.fullmatch(r"[+-]?[0-9]+", line.words[3]):
            message = f"the rank {shown(line.words[3].encode())} is not an integer"
            raise FileFormatError(message, name, line.number, column="rank")
        scores[row] = score
    qid, ids = (as_strings(line.words[k] for line in lines) for k in (0, 2))
    return Run(qid, ids, scores, lines[0].words[5])


def write_run(run: Run, path: str | os.PathLike[str]) -> None:
    """Write a TREC run: queries as they first occur, the items of each by falling score.

    Scores are written so that they are read back exactly, and items of equal score in the order that trec_eval gives
    them, by falling name. Note that trec_eval keeps scores in single precision: what differs by less is a tie to it.

    Time O(m log m), memory O(m). The file appears whole or not at all.

    Parameters
    ----------
    run : Run
    path : str or path-like
        ``-`` is standard output; compressed by suffix.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "run.txt"
    ...     write_run(Run(["q1", "q1"], ["d1", "d2"], [0.5, 2.0], "mine"), path)
    ...     print(path.read_text(), end="")
    q1 Q0 d2 1 2.0 mine
    q1 Q0 d1 2 0.5 mine
    """
    scores = np.asarray(run.scores, dtype=np.float64)
    if scores.ndim != 1 or len(scores) == 0:
        raise InvalidInputError(f"scores must have shape (m,), with m at least 1; got {scores.shape}")
    if not np.all(np.isfinite(scores)):
        raise InvalidInputError(f"scores[{int(np.argmin(np.isfinite(scores)))}] is not finite")
    qid, ids = as_words(run.qid, "qid", len(scores)), as_words(run.ids, "ids", len(scores))
    [tag] = as_words([run.tag], "tag")
    queries = Queries.from_labels(qid, len(scores))
    refuse_repeated(qid, ids)
    _, names = np.unique(ids, return_inverse=True)
    order = np.lexsort((-names, -scores, queries.codes))
    rank, last = 0, -1
    with opened_output(path) as file:
        for row in order.tolist():
            rank = rank + 1 if queries.codes[row] == last else 1
            last = queries.codes[row]
            file.write(f"{qid[row]} Q0 {ids[row]} {rank} {float(scores[row])!r} {tag}\n".encode())
