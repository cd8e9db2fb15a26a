"""Delimited text: CSV and TSV files as tables, read by pyarrow.

Each block of whole records is one call of ``pyarrow.csv``. Features are read as numbers, because the roles of the
columns are known by then; all other columns are read as text, and converted on demand. No type is guessed
from the first rows. pyarrow is generous where we are not: a quote inside a field, text after a closing quote. What it
would read in another way than we do, and what it refuses, is read again by `scan_records`, which names the line.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Collection, Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from kernelrank.data.table import MISSING, ArrowBlock, Table, TableBlock, number_fault
from kernelrank.data.text import (
    LONGEST_LABEL,
    Source,
    count_lines,
    long_message,
    plain_size,
    read_blocks,
    read_decimal,
    shown,
    source_name,
)
from kernelrank.errors import FileFormatError, MissingExtraError

if TYPE_CHECKING:
    import pyarrow

LONGEST_RECORD = 1 << 24
FIRST_BYTES = 1 << 16
WIDE = 512
WIDE_BLOCK = 1 << 22
"""How long a block of a table is that has more than `WIDE` columns."""
DELIMITERS = {"csv": ",;\t", "tsv": "\t"}
SPOKEN = {",": "commas", ";": "semicolons", "\t": "tabs"}


class DelimitedTable(Table):
    r"""A CSV or TSV file: names in the first line, then rows with as many fields.

    source: A file object must be seekable, for it is read from its beginning each time.
    """

    def __init__(self, source: Source, format: str = "csv", *, unique_names: bool = False) -> None:
        try:
            import pyarrow.csv  # noqa: F401
        except ImportError:
            raise MissingExtraError("pyarrow, which reads CSV and TSV files,", "data") from None
        self.source = source
        self.path = source_name(source)
        self.delimiter = ""
        self.names = ()
        self._allowed = DELIMITERS[format]
        self._unique_names = unique_names
        self._chosen: list[int] | None = None
        self._numbers: frozenset[int] = frozenset()
        self._header_end = 0
        self._first_rows = self._read_header()
        if self.delimiter != self._allowed[0]:
            self.notes = (f"the columns are separated by {SPOKEN[self.delimiter]}", *self.notes)

    def _read_header(self) -> list[tuple[Quotes, int, int]]:
        """Read the names of the columns; return the rows that were read with them, if any, as `_rows` does."""
        for records, first_line in self._whole_records(FIRST_BYTES):
            text, size = records.text, len(records.text)
            header = next(scan_records(text, self.delimiter), None)
            if header is not None:
                line = first_line + text.count(b"\n", 0, header.start)
                self.names = self._checked_names(header.fields, line)
                self._header_end += header.stop
                rows = Quotes(text[header.stop :], self.delimiter)
                first_line += text.count(b"\n", 0, header.stop)
                return [(rows, first_line, self._header_end + len(rows.text))] if rows.text else []
            self._header_end += size
        raise FileFormatError("the file is empty: expected a line that names the columns", self.path)

    def choose(self, columns: Collection[int], numbers: Collection[int] = ()) -> None:
        """Read these columns only, some of them as numbers."""
        self._chosen, self._numbers = sorted(columns), frozenset(numbers)

    def first_block(self) -> TableBlock | None:
        """Read the first rows, lazily."""
        for quotes, first_line, _ in itertools.chain(self._first_rows, self._rows(FIRST_BYTES)):
            block = self._unread_block(quotes, first_line) or self._block(quotes, first_line)
            if len(block):
                return block
        return None

    def blocks(self) -> Generator[TableBlock]:
        """Read the rows, about a mebibyte at a time, or four of a wide table. Time O(bytes), memory O(1)."""
        size = plain_size(self.source)
        in_memory = size in [end for *_, end in self._first_rows]
        pieces = self._first_rows if in_memory else self._rows(WIDE_BLOCK if len(self.names) > WIDE else None)
        for quotes, first_line, end in pieces:
            block = self._block(quotes, first_line)
            self.share_read = end / size if size else None
            if len(block):
                yield block

    def _rows(self, block_bytes: int | None) -> Generator[tuple[Quotes, int, int]]:
        """Read the text after the header in pieces, each with the number of its first line and the place of its end."""
        end = 0
        for records, first_line in self._whole_records(block_bytes):
            skipped = min(max(0, self._header_end - end), len(records.text))
            end += len(records.text)
            if not skipped:
                yield records, first_line, end
            elif skipped < len(records.text):
                n_skipped = records.text.count(b"\n", 0, skipped)
                yield Quotes(records.text[skipped:], self.delimiter), first_line + n_skipped, end

    def place(self, position: int) -> dict[str, Any]:
        """Name a line."""
        return {"line": position}

    def _whole_records(self, block_bytes: int | None = None) -> Iterator[tuple[Quotes, int]]:
        """Read the text in pieces, each with the number of its first line; a record is never cut."""
        if not isinstance(self.source, str) and hasattr(self.source, "seek"):
            self.source.seek(0)
        pending, first_line = b"", 1
        for block in read_blocks(self.source, block_bytes):
            self._check_encoding(block.text, block.first_line)
            text, first_line = (pending + block.text, first_line) if pending else (block.text, block.first_line)
            self.delimiter = self.delimiter or self._find_delimiter(text)
            quotes = Quotes(text, self.delimiter, None if pending else block.n_lines)
            stop, fault = self._last_record_end(quotes)
            if stop:
                yield quotes if stop == len(text) else Quotes(text[:stop], self.delimiter), first_line
            if stop < len(text):
                first_line += text.count(b"\n", 0, stop)
            if fault is not None:
                rest = text[fault:].partition(b"\n")[0]
                message = f"{shown(rest)} after a closing quote: expected {self.delimiter!r} or the end of the line"
                raise FileFormatError(message, self.path, first_line + text.count(b"\n", stop, fault))
            pending = text[stop:]
            if len(pending) > LONGEST_RECORD:
                break
        if pending:
            raise FileFormatError("a quote is opened in this row and not closed", self.path, first_line)

    def _last_record_end(self, quotes: Quotes) -> tuple[int, int | None]:
        """Return where the last whole record ends, and where a field goes on after its closing quote, if one does."""
        text = quotes.text
        if quotes.regular:
            return quotes.last_record_end() if quotes.open else len(text), None
        stop = 0
        try:
            for record in scan_records(text, self.delimiter):
                stop = record.stop
        except TextAfterQuoteError as fault:
            return stop, fault.position
        return len(text) if not text[stop:].strip(b"\r\n") else stop, None

    def _block(self, quotes: Quotes, first_line: int) -> DelimitedBlock:
        """Let pyarrow read some records, and `scan_records` those that it refuses or would read in another way."""
        import pyarrow

        columns = range(len(self.names)) if self._chosen is None else self._chosen
        text = quotes.text
        wide = None if len(self.names) <= WIDE or quotes.any else WideBlock.of(self, text, first_line)
        if wide is not None:
            return wide
        for numbers in (self._numbers, frozenset[int]()) if quotes.regular else ():
            try:
                cells = self.parse(text, columns, numbers)
            except pyarrow.ArrowInvalid:
                continue
            # As many rows as lines: none is blank, and none spans lines.
            lines = np.arange(quotes.n_lines) if cells.num_rows == quotes.n_lines else quotes.record_lines()
            return DelimitedBlock(self, text, cells, first_line + lines)
        return self._scanned_block(text, first_line, columns)

    def _unread_block(self, quotes: Quotes, first_line: int) -> DelimitedBlock | None:
        """Return records whose columns are read on demand; None where they may have a fault."""
        import pyarrow

        first = next(scan_records(quotes.text, self.delimiter), None)
        if not quotes.regular or first is None or len(first.fields) != len(self.names):
            return None
        text = quotes.text[first.start :]
        return DelimitedBlock(self, text, pyarrow.table({}), first_line + quotes.record_lines())

    def read_column(self, text: bytes, first_line: int, column: int) -> pyarrow.Array:
        """Read one column of whole records as strings."""
        import pyarrow

        try:
            cells = self.parse(text, [column])
        except pyarrow.ArrowInvalid:
            cells = self._scanned_block(text, first_line, [column]).cells
        return cells.column(0).chunk(0)

    def parse(self, text: bytes, columns: Sequence[int], numbers: Collection[int] = ()) -> pyarrow.Table:
        """Let pyarrow read some columns of whole records, as numbers or as strings; their numbers are their names."""
        from pyarrow import csv, float64, py_buffer, string

        types = {str(column): float64() if column in numbers else string() for column in columns}
        return csv.read_csv(
            py_buffer(text),
            csv.ReadOptions(
                use_threads=False,  # a block is one task: threads only cost
                block_size=len(text) + 1,
                column_names=[str(column) for column in range(len(self.names))],
            ),
            csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=b'"' in text),
            csv.ConvertOptions(column_types=types, include_columns=list(types), null_values=MISSING_WORDS),
        ).combine_chunks()

    def _scanned_block(self, text: bytes, first_line: int, columns: Sequence[int]) -> DelimitedBlock:
        import pyarrow

        records = list(scan_records(text, self.delimiter))
        newlines = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == 10)
        starts = np.array([record.start for record in records], dtype=np.intp)
        lines = first_line + np.searchsorted(newlines, starts)
        self._check_width([len(record.fields) for record in records], lines)
        cells = pyarrow.table(
            {
                str(column): pyarrow.array([record.fields[column].decode() for record in records], pyarrow.string())
                for column in columns
            }
        )
        return DelimitedBlock(self, b"", cells, lines)

    def _check_width(self, widths: list[int], lines: NDArray[np.int64]) -> None:
        """Raise an error for a record with too few or too many fields."""
        width = len(self.names)
        wrong = [(found, line) for found, line in zip(widths, lines.tolist(), strict=True) if found != width]
        if wrong:
            found, line = wrong[0]
            hint = ": does the first column lack a name, as in files of R?" if set(widths) == {width + 1} else ""
            if len(wrong) > 1 and not hint:
                others = ", ".join(str(other) for _, other in wrong[1:6]) + (", ..." if len(wrong) > 6 else "")
                hint = f"; also wrong: line{'s' * (len(wrong) > 2)} {others}"
            raise self.error(f"{found} fields, but the first line names {width} columns{hint}", line)

    def _check_encoding(self, text: bytes, first_line: int) -> None:
        if text.isascii():
            return
        try:
            text.decode()
        except UnicodeDecodeError as error:
            line = first_line + text.count(b"\n", 0, error.start)
            message = f"the byte {text[error.start]:#04x} is not UTF-8: save the file as UTF-8 text"
            raise FileFormatError(message, self.path, line) from None

    def _find_delimiter(self, text: bytes) -> str:
        header = text.lstrip(b"\r\n").partition(b"\n")[0]
        return max(self._allowed, key=lambda mark: header.count(mark.encode()))

    def _checked_names(self, tokens: list[bytes], line: int) -> tuple[str, ...]:
        for number, token in enumerate(tokens, start=1):
            if len(token) > LONGEST_LABEL:
                raise FileFormatError(long_message(f"the name of column {number}", len(token)), self.path, line)
        names = tuple(token.decode() for token in tokens)
        if all(read_decimal(token) is not None for token in tokens):
            raise FileFormatError(
                "all fields of the first line are numbers: expected the names of the columns", self.path, line
            )
        if self._unique_names:
            return self._made_unique(names)
        number_of: dict[str, int] = {}
        for number, name in enumerate(names, start=1):
            if not name and number > 1:
                message = f"column {number} has no name: only a first column of ids may have none"
                raise FileFormatError(message, self.path, line)
            first = number_of.setdefault(name, number)
            if first != number:
                message = f"columns {first} and {number} are both called {shown(name.encode())}"
                raise FileFormatError(message, self.path, line)
        return names

    def _made_unique(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return columns names of their own; only the first, if it holds ids, may have none."""
        unique: list[str] = []
        changed: list[str] = []
        for number, name in enumerate(names, start=1):
            new, again = name, 1
            if not name and number > 1:
                new = f"column {number}"
            while new in unique or (again > 1 and new in names):
                again += 1
                new = f"{name or f'column {number}'} ({again})"
            if new != name:
                changed.append(f"column {number} was renamed to {new!r}, because its name {_trouble(name)}")
            unique.append(new)
        more = [f"{len(changed) - 5} more columns were renamed"] if len(changed) > 5 else []
        self.notes = (*self.notes, *changed[:5], *more)
        return tuple(unique)


