"""A table: a file with named columns, read in blocks of rows, whatever its format."""

from __future__ import annotations

import contextlib
import difflib
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Generator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from kernelrank.data.text import LONGEST_LABEL, first_long, long_message, read_decimal, shown
from kernelrank.errors import FileFormatError

if TYPE_CHECKING:
    import pyarrow

MISSING_WORDS = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "null", "none", "?", "."})
"""Words for a missing cell, in small letters."""


def is_missing(word: str) -> bool:
    """Return whether a cell is empty or has a word for a missing value."""
    return word.lower() in MISSING_WORDS


class TableBlock(ABC):
    """Some rows of a table, whose columns are Arrow arrays, whatever file they come from.

    Shapes: positions (m,).
    """

    table: Table
    positions: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.positions)

    @abstractmethod
    def numbers(
        self, columns: Sequence[int], *, missing: bool = False, advice: str = "", dtype: DTypeLike = np.float64
    ) -> NDArray[Any]:
        """Return some columns as numbers, shape (m, len(columns)); the first cell that is none is an error.

        With `missing`, cells that are empty or say that nothing is known become NaN. `advice` ends the message. A
        `dtype` of float32 is for columns that are stored so, see `Table.precision`.
        """

    @abstractmethod
    def labels(self, column: int) -> NDArray[Any]:
        """Return a column as int64 if all are integers, else as strings; an empty cell is an error."""

    @abstractmethod
    def holds_text(self, column: int) -> bool:
        """Return whether the first cell of a column that is not missing is text rather than a number."""

    @abstractmethod
    def holds_numbers(self, column: int) -> bool:
        """Return whether a column is one of numbers: in text, whether any cell is a number, or all are missing."""

    @abstractmethod
    def strings(self, column: int) -> pyarrow.Array:
        """Return a column as strings; an empty cell is an empty string."""

    def words(self, column: int) -> NDArray[np.object_]:
        """Return a column as strings, one object for all that are equal: labels come in runs."""
        codes, words = self.coded(column)
        return words[codes]

    def coded(self, column: int) -> tuple[NDArray[np.int32], NDArray[np.object_]]:
        """Return the number of the word in each row, and the words, as they first occur."""
        import pyarrow.compute

        encoded = self.strings(column).cast(pyarrow.large_string()).dictionary_encode()
        lengths = pyarrow.compute.binary_length(encoded.dictionary).to_numpy(zero_copy_only=False)
        codes: NDArray[np.int32] = encoded.indices.to_numpy(zero_copy_only=False)
        if first_long(lengths) is not None:
            row = int(np.argmax(lengths[codes] > LONGEST_LABEL))
            raise self.error(long_message("the label", int(lengths[codes[row]])), row, column)
        words: NDArray[np.object_] = encoded.dictionary.to_numpy(zero_copy_only=False)
        return codes, words

    def error(self, message: str, row: int, column: int) -> FileFormatError:
        """Make the error that names file, row and column."""
        return self.table.error(message, int(self.positions[row]), column)


class Table(ABC):
    """A file with named columns."""

    path: str
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()
    n_rows: int | None = None
    index_columns: frozenset[int] = frozenset()
    share_read: float | None = None

    @abstractmethod
    def blocks(self) -> Generator[TableBlock]:
        """Read the rows from the first one on, in blocks that are not empty."""

    def first_block(self) -> TableBlock | None:
        """Read some rows from the first one on; None if there is none."""
        with contextlib.closing(self.blocks()) as blocks:
            return next(blocks, None)

    def column(self, name: str, role: str) -> int:
        """Return the number of a column, or raise an error with the closest name."""
        if name not in self.names:
            close = difflib.get_close_matches(name, self.names, n=1)
            hint = f" (is it {close[0]!r}?)" if close else ""
            raise self.error(f"there is no column {name!r} for the {role}{hint}; {self.known_names()}")
        return self.names.index(name)

    def known_names(self) -> str:
        """Return the names of the columns, for a message."""
        return f"the columns are {self.named(range(len(self.names)))}"

    def named(self, columns: Sequence[int]) -> str:
        """Return the names of some columns, the first 20 of many, for a message."""
        names = [self.names[column] for column in columns]
        more = f" and {len(names) - 20} more" if len(names) > 20 else ""
        return f"{', '.join(repr(name) for name in names[:20])}{more}"

    def precision(self, columns: Sequence[int]) -> np.dtype[Any]:  # noqa: ARG002 - text is read as float64
        """Return the type that holds these columns without a change: float32 if each is stored so."""
        return np.dtype(np.float64)

    def varying_labels(self, column: int) -> bool:  # noqa: ARG002 - any later line may hold a word
        """Return whether labels of one block can be integers, and those of another strings."""
        return True

    @abstractmethod
    def choose(self, columns: Collection[int], numbers: Collection[int] = ()) -> None:
        """Let `blocks` leave out all other columns, and read some of these as numbers where the file has no types."""

    @abstractmethod
    def place(self, position: int) -> dict[str, Any]:
        """Return the argument of `FileFormatError` that names a row."""

    def place_in_words(self, position: int) -> str:
        """Name a row."""
        return " ".join(f"{'' if key == 'row' else key} {value}".strip() for key, value in self.place(position).items())

    def error(self, message: str, position: int | None = None, column: int | None = None) -> FileFormatError:
        """Make the error that names file, row and column."""
        place = {} if position is None else self.place(position)
        return FileFormatError(message, self.path, column=None if column is None else self.names[column], **place)


def number_fault(token: bytes) -> str:
    """Return the error message for a cell that should be a finite number."""
    if not token:
        return "the cell is empty: expected a number"
    if is_missing(token.decode(errors="replace")):
        return f"{shown(token)} is missing: expected a number"
    if read_decimal(token) is not None:
        return f"{shown(token)} is not finite: expected a finite number"
    if re.fullmatch(rb"[+-]?[0-9]+,[0-9]+", token):
        return f"{shown(token)} is not a number: expected a decimal point, not a comma"
    if re.fullmatch(rb"true|false|yes|no", token, re.IGNORECASE):
        return f"{shown(token)} is not a number: expected 1 for true and 0 for false"
    return f"{shown(token)} is not a number"
