"""Preference files: lines of winner and loser, with a magnitude and a weight, read and written."""

from __future__ import annotations

import math
import os
import re
from array import array
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelrank.data.decimals import read_decimal
from kernelrank.data.line import shown
from kernelrank.data.output_stream import opened_output
from kernelrank.data.source import Source, read_blocks, readable, source_name
from kernelrank.data.words import LONGEST_LABEL, as_strings, long_message
from kernelrank.errors import FileFormatError, InvalidInputError

__all__ = ["Preferences", "read_pairs", "write_pairs"]

SEPARATOR = re.compile(rb"[ \t\v\f\r]*,[ \t\v\f\r]*|[ \t\v\f\r]+")
INTEGER = re.compile(rb"0|-?[1-9][0-9]*")
COLUMNS = ("winner", "loser", "magnitude", "weight")
LARGEST_ITEM = 2**63 - 1


class Preferences(NamedTuple):
    """Pairs of items of which the first is preferred to the second.

    Parameters
    ----------
    pairs : ndarray of int64, shape (l, 2)
        Item numbers: winner, loser.
    magnitude : ndarray of float64, shape (l,), or None
        By how much, if the file says so.
    weight : ndarray of float64, shape (l,), or None
        How much each pair counts, if the file says so.
    names : ndarray of str, shape (n_items,), or None
        What the file calls the items; None if it numbers them.
    """

    pairs: NDArray[np.int64]
    magnitude: NDArray[np.float64] | None
    weight: NDArray[np.float64] | None
    names: NDArray[np.object_] | None


def read_pairs(source: Source, *, items: Iterable[object] | None = None) -> Preferences:
    r"""Read a preference file.

    A line is ``winner loser [magnitude [weight]]``, separated by white space or commas, with the same number
    of columns throughout; what follows a ``#`` is a comment, and a first line of these very words is a header.
    Winner and loser are item numbers from zero if all of them are integers (as Python writes them), and otherwise
    names.

    Time O(bytes); memory O(lines), 16 bytes for each pair and 8 for each further column.

    Parameters
    ----------
    source : path or file object
        ``-`` is standard input; decompressed if its suffix is ``.gz``, ``.xz``, ``.lzma``, ``.bz2`` or ``.zst``. Text
        is UTF-8.
    items : sequence, optional
        The names of all items, which fixes their numbers. Otherwise names are numbered as they first occur.

    Returns
    -------
    Preferences
        ``pairs, magnitude, weight, names``.

    Raises
    ------
    FileFormatError
        At the first line that cannot be read; the message names the file and the line.

    See Also
    --------
    write_pairs : the way back.

    Examples
    --------
    >>> import io
    >>> read_pairs(io.StringIO("0 2  # an opinion\n2, 1\n")).pairs
    array([[0, 2],
           [2, 1]])
    >>> chosen = read_pairs(io.StringIO("tea coffee 0.5\n"), items=["coffee", "tea", "water"])
    >>> chosen.pairs, chosen.magnitude, chosen.names
    (array([[1, 0]]), array([0.5]), array(['coffee', 'tea', 'water'], dtype=object))
    """
    with readable(source) as opened:
        table = _Table(source_name(opened), items)
        for block in read_blocks(opened):
            for number, line in enumerate(block.text.split(b"\n"), start=block.first_line):
                data = line.partition(b"#")[0].strip()
                if data:
                    table.add(SEPARATOR.split(data), number)
        return table.preferences()


class _Table:
    """The lines read so far. Words are numbered as they come, and become item numbers in the end."""

    def __init__(self, path: str, items: Iterable[object] | None) -> None:
        self.path = path
        self.fixed = items is not None
        names = [str(item).encode() for item in (() if items is None else items)]
        self.code_of = {name: code for code, name in enumerate(names)}
        if len(self.code_of) < len(names):
            twice = next(name for code, name in enumerate(names) if self.code_of[name] != code)
            raise InvalidInputError(f"items has {twice.decode()!r} twice")
        self.first_lines: list[int] = []
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
                raise self._wrong(f"the {name} {shown(field)} is not a finite number, zero or more", line)
            column.append(value)

    def _wrong(self, message: str, line: int | None, column: str | None = None) -> FileFormatError:
        return FileFormatError(message, self.path, line, column=column)

    def _check_columns(self, fields: list[bytes], line: int) -> None:
        if not all(fields):
            raise self._wrong("an empty field: nothing before, between or after commas", line)
        if not 2 <= len(fields) <= len(COLUMNS):
            raise self._wrong(f"{len(fields)} columns: expected winner loser [magnitude [weight]]", line)
        self.n_columns = self.n_columns or len(fields)
        if len(fields) != self.n_columns:
            raise self._wrong(f"{len(fields)} columns, but the lines before it have {self.n_columns}", line)

    def _is_header(self, fields: list[bytes]) -> bool:
        """Whether these are the names of the columns, and of no items."""
        names = [name.encode() for name in COLUMNS[: len(fields)]]
        return [field.lower() for field in fields] == names and not any(field in self.code_of for field in fields)

    def _code(self, word: bytes, line: int, place: int) -> int:
        code = self.code_of.get(word)
        if code is None:
            if self.fixed:
                raise self._wrong(f"{shown(word)} is not among the items", line)
            if len(word) > LONGEST_LABEL:
                raise self._wrong(long_message("the name of the item", len(word)), line, COLUMNS[place])
            try:
                word.decode()
            except UnicodeDecodeError:
                raise self._wrong(f"{shown(word)} is not UTF-8", line) from None
            code = self.code_of[word] = len(self.code_of)
            self.first_lines.append(line)
        return code

    def preferences(self) -> Preferences:
        """Return what was read."""
        if not self.codes:
            raise self._wrong("the file has no preferences", None)
        pairs = np.array(self.codes, dtype=np.int64).reshape(-1, 2)
        magnitude, weight = (np.array(column) if column else None for column in self.numbers)
        is_integer = np.array([INTEGER.fullmatch(word) is not None for word in self.code_of])
        if not self.fixed and is_integer.all():
            return Preferences(self._item_numbers()[pairs], magnitude, weight, None)
        if not (self.fixed or is_integer[pairs[0]].any()) and is_integer[pairs[1:]].all() and len(pairs) > 1:
            line = self.first_lines[0]
            raise self._wrong("looks like a header, for the other lines have item numbers: begin it with a #", line)
        return Preferences(pairs, magnitude, weight, as_strings(word.decode() for word in self.code_of))

    def _item_numbers(self) -> NDArray[np.int64]:
        for word, line in zip(self.code_of, self.first_lines, strict=True):
            if word.startswith(b"-"):
                raise self._wrong(f"the item number {shown(word)} is negative", line)
            if len(word) > 19 or int(word) > LARGEST_ITEM:
                raise self._wrong(f"the item number {shown(word)} is too large", line)
        return np.array([int(word) for word in self.code_of], dtype=np.int64)


