"""Text as UTF-8 with decimal points, whatever program saved it.

Spreadsheets save what the country is used to: Latin letters in one byte each, semicolons between cells, commas in
numbers. A cell that is a number with one comma becomes one with a point, before anything else is read from it.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from typing import Any

from kernelrank.data.file_format import FileFormat
from kernelrank.data.text import Source, read_blocks, source_name
from kernelrank.errors import FileFormatError, MissingExtraError

__all__ = ["NormalisedText"]

COMMA = rb"([+-]?[0-9]+),([0-9]+(?:[eE][+-]?[0-9]+)?)"
QUOTED = re.compile(rb'"' + COMMA + rb'"')
PLAIN = re.compile(rb"(?<![^;\t\n])" + COMMA + rb"(?![^;\t\r\n])")
THOUSANDS = re.compile(rb"[+-]?[1-9][0-9]{0,2},[0-9]{3}")


@dataclass(frozen=True)
class NormalisedText:
    """A table as CSV text in UTF-8.

    Parameters
    ----------
    text : bytes
    notes : tuple of str
        What was changed, in words.
    """

    text: bytes
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, source: Source, kind: FileFormat) -> NormalisedText:
        """Read a file whole. Time and memory O(bytes)."""
        if kind == "parquet":
            return cls(_parquet_text(source))
        if kind == "xlsx":
            return cls(_workbook_text(source))
        if not isinstance(source, str) and hasattr(source, "seek"):
            source.seek(0)
        text, notes = _as_utf8(b"".join(block.text for block in read_blocks(source)))
        pointed, n_commas = _with_points(text)
        if n_commas:
            notes.append(f"commas are decimal points in {n_commas:,} cell{'s' * (n_commas > 1)}")
        return cls(pointed, tuple(notes))


def _as_utf8(text: bytes) -> tuple[bytes, list[str]]:
    try:
        text.decode()
    except UnicodeDecodeError:
        pass
    else:
        return text, []
    try:
        return text.decode("cp1252").encode(), ["the file is not UTF-8: it was read as Windows-1252 (Latin-1)"]
    except UnicodeDecodeError:
        return text.decode("latin-1").encode(), ["the file is not UTF-8: it was read as Latin-1"]


def _with_points(text: bytes) -> tuple[bytes, int]:
    """Replace decimal commas; where each could be one of thousands, none is replaced."""
    header = text.lstrip(b"\r\n").partition(b"\n")[0]
    pattern = PLAIN if max(header.count(b";"), header.count(b"\t")) > header.count(b",") else QUOTED
    cells = [b",".join(pair) for pair in pattern.findall(text)]
    if not cells or all(THOUSANDS.fullmatch(cell) for cell in cells):
        return text, 0
    return pattern.sub(rb"\1.\2", text), len(cells)


def _parquet_text(source: Any) -> bytes:
    import pyarrow
    from pyarrow import csv as arrow_csv
    from pyarrow import parquet

    if hasattr(source, "seek"):
        source.seek(0)
    buffer = io.BytesIO()
    try:
        arrow_csv.write_csv(parquet.read_table(source), buffer)
    except pyarrow.ArrowException as error:
        raise FileFormatError(f"the table cannot be read: {error}", source_name(source)) from None
    return buffer.getvalue()


def _workbook_text(source: Any) -> bytes:
    """Return the first sheet of an Excel file; a line for each row, so that their numbers agree."""
    try:
        import openpyxl  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        raise MissingExtraError("openpyxl, which reads Excel files,", "excel") from None
    if hasattr(source, "seek"):
        source.seek(0)
    try:
        workbook = openpyxl.load_workbook(source, read_only=True, data_only=True)
        rows = [[_cell_text(value) for value in row] for row in workbook.worksheets[0].iter_rows(values_only=True)]
        workbook.close()
    except OSError:
        raise
    except Exception as error:
        # A damaged workbook fails wherever the damage is: in the zip file, in its XML, or in a value.
        message = f"the Excel file cannot be read: {error}; save the sheet as CSV"
        raise FileFormatError(message, source_name(source)) from error
    width = max((1 + max((place for place, cell in enumerate(row) if cell), default=-1) for row in rows), default=0)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        writer.writerow((row + [""] * width)[:width] if any(row) else [])
    return text.getvalue().encode()


def _cell_text(value: object) -> str:
    if value is None:
        return ""
    text = value.isoformat() if hasattr(value, "isoformat") else str(value)
    return " ".join(text.split())
