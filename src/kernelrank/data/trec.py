"""TREC files: runs, ``query Q0 document rank score tag``, and judgements, ``query iteration document relevance``.

Both are words in a fixed number of columns, separated by white space.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelrank.base.arrays import Float
from kernelrank.base.labels import Queries
from kernelrank.data.letor_rows import LARGEST_INDEX
from kernelrank.data.text import (
    LONGEST_LABEL,
    as_strings,
    long_message,
    opened_output,
    read_blocks,
    read_decimal,
    readable,
    shown,
    source_name,
)
from kernelrank.errors import FileFormatError, InvalidInputError


class TrecLine(NamedTuple):
    """One line of a TREC file."""

    words: list[str]
    number: int


def read_trec(path: str | os.PathLike[str], columns: str, what: str) -> tuple[str, list[TrecLine]]:
    """Read a file whose lines have the columns that `columns` names, and where no query has a document twice.

    Time and memory O(bytes).
    """
    lines: list[TrecLine] = []
    first: dict[tuple[str, str], int] = {}
    with readable(path) as source:
        name = source_name(source)
        for block in read_blocks(source):
            for number, text in enumerate(block.text.split(b"\n"), start=block.first_line):
                if not text.strip():
                    continue
                words = _words(text, name, number, columns.split())
                earlier = first.setdefault((words[0], words[2]), number)
                if earlier != number:
                    where = f"in query {shown(words[0])}, first in line {earlier}"
                    raise FileFormatError(f"document {shown(words[2])} occurs twice {where}", name, number)
                lines.append(TrecLine(words, number))
    if not lines:
        raise FileFormatError(f"the file has no {what}: expected lines of {columns}", name)
    return name, lines


def _words(line: bytes, name: str, number: int, columns: list[str]) -> list[str]:
    words = line.split()
    if len(words) != len(columns):
        raise FileFormatError(f"{len(words)} columns: expected {' '.join(columns)}", name, number)
    for word, column in zip(words, columns, strict=True):
        if len(word) > LONGEST_LABEL:
            raise FileFormatError(long_message("the word", len(word)), name, number, column=column)
    try:
        return [word.decode() for word in words]
    except UnicodeDecodeError:
        raise FileFormatError(f"{shown(line)} is not UTF-8", name, number) from None


def as_words(values: Iterable[Any], name: str, m: int | None = None) -> NDArray[np.object_]:
    """Return labels as strings that fit into one column, shape (m,)."""
    words = as_strings(values)
    if m is not None and len(words) != m:
        raise InvalidInputError(f"{name} has {len(words)} entries, but there are {m} items")
    for word in words:
        if not word or re.search(r"[\x00-\x20\x7f]", word):
            raise InvalidInputError(
                f"{name} has {shown(word)}, which is empty or has white space: TREC files cannot hold it"
            )
    return words


def refuse_repeated(qid: NDArray[np.object_], ids: NDArray[np.object_]) -> None:
    """Raise an error for an item that occurs twice in a query. Time and memory O(m)."""
    seen: set[tuple[str, str]] = set()
    for key in zip(qid.tolist(), ids.tolist(), strict=True):
        if key in seen:
            raise InvalidInputError(f"the id {shown(key[1])} occurs twice in query {shown(key[0])}")
        seen.add(key)


class Run(NamedTuple):
    """Scores of items in queries.

    Parameters
    ----------
    qid : ndarray of str, shape (m,)
        The queries.
    ids : ndarray of str, shape (m,)
        The items; none occurs twice in a query.
    scores : ndarray of float64, shape (m,)
        Higher scores rank higher.
    tag : str
        What the run is called.
    """

    qid: NDArray[np.object_]
    ids: NDArray[np.object_]
    scores: NDArray[np.float64]
    tag: str


def read_run(path: str | os.PathLike[str]) -> Run:
    r"""Read a TREC run.

    As in other programs that read runs, the scores define the order, and the ranks are ignored, except that they
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
    name, lines = read_trec(path, "query Q0 document rank score tag", "results")
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
    """Write a TREC run: queries in order of first occurrence, items by decreasing score.

    Scores are written so that they are read back exactly, and items of equal score in the order of trec_eval, by
    descending name. Note that trec_eval uses single precision: smaller differences of scores are ties there.

    Time O(m log m), memory O(m). The write is atomic.

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
    name, lines = read_trec(path, "query iteration document relevance", "judgements")
    grades = np.empty(len(lines), dtype=np.int64)
    for row, line in enumerate(lines):
        word = line.words[3]
        if not re.fullmatch(r"[+-]?[0-9]{1,18}", word) or abs(int(word)) >= 2**31:
            message = f"the relevance {shown(word.encode())} is not an integer of up to 32 bits"
            raise FileFormatError(message, name, line.number, column="relevance")
        grades[row] = int(word)
    qid, ids = (as_strings(line.words[k] for line in lines) for k in (0, 2))
    return Qrels(qid, ids, grades)


def write_qrels(qrels: Qrels, path: str | os.PathLike[str]) -> None:
    """Write TREC judgements in their order. Time and memory O(m); the write is atomic.

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
    whole = np.isfinite(grades) & (grades == np.round(grades)) & (np.abs(grades) < 2**31)
    if not whole.all():
        item = int(np.argmin(whole))
        raise InvalidInputError(f"grades[{item}] is {float(grades[item])!r}: TREC judgements are whole numbers")
    qid, ids = as_words(qrels.qid, "qid", len(grades)), as_words(qrels.ids, "ids", len(grades))
    refuse_repeated(qid, ids)
    with opened_output(path) as file:
        for label, name, level in zip(qid.tolist(), ids.tolist(), grades.tolist(), strict=True):
            file.write(f"{label} 0 {name} {int(level)}\n".encode())


