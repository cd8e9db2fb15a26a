"""Tables with missing cells, text columns, dates and other irregularities.

A table of plain numbers is read as `read_items` does. Any other is read whole as text, normalised and prepared: see
`NormalisedText` and `TablePreparation`.
"""

from __future__ import annotations

import dataclasses
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelrank.data.columns import ColumnRequest
from kernelrank.data.delimited import DelimitedTable
from kernelrank.data.file_format import FileFormat, file_format
from kernelrank.data.item_rows import ItemRows, TableReader
from kernelrank.data.items import Items
from kernelrank.data.normalised_text import NormalisedText
from kernelrank.data.readers import items_of_source
from kernelrank.data.table import MISSING, TableBlock
from kernelrank.data.table_preparation import (
    DATE,
    MISSING_RULES,
    CellColumn,
    Faults,
    MissingRule,
    PreparedColumn,
    TablePreparation,
)
from kernelrank.data.text import Source, readable, source_name
from kernelrank.errors import FileFormatError, InvalidInputError

__all__ = ["read_table"]


def read_table(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    target: str | None = None,
    query: str | None = None,
    id: str | None = None,
    weight: str | None = None,
    groups: str | None = None,
    features: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    n_features: int | None = None,
    pos_label: str | None = None,
    guess_positive: bool = False,
    needs_target: bool = True,
    missing: MissingRule = "median",
    missing_indicator: bool = False,
    ordinal: Mapping[str, Sequence[str]] | None = None,
    preparation: TablePreparation | None = None,
) -> Items:
    r"""Read a table with missing values, categories, decimal commas, any encoding; also Excel.

    Encoding and imputation are learnt from all rows, without the target. `Items.notes` lists what was done, and
    `Items.preparation` applies it to another table. One error lists all problems of a table.

    Parameters
    ----------
    path : str or path-like
        As in `read_items`, or an Excel file (``.xlsx``), whose first sheet is read.
    format, target, query, id, weight, groups, features, n_features, pos_label, guess_positive, needs_target
        As in `read_items`. Rows whose target is missing are left out if `needs_target`.
    exclude : sequence of str, default=()
        Names or patterns of columns to leave out.
    missing : {"median", "mean", "drop", "error"}, default="median"
        How missing numbers are handled: replaced by the median or the mean of their column; ``"drop"`` leaves out
        their rows; ``"error"`` raises an error that lists them.
    missing_indicator : bool, default=False
        Whether to add an indicator column (1 where the cell is missing) for each column with missing cells.
    ordinal : mapping from str to sequence of str, optional
        Columns whose words have an order, with the words from the lowest on.
    preparation : TablePreparation, optional
        Apply what was learnt from another table, with its `missing`, `missing_indicator`, `ordinal` and `features`.

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
    if preparation is not None:
        features, n_features = preparation.names, None
    request = ColumnRequest(
        target, query, id, weight, groups, features, n_features, pos_label, needs_target, guess_positive,
        exclude=tuple(exclude),
    )  # fmt: skip
    rules = _Rules(missing, missing_indicator, dict(ordinal or {}))
    plain = not rules.ordinal if preparation is None else preparation.only_numbers
    with readable(path) as source:
        kind = file_format(source, format)
        if kind == "svmlight":
            return items_of_source(source, kind, request)
        if plain and kind != "xlsx":
            try:
                items = items_of_source(source, kind, request)
            except FileFormatError:
                pass
            else:
                names = items.feature_names or ()
                learnt = preparation or TablePreparation.of_numbers(names, items.X, missing)
                return dataclasses.replace(items, preparation=learnt)
        return _prepared_items(source, kind, request, rules, preparation)


@dataclass(frozen=True)
class _Rules:
    """What the user said about missing cells and ordinal columns."""

    missing: MissingRule
    indicator: bool
    ordinal: dict[str, Sequence[str]]


@dataclass
class _CellReader(TableReader):
    """A reader that keeps the features as text."""

    cells: dict[int, list[NDArray[np.object_]]] = field(default_factory=dict)

    def _features(self, block: TableBlock) -> NDArray[Any]:
        for column in self.roles.features:
            self.cells.setdefault(column, []).append(block.words(column))
        return np.empty((len(block), 0))

    def columns(self) -> dict[str, CellColumn]:
        """Return the features, when all rows have been read."""
        names = {column: self.table.names[column] for column in self.roles.features}
        return {name: CellColumn(name, np.concatenate(self.cells[column])) for column, name in names.items()}


def _prepared_items(
    source: Source, kind: FileFormat, request: ColumnRequest, rules: _Rules, known: TablePreparation | None
) -> Items:
    text = NormalisedText.of(source, kind)
    stream = io.BytesIO(text.text)
    stream.name = source_name(source)
    table = DelimitedTable(stream, "tsv" if kind == "tsv" else "csv", unique_names=True)
    table.notes = (*text.notes, *table.notes)
    faults = Faults(table)
    reader, rows = _read_cells(table, request, faults)
    cells = reader.columns()
    notes: list[str] = []
    once = "columns were encoded and imputed as in the training data"
    if known is None:
        once = "columns were encoded and imputed once, on all rows; the target was not used for that"
        named = {name for name in request.features or () if name in cells}
        known = _learnt(cells, rows.positions, rules, named, faults, notes)
    notes += known.check(cells, rows.positions, faults)
    faults.raise_all()
    X, feature_names = known.apply(cells)
    keep = np.ones(len(rows), dtype=np.bool_)
    if request.needs_target:
        keep, reader.missing_target = _has_target(rows, notes), None
    if known.missing == "drop":
        whole = ~np.isnan(X).any(axis=1)
        if not whole.all():
            notes.append(f"left out: {np.count_nonzero(~whole):,} of {len(rows):,} rows with a missing cell")
        keep &= whole
    if not keep.any():
        raise table.error("no row is left: every row has a missing target or value")
    items = reader.items(rows.chosen(keep))
    filled = known.filled(cells)[keep]
    return dataclasses.replace(
        items,
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
        # A missing target is a row to leave out, which is counted later.
        reader.request = dataclasses.replace(request, needs_target=False)
        rows = ItemRows.joined(list(reader.read()))
        if rows.target is not None:
            known = rows.chosen(_has_target(rows, []))
            if request.needs_target and len(known):
                reader.missing_target = None
                reader.items(known)
    except FileFormatError as error:
        faults.add_error(error)
        features = tuple(name for name in request.features or () if name in table.names)
        others = dataclasses.replace(ColumnRequest("", "", "", "", ""), needs_target=False, features=features or None)
        reader = _CellReader.opened(table, others)
        table.choose(reader.roles.columns)
        rows = ItemRows.joined(list(reader.read()))
    return reader, rows


def _has_target(rows: ItemRows, notes: list[str]) -> NDArray[np.bool_]:
    if rows.target is None:
        return np.ones(len(rows), dtype=np.bool_)
    if rows.target.dtype.kind == "f":
        known: NDArray[np.bool_] = ~np.isnan(rows.target)
    else:
        known = np.array([MISSING.fullmatch(word.encode()) is None for word in rows.target.tolist()], dtype=np.bool_)
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
        if name in rules.ordinal:
            columns.append(_filled(PreparedColumn(name, "ordinal", levels=tuple(rules.ordinal[name])), column, rules))
            continue
        reason = _useless(column, named=name in named)
        if reason:
            left_out.append(f"{name!r} ({reason})")
        elif 2 * np.count_nonzero(column.no_numbers) < len(column.known):
            columns.append(_filled(PreparedColumn(name, "number"), column, rules))
        else:
            indicator = rules.indicator and bool(column.missing.any())
            columns.append(
                PreparedColumn(name, "category", levels=tuple(sorted(set(column.known))), indicator=indicator)
            )
            if rules.missing == "error":
                for row in np.flatnonzero(column.missing).tolist():
                    faults.add("the cell is missing: expected a word", int(positions[row]), name)
    if left_out:
        notes.append(f"left out: {', '.join(left_out[:10])}{', ...' if len(left_out) > 10 else ''}")
    words = [f"{column.name!r} ({len(column.levels)})" for column in columns if column.kind == "category"]
    if words:
        notes.append(f"text columns were one-hot encoded: {', '.join(words[:10])}{', ...' if len(words) > 10 else ''}")
    if not columns:
        without = f"; left out: {', '.join(left_out[:10])}" if left_out else ""
        faults.add(f"no column is left for the features: expected at least one{without}")
    return TablePreparation(tuple(columns), rules.missing)


def _filled(prepared: PreparedColumn, column: CellColumn, rules: _Rules) -> PreparedColumn:
    values = prepared.values(column)
    known = values[~np.isnan(values)]
    fill = float("nan")
    if len(known) and rules.missing in ("median", "mean"):
        fill = float(np.median(known) if rules.missing == "median" else np.mean(known))
    return dataclasses.replace(
        prepared,
        fill=fill,
        indicator=rules.indicator and bool(column.missing.any()),
    )


def _useless(column: CellColumn, *, named: bool) -> str:
    """Return why a column is no feature; nothing if it is one."""
    known = column.known
    if not known:
        return "no value"
    if 2 * np.count_nonzero(column.no_numbers) < len(known):
        return ""
    if sum(DATE.fullmatch(word) is not None for word in known) > 0.9 * len(known):
        return "dates"
    distinct = len(set(known))
    if distinct > 2 and 2 * distinct > len(known) and not named:
        return f"{distinct} different words in {len(known)} rows"
    return "" if distinct > 1 else "one word"
