"""Tables of votes, CSV, TSV, Parquet or Excel, as preferences.

Cells become numbers of words block by block; what the words of an arena log mean is decided when all are known.
"""

from __future__ import annotations

import contextlib
import io
import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.progress import track
from kernelrank.data.delimited import DelimitedTable
from kernelrank.data.file_format import FileFormat
from kernelrank.data.item_codes import ItemCodes
from kernelrank.data.line import shown
from kernelrank.data.normalised_text import NormalisedText
from kernelrank.data.parquet import ParquetTable
from kernelrank.data.table import Table, TableBlock
from kernelrank.data.text import Source, source_name
from kernelrank.data.vote_columns import VoteColumns, VoteRequest
from kernelrank.data.vote_words import READ_AS, UNKNOWN, WinnerWords, truth
from kernelrank.data.votes import Preferences
from kernelrank.data.words import join_labels
from kernelrank.errors import FileFormatError

__all__ = ["open_votes", "read_votes"]


def open_votes(source: Source, kind: FileFormat) -> Table:
    """Open a table of votes."""
    if kind == "parquet":
        return ParquetTable(source)
    if kind == "xlsx":
        stream = io.BytesIO(NormalisedText.of(source, kind).text)
        stream.name = source_name(source)
        return DelimitedTable(stream, "csv")
    return DelimitedTable(source, kind)


def read_votes(table: Table, request: VoteRequest, items: ItemCodes) -> Preferences:
    """Read the votes of a table. Time O(bytes); memory O(votes).

    Raises
    ------
    FileFormatError
        At the first row that cannot be read; for a column that is not there, with those that are.
    """
    columns = VoteColumns.of(table, request)
    first = table.first_block()
    if first is None:
        raise table.error("the file has no preferences: expected one in each row")
    if columns.loser is not None:
        item_columns = (columns.winner, columns.loser)
    else:
        item_columns = _likeliest_sides(table, first, columns)
    reader = _VoteReader(table, columns, item_columns, items)
    numbers = {column for column in (columns.weight, columns.magnitude) if column is not None}
    used = {columns.winner, *columns.marks, *item_columns, columns.tie, columns.judge, *numbers}
    table.choose({column for column in used if column is not None}, numbers)
    blocks = track(table.blocks(), None, f"reading {os.path.basename(table.path)}", size=len, noun="rows")
    with contextlib.closing(blocks):
        for block in blocks:
            reader.add(block)
    return reader.preferences()


def _likeliest_sides(table: Table, first: TableBlock, columns: VoteColumns) -> tuple[int, int]:
    """Return the pair of columns that the words of the winners fit best: as the names of columns, then of items."""
    if len(columns.sides) == 1:
        return columns.sides[0]
    codes, words = first.coded(columns.winner)
    fits = []
    for left, right in columns.sides:
        items = ItemCodes()
        try:
            pairs = np.column_stack([_item_codes(table, first, column, items) for column in (left, right)])
        except FileFormatError:
            # Texts that were compared, some of them empty or very long, say.
            fits.append((-1, 0))
            continue
        winner = WinnerWords(words.tolist(), (table.names[left], table.names[right]), items)
        kind, _, n_explained = winner.reading(codes, pairs)
        fits.append((n_explained, -list(READ_AS).index(kind)))
    best = [pair for pair, fit in zip(columns.sides, fits, strict=True) if fit == max(fits)]
    if len(best) > 1:
        listed = ", or ".join(f"{table.names[left]!r} and {table.names[right]!r}" for left, right in best)
        raise table.error(f"the items could be {listed}: name their columns with left= and right=")
    return best[0]


def _item_codes(table: Table, block: TableBlock, column: int, items: ItemCodes) -> NDArray[np.int64]:
    """Return the number of the item in each row."""

    def error(message: str, place: tuple[int, int]) -> FileFormatError:
        return table.error(message, *place)

    codes, words = block.coded(column)
    item_of = np.empty(len(words), dtype=np.int64)
    for number, word in enumerate(words.tolist()):
        known = items.code_of.get(word)
        if known is None:
            place = (int(block.positions[int(np.argmax(codes == number))]), column)
            if not word:
                raise error("the cell is empty: expected the name of an item", place)
            known = items.code(word, place, error)
        item_of[number] = known
    return item_of[codes]