# Linear model file ----------------------------------------------------------------------------------------------------
#
# Linear models of other rankers: RankLib's and those of SVM-rank, as weights of numbered features.

RANKLIB, SVM_RANK = b"## ", b"SVM-light Version"
RANKLIB_LINEAR = ("Coordinate Ascent", "Linear Regression")


@dataclass(frozen=True, eq=False)
class LinearModelFile:
    """The weights of a linear model that another program wrote.

    Parameters
    ----------
    program : {"RankLib", "SVM-rank"}
    method : str
        The method named in the file.
    weights : ndarray, shape (n,)
        Those of the features 1 to n; 0 for a feature that the file does not name. A constant is left out, because it
        does not change the order.
    """

    program: str
    method: str
    weights: Float

    def scores(self, X: Any, first_index: int = 1) -> Float:
        """Return the scores of items, shape (m,); features that the model does not have count 0.

        O(m n) time.

        Parameters
        ----------
        X : ndarray or sparse matrix, shape (m, columns)
        first_index : int, default=1
            The number of the first column.
        """
        weights = np.zeros(X.shape[1])
        numbers = np.arange(first_index, first_index + X.shape[1])
        known = (numbers >= 1) & (numbers <= len(self.weights))
        weights[known] = self.weights[numbers[known] - 1]
        product: Any = X @ weights
        return np.asarray(product.toarray() if sparse.issparse(product) else product, dtype=np.float64)


def is_linear_model_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as models of RankLib or SVM-rank do."""
    if not Path(path).is_file():
        return False
    with open(path, "rb") as file:
        return file.read(len(SVM_RANK)).startswith((RANKLIB, SVM_RANK))


def read_linear_model(path: str | os.PathLike[str]) -> LinearModelFile:
    r"""Read a linear model of RankLib (coordinate ascent, linear regression) or SVM-rank.

    Time O(bytes).

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    LinearModelFile

    Raises
    ------
    FileFormatError
        Where a line cannot be read, or the model is not linear.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "model.txt"
    ...     _ = file.write_text("## Coordinate Ascent\n## Restart = 5\n1:0.5 3:-2\n")
    ...     model = read_linear_model(file)
    >>> model.method, model.weights.tolist()
    ('Coordinate Ascent', [0.5, 0.0, -2.0])
    """
    lines = Path(path).read_bytes().splitlines()
    name = os.fspath(path)
    if lines and lines[0].startswith(RANKLIB):
        return _ranklib(lines, name)
    if lines and lines[0].startswith(SVM_RANK):
        return _svm_rank(lines, name)
    raise FileFormatError(
        "expected a model of RankLib or SVM-rank, which begin with '## ' or 'SVM-light Version'", name
    )


def _ranklib(lines: list[bytes], path: str) -> LinearModelFile:
    method = lines[0].removeprefix(RANKLIB).decode(errors="replace").strip()
    if method not in RANKLIB_LINEAR:
        raise FileFormatError(
            f"expected a linear model, {' or '.join(RANKLIB_LINEAR)}; the file holds {method!r}. Score the items with "
            "RankLib and compare the runs.",
            path,
            1,
        )
    weights: dict[int, float] = {}
    for number, line in enumerate(lines, start=1):
        if not line.startswith(b"##") and line.strip():
            weights |= _features(line.split(), path, number)
    weights.pop(0, None)  # the constant of linear regression
    return LinearModelFile("RankLib", method, _dense(weights, path))


def _svm_rank(lines: list[bytes], path: str) -> LinearModelFile:
    # Ten lines of settings stand between the version and the support vectors.
    if len(lines) <= 10:
        raise FileFormatError("expected support vectors after ten lines of settings; the file ends before", path)
    kernel = lines[1].partition(b"#")[0].strip()
    if kernel != b"0":
        raise FileFormatError(
            f"expected a linear kernel, type 0; got {shown(kernel)}. Score the items with svm_rank_classify and "
            "compare the runs.",
            path,
            2,
        )
    weights: dict[int, float] = {}
    for number, line in enumerate(lines[11:], start=12):
        words = [word for word in line.partition(b"#")[0].split() if not word.startswith(b"qid:")]
        if not words:
            continue
        factor = _number(words[0], path, number)
        for feature, value in _features(words[1:], path, number).items():
            weights[feature] = weights.get(feature, 0.0) + factor * value
    return LinearModelFile("SVM-rank", lines[0].decode(errors="replace").strip(), _dense(weights, path))


def _features(words: list[bytes], path: str, line: int) -> dict[int, float]:
    found = {}
    for word in words:
        index, colon, value = word.partition(b":")
        if not (colon and index.isdigit() and int(index) <= LARGEST_INDEX):
            raise FileFormatError(f"expected feature:weight, got {shown(word)}", path, line)
        found[int(index)] = _number(value, path, line)
    return found


def _number(word: bytes, path: str, line: int) -> float:
    try:
        value = float(word)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise FileFormatError(f"expected a finite number, got {shown(word)}", path, line)
    return value


def _dense(weights: dict[int, float], path: str) -> Float:
    if not weights or max(weights) == 0:
        raise FileFormatError("expected at least one weight; there is none", path)
    if max(weights) > 100 * len(weights) + 1_000_000:
        raise FileFormatError(f"the file has {len(weights):,} weights, but a feature number of {max(weights):,}", path)
    dense = np.zeros(max(weights))
    for feature, weight in weights.items():
        if feature > 0:
            dense[feature - 1] = weight
    return dense
