"""Blocks of delimited text: some records, their columns as pyarrow reads them.

pyarrow works for each column of each block, which is most of the time where a table has thousands of columns. A wide
block of plain fields is therefore read as one column: a newline takes the place of each delimiter, and the numbers that
come back are given their shape again.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from kernelrank.data.arrow_block import ArrowBlock
from kernelrank.data.decimals import read_decimal
from kernelrank.data.delimited_records import scan_records
from kernelrank.data.table import MISSING, number_fault

if TYPE_CHECKING:
    import pyarrow

    from kernelrank.data.delimited import DelimitedTable

__all__ = ["MISSING_WORDS", "DelimitedBlock", "WideBlock"]

MISSING_WORDS = ["", "NA", "N/A", "<NA>", "NULL", "null", "None", "na", "n/a", "?", "."]
"""What pyarrow takes for a missing number; whatever else `MISSING` matches is found by a second look."""
EDGE = 8
"""Up to this column, the ends of cells are found by looking for delimiters from the beginning of each line."""


@dataclass(frozen=True)
class DelimitedBlock(ArrowBlock):
    """Some records. The text of cells that were read as numbers is kept for messages; it is empty if all are strings.

    Parameters
    ----------
    table : DelimitedTable
    text : bytes
    cells : pyarrow.Table
        The columns that were chosen, each called by its number.
    positions : ndarray of int64
        The line of each record.
    """

    table: DelimitedTable
    text: bytes
    cells: pyarrow.Table
    positions: NDArray[np.int64]

    def numbers(
        self, columns: Sequence[int], *, missing: bool = False, advice: str = "", dtype: DTypeLike = np.float64
    ) -> NDArray[Any]:
        """Return numbers; cells that are not numbers are read as text, for the error message."""
        values = self._values(columns)
        if np.isfinite(values).all():
            return values.astype(dtype, copy=False)
        values = values.copy()
        doubtful = np.argwhere(~np.isfinite(values)).tolist()
        # Each column is read as text once, however many of its cells are empty.
        strings = {place: self.strings(columns[place]) for place in {place for _, place in doubtful}}
        for row, place in doubtful:
            token = strings[place][row].as_py().encode()
            if not (missing and MISSING.fullmatch(token)):
                raise self.error(number_fault(token) + advice, row, columns[place])
            values[row, place] = math.nan
        return values.astype(dtype, copy=False)

    def _values(self, columns: Sequence[int]) -> NDArray[np.float64]:
        """Return numbers, and whatever is not finite for a cell that is none."""
        import pyarrow

        chosen = self.cells.select([str(column) for column in columns])
        if all(kind == pyarrow.float64() for kind in chosen.schema.types):
            matrix: NDArray[np.float64] = chosen.to_batches()[0].to_tensor(null_to_nan=True).to_numpy()
            return matrix
        return self._values_of_strings(columns)

    def _values_of_strings(self, columns: Sequence[int]) -> NDArray[np.float64]:
        import pyarrow

        values = np.empty((len(self), len(columns)))
        for place, column in enumerate(columns):
            array = self.strings(column)
            try:
                values[:, place] = array.cast(pyarrow.float64()).to_numpy(zero_copy_only=False)
            except pyarrow.ArrowInvalid:
                read = (read_decimal(token.as_py().encode()) for token in array)
                values[:, place] = [math.nan if value is None else value for value in read]
        return values

    def labels(self, column: int) -> NDArray[Any]:
        """Return integers if each is written as Python writes it, so that "007" is a string."""
        import pyarrow
        import pyarrow.compute

        # Labels come in runs: one of each run is looked at.
        runs = pyarrow.compute.run_end_encode(self.strings(column))
        starts = np.concatenate([[0], runs.run_ends.to_numpy()])
        try:
            integers = runs.values.cast(pyarrow.int64())
        except pyarrow.ArrowInvalid:
            empty = pyarrow.compute.index(runs.values, "").as_py()
            if empty >= 0:
                raise self.error("the cell is empty: expected a label", int(starts[empty]), column) from None
            return self.words(column)
        if not integers.cast(pyarrow.string()).equals(runs.values):
            return self.words(column)
        return np.repeat(integers.to_numpy(), np.diff(starts))

    def holds_text(self, column: int) -> bool:
        """Return whether the first cell that is not missing is text."""
        tokens = self._tokens(column)
        return next((read_decimal(token) is None for token in tokens if not MISSING.fullmatch(token)), False)

    def holds_numbers(self, column: int) -> bool:
        """Return whether a cell is a number; a column without any value counts as numeric."""
        others = []
        for token in self._tokens(column):
            if read_decimal(token) is not None:
                return True
            others.append(token)
        return all(map(MISSING.fullmatch, others))

    def _tokens(self, column: int) -> Iterator[bytes]:
        """Return the cells of a column one by one: nothing more is read than is looked at."""
        if not self.text:
            return (cell.as_py().encode() for cell in self.strings(column))
        records = scan_records(self.text, self.table.delimiter)
        # A record that is too short is refused when all rows are read.
        return (record.fields[column] for record in records if len(record.fields) > column)

    def strings(self, column: int) -> pyarrow.Array:
        """Return a column without the spaces around its cells; it is read here unless it has been read as strings."""
        import pyarrow.compute

        name = str(column)
        if name in self.cells.column_names and self.cells.column(name).type == pyarrow.string():
            array = self.cells.column(name).chunk(0)
        else:
            array = self.table.read_column(self.text, int(self.positions[0]), column)
        return pyarrow.compute.utf8_trim(array, self.spaces) if self.spaces else array

    @cached_property
    def spaces(self) -> str:
        """Spaces that are allowed around the cells."""
        return "".join(space for space in " \t" if space != self.table.delimiter and space.encode() in self.text)


@dataclass(frozen=True)
class WideBlock(DelimitedBlock):
    """Some records of a wide table without quotes; everything is read on demand.

    Parameters
    ----------
    line_ends : ndarray of int64, shape (m,)
        Where each record ends in the text.
    """

    line_ends: NDArray[np.intp]

    @classmethod
    def of(cls, table: DelimitedTable, text: bytes, first_line: int) -> WideBlock | None:
        """Return the block; None if a line is blank, or has too many or too few fields. Time O(bytes)."""
        import pyarrow

        letters = np.frombuffer(text, dtype=np.uint8)
        line_ends = np.flatnonzero(letters == ord("\n"))
        lines = itertools.pairwise([0, *(line_ends + 1).tolist()])
        mark, expected = ord(table.delimiter), len(table.names) - 1
        if any(np.count_nonzero(letters[start:stop] == mark) != expected for start, stop in lines):
            return None
        return cls(table, text, pyarrow.table({}), first_line + np.arange(len(line_ends)), line_ends)

    def strings(self, column: int) -> pyarrow.Array:
        """Return a column without the spaces around its cells."""
        import pyarrow

        spaces = " \r" if self.table.delimiter == "\t" else " \t\r"
        cells = [self.text[start:end].decode().strip(spaces) for start, end in self._spans(column, column)]
        return pyarrow.array(cells, pyarrow.string())

    def _spans(self, first: int, last: int) -> list[tuple[int, int]]:
        """Return where the cells from column `first` to `last` begin and end in each row."""
        begins = self._ends_of(first - 1) + 1
        return list(zip(begins.tolist(), self._ends_of(last).tolist(), strict=True))

    def _ends_of(self, column: int) -> NDArray[np.intp]:
        """Return where the cells of a column end, -1 being the column before the first; at the edges without a scan."""
        if column == len(self.table.names) - 1:
            return self.line_ends
        ends = np.concatenate([[-1], self.line_ends[:-1]])
        if column > EDGE:
            return self._ends[:, column]
        mark = self.table.delimiter.encode()
        for _ in range(column + 1):
            ends = np.array([self.text.index(mark, end + 1) for end in ends.tolist()])
        return ends

    @cached_property
    def _ends(self) -> NDArray[np.intp]:
        """Where each cell ends, shape (m, columns)."""
        letters = np.frombuffer(self.text, dtype=np.uint8)
        is_end = (letters == ord("\n")) | (letters == ord(self.table.delimiter))
        return np.flatnonzero(is_end).reshape(len(self), -1)

    def _values(self, columns: Sequence[int]) -> NDArray[np.float64]:
        """Read all cells as one column of numbers; where one is none, each column for itself."""
        import pyarrow
        from pyarrow import csv

        order = sorted(columns)
        breaks = [0, *(np.flatnonzero(np.diff(order) != 1) + 1).tolist(), len(order)]
        runs = [self._spans(order[i], order[j - 1]) for i, j in itertools.pairwise(breaks)]
        cells = b"\n".join(self.text[start:end] for row in zip(*runs, strict=True) for start, end in row) + b"\n"
        cells = cells.translate(bytes.maketrans(self.table.delimiter.encode(), b"\n"))
        try:
            found = csv.read_csv(
                pyarrow.py_buffer(cells),
                csv.ReadOptions(use_threads=False, block_size=len(cells) + 1, column_names=["0"]),
                csv.ParseOptions(delimiter=self.table.delimiter, quote_char=False, ignore_empty_lines=False),
                csv.ConvertOptions(column_types={"0": pyarrow.float64()}, null_values=MISSING_WORDS),
            ).column("0")
        except pyarrow.ArrowInvalid:
            return self._values_of_strings(columns)
        values: NDArray[np.float64] = found.to_numpy().reshape(len(self), len(order))
        return values if order == list(columns) else values[:, np.searchsorted(order, columns)]
