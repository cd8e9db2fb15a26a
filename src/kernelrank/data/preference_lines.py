"""Lines of preferences: winner and loser, with a magnitude and a weight, separated by white space or commas."""

from __future__ import annotations

import math
import re
from array import array

import numpy as np

from kernelrank.data.decimals import read_decimal
from kernelrank.data.item_codes import ItemCodes
from kernelrank.data.line import shown
from kernelrank.data.text import Source, read_blocks, source_name
from kernelrank.data.votes import Preferences
from kernelrank.data.words import LONGEST_LABEL, long_message
from kernelrank.errors import FileFormatError

__all__ = ["COLUMNS", "looks_like_a_line", "read_lines"]

SEPARATOR = re.compile(rb"[ \t\v\f\r]*,[ \t\v\f\r]*|[ \t\v\f\r]+")
COLUMNS = ("winner", "loser", "magnitude", "weight")


def read_lines(source: Source, items: ItemCodes) -> Preferences:
    """Read lines of ``winner loser [magnitude [weight]]``. Time O(bytes); memory O(lines).

    Raises
    ------
    FileFormatError
        At the first line that cannot be read.
    """
    reader = _LineReader(source_name(source), items)
    for block in read_blocks(source):
        for number, line in enumerate(block.text.split(b"\n"), start=block.first_line):
            data = line.partition(b"#")[0].strip()
            if data:
                reader.add(SEPARATOR.split(data), number)
    return reader.preferences()


def looks_like_a_line(line: bytes) -> bool:
    """Return whether a line has two to four columns, numbers in the third and the fourth.

    Examples
    --------
    >>> looks_like_a_line(b"tea coffee 0.5"), looks_like_a_line(b"player 1,player 2,result")
    (True, False)
    """
    fields = SEPARATOR.split(line.partition(b"#")[0].strip())
    return 2 <= len(fields) <= len(COLUMNS) and all(read_decimal(field) is not None for field in fields[2:])


class _LineReader:
    """The lines read so far. Words are numbered as they come, and become item numbers in the end."""

    def __init__(self, path: str, items: ItemCodes) -> None:
        self.path = path
        self.items = items
        self.code_of: dict[bytes, int] = {}
        self.codes = array("q")
        self.numbers = (array("d"), array("d"))
        self.n_columns = 0

    def add(self, fields: list[bytes], line: int) -> None:
        """Read one line."""
        self._check_columns(fields, line)
        if not self.codes and self._is_header(fields):
            return
        winner, loser = (self._code(field, line, place) for place, field in enumerate(fields[:2]))
        if winner == loser:
            raise self._wrong(f"{shown(fields[0])} is preferred to itself", line)
        self.codes.extend((winner, loser))
        for name, field, column in zip(COLUMNS[2:], fields[2:], self.numbers, strict=False):
            value = read_decimal(field)
            if value is None or not (math.isfinite(value) and value >= 0):
                hint = "; names with spaces need a CSV file whose first line is winner,loser" if value is None else ""
                raise self._wrong(f"the {name} {shown(field)} is not a finite number, zero or more{hint}", line)
            column.append(value)

    def _wrong(self, message: str, line: int | None, column: str | None = None) -> FileFormatError:
        return FileFormatError(message, self.path, line, column=column)

    def _check_columns(self, fields: list[bytes], line: int) -> None:
        if not all(fields):
            raise self._wrong("a field is empty: expected text before, between and after commas", line)
        if not 2 <= len(fields) <= len(COLUMNS):
            noun = "column" if len(fields) == 1 else "columns"
            raise self._wrong(f"{len(fields)} {noun}: expected winner loser [magnitude [weight]]", line)
        self.n_columns = self.n_columns or len(fields)
        if len(fields) != self.n_columns:
            raise self._wrong(f"{len(fields)} columns, but the lines before it have {self.n_columns}", line)

    def _is_header(self, fields: list[bytes]) -> bool:
        """Whether these are the names of the columns, and of no items."""
        words = [field.decode(errors="replace") for field in fields]
        is_known = any(word in self.items.code_of for word in words)
        return [word.lower() for word in words] == list(COLUMNS[: len(fields)]) and not is_known

    def _code(self, word: bytes, line: int, place: int) -> int:
        code = self.code_of.get(word)
        if code is None:
            if len(word) > LONGEST_LABEL:
                raise self._wrong(long_message("the name of the item", len(word)), line, COLUMNS[place])
            try:
                name = word.decode()
            except UnicodeDecodeError:
                raise self._wrong(f"{shown(word)} is not UTF-8", line) from None
            code = self.code_of[word] = self.items.code(name, line, self._wrong)
        return code

    def preferences(self) -> Preferences:
        """Return what was read."""
        if not self.codes:
            raise self._wrong("the file has no preferences: expected one in each row", None)
        pairs = np.array(self.codes, dtype=np.int64).reshape(-1, 2)
        magnitude, weight = (np.array(column) if column else None for column in self.numbers)
        tie = None if magnitude is None or magnitude.all() else magnitude == 0
        if self.items.all_integers():
            return Preferences(self.items.item_numbers(self._wrong)[pairs], magnitude, weight, None, tie)
        is_integer = self.items.are_integers()
        others = pairs[1:]
        if not (self.items.fixed or is_integer[pairs[0]].any()) and len(others) and is_integer[others].all():
            line = self.items.first_places[0]
            raise self._wrong("looks like a header, because the other lines have item numbers: begin it with #", line)
        return Preferences(pairs, magnitude, weight, self.items.names(), tie)
