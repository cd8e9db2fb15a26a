"""Parquet files and folders as tables."""

from __future__ import annotations

import bisect
import contextlib
import itertools
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelrank.data.file_format import compression_suffix
from kernelrank.data.line import shown
from kernelrank.data.source import Source, source_name
from kernelrank.data.table import Table, TableBlock
from kernelrank.data.words import as_strings, first_long, long_message
from kernelrank.errors import FileFormatError, MissingExtraError

__all__ = ["ParquetTable"]

BATCH_CELLS = 1 << 21


@dataclass(frozen=True)
class _Group:
    """A row group: its file, its number there, and where its rows begin, in the file and in the table."""

    file: Any
    name: str
    number: int
    n_groups: int
    first_row: int
    first_position: int


class ParquetTable(Table):
    """A Parquet file, or a folder of them, read in the order of their names.

    Parameters
    ----------
    source : path or binary file
        A file object is read into memory.

    Raises
    ------
    MissingExtraError
        Without pyarrow.
    """

    def __init__(self, source: Source) -> None:
        try:
            import pyarrow.parquet
        except ImportError:
            raise MissingExtraError("pyarrow, which reads Parquet files,", "data") from None
        self.path = source_name(source)
        self._chosen: list[str] | None = None
        self._groups: list[_Group] = []
        self.names = ()
        position = 0
        for file, name in _files(source, self.path):
            with self._faults_of(name), pyarrow.parquet.ParquetFile(file) as opened:
                self._check_names(name, opened.schema_arrow.names)
                metadata = opened.metadata
                first_row = 0
                for number in range(metadata.num_row_groups):
                    self._groups.append(_Group(file, name, number, metadata.num_row_groups, first_row, position))
                    first_row += metadata.row_group(number).num_rows
                    position += metadata.row_group(number).num_rows

    def choose(self, columns: Iterable[int]) -> None:
        """Read these columns only."""
        self._chosen = [self.names[column] for column in sorted(set(columns))]

    def blocks(self) -> Iterator[TableBlock]:
        """Read the rows, about 2²¹ cells at a time. Time O(bytes), memory O(row group)."""
        import pyarrow.parquet

        names = list(self.names) if self._chosen is None else self._chosen
        size = max(1, BATCH_CELLS // max(1, len(names)))
        for path, groups in itertools.groupby(self._groups, key=lambda group: group.name):
            first = next(groups)
            with self._faults_of(path):
                opened = pyarrow.parquet.ParquetFile(first.file, pre_buffer=False, page_checksum_verification=True)
            with opened:
                for group in itertools.chain([first], groups):
                    yield from self._batches_of(opened, group, names, size)

    def _batches_of(self, opened: Any, group: _Group, names: list[str], size: int) -> Iterator[TableBlock]:
        position = group.first_position
        with self._faults_of(group.name, group):
            batches = opened.iter_batches(size, row_groups=[group.number], columns=names, use_threads=False)
        while True:
            # Only what pyarrow does is its fault: the block is worked on outside.
            with self._faults_of(group.name, group):
                batch = next(batches, None)
                if batch is not None:
                    batch.validate(full=True)
            if batch is None:
                return
            if batch.num_rows:
                yield _ParquetBlock(self, batch, np.arange(position, position + batch.num_rows))
                position += batch.num_rows

    def place(self, position: int) -> dict[str, Any]:
        """Name a row, counted from one in its file, and its row group."""
        number = bisect.bisect_right([group.first_position for group in self._groups], position) - 1
        group = self._groups[number]
        row = group.first_row + position - group.first_position + 1
        file = "" if group.name == self.path else f"{os.path.basename(group.name)}, "
        return {"row": f"{file}row {row} in row group {group.number + 1} of {group.n_groups}"}

    def _check_names(self, path: str, names: list[str]) -> None:
        known = set(names)
        if len(known) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise FileFormatError(f"two columns are called {twice!r}", path)
        if not self.names:
            # An index of a pandas data frame that has no name of its own is no column that anyone wrote.
            self.names = tuple(name for name in names if not re.fullmatch(r"__index_level_\d+__", name))
        for name in self.names:
            if name not in known:
                raise FileFormatError(f"there is no column {name!r}, which another file of the folder has", path)

    @contextlib.contextmanager
    def _faults_of(self, path: str, group: _Group | None = None) -> Iterator[None]:
        """Let what pyarrow says of a damaged file name the file and the row group."""
        import pyarrow

        try:
            yield
        except FileFormatError:
            raise
        except (pyarrow.ArrowException, OSError, ValueError, MemoryError, OverflowError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            row = None if group is None else f"row group {group.number + 1} of {group.n_groups}"
            reason = " ".join(str(error).split())[:200]
            message = f"not a Parquet file, or a damaged one: {reason}"
            raise FileFormatError(message, path, row=row) from None


def _files(source: Source, path: str) -> Iterator[tuple[Any, str]]:
    if not isinstance(source, (str, os.PathLike)):
        import pyarrow

        yield pyarrow.py_buffer(source.read()), path
        return
    if compression_suffix(source):
        message = f"Parquet files are compressed inside: expected one without {compression_suffix(source)}"
        raise FileFormatError(message, path)
    if not Path(source).is_dir():
        yield path, path
        return
    found = sorted(file for file in Path(source).iterdir() if file.suffix in (".parquet", ".pq"))
    if not found:
        raise FileFormatError("the folder has no Parquet file", path)
    for file in found:
        yield str(file), str(file)


@dataclass(frozen=True)
class _ParquetBlock(TableBlock):
    """A record batch with some of the columns."""

    table: ParquetTable
    batch: Any
    positions: NDArray[np.int64]

    def numbers(self, columns: Sequence[int], *, missing: bool = False, advice: str = "") -> NDArray[np.float64]:
        """Return numbers of any numeric type as float64."""
        values = np.empty((len(self), len(columns)))
        for place, column in enumerate(columns):
            values[:, place] = self._numbers(column, missing, advice)
        return values

    def _numbers(self, column: int, missing: bool, advice: str) -> NDArray[np.float64]:
        import pyarrow

        array = self._array(column)
        kind = array.type
        is_number = pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind) or pyarrow.types.is_decimal(kind)
        if not (is_number or pyarrow.types.is_boolean(kind)):
            value = str(array[0].as_py()).encode()
            raise self._error(f"{shown(value)} is of type {kind}: expected numbers{advice}", 0, column)
        if array.null_count and not missing:
            raise self._error(f"the value is missing: expected a number{advice}", _first_null(array), column)
        if pyarrow.types.is_boolean(kind):
            array = array.cast(pyarrow.uint8())
        # An integer beyond 2⁵³ becomes the nearest float, as it does in a text file.
        values: NDArray[np.float64] = array.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False)
        faulty = ~np.isfinite(values)
        if missing:
            faulty &= ~np.isnan(values)
        if faulty.any():
            row = int(np.argmax(faulty))
            raise self._error(f"{float(values[row])} is not finite: expected a number{advice}", row, column)
        return values

    def labels(self, column: int) -> NDArray[Any]:
        """Return integers as such, whole floats too, and anything else as strings."""
        import pyarrow

        array = self._array(column)
        numbers: NDArray[Any]
        if array.null_count:
            raise self._error("the value is missing: expected a label", _first_null(array), column)
        if pyarrow.types.is_floating(array.type):
            numbers = array.cast(pyarrow.float64()).to_numpy(zero_copy_only=False)
            if np.all(np.abs(numbers) < 2**53) and np.all(numbers == np.round(numbers)):
                return numbers.astype(np.int64)
        elif pyarrow.types.is_signed_integer(array.type) or (
            pyarrow.types.is_unsigned_integer(array.type) and array.type != pyarrow.uint64()
        ):
            numbers = array.to_numpy(zero_copy_only=False)
            return numbers.astype(np.int64)
        words = self.words(column)
        if np.any(words == ""):
            raise self._error("the value is empty: expected a label", int(np.argmax(words == "")), column)
        return words

    def words(self, column: int) -> NDArray[np.object_]:
        """Return each value as Python writes it; what is missing is empty."""
        words = as_strings("" if value is None else value for value in self._array(column).to_pylist())
        lengths = np.array([len(word.encode("utf-8", "surrogatepass")) for word in words.tolist()], dtype=np.int64)
        row = first_long(lengths)
        if row is not None:
            raise self._error(long_message("the label", int(lengths[row])), row, column)
        return words

    def holds_text(self, column: int) -> bool:
        """Look at the type."""
        import pyarrow

        kind = self._array(column).type
        return bool(
            pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind) or kind == pyarrow.string_view()
        )

    def _array(self, column: int) -> Any:
        import pyarrow

        array = self.batch.column(self.table.names[column])
        return array.dictionary_decode() if pyarrow.types.is_dictionary(array.type) else array

    def _error(self, message: str, row: int, column: int) -> FileFormatError:
        return self.table.error(message, int(self.positions[row]), column)


def _first_null(array: Any) -> int:
    return int(np.argmax(array.is_null().to_numpy(zero_copy_only=False)))
