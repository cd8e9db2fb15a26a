"""Tables with missing cells, text columns, dates and other irregularities.

A table of plain numbers is read as `read_items` does. Any other is read whole as text, normalised and prepared: see
`NormalisedText` and `TablePreparation`.
"""

from __future__ import annotations

import contextlib
import csv
import io
import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, Unpack, get_args

import numpy as np
from numpy.typing import NDArray

from kernelrank.data.delimited import DelimitedTable
from kernelrank.data.items import ItemRows, Items, TableReader
from kernelrank.data.readers import items_of_source
from kernelrank.data.table import (
    ColumnOptions,
    ColumnRequest,
    Table,
    TableBlock,
    is_missing,
    lists_columns,
    number_fault,
)
from kernelrank.data.text import (
    FileFormat,
    Source,
    file_format,
    first_of,
    read_blocks,
    read_decimal,
    read_unicode,
    readable,
    rewind,
    shown,
    source_name,
)
from kernelrank.errors import FileFormatError, InvalidInputError, MissingExtraError


@lists_columns
def read_table(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    missing: MissingRule = "median",
    missing_values: Sequence[str | float] = (),
    missing_indicator: bool = False,
    ordinal: Mapping[str, Sequence[str]] | None = None,
    header: bool = True,
    skip_rows: int = 0,
    sheet: str | None = None,
    preparation: TablePreparation | None = None,
    **columns: Unpack[ColumnOptions],
) -> Items:
    r"""Read a table with missing values, categories, decimal commas, any encoding; also Excel.

    Encoding and imputation are learnt from all rows, without the target. `Items.notes` lists what was done, and
    `Items.preparation` applies it to another table. One error lists all problems of a table.

    Parameters
    ----------
    path : str or path-like
        As in `read_items`, or an Excel file (``.xlsx``).
    format, target, query, id, weight, groups, features
        As in `read_items`.
    n_features, pos_label, guess_positive, needs_target, missing_groups
        As in `read_items`. Rows whose target is missing are left out if `needs_target`.
    exclude : sequence of str, default=()
        Names or patterns of columns to leave out.
    missing : {"median", "mean", "drop", "error"}, default="median"
        How missing numbers are handled: replaced by the median or the mean of their column; ``"drop"`` leaves out
        their rows; ``"error"`` raises an error that lists them.
    missing_values : sequence of str or float, default=()
        Codes for a missing cell, such as -9 or "unknown", in all columns but those of ids, queries and groups.
    missing_indicator : bool, default=False
        Whether to add an indicator column (1 where the cell is missing) for each column with missing cells.
    ordinal : mapping from str to sequence of str, optional
        Columns whose words have an order, with the words from the lowest on.
    header : bool, default=True
        Whether the first row has the names of the columns; else they are called x1, x2, ...
    skip_rows : int, default=0
        How many rows to leave out at the beginning.
    sheet : str, optional
        The sheet of an Excel file; the first one by default.
    preparation : TablePreparation, optional
        Apply what was learnt from another table, with its `missing`, `missing_values`, `missing_indicator`,
        `ordinal` and `features`.

    Returns
    -------
    Items

    Notes
    -----
    A column of words becomes one column of 0 and 1 for each word. Dates, columns without a value, and words that are
    different in more than half of the rows (ids, free text) are left out, unless `features` names them. A table of
    plain numbers costs what `read_items` costs; any other is held as text in memory.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "cohort.csv"
    ...     _ = path.write_text("outcome;age;sex\n1;36,5;f\n0;;m\n1;41;f\n0;29;m\n")
    ...     items = read_table(path)
    >>> items.feature_names, items.X.tolist()
    (('age', 'sex=f', 'sex=m'), [[36.5, 1.0, 0.0], [36.5, 0.0, 1.0], [41.0, 1.0, 0.0], [29.0, 0.0, 1.0]])
    >>> print(*items.notes, sep="\n")
    commas are decimal points in 1 cell
    the columns are separated by semicolons
    the target is column 'outcome'
    text columns were one-hot encoded: 'sex' (2)
    missing cells became the median of their column ('age' 1)
    columns were encoded and imputed once, on all rows; the target was not used for that
    """
    if missing not in MISSING_RULES:
        raise InvalidInputError(f"missing must be one of {', '.join(MISSING_RULES)}, got {missing!r}")
    request = ColumnRequest(**columns)
    if preparation is not None:
        request = replace(request, features=preparation.names, n_features=None)
    given = (missing_values,) if isinstance(missing_values, (str, int, float)) else missing_values
    codes = tuple(str(code).strip() for code in given if str(code).strip()) or (
        preparation.missing_values if preparation else ()
    )
    rules = _Rules(missing, missing_indicator, dict(ordinal or {}), codes)
    plain = not codes and (not rules.ordinal if preparation is None else preparation.only_numbers)
    layout = TableLayout(header, skip_rows, sheet)
    with readable(path) as source:
        kind = file_format(source, format)
        layout.check(source_name(source), kind)
        if kind == "svmlight":
            return items_of_source(source, kind, request)
        if plain and kind != "xlsx" and layout == TableLayout():
            try:
                items = items_of_source(source, kind, request)
            except FileFormatError:
                pass
            else:
                names = items.feature_names or ()
                learnt = preparation or TablePreparation.of_numbers(names, items.X, missing)
                notes = _code_notes(names, items.X.T) + _doubts(items) if preparation is None else []
                return replace(items, preparation=learnt, notes=(*items.notes, *notes))
        items = _prepared_items(source, kind, layout, request, rules, preparation)
        return items if preparation else replace(items, notes=(*items.notes, *_doubts(items)))


