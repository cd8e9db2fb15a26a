"""A table of numbers whose rows and columns have names: features of objects, similarities, or scores of dyads."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from glob import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelrank.data.preparation import TablePreparation, read_table
from kernelrank.data.table import Table
from kernelrank.data.text import Source, file_format, readable, shown, source_name
from kernelrank.data.vote_tables import open_votes
from kernelrank.data.votes import ItemCodes
from kernelrank.errors import FileFormatError, InvalidInputError


@dataclass(frozen=True, eq=False)
class NamedTable:
    """Numbers with a name for each row and each column."""

    names: tuple[str, ...]
    columns: tuple[str, ...]
    values: NDArray[np.float64]
    path: str
    preparation: TablePreparation | None = None
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.names)

    def with_columns(self, columns: Sequence[str]) -> NamedTable:
        """Return these columns, in this order; one that is not there is an error with the nearest names."""
        codes = ItemCodes(self.columns, f"columns of {self.path}")
        places = [codes.code(name, None, lambda message, _: InvalidInputError(message)) for name in columns]
        return replace(self, columns=tuple(columns), values=self.values[:, places])

    def chosen(self, rows: NDArray[np.bool_]) -> NamedTable:
        """Return some of the rows."""
        names = tuple(name for name, kept in zip(self.names, rows.tolist(), strict=True) if kept)
        return replace(self, names=names, values=self.values[rows])

    def square(self) -> NamedTable:
        """Return the table with its columns in the order of its rows; each name must be that of a row and a column."""
        if len(self.columns) != len(self.names):
            raise InvalidInputError(
                f"{self.path}: expected a square table of similarities, with the same names in the first row and the "
                f"first column; got {len(self.names)} rows and {len(self.columns)} columns. Leave --similarity out if "
                "these are features"
            )
        return self.with_columns(self.names)

    @property
    def looks_square(self) -> bool:
        """Whether rows and columns have the same names, as those of similarities do."""
        return set(self.columns) == set(self.names) and len(self.names) > 1


def open_named(source: Source, format: str | None) -> Table:
    """Open a table whose first column holds names."""
    kind = file_format(source, format)
    if kind == "svmlight":
        raise FileFormatError(
            "expected a CSV, TSV, Parquet or Excel table with names in its first row and column", source_name(source)
        )
    table = open_votes(source, kind)
    if len(table.names) < 2:
        raise table.error("expected names in the first column and numbers in the others; got one column")
    return table


def read_named_table(path: str | os.PathLike[str], *, format: str | None = None) -> NamedTable:
    r"""Read a table with names in its first column and numbers in all others. Time O(bytes), memory O(result)."""
    with readable(path) as source:
        return table_values(open_named(source, format))


def read_objects(
    path: str | os.PathLike[str], *, format: str | None = None, preparation: TablePreparation | None = None
) -> NamedTable:
    r"""Read objects with names in the first column; words and missing cells of the others are prepared."""
    fault = None
    if preparation is None:
        try:
            return read_named_table(path, format=format)
        except FileFormatError as error:
            if str(path) == "-":
                raise
            fault = error
    with readable(path) as source:
        table = open_named(source, format)
        table.choose([0], [])
        names = tuple(name for block in table.blocks() for name in block.words(0).tolist())
    none: dict[str, Any] = dict.fromkeys(("target", "query", "weight", "groups", "id"), "")
    first = escape(table.names[0])
    items = read_table(path, format=format, needs_target=False, exclude=[first], preparation=preparation, **none)
    if len(set(names)) < len(names) or "" in names or len(names) != len(items):
        raise fault or table.error("expected a name in the first cell of each row, each name once")
    notes = tuple(note for note in items.notes if note != f"left out: 1 column ({table.names[0]!r})")
    X = np.asarray(items.X.toarray() if hasattr(items.X, "toarray") else items.X, dtype=np.float64)
    return NamedTable(names, items.column_names, X, str(items.path), items.preparation, notes)


def table_values(table: Table, *, missing: bool = False) -> NamedTable:
    """Read an open table; with `missing`, empty cells become NaN."""
    numbers = range(1, len(table.names))
    table.choose(range(len(table.names)), numbers)
    places: dict[str, int] = {}
    blocks = []
    for block in table.blocks():
        for name, position in zip(block.words(0).tolist(), block.positions.tolist(), strict=True):
            if not name:
                raise table.error("the first cell is empty: expected a name", position)
            first = places.setdefault(name, position)
            if first != position:
                message = f"the name {shown(name)} occurs twice, first in {table.place_in_words(first)}"
                raise table.error(f"{message}: expected one row for each name", position)
        blocks.append(block.numbers(numbers, missing=missing))
    if not blocks:
        raise table.error("the table has no rows")
    return NamedTable(tuple(places), table.names[1:], np.concatenate(blocks), table.path)


# Score matrix ---------------------------------------------------------------------------------------------------------
#
# Scores of dyads in a file, as a matrix: names of objects are matched with those of the two sides.

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

    Time O(bytes), memory O(m₁m₂).

    Returns: NaN where the file has no score. A dyad that is listed several times has the mean of its scores.
    """
    sides = ItemCodes(rows, called[0]), ItemCodes(columns, called[1])
    with readable(path) as source:
        table = open_named(source, format)
        listed = _list_columns(table, sides)
        if listed is None:
            return _matrix_scores(table, sides)
        scores, n_repeated = _list_scores(table, sides, listed)
        if n_repeated and repeated is not None:
            repeated(n_repeated)
        return scores


def _list_columns(table: Table, sides: tuple[ItemCodes, ItemCodes]) -> list[int] | None:
    """Return the columns of row, column and score; None if the table is a matrix."""
    names = [name.strip().lower() for name in table.names]
    if all(name in names for name in LIST_COLUMNS):
        return [names.index(name) for name in LIST_COLUMNS]
    return [0, 1, 2] if len(names) == 3 and sides[1].code_of.keys().isdisjoint(table.names[1:]) else None


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


def _list_scores(table: Table, sides: tuple[ItemCodes, ItemCodes], at: list[int]) -> tuple[NDArray[np.float64], int]:
    """Return the mean score of each dyad that is listed, and how many are listed several times."""
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