@dataclass
class _VoteReader:
    """The rows read so far."""

    table: Table
    columns: VoteColumns
    item_columns: tuple[int, int]
    items: ItemCodes
    words: dict[str, int] = field(default_factory=dict)
    positions: list[NDArray[np.int64]] = field(default_factory=list)
    pairs: list[NDArray[np.int64]] = field(default_factory=list)
    winners: list[NDArray[np.int32]] = field(default_factory=list)
    ties: list[NDArray[np.bool_]] = field(default_factory=list)
    judges: list[NDArray[Any]] = field(default_factory=list)
    weights: list[NDArray[np.float64]] = field(default_factory=list)
    magnitudes: list[NDArray[np.float64]] = field(default_factory=list)

    def add(self, block: TableBlock) -> None:
        """Read some rows."""
        columns = self.columns
        self.positions.append(block.positions)
        self.pairs.append(
            np.column_stack([_item_codes(self.table, block, column, self.items) for column in self.item_columns])
        )
        if columns.marks:
            self.winners.append(self._marked(block))
        elif columns.loser is None:
            codes, words = block.coded(columns.winner)
            numbers = [self.words.setdefault(word, len(self.words)) for word in words.tolist()]
            self.winners.append(np.array(numbers, dtype=np.int32)[codes])
        if columns.tie is not None:
            self.ties.append(self._truths(block, columns.tie))
        if columns.judge is not None:
            self.judges.append(self._judges(block, columns.judge))
        for column, pieces, what in (
            (columns.weight, self.weights, "weight"),
            (columns.magnitude, self.magnitudes, "magnitude"),
        ):
            if column is not None:
                pieces.append(self._amounts(block, column, what))

    def _marked(self, block: TableBlock) -> NDArray[np.int32]:
        """Return which column marks the winner in each row, as a number of its word: a column of items, or a tie."""
        marks = self.columns.marks
        for word in (*(self.table.names[column] for column in self.item_columns), "tie"):
            self.words.setdefault(word, len(self.words))
        marked = np.column_stack([self._truths(block, column) for column in marks])
        wrong = marked.sum(axis=1) != 1
        if wrong.any():
            row = int(np.argmax(wrong))
            names = " and ".join(repr(self.table.names[column]) for column in marks)
            message = f"expected a 1 in exactly one of the columns {names}; found it in {int(marked[row].sum())}"
            raise self.table.error(message, int(block.positions[row]), marks[0])
        return np.asarray(np.argmax(marked, axis=1), dtype=np.int32)

    def _judges(self, block: TableBlock, column: int) -> NDArray[Any]:
        try:
            return block.labels(column)
        except FileFormatError as error:
            error.args = (f"{error}. An empty name for judge= leaves judges out",)
            raise

    def _truths(self, block: TableBlock, column: int) -> NDArray[np.bool_]:
        codes, words = block.coded(column)
        truths = [truth(word) for word in words.tolist()]
        for number, (word, value) in enumerate(zip(words.tolist(), truths, strict=True)):
            if value is None:
                row = int(np.argmax(codes == number))
                message = f"{shown(word)} is neither yes nor no: expected 1 or 0, true or false, yes or no"
                raise self.table.error(message, int(block.positions[row]), column)
        return np.array(truths, dtype=np.bool_)[codes]

    def _amounts(self, block: TableBlock, column: int, what: str) -> NDArray[np.float64]:
        values: NDArray[np.float64] = block.numbers([column])[:, 0]
        if np.any(values < 0):
            row = int(np.argmax(values < 0))
            message = f"the {what} {float(values[row])!r} is negative: expected zero or more"
            raise self.table.error(message, int(block.positions[row]), column)
        return values

    def preferences(self) -> Preferences:
        """Return what was read."""
        if not self.pairs:
            raise self.table.error("the file has no preferences: expected one in each row")
        pairs = np.concatenate(self.pairs)
        tie = np.concatenate(self.ties) if self.ties else np.zeros(len(pairs), dtype=np.bool_)
        weight, magnitude = (np.concatenate(pieces) if pieces else None for pieces in (self.weights, self.magnitudes))
        side = None
        if self.columns.loser is None:
            kind, won = self._won(pairs, tie)
            said = self._said_of_sides(kind)
            tie |= won == 0
            side = np.where(won == -1, np.int8(-1), np.int8(1))
            pairs = np.where((side == 1)[:, None], pairs, pairs[:, ::-1])
        else:
            said = f"the winners are column {self._name('winner')}, the losers column {self._name('loser')}"
            self._refuse_self(pairs)
        if magnitude is not None:
            tie |= magnitude == 0
        if tie.any():
            magnitude = np.where(tie, 0.0, 1.0 if magnitude is None else magnitude)
        judge = join_labels(self.judges) if self.judges else None
        notes = (*self.table.notes, said, *self._other_notes())
        found = Preferences(pairs, magnitude, weight, None, tie if tie.any() else None, judge, side, notes)
        return self._with_names(self._without_self(found))

    def _without_self(self, found: Preferences) -> Preferences:
        """Leave out the rows of an arena log that compare an item with itself."""
        differs = found.pairs[:, 0] != found.pairs[:, 1]
        if differs.all():
            return found
        if not differs.any():
            raise self.table.error("no preference is left: each row compares an item with itself")
        n_left_out = int(np.count_nonzero(~differs))
        note = f"left out: {n_left_out:,} vote{'s' * (n_left_out > 1)} between an item and itself"
        return found.chosen(differs)._replace(notes=(*found.notes, note))

    def _with_names(self, found: Preferences) -> Preferences:
        """Let items be numbers if all of them are, and else names."""
        if not self.items.all_integers():
            return found._replace(names=self.items.names())
        numbers = self.items.item_numbers(lambda message, place: self.table.error(message, *place))
        return found._replace(pairs=numbers[found.pairs])

    def _name(self, role: str) -> str:
        return repr(self.table.names[getattr(self.columns, role)])

    def _won(self, pairs: NDArray[np.int64], tie: NDArray[np.bool_]) -> tuple[str, NDArray[np.int8]]:
        """Return how the winners are said, and who won each row: 1 the left, -1 the right, 0 a tie."""
        codes, words = np.concatenate(self.winners), list(self.words)
        left, right = (self.table.names[column] for column in self.item_columns)
        winner = WinnerWords(words, (left, right), self.items)
        kind, won, _ = winner.reading(codes, pairs)
        won = np.where(tie, np.int8(0), won)
        if np.any(won == UNKNOWN):
            row = int(np.argmax(won == UNKNOWN))
            known = list(self.items.code_of)
            readings = winner.readings(codes[row : row + 1], pairs[row : row + 1])
            others = next((other for other, said in readings.items() if said[0] != UNKNOWN), None)
            message = winner.fault(words[codes[row]], (known[pairs[row, 0]], known[pairs[row, 1]]), kind, others)
            raise self.table.error(message, self._position(row), self.columns.winner)
        return kind, won

    def _position(self, row: int) -> int:
        return int(np.concatenate(self.positions)[row])

    def _said_of_sides(self, kind: str) -> str:
        left, right = (repr(self.table.names[column]) for column in self.item_columns)
        items = f"the items are columns {left} and {right}"
        if self.columns.marks:
            listed = ", ".join(repr(self.table.names[column]) for column in self.columns.marks)
            return f"{items}; columns {listed} mark the winner"
        return f"{items}; column {self._name('winner')} says {READ_AS[kind]}"

    def _refuse_self(self, pairs: NDArray[np.int64]) -> None:
        same = pairs[:, 0] == pairs[:, 1]
        if same.any():
            row = int(np.argmax(same))
            name = list(self.items.code_of)[pairs[row, 0]]
            raise self.table.error(f"{shown(name)} is preferred to itself", self._position(row))

    def _other_notes(self) -> list[str]:
        columns, names = self.columns, self.table.names
        others = {"ties": columns.tie, "weights": columns.weight, "judges": columns.judge}
        others["magnitudes"] = columns.magnitude
        notes = [f"the {what} are column {names[column]!r}" for what, column in others.items() if column is not None]
        used = {columns.winner, *columns.marks, *self.item_columns, *others.values()}
        absent = [repr(name) for column, name in enumerate(names) if column not in used]
        if absent:
            listed = ", ".join(absent[:5]) + (", ..." if len(absent) > 5 else "")
            notes.append(f"left out: {len(absent)} column{'s' * (len(absent) > 1)} ({listed})")
        return notes