@dataclass(frozen=True)
class TableLayout:
    """Where the table of a file begins."""

    header: bool = True
    skip_rows: int = 0
    sheet: str | None = None

    def check(self, name: str, kind: FileFormat) -> None:
        """Raise an error for what a file of this kind does not have."""
        if self.skip_rows < 0:
            raise InvalidInputError(f"skip_rows must be zero or more, got {self.skip_rows}")
        if self.sheet is not None and kind != "xlsx":
            raise InvalidInputError(f"{name}: the sheet is given as {self.sheet!r}, but only Excel files have sheets")
        if kind in ("svmlight", "parquet") and self != TableLayout():
            raise InvalidInputError(f"{name}: only CSV, TSV and Excel files have rows to skip or a first row of names")


@dataclass(frozen=True)
class _Rules:
    """What the user said about missing cells and ordinal columns."""

    missing: MissingRule
    indicator: bool
    ordinal: dict[str, Sequence[str]]
    codes: tuple[str, ...] = ()


CODES = (-999.0, -99.0, -9.0, 999.0, 9999.0)
"""Numbers that often stand for a missing value."""


def _code_notes(names: Sequence[str], columns: Iterable[NDArray[np.float64]]) -> list[str]:
    """Name the columns whose lowest or highest value is such a code, far from all others. Time O(size)."""
    found: dict[str, list[str]] = {}
    for name, values in zip(names, columns, strict=True):
        if np.nanmin(values, initial=0) > CODES[2] and np.nanmax(values, initial=0) < CODES[3]:
            continue
        others = values[~np.isnan(values) & ~np.isin(values, CODES)]
        for code in CODES:
            is_far = len(others) and (others.min() > code / 2 if code < 0 else others.max() < code / 2)
            if is_far and code in values:
                cells = np.count_nonzero(values == code)
                found.setdefault(f"{code:.0f}", []).append(f"{name!r} {cells:,}")
    return [
        f"{code} is far from all other values ({first_of(columns)}): if it stands for a missing value, say "
        f"--missing-values {code}, or missing_values=[{code}] in Python"
        for code, columns in found.items()
    ]


TOTALS = re.compile(r"(?i)(?:total|sum|summe|gesamt|somme|suma|somma|mean|mittelwert)s?\b")


