"""Delimited text: CSV and TSV files as tables, read by pyarrow.

Each block of whole records is one call of ``pyarrow.csv``. Features are read as numbers, because the roles of the
columns are known by then; all other columns are read as text, and converted on demand. No type is guessed
from the first rows. pyarrow is generous where we are not: a quote inside a field, text after a closing quote. What it
would read in another way than we do, and what it refuses, is read again by `scan_records`, which names the line.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kernelrank.data.decimals import read_decimal
from kernelrank.data.delimited_block import MISSING_WORDS, DelimitedBlock, WideBlock
from kernelrank.data.delimited_records import Quotes, TextAfterQuoteError, scan_records
from kernelrank.data.line import shown
from kernelrank.data.table import Table, TableBlock
from kernelrank.data.text import Source, plain_size, read_blocks, source_name
from kernelrank.data.words import LONGEST_LABEL, long_message
from kernelrank.errors import FileFormatError, MissingExtraError

if TYPE_CHECKING:
    import pyarrow

__all__ = ["DelimitedTable"]

LONGEST_RECORD = 1 << 24
FIRST_BYTES = 1 << 16
WIDE = 512
WIDE_BLOCK = 1 << 22
"""How long a block of a table is that has more than `WIDE` columns."""
DELIMITERS = {"csv": ",;\t", "tsv": "\t"}
SPOKEN = {",": "commas", ";": "semicolons", "\t": "tabs"}


class DelimitedTable(Table):
    r"""A CSV or TSV file: names in the first line, then rows with as many fields.

    Parameters
    ----------
    source : path or file object
        A file object must be seekable, for it is read from its beginning each time.
    format : {"csv", "tsv"}
        CSV files may be separated by semicolons or tabs too, if the first line has more of them than commas.
    unique_names : bool, default=False
        Whether columns of the same name, or of none, get names of their own, which `notes` say; else they are an error.

    Raises
    ------
    MissingExtraError
        Without pyarrow.

    Examples
    --------
    >>> import io
    >>> table = DelimitedTable(io.BytesIO(b"name,age\nAda,36\n"), "csv")
    >>> table.names, [block.numbers([1]).tolist() for block in table.blocks()]
    (('name', 'age'), [[[36.0]]])
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
