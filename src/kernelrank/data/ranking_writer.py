"""The writer of ranking files."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from kernelrank.base.arrays import canonical
from kernelrank.base.labels import Queries
from kernelrank.data.output_stream import opened_output
from kernelrank.errors import InvalidInputError

__all__ = ["write_ranking"]

NOT_A_WORD = re.compile(r"[\x00-\x20\x7f]")
LARGEST_EXACT_INTEGER = 2**53


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
    if values.dtype.kind in "iu" and np.any((values > LARGEST_EXACT_INTEGER) | (values < -LARGEST_EXACT_INTEGER)):
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
        if not word or NOT_A_WORD.search(word) or "#" in word:
            raise InvalidInputError(
                f"the query label {word!r} is empty or has white space or a #, and cannot be written"
            )
    if len(set(words)) < len(words):
        twice = next(word for i, word in enumerate(words) if word in words[:i])
        raise InvalidInputError(
            f"two query labels, such as 1 and '1', are both written as {twice!r}: rename one of them"
        )
    return (f"qid:{words[code]}" for code in queries.codes.tolist())


def _name_words(docid: Any, m: int) -> Iterator[str]:
    if docid is None:
        return itertools.repeat("", m)
    names = [str(name) for name in docid]
    if len(names) != m:
        raise InvalidInputError(f"docid has {len(names)} entries, but X has {m} rows")
    for name in names:
        if NOT_A_WORD.search(name):
            raise InvalidInputError(f"the docid {name!r} has white space, and cannot be written")
    return (f"# docid = {name}" if name else "" for name in names)


def _shown(value: float) -> str:
    """Write a float so that it is read back exactly, integers without their ".0"."""
    return repr(value).removesuffix(".0")
