"""Predicted scores of items, written in one of four formats."""

from __future__ import annotations

import os
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from kernelrank.data.delimited_writer import write_delimited
from kernelrank.data.output_stream import opened_output
from kernelrank.data.parquet_writer import write_parquet
from kernelrank.data.trec import Run, write_run
from kernelrank.data.words import as_strings, label_array
from kernelrank.errors import InvalidInputError

__all__ = ["ScoresFormat", "write_scores"]

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
        columns = _columns(values, qid, ids)
        if format == "csv":
            write_delimited(columns, path)
        else:
            write_parquet(columns, path)


def _columns(scores: NDArray[np.float64], qid: Any, ids: Any) -> dict[str, NDArray[Any]]:
    columns: dict[str, NDArray[Any]] = {}
    for name, values in (("qid", qid), ("id", ids)):
        if values is not None:
            column = label_array(values)
            if column.shape != scores.shape:
                raise InvalidInputError(f"{name} has shape {column.shape}, but there are {len(scores)} scores")
            columns[name] = column
    return columns | {"score": scores}