def _trouble(name: str) -> str:
    return "occurs twice" if name else "is empty"


# Delimited block ------------------------------------------------------------------------------------------------------
#
# Blocks of delimited text: some records, their columns as pyarrow reads them.
#
# pyarrow works for each column of each block, which is most of the time where a table has thousands of columns. A wide
# block of plain fields is therefore read as one column: a newline takes the place of each delimiter, and the numbers
# that come back are given their shape again.

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

    Shapes: line_ends (m,).
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


# Delimited records ----------------------------------------------------------------------------------------------------
#
# Records of delimited text, one field at a time: slower, but it names the line of an error.
#
# The format is RFC 4180's, with what people's files have besides: any one-byte delimiter, spaces around a field, ``\n``
# or ``\r\n`` after any line, blank lines. A field in quotes may hold delimiters, line ends and doubled quotes. pyarrow
# reads the same where quotes stand at the edges of fields, as `Quotes.regular` says; all other text is read here.

LINE_END = re.compile(rb"\r?\n")
QUOTED = re.compile(rb'"([^"]*(?:""[^"]*)*)"(?!")')


class Record(NamedTuple):
    """One record: where it begins in the text, where the next line begins, and its fields."""

    start: int
    stop: int
    fields: list[bytes]


class TextAfterQuoteError(ValueError):
    """A field goes on after its closing quote, at this position of the text."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


def scan_records(text: bytes, delimiter: str) -> Iterator[Record]:
    r"""Read the records of a text that ends with a newline, up to one whose quotes stay open. Time O(bytes)."""
    mark, spaces = delimiter.encode(), b" " if delimiter == "\t" else b" \t"
    space = re.compile(b"[" + spaces + b"]*")
    after_quote = re.compile(b"[" + spaces + b"\r]*")
    plain = re.compile(b"[^" + re.escape(mark) + b"\n]*")
    position = 0
    while position < len(text):
        blank = LINE_END.match(text, position)
        if blank:
            position = blank.end()
            continue
        stop = text.index(b"\n", position) + 1
        if text.find(b'"', position, stop) < 0:
            fields = [field.lstrip(spaces).rstrip(spaces + b"\r") for field in text[position : stop - 1].split(mark)]
            yield Record(position, stop, fields)
            position = stop
            continue
        start, fields, more = position, [], True
        while more:
            begin = _end(space, text, position)
            if text[begin] == ord('"'):
                quoted = QUOTED.match(text, begin)
                if quoted is None:
                    return
                fields.append(quoted[1].replace(b'""', b'"'))
                position = _end(after_quote, text, quoted.end())
                if text[position] not in (mark[0], ord("\n")):
                    raise TextAfterQuoteError(position)
            else:
                position = _end(plain, text, begin)
                fields.append(text[begin:position].rstrip(spaces + b"\r"))
            more = text[position] == mark[0]
            position += 1
        yield Record(start, position, fields)


def _end(pattern: re.Pattern[bytes], text: bytes, position: int) -> int:
    """Return where a pattern that matches everywhere ends."""
    match = pattern.match(text, position)
    return position if match is None else match.end()


@dataclass(frozen=True)
class Quotes:
    """The quotes of a text as arrays: whether pyarrow parses them the same way, and where records end.

    Every other quote opens a field and the one after it closes it; a doubled quote closes and opens again.
    """

    text: bytes
    delimiter: str
    counted_lines: int | None = None

    @property
    def n_lines(self) -> int:
        """The number of lines."""
        return count_lines(self.text) if self.counted_lines is None else self.counted_lines

    @cached_property
    def _places(self) -> NDArray[np.intp]:
        return np.flatnonzero(self._bytes == ord('"')) if b'"' in self.text else np.empty(0, dtype=np.intp)

    @cached_property
    def _bytes(self) -> NDArray[np.uint8]:
        return np.frombuffer(self.text, dtype=np.uint8)

    @property
    def any(self) -> bool:
        """Whether there is any quote."""
        return len(self._places) > 0

    @property
    def open(self) -> bool:
        """Whether the last quote opens a field that goes on after this text, if quotes are regular."""
        return len(self._places) % 2 == 1

    @cached_property
    def regular(self) -> bool:
        """Return whether each quote is at the edge of a field, without a space next to it inside."""
        if not self.any:
            return True
        # The text ends with a newline, which is also what stands before its first byte.
        before, after = self._bytes[self._places - 1], self._bytes[self._places + 1]
        edge, space = np.zeros((2, 256), dtype=np.bool_)
        edge[[ord(self.delimiter), 10, 13, 34]] = True
        space[[9, 32]] = True
        return bool(
            edge[before[::2]].all()
            and edge[after[1::2]].all()
            and not space[after[::2]].any()
            and not space[before[1::2]].any()
        )

    def _line_ends(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return where lines end, and where records do: at line ends outside of quotes."""
        lines = np.flatnonzero(self._bytes == 10)
        if not self.any:
            return lines, lines
        return lines, lines[np.searchsorted(self._places, lines) % 2 == 0]

    def last_record_end(self) -> int:
        """Return where the last whole record ends."""
        _, records = self._line_ends()
        return int(records[-1]) + 1 if len(records) else 0

    def record_lines(self) -> NDArray[np.int64]:
        """Return the line at which each record begins, counted from zero; blank lines are none."""
        lines, ends = self._line_ends()
        starts = np.concatenate([[0], ends[:-1] + 1])
        blank = (ends == starts) | ((ends == starts + 1) & (self._bytes[starts] == 13))
        first_lines: NDArray[np.int64] = np.searchsorted(lines, starts[~blank]).astype(np.int64)
        return first_lines
