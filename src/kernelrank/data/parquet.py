"""Parquet files and folders as tables.

Files are read one after the other, each batch on demand. A scan of a whole pyarrow dataset reads ahead
without end while its batches are worked on, and keeps what it has read: its memory grows with the file.
"""

from __future__ import annotations

import bisect
import contextlib
import itertools
import os
import re
from collections.abc import Collection, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from kernelrank.base.text import printable
from kernelrank.data.table import Table, TableBlock
from kernelrank.data.text import Source, as_strings, compression_suffix, is_parquet, shown, source_name
from kernelrank.errors import FileFormatError, MissingExtraError

if TYPE_CHECKING:
    import pyarrow

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
    """A Parquet file, or a folder of them, read in the order of their names; folders inside the folder too."""

    def __init__(self, source: Source) -> None:
        try:
            import pyarrow.parquet
        except ImportError:
            raise MissingExtraError("pyarrow, which reads Parquet files,", "data") from None
        self.path = source_name(source)
        self._chosen: list[str] | None = None
        self._groups: list[_Group] = []
        self._types: dict[str, set[str]] = {}
        self.names = ()
        self.n_rows = 0
        for file, name in _files(source, self.path):
            with self._faults_of(name), pyarrow.parquet.ParquetFile(file) as opened:
                self._check_names(name, opened.schema_arrow)
                metadata = opened.metadata
                first_row = 0
                for number in range(metadata.num_row_groups):
                    self._groups.append(_Group(file, name, number, metadata.num_row_groups, first_row, self.n_rows))
                    first_row += metadata.row_group(number).num_rows
                    self.n_rows += metadata.row_group(number).num_rows

    def choose(self, columns: Collection[int], numbers: Collection[int] = ()) -> None:  # noqa: ARG002 - they have types
        """Read these columns only."""
        self._chosen = [self.names[column] for column in sorted(set(columns))]

    def first_block(self) -> TableBlock | None:
        """Read a few rows: their columns have types, and may be wide."""
        with contextlib.closing(self._read(1 << 10)) as blocks:
            return next(blocks, None)

    def precision(self, columns: Sequence[int]) -> np.dtype[Any]:
        """Return float32 if every column is stored so in every file."""
        types = set().union(*(self._types[self.names[column]] for column in columns))
        return np.dtype(np.float32 if types == {"float"} else np.float64)

    def varying_labels(self, column: int) -> bool:
        """Return True for floats, whose blocks are integers if all are whole, and for files that differ in type."""
        types = self._types[self.names[column]]
        return len(types) > 1 or not types.isdisjoint({"halffloat", "float", "double"})

    def blocks(self) -> Generator[TableBlock]:
        """Read the rows, up to 2²¹ cells at a time. Time O(bytes), memory O(row group)."""
        n_columns = len(self.names) if self._chosen is None else len(self._chosen)
        # A block of few columns stays in the cache while it is filled column by column.
        return self._read(max(1, min(1 << 14, BATCH_CELLS // max(1, n_columns))))

    def _read(self, size: int) -> Generator[TableBlock]:
        import pyarrow.parquet

        names = list(self.names) if self._chosen is None else self._chosen
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
        file = "" if group.name == self.path else f"{os.path.relpath(group.name, self.path)}, "
        return {"row": f"{file}row {row} in row group {group.number + 1} of {group.n_groups}"}

    def _check_names(self, path: str, schema: Any) -> None:
        names = schema.names
        known = set(names)
        if len(known) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise FileFormatError(f"two columns are called {twice!r}", path)
        if not self.names:
            # An index of a pandas data frame that has no name of its own is no column that anyone wrote.
            self.names = tuple(name for name in names if not re.fullmatch(r"__index_level_\d+__", name))
            stored = (schema.pandas_metadata or {}).get("index_columns", [])
            # A range is described and has no column.
            index = {name for name in stored if isinstance(name, str)}
            self.index_columns = frozenset(column for column, name in enumerate(self.names) if name in index)
            self._types = {name: set() for name in self.names}
        for name in self.names:
            if name not in known:
                raise FileFormatError(f"there is no column {name!r}, which another file of the folder has", path)
            self._types[name].add(str(schema.field(name).type))

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
            reason = printable(" ".join(str(error).split()))[:200]
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
    found = sorted(file for file in Path(source).rglob("*") if is_parquet(file) and file.is_file())
    # What writers note down beside the data begins so.
    found = [file for file in found if not any(part[0] in "_." for part in file.relative_to(source).parts)]
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

    def numbers(
        self, columns: Sequence[int], *, missing: bool = False, advice: str = "", dtype: DTypeLike = np.float64
    ) -> NDArray[Any]:
        """Return numbers of any numeric type, and booleans as 0 and 1."""
        values = np.empty((len(self), len(columns)), dtype=dtype)
        for place, column in enumerate(columns):
            values[:, place] = self._numbers(column, missing, advice)
        return values

    def _numbers(self, column: int, missing: bool, advice: str) -> NDArray[Any]:
        import pyarrow

        array = self._array(column)
        kind = array.type
        if not _is_number(kind):
            value = str(array[0].as_py()).encode()
            raise self.error(f"{shown(value)} is of type {kind}: expected numbers{advice}", 0, column)
        if array.null_count and not missing:
            raise self.error(f"the value is missing: expected a number{advice}", _first_null(array), column)
        if pyarrow.types.is_boolean(kind):
            array = array.cast(pyarrow.uint8())
        # An integer beyond 2⁵³ becomes the nearest float, as it does in a text file.
        if kind not in (pyarrow.float32(), pyarrow.float64()):
            array = array.cast(pyarrow.float64(), safe=False)
        values: NDArray[Any] = array.to_numpy(zero_copy_only=False)
        faulty = np.isinf(values) if missing else ~np.isfinite(values)
        if faulty.any():
            row = int(np.argmax(faulty))
            raise self.error(f"{float(values[row])} is not finite: expected a number{advice}", row, column)
        return values

    def labels(self, column: int) -> NDArray[Any]:
        """Return integers as such, whole floats too, and anything else as strings."""
        import pyarrow

        array = self._array(column)
        numbers: NDArray[Any]
        if array.null_count:
            raise self.error("the value is missing: expected a label", _first_null(array), column)
        if pyarrow.types.is_floating(array.type):
            numbers = array.cast(pyarrow.float64()).to_numpy(zero_copy_only=False)
            whole = (np.abs(numbers) < 2**53) & (numbers == np.round(numbers))
            if whole.all():
                return numbers.astype(np.int64)
            # A label is the same string in every block, whatever stands beside it there.
            return as_strings(int(x) if is_whole else x for x, is_whole in zip(numbers.tolist(), whole, strict=True))
        if pyarrow.types.is_integer(array.type) and array.type != pyarrow.uint64():
            numbers = array.to_numpy(zero_copy_only=False)
            return numbers.astype(np.int64)
        words = self.words(column)
        if np.any(words == ""):
            raise self.error("the value is empty: expected a label", int(np.argmax(words == "")), column)
        return words

    def strings(self, column: int) -> pyarrow.Array:
        """Return each value as Python writes it; what is missing is empty."""
        import pyarrow

        array = self._array(column)
        if not self.holds_text(column):
            return pyarrow.array("" if value is None else str(value) for value in array.to_pylist())
        return array.fill_null("")

    def holds_text(self, column: int) -> bool:
        """Return whether the type of the column is text."""
        import pyarrow

        return self._array(column).type in (pyarrow.string(), pyarrow.large_string(), pyarrow.string_view())

    def holds_numbers(self, column: int) -> bool:
        """Return whether the type of the column is a number."""
        return _is_number(self._array(column).type)

    def _array(self, column: int) -> Any:
        import pyarrow

        array = self.batch.column(self.table.names[column])
        return array.dictionary_decode() if pyarrow.types.is_dictionary(array.type) else array


def _is_number(kind: Any) -> bool:
    from pyarrow.types import is_boolean, is_decimal, is_floating, is_integer

    return any(is_kind(kind) for is_kind in (is_integer, is_floating, is_decimal, is_boolean))


def _first_null(array: Any) -> int:
    return int(np.argmax(array.is_null().to_numpy(zero_copy_only=False)))
