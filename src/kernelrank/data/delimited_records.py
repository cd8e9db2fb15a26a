r"""Records of delimited text, one field at a time: slower, but it names the line of an error.

The format is RFC 4180's, with what people's files have besides: any one-byte delimiter, spaces around a field, ``\n``
or ``\r\n`` after any line, blank lines. A field in quotes may hold delimiters, line ends and doubled quotes. pyarrow
reads the same where quotes stand at the edges of fields, as `Quotes.regular` says; all other text is read here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelrank.data.text import count_lines

__all__ = ["Quotes", "Record", "TextAfterQuoteError", "scan_records"]

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
    r"""Read the records of a text that ends with a newline, up to one whose quotes stay open. Time O(bytes).

    Raises
    ------
    TextAfterQuoteError
        When the record has been reached whose field goes on after its closing quote.

    Examples
    --------
    >>> [record.fields for record in scan_records(b'a,"b, c"\n1, 2 \n', ",")]
    [[b'a', b'b, c'], [b'1', b'2']]
    """
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

    Parameters
    ----------
    text : bytes
        Whole lines.
    delimiter : str
    counted_lines : int or None
        How many lines there are, where they have been counted.
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