NOT_A_WORD = re.compile(r"[\x00-\x20\x7f,#]")


def write_pairs(
    path: str | os.PathLike[str], pairs: Any, *, magnitude: Any = None, weight: Any = None, names: Any = None
) -> None:
    """Write a preference file that `read_pairs` reads back exactly.

    Time and memory O(l); the file appears whole or not at all.

    Parameters
    ----------
    path : str or path-like
        ``-`` is standard output; compressed if its suffix is ``.gz``, ``.xz``, ``.bz2`` or ``.zst``.
    pairs : array-like of int, shape (l, 2)
        Item numbers: winner, loser.
    magnitude : array-like, shape (l,), optional
        By how much. Needed beside weights, which stand behind it in the file.
    weight : array-like, shape (l,), optional
        How much each pair counts.
    names : sequence of str, optional
        What the items are called; the file then has names instead of numbers. They are numbered anew when it is read
        without them.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "preferences.txt"
    ...     write_pairs(path, [[1, 0]], magnitude=[0.5], names=["coffee", "tea"])
    ...     print(path.read_text(), end="")
    tea coffee 0.5
    """
    items = np.asarray(pairs)
    if items.ndim != 2 or items.shape[1] != 2 or len(items) == 0:
        raise InvalidInputError(f"pairs must have shape (l, 2), with l at least 1; got {items.shape}")
    if items.dtype.kind not in "iu":
        raise InvalidInputError(f"pairs must hold item numbers, got {items.dtype}")
    if items.min() < 0:
        raise InvalidInputError(f"pairs[{int(np.argmax(items.min(axis=1) < 0))}] has a negative item number")
    if np.any(items[:, 0] == items[:, 1]):
        row = int(np.argmax(items[:, 0] == items[:, 1]))
        raise InvalidInputError(f"pairs[{row}]: item {int(items[row, 0])} is preferred to itself")
    if weight is not None and magnitude is None:
        raise InvalidInputError("weight without magnitude: the magnitude stands before the weight in a preference file")
    numbers = [
        _numbers(values, name, len(items))
        for name, values in (("magnitude", magnitude), ("weight", weight))
        if values is not None
    ]
    words = None if names is None else _words(names, int(items.max()))
    with opened_output(path) as file:
        for winner, loser, *rest in zip(*items.T.tolist(), *numbers, strict=True):
            pair = [str(winner), str(loser)] if words is None else [words[winner], words[loser]]
            file.write((" ".join([*pair, *(repr(value).removesuffix(".0") for value in rest)]) + "\n").encode())


def _numbers(values: Any, name: str, length: int) -> list[float]:
    numbers: NDArray[np.float64] = np.asarray(values, dtype=np.float64)
    if numbers.shape != (length,):
        raise InvalidInputError(f"{name} has shape {numbers.shape}, but there are {length} pairs")
    good = np.isfinite(numbers) & (numbers >= 0)
    if not good.all():
        row = int(np.argmin(good))
        raise InvalidInputError(f"{name}[{row}] is {float(numbers[row])!r}: expected a finite number, zero or more")
    result: list[float] = numbers.tolist()
    return result


def _words(names: Any, largest: int) -> list[str]:
    words = [str(name) for name in names]
    if largest >= len(words):
        raise InvalidInputError(f"pairs has item {largest}, but there are {len(words)} names")
    for word in words:
        if not word or NOT_A_WORD.search(word):
            raise InvalidInputError(
                f"the name {word!r} is empty or has white space, a comma or a #, and cannot be written"
            )
    if len(set(words)) < len(words):
        twice = next(word for number, word in enumerate(words) if word in words[:number])
        raise InvalidInputError(f"two items are called {twice!r}")
    return words
