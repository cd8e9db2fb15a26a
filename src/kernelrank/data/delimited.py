"""Delimited text: CSV and TSV files as tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from kernelrank.data.decimals import powers_of_ten, read_decimal, read_decimals
from kernelrank.data.fields import Fields
from kernelrank.data.line import shown
from kernelrank.data.source import Source, read_blocks, source_name
from kernelrank.data.table import MISSING, Table, TableBlock, number_fault
from kernelrank.data.words import LONGEST_LABEL, as_strings, first_long, gather_labels, gather_words, long_message
from kernelrank.errors import FileFormatError

__all__ = ["DelimitedTable"]

LONGEST_RECORD = 1 << 24
DELIMITERS = {"csv": ",;\t", "tsv": "\t"}
SPOKEN = {",": "commas", ";": "semicolons", "\t": "tabs"}


class DelimitedTable(Table):
    r"""A CSV or TSV file: names in the first line, then rows with as many fields.

    Parameters
    ----------
    source : path or file object
        A file object must be seekable, for it is read from its beginning each time.
    format : {"csv", "tsv"}
        CSV files may be separated by semicolons or tabs too, if the first line has no comma.

    Examples
    --------
    >>> import io
    >>> table = DelimitedTable(io.BytesIO(b"name,age\nAda,36\n"), "csv")
    >>> table.names, [block.numbers([1]).tolist() for block in table.blocks()]
    (('name', 'age'), [[[36.0]]])
    """

    def __init__(self, source: Source, format: str = "csv") -> None:
        self.source = source
        self.path = source_name(source)
        self.delimiter = ""
        self._allowed = DELIMITERS[format]
        records = self._records()
        header = next(records, None)
        records.close()
        if header is None:
            raise FileFormatError("the file is empty: expected a line that names the columns", self.path)
        self.names = self._checked_names(header)
        if self.delimiter != self._allowed[0]:
            self.notes = (f"the columns are separated by {SPOKEN[self.delimiter]}",)

    def blocks(self) -> Generator[TableBlock]:
        """Read the rows, about a mebibyte at a time. Time O(bytes), memory O(1)."""
        first = True
        for records in self._records():
            block = records.without_first() if first else records
            first = False
            if len(block):
                block.check_width()
                yield block

    def place(self, position: int) -> dict[str, Any]:
        """Name a line."""
        return {"line": position}

    def _records(self) -> Generator[_DelimitedBlock]:
        """Read records, the header among them; one whose quotes span lines is never cut."""
        if not isinstance(self.source, str) and hasattr(self.source, "seek"):
            self.source.seek(0)
        pending, first_line = b"", 1
        for block in read_blocks(self.source):
            text = pending + block.text
            self._check_encoding(text, first_line)
            self.delimiter = self.delimiter or self._find_delimiter(text)
            fields = Fields.of(np.frombuffer(text, dtype=np.uint8), self.delimiter)
            if len(fields.lines):
                yield _DelimitedBlock(self, text, fields, fields.lines + first_line)
            first_line += text.count(b"\n", 0, max(fields.consumed, 0))
            if fields.fault >= 0:
                line = first_line + text.count(b"\n", fields.consumed, fields.fault)
                rest = text[fields.fault :].partition(b"\n")[0]
                message = f"{shown(rest)} after a closing quote: expected {self.delimiter!r} or the end of the line"
                raise FileFormatError(message, self.path, line)
            pending = text[fields.consumed :]
            if len(pending) > LONGEST_RECORD:
                break
        if pending:
            raise FileFormatError("a quote is opened in this row and not closed", self.path, first_line)

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
        return next((mark for mark in self._allowed if mark.encode() in header), self._allowed[0])

    def _checked_names(self, header: _DelimitedBlock) -> tuple[str, ...]:
        line = int(header.positions[0])
        tokens = header.record(0)
        for number, token in enumerate(tokens, start=1):
            if len(token) > LONGEST_LABEL:
                raise FileFormatError(long_message(f"the name of column {number}", len(token)), self.path, line)
        names = tuple(token.decode() for token in tokens)
        if all(read_decimal(token) is not None for token in tokens):
            raise FileFormatError(
                "all fields of the first line are numbers: expected the names of the columns", self.path, line
            )
        number_of: dict[str, int] = {}
        for number, name in enumerate(names, start=1):
            if not name and number > 1:
                message = f"column {number} has no name: only the first one, if it holds ids, may have none"
                raise FileFormatError(message, self.path, line)
            first = number_of.setdefault(name, number)
            if first != number:
                message = f"columns {first} and {number} are both called {shown(name.encode())}"
                raise FileFormatError(message, self.path, line)
        return names


@dataclass(frozen=True)
class _DelimitedBlock(TableBlock):
    """Some records; the fields are read from the text when they are asked for."""

    table: DelimitedTable
    text: bytes
    fields: Fields
    positions: NDArray[np.int64]

    def record(self, row: int) -> list[bytes]:
        """Return the fields of one record."""
        start, stop = self.fields.bounds[row], self.fields.bounds[row + 1]
        return [self._token(field) for field in range(start, stop)]

    def without_first(self) -> _DelimitedBlock:
        fields, skipped = self.fields, self.fields.bounds[1]
        rest = fields._replace(
            begins=fields.begins[skipped:],
            ends=fields.ends[skipped:],
            doubled=fields.doubled[skipped:],
            bounds=fields.bounds[1:] - skipped,
            lines=fields.lines[1:],
        )
        return _DelimitedBlock(self.table, self.text, rest, self.positions[1:])

    def check_width(self) -> None:
        """Refuse a record with too few or too many fields."""
        width = len(self.table.names)
        widths = np.diff(self.fields.bounds)
        if np.all(widths == width):
            return
        row = int(np.argmax(widths != width))
        hint = ": is the first column without a name, as R writes it?" if np.all(widths == width + 1) else ""
        message = f"{widths[row]} fields, but the first line names {width} columns{hint}"
        raise self.table.error(message, int(self.positions[row]))

    def numbers(
        self, columns: Sequence[int], *, missing: bool = False, advice: str = "", dtype: DTypeLike = np.float64
    ) -> NDArray[Any]:
        """Read numbers; what the compiled loop is not sure of is read one by one."""
        begins, ends = self._spans(columns)
        text = np.frombuffer(self.text, dtype=np.uint8)
        values, certain = read_decimals(text, begins, ends, powers_of_ten())
        for cell in np.flatnonzero(~certain).tolist():
            token = self.text[begins[cell] : ends[cell]]
            value = read_decimal(token)
            if missing and MISSING.fullmatch(token):
                value = math.nan
            elif value is None or not math.isfinite(value):
                row, column = divmod(cell, len(columns))
                raise self.table.error(number_fault(token) + advice, int(self.positions[row]), columns[column])
            values[cell] = value
        return values.reshape(len(self), len(columns)).astype(dtype, copy=False)

    def labels(self, column: int) -> NDArray[Any]:
        """Read labels as those of ranking files are read."""
        begins, ends = self._spans([column])
        if np.any(begins == ends):
            row = int(np.argmax(begins == ends))
            raise self.table.error("the cell is empty: expected a label", int(self.positions[row]), column)
        return self._strings(column, gather_labels)

    def words(self, column: int) -> NDArray[np.object_]:
        """Read strings."""
        return self._strings(column, gather_words)

    def holds_text(self, column: int) -> bool:
        """Look at the cells one by one, up to the first that is not missing."""
        begins, ends = self._spans([column])
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            token = self.text[begin:end]
            if not MISSING.fullmatch(token):
                return read_decimal(token) is None
        return False

    def holds_numbers(self, column: int) -> bool:
        """Look at the cells one by one, up to the first that is a number."""
        begins, ends = self._spans([column])
        spans = zip(begins.tolist(), ends.tolist(), strict=True)
        return any(read_decimal(self.text[begin:end]) is not None for begin, end in spans)

    def _spans(self, columns: Sequence[int]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        shape = (len(self), len(self.table.names))
        chosen = np.asarray(columns, dtype=np.intp)
        begins, ends = (spans.reshape(shape)[:, chosen].ravel() for spans in self.fields[:2])
        return begins, ends

    def _strings(self, column: int, gather: Callable[..., NDArray[Any]]) -> NDArray[Any]:
        width = len(self.table.names)
        begins, ends = self._spans([column])
        row = first_long(ends - begins)
        if row is not None:
            message = long_message("the label", int(ends[row] - begins[row]))
            raise self.table.error(message, int(self.positions[row]), column)
        if self.fields.doubled.any() and self.fields.doubled[column::width].any():
            tokens = [self._token(field) for field in range(column, len(self) * width, width)]
            return as_strings(token.decode() for token in tokens)
        return gather(self.text, begins, ends)

    def _token(self, field: int) -> bytes:
        token = self.text[self.fields.begins[field] : self.fields.ends[field]]
        return token.replace(b'""', b'"') if self.fields.doubled[field] else token