def _doubts(items: Items) -> list[str]:
    """Name a last row of totals, and columns that order the targets almost perfectly alone. Time O(size log m)."""
    from scipy.stats import rankdata

    if items.y is None or items.n_features == 0:
        return []
    last = "" if items.ids is None else str(items.ids[-1])
    total = [f"the last row is called {last!r}: delete it if it adds up the others"] if TOTALS.match(last) else []
    rows = slice(min(len(items), 5_000_000 // items.n_features))
    y = items.y[rows]
    known, counts = np.unique(y, return_counts=True)
    if len(y) < 20 or len(known) < 2 or (len(known) == 2 and counts.min() < 5):
        return total
    ranks = rankdata(items.X[rows], axis=0) - (len(y) + 1) / 2
    if len(known) == 2:
        measure, order = "AUC", ranks[y == known[1]].mean(axis=0) / counts[0]
    else:
        targets = rankdata(y) - (len(y) + 1) / 2
        lengths = np.linalg.norm(ranks, axis=0) * np.linalg.norm(targets)
        measure, order = "rank correlation", targets @ ranks / np.where(lengths > 0, lengths, 1) / 2
    found = [f"{items.column_names[column]!r}" for column in np.flatnonzero(np.abs(order) >= 0.495)]
    if not found:
        return total
    verb = "predicts" if len(found) == 1 else "predict"
    return [
        *total,
        f"{first_of(found)} alone {verb} the target ({measure} of at least 0.99): is it known before the target? If "
        "not, leave it out with exclude",
    ]


def codes_pattern(codes: Sequence[str]) -> str:
    """Return a pattern of the words that are these codes; a whole number may be written with zeros after a point."""
    words = (re.escape(code) + (r"(?:\.0*)?" if re.fullmatch(r"[+-]?\d+", code) else "") for code in codes)
    return "|".join(words)


@dataclass
class _CellReader(TableReader):
    """A reader that keeps the features as text."""

    cells: dict[int, list[NDArray[np.object_]]] = field(default_factory=dict)

    def _features(self, block: TableBlock) -> NDArray[Any]:
        for column in self.roles.features:
            self.cells.setdefault(column, []).append(block.words(column))
        return np.empty((len(block), 0))

    def _ids(self, block: TableBlock, column: int) -> NDArray[np.object_]:
        return block.words(column)  # those of rows that are left out may be empty

    def chosen(self, rows: ItemRows, keep: NDArray[np.bool_]) -> ItemRows:
        """Leave out rows without a target, before anything is learnt from their cells."""
        if not keep.any():
            raise self.table.error("no row is left: every row has a missing target or value")
        self.missing_target = None
        self.cells = {column: [np.concatenate(parts)[keep]] for column, parts in self.cells.items()}
        return rows.chosen(keep)

    def columns(self) -> dict[str, CellColumn]:
        """Return the features, when all rows have been read."""
        names = {column: self.table.names[column] for column in self.roles.features}
        return {name: CellColumn(name, np.concatenate(self.cells[column])) for column, name in names.items()}

    def numbers(self, known: TablePreparation | None, notes: list[str]) -> dict[str, CellColumn]:
        """Return the features, with limits and percent signs of columns of numbers as numbers."""
        kinds = {column.name: column.kind for column in known.columns} if known else {}
        units = {column.name: column.unit for column in known.columns} if known else {}
        columns = self.columns()
        changed = {
            name: column.without_signs(is_number=name in kinds, unit=units.get(name))
            for name, column in columns.items()
            if kinds.get(name, "number") == "number"
        }
        for what in SIGNS:
            told = [
                f"{name!r} {column.unit + ' ' if what == SIGNS[3] else ''}{counts[what]:,}"
                for name, (column, counts) in changed.items()
                if counts[what]
            ]
            notes += [f"{what} ({first_of(told)})"] if told else []
        return columns | {name: column for name, (column, _) in changed.items()}


def _prepared_items(
    source: Source,
    kind: FileFormat,
    layout: TableLayout,
    request: ColumnRequest,
    rules: _Rules,
    known: TablePreparation | None,
) -> Items:
    text = NormalisedText.of(source, kind, layout)
    stream = io.BytesIO(text.text)
    stream.name = text.name
    table = DelimitedTable(
        stream, "tsv" if kind == "tsv" else "csv", unique_names=True, header=layout.header, delimiter=text.mark
    )
    table.notes = (*text.notes, *table.notes)
    table.codes = codes_pattern(rules.codes)
    faults = Faults(table)
    reader, rows = _read_cells(table, request, faults)
    notes: list[str] = []
    without_target: list[str] = []
    if request.needs_target:
        rows = reader.chosen(rows, _has_target(rows, without_target))
    cells = reader.numbers(known, notes)
    once = "columns were encoded and imputed as in the training data"
    if known is None:
        once = "columns were encoded and imputed once, on all rows; the target was not used for that"
        named = {name for name in request.features or () if name in cells}
        known = _learnt(cells, rows.positions, rules, named, faults, notes)
    notes += known.check(cells, rows.positions, faults)
    if rules.codes:
        notes.append(f"cells with {first_of(map(repr, rules.codes))} are missing, as given")
    faults.raise_all()
    X, feature_names = known.apply(cells)
    notes += without_target
    keep = np.ones(len(rows), dtype=np.bool_)
    if known.missing == "drop":
        whole = ~np.isnan(X).any(axis=1)
        if not whole.all():
            notes.append(f"left out: {np.count_nonzero(~whole):,} of {len(rows):,} rows with a missing cell")
        keep &= whole
    if not keep.any():
        raise table.error("no row is left: every row has a missing target or value")
    items = reader.items(rows.chosen(keep))
    filled = known.filled(cells)[keep]
    return replace(
        items,
        path=source_name(source),
        X=X[keep],
        feature_names=feature_names,
        notes=(*items.notes, *notes, once),
        preparation=known,
        filled=filled if filled.any() else None,
    )


def _read_cells(table: DelimitedTable, request: ColumnRequest, faults: Faults) -> tuple[_CellReader, ItemRows]:
    """Read all rows; where the columns with a role have a fault, the others are read for theirs."""
    try:
        reader = _CellReader.opened(table, request)
        table.choose(reader.roles.columns)
        table.uncoded = frozenset({reader.roles.id, reader.roles.query, reader.roles.groups})
        # A missing target is a row to leave out, which is counted later.
        reader.request = replace(request, needs_target=False)
        rows = reader.read_all()
        if rows.target is not None:
            known = rows.chosen(_has_target(rows, []))
            if request.needs_target and len(known):
                reader.missing_target = None
                reader.items(known)
    except FileFormatError as error:
        faults.add_error(error)
        features = tuple(name for name in request.features or () if name in table.names)
        others = replace(ColumnRequest("", "", "", "", ""), needs_target=False, features=features or None)
        reader = _CellReader.opened(table, others)
        table.choose(reader.roles.columns)
        rows = reader.read_all()
    return reader, rows


def _has_target(rows: ItemRows, notes: list[str]) -> NDArray[np.bool_]:
    if rows.target is None:
        return np.ones(len(rows), dtype=np.bool_)
    if rows.target.dtype.kind == "f":
        known: NDArray[np.bool_] = ~np.isnan(rows.target)
    else:
        known = np.array([not is_missing(word) for word in rows.target.tolist()], dtype=np.bool_)
    if not known.all():
        notes.append(f"left out: {np.count_nonzero(~known):,} of {len(rows):,} rows, whose target is missing")
    return known


def _learnt(
    cells: dict[str, CellColumn],
    positions: NDArray[np.int64],
    rules: _Rules,
    named: set[str],
    faults: Faults,
    notes: list[str],
) -> TablePreparation:
    """Learn what becomes of each column, and note which are left out and which are words."""
    for name in rules.ordinal:
        if name not in cells:
            faults.add(f"there is no feature {name!r}, which ordinal names")
    columns: list[PreparedColumn] = []
    left_out: list[str] = []
    for name, column in cells.items():
        indicator = rules.indicator and bool(column.missing.any())
        if name in rules.ordinal:
            prepared = PreparedColumn(name, "ordinal", levels=tuple(rules.ordinal[name]), indicator=indicator)
            columns.append(replace(prepared, fill=_fill(prepared.values(column), rules.missing)))
        elif reason := _useless(column, named=name in named):
            left_out.append(f"{name!r} ({reason})")
        elif column.is_number:
            prepared = PreparedColumn(name, "number", indicator=indicator, unit=column.unit)
            columns.append(replace(prepared, fill=_fill(prepared.values(column), rules.missing)))
        else:
            columns.append(PreparedColumn(name, "category", math.nan, tuple(sorted(set(column.known))), indicator))
            if rules.missing == "error":
                for row in np.flatnonzero(column.missing).tolist():
                    faults.add("the cell is missing: expected a word", int(positions[row]), name)
    if left_out:
        notes.append(f"left out: {first_of(left_out, 10)}")
    words = [f"{column.name!r} ({len(column.levels)})" for column in columns if column.kind == "category"]
    if words:
        notes.append(f"text columns were one-hot encoded: {first_of(words, 10)}")
    if not columns:
        without = f"; left out: {', '.join(left_out[:10])}" if left_out else ""
        faults.add(f"no column is left for the features: expected at least one{without}")
    numbers = [column.name for column in columns if column.kind == "number"]
    notes += _code_notes(
        numbers, (np.where(np.isfinite(cells[name].values), cells[name].values, math.nan) for name in numbers)
    )
    return TablePreparation(tuple(columns), rules.missing, rules.codes)


def _fill(values: NDArray[np.float64], missing: MissingRule) -> float:
    """Return what a missing number becomes."""
    known = values[~np.isnan(values)]
    if not len(known) or missing not in ("median", "mean"):
        return math.nan
    return float(np.median(known) if missing == "median" else np.mean(known))


def _useless(column: CellColumn, *, named: bool) -> str:
    """Return why a column is no feature; nothing if it is one."""
    known = column.known
    if not known:
        return "no value"
    if column.is_number:
        return ""
    day = r"\d{4}-\d{1,2}-\d{1,2}|\d{4}/\d{1,2}/\d{1,2}|\d{1,2}\.\d{1,2}\.\d{2,4}|\d{1,2}/\d{1,2}/\d{2,4}"
    day += r"|\d{1,2}-\w{3}-\d{2,4}"
    date = rf"({day})([T ]\d{{1,2}}:\d{{2}}(:\d{{2}}(\.\d+)?)?(Z|[+-]\d{{2}}:?\d{{2}})?)?"
    if sum(re.fullmatch(date, word) is not None for word in known) > 0.9 * len(known):
        return "dates"
    distinct = len(set(known))
    if distinct > 2 and 2 * distinct > len(known) and not named:
        return f"{distinct} different words in {len(known)} rows"
    return "" if distinct > 1 else "one word"


# Table preparation ----------------------------------------------------------------------------------------------------
#
# The preparation of a table: how cells of text become columns of numbers.
#
# It is learnt from all rows of a table, without their labels, and applied to any table that has the same columns:
#
# - numbers stay; a missing one becomes the median (or the mean) of its column;
# - a column of words becomes one column of 0 and 1 for each word; a missing or an unknown word is 0 in all of them;
# - an ordinal column, whose words have an order, becomes 0, 1, 2, ...
#
# Dates, ids and free text are left out. What is wrong with the cells is collected, so that all of it is said at once.

ColumnKind: TypeAlias = Literal["number", "category", "ordinal"]
MissingRule: TypeAlias = Literal["median", "mean", "drop", "error"]
MISSING_RULES = ("median", "mean", "drop", "error")


SIGNS = (
    "cells below a limit, such as <2.0, became half of it",
    "cells above a limit, such as >90, became the limit",
    "percent signs were left out",
    "units were left out",
)
"""What becomes of cells with signs, in words."""


@dataclass(frozen=True, eq=False)
class CellColumn:
    """The cells of one column, as text.

    Shapes: words (m,).
    """

    name: str
    words: NDArray[np.object_]
    unit: str = ""
    missing: NDArray[np.bool_] = field(init=False)
    values: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        try:
            values = self.words.astype(np.float64)
            missing = np.isnan(values)
            plain = "".join(self.words.tolist())
            if "_" in plain or not plain.isascii():
                raise ValueError  # Python takes 1_000 for a number, and digits of other scripts
        except ValueError:
            words = self.words.tolist()
            missing = np.array([is_missing(word) for word in words], dtype=np.bool_)
            read = [read_decimal(word.encode()) for word in words]
            values = np.array([math.nan if value is None else value for value in read], dtype=np.float64)
        object.__setattr__(self, "missing", missing)
        object.__setattr__(self, "values", values)

    def without_signs(self, *, is_number: bool = False, unit: str | None = None) -> tuple[CellColumn, Counter[str]]:
        """Return a column of numbers without signs of limits and of percent and without units, and what was left out.

        Unless it is known to be of numbers, a column of words stays: one in which a cell is no number even without
        signs, or each has a limit. All units of a column must be the same, which is `unit` if it is known.
        """
        number, unit_word = r"([+-]?[\d.]+(?:[eE][+-]?\d+)?)", r"(%|[^\W\d_][^\d\s]{0,9}|°\w?|[$€£])?"
        pattern = re.compile(rf"([<>≤≥]=?)? *([$€£])? *{number} *{unit_word}")
        counts: Counter[str] = Counter()
        words = self.words.copy()
        rows = np.flatnonzero(~self.missing & np.isnan(self.values)).tolist()
        signed = {row: found for row in rows if (found := pattern.fullmatch(words[row])) is not None}
        units = {found[4] or found[2] for found in signed.values()} - {None, "%"} if unit is None else {unit}
        for row, found in signed.items():
            value, own = read_decimal(found[3].encode()), found[4] or found[2]
            if value is None or (own not in (None, "%") and {own} != units):
                continue
            limit = found[1] or ""
            words[row] = repr(value / 2 if limit[:1] in ("<", "≤") and value > 0 else value)
            counts.update([SIGNS["<≤>≥".find(limit[0]) // 2]] if limit else [])
            counts.update([SIGNS[2 if own == "%" else 3]] if own else [])
        column = CellColumn(self.name, words, units.pop() if len(units) == 1 else "")
        if not is_number:
            is_number = self.is_number or bool(np.isfinite(column.values[~self.missing]).all())
            is_number &= counts[SIGNS[0]] + counts[SIGNS[1]] < len(self.known)
        return (column, counts) if is_number else (self, Counter())

    @property
    def known(self) -> list[str]:
        """The words that are not missing."""
        known: list[str] = self.words[~self.missing].tolist()
        return known

    @property
    def is_number(self) -> bool:
        """Whether most of the cells that are not missing are finite numbers."""
        return bool(2 * np.count_nonzero(~self.missing & ~np.isfinite(self.values)) < np.count_nonzero(~self.missing))


@dataclass
class Faults:
    """What is wrong with a table, all of it."""

    table: Table
    found: list[tuple[str, int | None, str | None]] = field(default_factory=list)
    errors: list[FileFormatError] = field(default_factory=list)

    def add(self, message: str, position: int | None = None, column: str | None = None) -> None:
        """Add one faulty cell to the list of problems."""
        self.found.append((message, position, column))

    def add_error(self, error: FileFormatError) -> None:
        """Add a problem that was raised as an error."""
        message = str(error).removeprefix(self.table.path).lstrip(",: ")
        self.found.append((message, None, None))
        self.errors.append(error)

    def raise_all(self) -> None:
        """Raise one error for all problems, if there are any; equal problems of a column are grouped."""
        if len(self.found) == 1:
            for error in self.errors:
                raise error
            ((message, position, column),) = self.found
            raise self.table.error(message, position, None if column is None else self.table.names.index(column))
        if not self.found:
            return
        alike: dict[tuple[str | None, str], list[int]] = {}
        for message, position, column in self.found:
            places = alike.setdefault((column, message), [])
            if position is not None:
                places.append(position)
        told = [self._told(column, message, places) for (column, message), places in alike.items()]
        if len(told) > 20:
            told[20:] = [f"and {len(told) - 20:,} more"]
        raise FileFormatError(f"{len(self.found):,} problems: {'; '.join(told)}", self.table.path)

    def _told(self, column: str | None, message: str, positions: list[int]) -> str:
        places = [] if column is None else [f"column {column!r}"]
        places += [self.table.place_in_words(position) for position in positions[:5]]
        places += [f"and {len(positions) - 5:,} more"] if len(positions) > 5 else []
        return f"{', '.join(places)}: {message}" if places else message


@dataclass(frozen=True)
class PreparedColumn:
    """How one column becomes numbers.

    fill: What a missing number becomes; NaN if it may not be missing.
    """

    name: str
    kind: ColumnKind
    fill: float = math.nan
    levels: tuple[str, ...] = ()
    indicator: bool = False
    unit: str = ""

    @property
    def feature_names(self) -> list[str]:
        """What its columns of numbers are called."""
        names = [f"{self.name}={level}" for level in self.levels] if self.kind == "category" else [self.name]
        return [*names, f"{self.name} is missing"] if self.indicator else names

    def values(self, column: CellColumn) -> NDArray[np.float64]:
        """Return the numbers of a column, shape (m,), NaN where a cell is missing or no number or level."""
        if self.kind == "number":
            return np.where(np.isfinite(column.values), column.values, math.nan)
        place = {level: number for number, level in enumerate(self.levels)}
        return np.array([place.get(word, math.nan) for word in column.words.tolist()], dtype=np.float64)

    def matrix(self, column: CellColumn) -> NDArray[np.float64]:
        """Return the columns of numbers, shape (m, len(feature_names))."""
        values = self.values(column)[:, None]
        if self.kind == "category":
            values = (values == np.arange(len(self.levels))).astype(np.float64)
        else:
            values = np.where(np.isnan(values), self.fill, values)
        return np.hstack([values, column.missing[:, None]]) if self.indicator else values


@dataclass(frozen=True)
class TablePreparation:
    """Encoding and imputation of table columns, learnt from one table and applied to others.

    Parameters
    ----------
    columns : tuple of PreparedColumn
    missing : {"median", "mean", "drop", "error"}
        What becomes of missing numbers.
    missing_values : tuple of str, default=()
        Codes for a missing cell besides the usual words.

    Examples
    --------
    >>> age = PreparedColumn("age", "number", fill=40.0)
    >>> sex = PreparedColumn("sex", "category", levels=("f", "m"))
    >>> preparation = TablePreparation((age, sex))
    >>> preparation.feature_names
    ('age', 'sex=f', 'sex=m')
    >>> cells = {"age": CellColumn("age", np.array(["30", "NA"])), "sex": CellColumn("sex", np.array(["m", "x"]))}
    >>> preparation.apply(cells)[0].tolist()
    [[30.0, 0.0, 1.0], [40.0, 0.0, 0.0]]
    """

    columns: tuple[PreparedColumn, ...]
    missing: MissingRule = "median"
    missing_values: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the table that are used."""
        return tuple(column.name for column in self.columns)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The columns of numbers that are made of them."""
        return tuple(name for column in self.columns for name in column.feature_names)

    @property
    def only_numbers(self) -> bool:
        """Whether all columns are numbers, so that a table without missing values is unchanged."""
        return all(column.kind == "number" and not column.indicator for column in self.columns)

    @classmethod
    def of_numbers(cls, names: Sequence[str], X: NDArray[Any], missing: MissingRule = "median") -> TablePreparation:
        """Learn from a table of numbers without missing values. Time O(size), memory O(1) beyond X."""
        named = zip(names, X.T, strict=True)
        return cls(tuple(PreparedColumn(name, "number", _fill(column, missing)) for name, column in named), missing)

    def apply(self, cells: Mapping[str, CellColumn]) -> tuple[NDArray[np.float64], tuple[str, ...]]:
        """Return the numbers of a table, shape (m, n_features), and what their columns are called.

        A missing number that has no fill is NaN. Time and memory O(result).
        """
        matrices = [column.matrix(cells[column.name]) for column in self.columns]
        return np.hstack(matrices), self.feature_names

    def filled(self, cells: Mapping[str, CellColumn]) -> NDArray[np.bool_]:
        """Return where `apply` puts a median or a mean, shape (m, n_features)."""
        masks = []
        for prepared in self.columns:
            is_value = np.arange(len(prepared.feature_names)) == 0
            masks.append(cells[prepared.name].missing[:, None] & is_value & (prepared.kind != "category"))
        return np.hstack(masks)

    def check(self, cells: Mapping[str, CellColumn], positions: NDArray[np.int64], faults: Faults) -> list[str]:
        """Collect the cells that cannot be used, and return notes on what was filled and what is unknown."""
        filled: list[str] = []
        notes: list[str] = []
        for prepared in self.columns:
            column = cells.get(prepared.name)
            if column is None:  # which is a fault already
                continue
            values = prepared.values(column)
            strange = np.isnan(values) & ~column.missing
            if prepared.kind == "category":
                unknown = sorted(set(column.words[strange].tolist()))
                if unknown:
                    listed = first_of(map(repr, unknown), 3)
                    notes.append(f"column {prepared.name!r} has words that the model does not know ({listed})")
                continue
            for row in np.flatnonzero(strange).tolist():
                faults.add(self._fault(prepared, column.words[row]), int(positions[row]), prepared.name)
            if column.missing.any() and math.isnan(prepared.fill) and self.missing != "drop":
                for row in np.flatnonzero(column.missing).tolist():
                    faults.add("the cell is missing: expected a number", int(positions[row]), prepared.name)
            elif column.missing.any():
                filled.append(f"{prepared.name!r} {np.count_nonzero(column.missing):,}")
        if filled and self.missing in ("median", "mean"):
            notes.append(f"missing cells became the {self.missing} of their column ({first_of(filled)})")
        return notes

    @staticmethod
    def _fault(prepared: PreparedColumn, word: str) -> str:
        if prepared.kind == "ordinal":
            return f"{shown(word.encode())} is not a level of {prepared.name!r}: expected {', '.join(prepared.levels)}"
        remedy = "leave the column out with exclude, or name the word in missing_values"
        return f"{number_fault(word.encode())}; {remedy}"

    def as_data(self) -> dict[str, Any]:
        """Return a representation of numbers, strings and lists, for saving."""
        columns = self.columns
        return {
            "missing": self.missing,
            "names": [column.name for column in columns],
            "kinds": [column.kind for column in columns],
            "fills": [column.fill for column in columns],
            "levels": {column.name: list(column.levels) for column in columns if column.levels},
            "indicators": [column.name for column in columns if column.indicator],
            **({"missing_values": list(self.missing_values)} if self.missing_values else {}),
            **({"units": units} if (units := {one.name: one.unit for one in columns if one.unit}) else {}),
        }

    @classmethod
    def from_data(cls, data: Any) -> TablePreparation:
        """Build from the result of `as_data`; anything else is an error.

        Examples
        --------
        >>> preparation = TablePreparation((PreparedColumn("sex", "category", levels=("f", "m")),))
        >>> TablePreparation.from_data(preparation.as_data()).feature_names
        ('sex=f', 'sex=m')
        """
        try:
            missing, levels, indicators = data["missing"], data["levels"], set(data["indicators"])
            codes, units = tuple(data.get("missing_values", ())), dict(data.get("units", {}))
            columns = tuple(
                PreparedColumn(
                    name, kind, float(fill), tuple(levels.get(name, ())), name in indicators, units.get(name, "")
                )
                for name, kind, fill in zip(data["names"], data["kinds"], data["fills"], strict=True)
            )
            for one in columns:
                if one.kind not in get_args(ColumnKind) or not all(
                    isinstance(word, str) for word in (one.name, one.unit, *one.levels, *codes)
                ):
                    raise ValueError(f"column {one.name!r}")
        except (TypeError, KeyError, ValueError, AttributeError) as error:
            raise InvalidInputError(f"the preparation of the table is damaged: {error}") from None
        if missing not in MISSING_RULES:
            known = ", ".join(MISSING_RULES)
            raise InvalidInputError(f"the table preparation is damaged: missing is {missing!r}, not one of {known}")
        return cls(columns, missing, codes)


# Normalised text ------------------------------------------------------------------------------------------------------
#
# Text as UTF-8 with decimal points, whatever program saved it.
#
# Spreadsheets save what the country is used to: Latin letters in one byte each, semicolons between cells, commas in
# numbers. A cell that is a number with one comma becomes one with a point, before anything else is read from it.


@dataclass(frozen=True)
class NormalisedText:
    """A table as CSV text in UTF-8, and what messages call it."""

    text: bytes
    notes: tuple[str, ...] = ()
    mark: str = ""
    name: str = ""

    @classmethod
    def of(
        cls, source: Source, kind: FileFormat, layout: TableLayout | None = None, *, numbers: bool = True
    ) -> NormalisedText:
        """Read a file whole, and let its numbers have decimal points. Time and memory O(bytes)."""
        notes: list[str] = []
        layout = layout or TableLayout()
        mark, told, name = ",", "", source_name(source)
        if kind == "parquet":
            text = _parquet_text(source).decode()
        elif kind == "xlsx":
            text, note = _workbook_text(source, layout.sheet)
            notes, name = ([note], f"{name} ({note})") if note else ([], name)
        else:
            lines = read_unicode(source)
            rewind(source)
            text, notes = _decoded(lines or b"".join(block.text for block in read_blocks(source)))
            text = re.sub(r"(?m)^[,;|\t ]+\r?$", "", text)  # empty rows of a sheet
            if first := re.match(r"sep=([;,|\t])\r?(?=\n)", text):  # what Excel writes and reads
                text, told = text[first.end() :], first[1]
            mark = told or ("\t" if kind == "tsv" else "")
        if layout.skip_rows:
            # The lines keep their numbers, for messages.
            text = "\n" * layout.skip_rows + text.split("\n", layout.skip_rows)[-1]
        # Only text is in quotes there: numbers that are stored as such have points, whatever the country.
        is_typed = kind in ("parquet", "xlsx")
        pointed, changes = _with_points(text, mark, only_quoted=is_typed) if numbers else (text, [])
        return cls(pointed.encode(), (*notes, *changes), told, name)


def _decoded(text: bytes) -> tuple[str, list[str]]:
    notes = {"utf-8": [], "cp1252": ["the file is not UTF-8: it was read as Windows-1252 (Latin-1)"]}
    for encoding, note in notes.items():
        with contextlib.suppress(UnicodeDecodeError):
            return text.decode(encoding), note
    return text.decode("latin-1"), ["the file is not UTF-8: it was read as Latin-1"]


GAP = "'\u2019 \u00a0\u202f"
SHAPES = {
    "either comma": r"[1-9]\d{0,2},\d{3}",
    "either point": r"[1-9]\d{0,2}\.\d{3}",
    "comma": rf"\d*,\d+|[1-9]\d{{0,2}}(?:([.{GAP}])\d{{3}})(?:\1\d{{3}})*,\d+",
    "point": r"\d*\.\d+",
    "commas": r"[1-9]\d{0,2}(?:,\d{3})+\.\d+|[1-9]\d{0,2}(?:,\d{3}){2,}",
    "points": r"[1-9]\d{0,2}(?:\.\d{3}){2,}",
    "gaps": rf"[1-9]\d{{0,2}}(?:([{GAP}])\d{{3}})(?:\1\d{{3}})*(?:\.\d+)?",
}
"""How a number is written: with a comma or a point before its decimals, or marks between its thousands, or either."""


def _with_points(text: str, mark: str = "", *, only_quoted: bool = False) -> tuple[str, list[str]]:
    """Write numbers with a decimal point and nothing between thousands; `mark` separates the cells. Time O(size).

    A comma before three digits is a decimal comma if another one must be, and stands between thousands if a point must
    be a decimal point elsewhere; with neither it stays. A point before three digits stands between thousands only where
    other numbers have decimal commas, and none a decimal point.
    """
    header = text.lstrip("\r\n").partition("\n")[0]
    mark = mark or max(",;\t|", key=header.count)
    number = r"[<>≤≥]?=? *[$€£]?[+-]?(\d*(?:[%s]\d+)+)(?:[eE][+-]?\d+)? *(?:%%|[$€£]|[^\W\d_][^\d\s,;\"]{0,9})?"
    plain, quoted = number % f".,{GAP}".replace(mark, ""), number % f".,{GAP}"
    plain = r"(?!)()" if only_quoted else plain
    cell = re.compile(rf'(?<![^{mark}\n])(?:{plain}|"{quoted}")(?![^{mark}\r\n])')
    found = Counter(one[1] or one[2] for one in cell.finditer(text))
    shapes = {
        digits: next((shape for shape, pattern in SHAPES.items() if re.fullmatch(pattern, digits)), "")
        for digits in found
    }
    has_commas = "comma" in shapes.values()
    has_points = not {"point", "commas"}.isdisjoint(shapes.values())
    meant = {
        "either comma": "comma" if has_commas else "commas" if has_points else "",
        "either point": "points" if has_commas and not has_points else "",
    }
    shapes = {digits: meant.get(shape, shape) for digits, shape in shapes.items()}
    written = {
        digits: re.sub(
            rf"[{GAP}{',' if shape == 'commas' else '.' if shape in ('points', 'comma') else ''}]", "", digits
        )
        for digits, shape in shapes.items()
    }
    count = Counter[str]()
    for digits, shape in shapes.items():
        if shape == "comma":
            written[digits] = written[digits].replace(",", ".")
            count["commas are decimal points"] += found[digits]
        if len(written[digits]) < len(digits) and shape:
            count["marks between thousands were left out"] += found[digits]
    if not count:
        return text, []

    def tidy(one: re.Match[str]) -> str:
        digits = one[1] or one[2]
        return one[0].replace(digits, written[digits] if shapes[digits] else digits)

    notes = [f"{what} in {cells:,} cell{'s' * (cells > 1)}" for what, cells in count.items()]
    return cell.sub(tidy, text), notes


def _parquet_text(source: Any) -> bytes:
    import pyarrow
    from pyarrow import csv as arrow_csv
    from pyarrow import parquet

    rewind(source)
    buffer = io.BytesIO()
    try:
        table = parquet.read_table(source)
        if not table.num_columns:
            raise FileFormatError("there is no Parquet file with columns in the folder", source_name(source))
        arrow_csv.write_csv(table, buffer)
    except pyarrow.ArrowException as error:
        raise FileFormatError(f"the table cannot be read: {error}", source_name(source)) from None
    return buffer.getvalue()


def _workbook_text(source: Any, sheet: str | None) -> tuple[str, str]:
    """Return a sheet of an Excel file, a line for each row, and a note if the first of several was chosen."""
    try:
        import openpyxl  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        raise MissingExtraError("openpyxl, which reads Excel files,", "excel") from None
    rewind(source)
    try:
        workbook = openpyxl.load_workbook(source, read_only=True, data_only=True)
        names = [one.title for one in workbook.worksheets]
        if sheet not in (None, *names):
            message = f"there is no sheet {sheet!r}; the sheets are {', '.join(map(repr, names))}"
            raise FileFormatError(message, source_name(source))
        others = first_of(map(repr, names[1:])) if sheet is None else ""
        note = f"read the first of {len(names)} sheets, {names[0]!r}; --sheet reads another: {others}" if others else ""
        chosen = workbook.worksheets[0 if sheet is None else names.index(sheet)]
        rows = [[_cell(value) for value in row] for row in chosen.iter_rows(values_only=True)]
        workbook.close()
    except (OSError, FileFormatError):
        raise
    except Exception as error:
        # A damaged workbook fails wherever the damage is: in the zip file, in its XML, or in a value.
        message = f"the Excel file cannot be read: {error}; save the sheet as CSV"
        raise FileFormatError(message, source_name(source)) from error
    widths = [1 + max((place for place, cell in enumerate(row) if cell != ""), default=-1) for row in rows]
    width = max(widths, default=0)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    for row, length in zip(rows, widths, strict=True):
        writer.writerow((row + [""] * width)[:width] if length else [])
    return text.getvalue(), note


def _cell(value: object) -> str | float:
    if value is None or isinstance(value, (int, float)):
        return "" if value is None else value
    text = value.isoformat() if hasattr(value, "isoformat") else str(value)
    return " ".join(text.split())
