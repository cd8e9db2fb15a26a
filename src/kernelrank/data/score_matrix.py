"""Scores of dyads in a file, as a matrix: names of objects are matched with those of the two sides."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from kernelrank.data.item_codes import ItemCodes
from kernelrank.data.named_tables import open_named, table_values
from kernelrank.data.table import Table
from kernelrank.data.text import readable

__all__ = ["read_score_matrix"]

LIST_COLUMNS = ("row", "column", "score")


def read_score_matrix(
    path: str | os.PathLike[str],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    format: str | None = None,
    called: tuple[str, str] = ("rows", "columns"),
    repeated: Callable[[int], object] | None = None,
) -> NDArray[np.float64]:
    r"""Read the scores of dyads: a matrix with names in its first row and column, or a list of row, column and score.

    Parameters
    ----------
    path : str or path-like
        As in `read_named_table`. A file with three columns, whose names are no column objects, is a list; so is one
        with columns called row, column and score.
    rows, columns : sequence of str
        The names of the objects of the sides.
    format : str, optional
        As in `read_named_table`.
    called : tuple of str, default=("rows", "columns")
        What messages call the two sides.
    repeated : callable, optional
        Called with the number of dyads that are listed several times, if there are any.

    Returns
    -------
    ndarray, shape (len(rows), len(columns))
        NaN where the file has no score. A dyad that is listed several times has the mean of its scores.

    Raises
    ------
    FileFormatError
        For a name that is unknown, with the nearest that are known; for a name that a matrix has twice.

    Notes
    -----
    Time O(bytes), memory O(m₁m₂).

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "scores.csv"
    ...     _ = path.write_text("guest,dish,liked\nAda,soup,3\nBob,soup,1\nAda,rice,2\n")
    ...     read_score_matrix(path, ["Ada", "Bob"], ["rice", "soup"])
    array([[ 2.,  3.],
           [nan,  1.]])
    """
    sides = ItemCodes(rows, called[0]), ItemCodes(columns, called[1])
    with readable(path) as source:
        table = open_named(source, format)
        if _is_list(table, sides):
            scores, n_repeated = _list_scores(table, sides)
            if n_repeated and repeated is not None:
                repeated(n_repeated)
            return scores
        return _matrix_scores(table, sides)


def _is_list(table: Table, sides: tuple[ItemCodes, ItemCodes]) -> bool:
    names = [name.strip().lower() for name in table.names]
    if all(name in names for name in LIST_COLUMNS):
        return True
    known = sides[1].code_of
    return len(names) == 3 and not any(name in known for name in table.names[1:])


def _code(table: Table, sides: tuple[ItemCodes, ItemCodes], side: int, name: str, position: int | None) -> int:
    """Return the number of an object; one of the other side says that the table may have to be turned."""

    def error(message: str, _: object) -> Exception:
        if name in sides[1 - side].code_of:
            turned = "; it is among the other side: exchange rows and columns"
            return table.error(message.partition(": did you mean")[0].partition(", which have")[0] + turned, position)
        return table.error(message, position)

    return sides[side].code(name, position, error)


def _matrix_scores(table: Table, sides: tuple[ItemCodes, ItemCodes]) -> NDArray[np.float64]:
    columns = [_code(table, sides, 1, name, None) for name in table.names[1:]]
    found = table_values(table, missing=True)
    rows = [_code(table, sides, 0, name, None) for name in found.names]
    scores = np.full((len(sides[0].code_of), len(sides[1].code_of)), np.nan)
    scores[np.ix_(rows, columns)] = found.values
    return scores


def _list_scores(table: Table, sides: tuple[ItemCodes, ItemCodes]) -> tuple[NDArray[np.float64], int]:
    """Return the mean score of each dyad that is listed, and how many are listed several times."""
    names = [name.strip().lower() for name in table.names]
    at = [names.index(name) for name in LIST_COLUMNS] if all(name in names for name in LIST_COLUMNS) else [0, 1, 2]
    shape = len(sides[0].code_of), len(sides[1].code_of)
    sums, counts = np.zeros(shape), np.zeros(shape)
    table.choose(at, [at[2]])
    for block in table.blocks():
        values = block.numbers([at[2]])[:, 0]
        words = zip(block.words(at[0]).tolist(), block.words(at[1]).tolist(), strict=True)
        for (row, column), position, value in zip(words, block.positions.tolist(), values.tolist(), strict=True):
            place = _code(table, sides, 0, row, position), _code(table, sides, 1, column, position)
            sums[place] += value
            counts[place] += 1
    return np.divide(sums, counts, out=np.full(shape, np.nan), where=counts > 0), int(np.count_nonzero(counts > 1))
