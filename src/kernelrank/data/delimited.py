"""Delimited text: CSV and TSV files as tables, read by pyarrow.

Each block of whole records is one call of ``pyarrow.csv``. Features are read as numbers, because the roles of the
columns are known by then; all other columns are read as text, and converted on demand. No type is guessed
from the first rows. pyarrow is generous where we are not: a quote inside a field, text after a closing quote. A block
with quotes of that kind, or with a line end in quotes, is read field by field, which names the line of a fault.
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

from kernelrank.data.table import MISSING_WORDS, Table, TableBlock, is_missing, number_fault
from kernelrank.data.text import (
    LONGEST_LABEL,
    Block,
    Source,
    count_lines,
    first_of,
    long_message,
    plain_size,
    read_blocks,
    read_decimal,
    rewind,
    shown,
    source_name,
)
from kernelrank.errors import FileFormatError, MissingExtraError

if TYPE_CHECKING:
    import pyarrow

DELIMITERS = {"csv": ",;\t|", "tsv": "\t"}
SPOKEN = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


class _DelimitedRecord(NamedTuple):
    """The fields of a record, and the line at which it begins."""

    number: int
    fields: list[bytes]


class _Piece(NamedTuple):
    """Whole records of a file, and where they end in it; with their fields if pyarrow would read them differently."""

    text: bytes
    first_line: int
    end: int
    records: list[_DelimitedRecord] | None = None


class DelimitedTable(Table):
    r"""A CSV or TSV file: names in the first line, then rows with as many fields.

    source: A file object must be seekable, for it is read from its beginning each time.
    header: Whether the first line has the names; else the columns are called x1, x2, ...
    longest_record: How many bytes a record with open quotes may have.
    codes: A pattern of further words for a missing cell, in all columns but those in `uncoded`.
    """

    longest_record = 1 << 24

    def __init__(
        self,
        source: Source,
        format: str = "csv",
        *,
        unique_names: bool = False,
        header: bool = True,
        delimiter: str = "",
    ) -> None:
        try:
            import pyarrow.csv  # noqa: F401
        except ImportError:
            raise MissingExtraError("pyarrow, which reads CSV and TSV files,", "data") from None
        self.source = source
        self.path = source_name(source)
        self.delimiter = ""
        self._allowed = delimiter or DELIMITERS[format]
        self._header = header
        self._unique_names = unique_names
        self._chosen: list[int] | None = None
        self._numbers: frozenset[int] = frozenset()
        self._first_line = 1
        self.codes = ""
        self.uncoded: frozenset[int | None] = frozenset()
        self.names = self._read_header()
        if self.delimiter != self._allowed[0]:
            self.notes = (f"the columns are separated by {SPOKEN[self.delimiter]}", *self.notes)

    def _read_header(self) -> tuple[str, ...]:
        """Read the names of the columns, and note where the rows begin."""
        for piece in self._pieces(1 << 16):
            [(line, fields)], stop, _ = self._scan(piece.text, piece.first_line, most=1)
            if not self._header:
                return tuple(f"x{number}" for number in range(1, 1 + len(fields)))
            self._first_line = piece.first_line + piece.text.count(b"\n", 0, stop)
            return self._checked_names(fields, line)
        raise FileFormatError("the file is empty: expected a line that names the columns", self.path)

    def choose(self, columns: Collection[int], numbers: Collection[int] = ()) -> None:
        """Read these columns only, some of them as numbers."""
        self._chosen, self._numbers = sorted(columns), frozenset(numbers)

    def first_block(self) -> TableBlock | None:
        """Read the first rows, as text."""
        for piece in self._pieces(1 << 16):
            return self._block(piece, range(len(self.names)), frozenset())
        return None

    def blocks(self) -> Generator[TableBlock]:
        """Read the rows, about a mebibyte at a time, or more of a wide table. Time O(bytes), memory O(columns)."""
        size = plain_size(self.source)
        columns = range(len(self.names)) if self._chosen is None else self._chosen
        # pyarrow takes time for each column of each block: a wide table has longer blocks.
        wide = len(self.names) << 12
        for piece in self._pieces(min(wide, 1 << 26) if wide > 1 << 20 else None):
            self.share_read = piece.end / size if size else None
            yield self._block(piece, columns, self._numbers)

    def place(self, position: int) -> dict[str, Any]:
        """Name a line."""
        return {"line": position}

    def _pieces(self, block_bytes: int | None) -> Iterator[_Piece]:
        """Read the text after the header in pieces; a record is never cut, and a piece has at least one."""
        rewind(self.source)
        pending, first_line, end = b"", 1, 0
        for block in read_blocks(self.source, block_bytes):
            self._check_encoding(block)
            end += len(block.text)
            n_header = max(0, self._first_line - block.first_line)
            if n_header >= block.n_lines:
                continue
            text = block.text.split(b"\n", n_header)[-1] if n_header else block.text
            first_line = first_line if pending else block.first_line + n_header
            text, pending = pending + text, b""
            self.delimiter = self.delimiter or self._find_delimiter(text)
            if not text.strip(b"\r\n"):
                continue
            if self._is_regular(text):
                yield _Piece(text, first_line, end)
                continue
            records, stop, fault = self._scan(text, first_line)
            if records:
                yield _Piece(text[:stop], first_line, end, records)
            if fault is not None:
                raise fault
            pending, first_line = text[stop:], first_line + text.count(b"\n", 0, stop)
            if len(pending) > self.longest_record:
                break
        if pending:
            raise FileFormatError("a quote is opened in this row and not closed", self.path, first_line)

    def _is_regular(self, text: bytes) -> bool:
        """Return whether all quotes are around whole fields of one line, without a space next to them inside."""
        if b'"' not in text:
            return True
        mark = re.escape(self.delimiter.encode())
        quoted = rb'(?<![^%b\n])"(?![ \t])(?:[^"\n]|"")*+(?<![ \t])"(?=[%b\r\n])' % (mark, mark)
        return b'"' not in re.sub(quoted, b"", text)

    def _scan(
        self, text: bytes, first_line: int, most: float = math.inf
    ) -> tuple[list[_DelimitedRecord], int, FileFormatError | None]:
        r"""Read up to `most` records field by field; return them, where they end, and the error of the next one.

        The format is RFC 4180's, with what people's files have besides: any one-byte delimiter, spaces around a field,
        ``\n`` or ``\r\n`` after any line, blank lines. A field in quotes may hold delimiters, line ends and doubled
        quotes. A record whose quotes stay open is not read, and is no error yet.
        """
        mark, spaces = re.escape(self.delimiter.encode()), b" " if self.delimiter == "\t" else b" \t"
        inner = rb'"((?:[^"]|"")*+)"[%b\r]*' % spaces
        field = re.compile(rb'[%b]*(?:%b|([^"%b%b\n][^%b\n]*)?)(%b|\n)' % (spaces, inner, spaces, mark, mark, mark))
        records: list[_DelimitedRecord] = []
        fields: list[bytes] = []
        position, stop, line = 0, 0, first_line
        while position < len(text) and len(records) < most:
            found = field.match(text, position)
            if found is None:
                closed = re.compile(rb"[%b]*%b" % (spaces, inner)).match(text, position)
                if closed is None:
                    return records, stop, None
                rest = text[closed.end() :].partition(b"\n")[0]
                message = f"{shown(rest)} after a closing quote: expected {self.delimiter!r} or the end of the line"
                line += text.count(b"\n", stop, closed.end())
                return records, stop, FileFormatError(message, self.path, line)
            position = found.end()
            quoted, plain, end = found.groups()
            fields.append((plain or b"").rstrip(spaces + b"\r") if quoted is None else quoted.replace(b'""', b'"'))
            if end == b"\n":
                if len(fields) > 1 or text[stop:position].strip(b"\r\n"):
                    records.append(_DelimitedRecord(line, fields))
                line += text.count(b"\n", stop, position)
                stop, fields = position, []
        return records, stop, None

    def _block(self, piece: _Piece, columns: Sequence[int], numbers: Collection[int]) -> DelimitedBlock:
        """Let pyarrow read some columns of a piece, as text if a cell that should be a number is none."""
        import pyarrow

        if piece.records is not None:
            rows = [record.fields for record in piece.records]
            lines = np.array([record.number for record in piece.records])
            fits = np.array([len(row) == len(self.names) for row in rows])
            wrong_rows = [(len(row), line) for row, line in zip(rows, lines.tolist(), strict=True)]
            self._refuse_widths([one for one in wrong_rows if one[0] != len(self.names)], len(rows))
            rows, lines = [row for row, is_fit in zip(rows, fits, strict=True) if is_fit], lines[fits]
            texts = {str(c): pyarrow.array([row[c].decode() for row in rows], pyarrow.string()) for c in columns}
            return DelimitedBlock(self, b"", pyarrow.table(texts), lines)
        wrong: list[Any] = []
        try:
            cells = self.parse(piece.text, columns, numbers, wrong)
        except pyarrow.ArrowInvalid:
            wrong = []
            cells = self.parse(piece.text, columns, (), wrong)
        n_rows = len(cells) + len(wrong)
        lines = np.arange(count_lines(piece.text))
        if len(lines) > n_rows:
            lines = np.flatnonzero([bool(line.rstrip(b"\r")) for line in piece.text.split(b"\n")])
        lines += piece.first_line
        self._refuse_widths([(row.actual_columns, int(lines[row.number - 1])) for row in wrong], n_rows)
        lines = np.delete(lines, [row.number - 1 for row in wrong])
        return DelimitedBlock(self, piece.text, cells, lines)

    def parse(
        self, text: bytes, columns: Sequence[int], numbers: Collection[int] = (), wrong: list[Any] | None = None
    ) -> pyarrow.Table:
        """Let pyarrow read some columns as numbers or strings, named by their numbers; `wrong` gets invalid rows."""
        from pyarrow import csv, float64, py_buffer, string

        def keep(row: Any) -> str:
            if wrong is not None:
                wrong.append(row)
            return "skip"

        types = {str(column): float64() if column in numbers else string() for column in columns}
        names = [str(column) for column in range(len(self.names))]
        missing = [case(word) for word in MISSING_WORDS for case in (str.lower, str.upper, str.title)]
        return csv.read_csv(
            py_buffer(text),
            csv.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=names),
            csv.ParseOptions(delimiter=self.delimiter, invalid_row_handler=keep),
            csv.ConvertOptions(column_types=types, include_columns=list(types), null_values=missing),
        ).combine_chunks()

    def _refuse_widths(self, wrong: list[tuple[int, int]], n_rows: int) -> None:
        """Raise an error for records with too few or too many fields, each with its line."""
        width = len(self.names)
        if self.wrong_rows is not None and len(wrong) < n_rows:
            fault = "{} fields, but the first line names {} columns"
            self.wrong_rows += [(line, self.error(fault.format(found, width), line)) for found, line in wrong]
        elif wrong:
            found, line = wrong[0]
            is_shifted = len(wrong) == n_rows and {found for found, _ in wrong} == {width + 1}
            hint = ": does the first column lack a name, as in files of R?" if is_shifted else ""
            if len(wrong) > 1 and not hint:
                hint = f"; also wrong: line{'s' * (len(wrong) > 2)} {first_of(str(other) for _, other in wrong[1:])}"
            raise self.error(f"{found} fields, but the first line names {width} columns{hint}", line)

    def _check_encoding(self, block: Block) -> None:
        try:
            block.text.decode()
        except UnicodeDecodeError as error:
            line = block.first_line + block.text.count(b"\n", 0, error.start)
            message = f"the byte {block.text[error.start]:#04x} is not UTF-8: save the file as UTF-8 text"
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
            message = "all fields of the first line are numbers: expected the names of the columns"
            raise FileFormatError(message, self.path, line)
        named = sum(name != "" for name in names)
        if self._unique_names and len(names) > 2 and 2 * named < len(names):
            message = (
                f"names {named} of {len(names)} columns: if the names are in another line, give it by --header-row, or "
                "leave out the lines above it by skip_rows in Python"
            )
            raise FileFormatError(message, self.path, line)
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
            called = name if name or number == 1 else f"column {number}"
            again = (f"{name or f'column {number}'} ({count})" for count in itertools.count(2))
            free = (new for new in again if new not in unique and new not in names)
            unique.append(called if called not in unique else next(free))
            if unique[-1] != name:
                why = "occurs twice" if name else "is empty"
                changed.append(f"column {number} was renamed to {unique[-1]!r}, because its name {why}")
        more = [f"{len(changed) - 5} more columns were renamed"] if len(changed) > 5 else []
        self.notes = (*self.notes, *changed[:5], *more)
        return tuple(unique)


@dataclass(frozen=True)
class DelimitedBlock(TableBlock):
    """Some records. The text of cells that were read as numbers is kept for messages; it is empty if all are strings.

    cells: The columns that were chosen, each called by its number.
    positions: The line of each record.
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
        if missing:  # what pyarrow reads as a number that is none says that nothing is known
            read = [self.cells.schema.field(str(column)).type == "double" for column in columns]
            doubtful = np.argwhere(~np.isfinite(values) & ~(np.isnan(values) & read)).tolist()
        # Each column is read as text once, however many of its cells are empty.
        strings = {place: self.strings(columns[place]) for place in {place for _, place in doubtful}}
        for row, place in doubtful:
            token = strings[place][row].as_py().encode()
            if not (missing and is_missing(token.decode())):
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
        known = (word for word in self.strings(column).to_pylist() if not is_missing(word))
        return any(read_decimal(word.encode()) is None for word in itertools.islice(known, 1))

    def holds_numbers(self, column: int) -> bool:
        """Return whether a cell is a number; a column without any value counts as numeric."""
        words = set(self.strings(column).to_pylist())
        return any(read_decimal(word.encode()) is not None for word in words) or all(map(is_missing, words))

    def strings(self, column: int) -> pyarrow.Array:
        """Return a column without the spaces around its cells; it is read here unless it has been read as strings."""
        import pyarrow.compute

        name = str(column)
        if name in self.cells.column_names and self.cells.column(name).type == pyarrow.string():
            array = self.cells.column(name).chunk(0)
        else:
            array = self.table.parse(self.text, [column]).column(0).chunk(0)
        array = pyarrow.compute.utf8_trim(array, self.spaces) if self.spaces else array
        if self.table.codes and column not in self.table.uncoded:
            array = pyarrow.compute.replace_substring_regex(array, f"^(?i:{self.table.codes})$", "")
        return array

    @cached_property
    def spaces(self) -> str:
        """Spaces that are allowed around the cells."""
        return "".join(space for space in " \t" if space != self.table.delimiter and space.encode() in self.text)
