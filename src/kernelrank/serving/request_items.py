"""Conversion of the items of a request to the numbers that a model takes.

An item is a list of numbers, or an object of names and values. A model that prepares tables takes words and nulls, too.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelrank.base.text import printable
from kernelrank.data.preparation import CellColumn, PreparedColumn
from kernelrank.errors import InvalidInputError, MissingExtraError

try:
    import orjson
except ImportError:
    raise MissingExtraError("orjson", "serve") from None

if TYPE_CHECKING:
    import pyarrow

    from kernelrank.base.arrays import Float
    from kernelrank.serving.models import ServedModel

__all__ = ["MalformedRequestError", "TooLargeError", "items_of_columns", "items_of_rows", "read_arrow", "read_json"]

CELL_BYTES = 8
"""What a cell counts at least, however few bytes it has in a body."""


class MalformedRequestError(InvalidInputError):
    """The body of a request is not valid JSON, or not a valid Arrow stream."""


class TooLargeError(InvalidInputError):
    """A request is larger than the service allows."""


def read_json(body: bytes) -> dict[str, Any]:
    """Read a JSON object; NaN, infinities and nesting without end are errors.

    Examples
    --------
    >>> read_json(b"[1]")
    Traceback (most recent call last):
    kernelrank.serving.request_items.MalformedRequestError: Expected a JSON object; got a list.
    """
    try:
        content = orjson.loads(body)
    except ValueError as error:
        raise MalformedRequestError(f"Expected JSON with finite numbers and nulls; {error}.") from None
    if not isinstance(content, dict):
        raise MalformedRequestError(f"Expected a JSON object; got {_kind(content)}.")
    return content


def read_arrow(body: bytes, most_bytes: int, most_rows: int) -> dict[str, list[Any]]:
    """Read an Arrow stream, or an Arrow file, as columns by name.

    Parameters
    ----------
    body : bytes
    most_bytes : int
        How large the body may be when it is decompressed. A cell counts at least 8 bytes, a word as often as it is
        used, and a dictionary for each batch that uses it.
    most_rows : int
    """
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingExtraError("pyarrow", "serve") from None
    # A file is a stream between a magic number and a footer. The footer may list a batch twice: it is not read.
    stream = pa.py_buffer(body).slice(8 if body[:6] == b"ARROW1" else 0)
    try:
        with pa.ipc.open_stream(stream) as reader:
            for name, kind in zip(reader.schema.names, reader.schema.types, strict=True):
                _check_type(name, kind)
            _check_size(stream, len(reader.schema), most_bytes, most_rows)
            table = reader.read_all()
        _check_words(table, most_bytes)
        table.validate(full=True)
    except InvalidInputError:
        raise
    except (pa.ArrowException, ValueError, OSError, IndexError, struct.error) as error:
        raise MalformedRequestError(f"Expected an Arrow stream; {printable(' '.join(str(error).split()))}.") from None
    if len(set(table.column_names)) < table.num_columns:
        raise MalformedRequestError("Expected columns with different names; two share one.")
    return {
        name: [cell for chunk in table.column(name).chunks for cell in _cells(chunk)] for name in table.column_names
    }


def _check_type(name: str, kind: pyarrow.DataType) -> None:
    """Refuse types that no model takes; some of them need few bytes for many values."""
    import pyarrow as pa

    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    words = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    if not any(known(plain) for known in (pa.types.is_primitive, pa.types.is_null, *words)):
        raise InvalidInputError(
            f"Expected columns of numbers or words; the column {printable(name)[:60]!r} has the type {str(kind)[:60]}."
        )


def _check_size(stream: pyarrow.Buffer, n_columns: int, most_bytes: int, most_rows: int) -> None:
    """Add up what the batches of a stream become, from their metadata: nothing is decompressed."""
    import pyarrow as pa

    rows = size = dictionaries = 0
    known: dict[int, int] = {}
    for message in pa.ipc.MessageReader.open_stream(stream):
        if message.type not in ("record batch", "dictionary"):
            continue
        header = _Record(message.metadata).record(2)
        if message.type == "dictionary":
            number, grows = header.integer(0, "<q"), header.integer(2, "<b")
            length, found = header.record(1).batch_size(message.body)
            found = max(found, CELL_BYTES * length) + (known.get(number, 0) if grows else 0)
            dictionaries += found - known.get(number, 0)
            known[number] = found
        else:
            length, found = header.batch_size(message.body)
            rows += length
            found = max(found, CELL_BYTES * length * n_columns) + dictionaries
        size += found
        if rows > most_rows:
            raise TooLargeError(f"Expected at most {most_rows:,} items; got {rows:,} or more.")
        if size > most_bytes:
            raise TooLargeError(f"Expected at most {most_bytes:,} bytes when decompressed; got {size:,} or more.")


class _Record:
    """A table of a flatbuffer, the format of Arrow's metadata: fields by number, each with a place or without one."""

    def __init__(self, data: pyarrow.Buffer, place: int | None = None) -> None:
        self._data = memoryview(data)
        self._place = self._read("<I", 0) if place is None else place

    def _read(self, kind: str, place: int) -> int:
        if place < 0:
            raise IndexError("an offset points before the metadata")
        return int(struct.unpack_from(kind, self._data, place)[0])

    def _field(self, number: int) -> int | None:
        fields = self._place - self._read("<i", self._place)
        if 4 + 2 * number >= self._read("<H", fields):
            return None
        offset = self._read("<H", fields + 4 + 2 * number)
        return self._place + offset if offset else None

    def integer(self, number: int, kind: str) -> int:
        place = self._field(number)
        return 0 if place is None else self._read(kind, place)

    def record(self, number: int) -> _Record:
        place = self._field(number)
        if place is None:
            raise IndexError("a message has no content")
        return _Record(self._data, place + self._read("<I", place))

    def batch_size(self, body: pyarrow.Buffer) -> tuple[int, int]:
        """Return the rows of a record batch, and its bytes when its buffers are decompressed."""
        length, place = max(0, self.integer(0, "<q")), self._field(2)
        if place is None:
            return length, 0
        place += self._read("<I", place)
        count = self._read("<I", place)
        buffers = np.frombuffer(self._data, "<i8", 2 * count, place + 4).reshape(count, 2)
        if self._field(3) is None:
            return length, sum(buffers[:, 1].tolist())
        content, size = memoryview(body), 0
        for offset, stored in buffers.tolist():
            if stored:  # a compressed buffer begins with its length, or with -1 if it is not compressed after all
                if offset < 0:
                    raise IndexError("an offset points before the body")
                (full,) = struct.unpack_from("<q", content, offset)
                size += max(full, stored - CELL_BYTES)
        return length, size


def _check_words(table: pyarrow.Table, most_bytes: int) -> None:
    """Count the words of columns that refer to them: many rows may refer to one long word."""
    import pyarrow as pa

    size = 0
    for column in table.columns:
        for chunk in column.chunks:
            if pa.types.is_dictionary(chunk.type):
                lengths = _word_lengths(chunk.dictionary)
                if lengths is not None:
                    size += int(lengths.sum())
                    uses = chunk.indices.drop_null().cast(pa.int64()).to_numpy()
                    size += int(lengths[uses[(uses >= 0) & (uses < len(lengths))]].sum())
            elif pa.types.is_string_view(chunk.type):
                size += int(_word_lengths(chunk).sum())
    if size > most_bytes:
        raise TooLargeError(f"Expected at most {most_bytes:,} bytes of words; got {size:,}.")


def _word_lengths(words: pyarrow.Array) -> Any:
    """Return the bytes of each word, shape (m,); None for other types."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_string_view(words.type):  # a view has 16 bytes, and begins with the length of its word
        views = words.buffers()[1]
        lengths = np.frombuffer(b"" if views is None else views, "<i4")[: 4 * len(words) : 4]
    elif pa.types.is_string(words.type) or pa.types.is_large_string(words.type):
        lengths = pc.binary_length(words).fill_null(0).to_numpy(zero_copy_only=False)
    else:
        return None
    return np.maximum(0, lengths).astype(np.int64)


def _cells(column: pyarrow.Array) -> list[Any]:
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        return list(column.to_pylist())
    words = column.dictionary.to_pylist()
    return [None if place is None else words[place] for place in column.indices.to_pylist()]


def items_of_rows(served: ServedModel, rows: Any, what: str = "items") -> Float:
    """Return the items of a JSON request, shape (m, n_features).

    Parameters
    ----------
    served : ServedModel
    rows : list of lists or of dicts
    what : str
        What the list is called in messages.
    """
    if not isinstance(rows, list) or not rows:
        raise InvalidInputError(f"Expected {what!r}: a list with at least one item; got {_kind(rows)}.")
    if all(type(row) is dict for row in rows):
        return items_of_columns(served, _columns_of(served, rows, what))
    if not all(type(row) is list for row in rows):
        raise InvalidInputError(f"Expected {what!r}: all lists of numbers, or all objects; got something else.")
    prepared = served.preparation
    if prepared is not None and not prepared.only_numbers:
        raise InvalidInputError(
            f"Expected objects with the columns {_listed(prepared.names)}, "
            "because the model encodes text columns; got lists."
        )
    for number, row in enumerate(rows):
        if len(row) != served.n_features:
            raise InvalidInputError(
                f"Expected {served.n_features} numbers for each item; item {number} of {what!r} has {len(row)}."
            )
    if not set(map(type, chain.from_iterable(rows))) <= {float, int, type(None)}:
        number = next(i for i, row in enumerate(rows) if not set(map(type, row)) <= {float, int, type(None)})
        raise InvalidInputError(f"Expected numbers; item {number} of {what!r} has something else.")
    return _checked(served, _numbers(rows, what))


def items_of_columns(served: ServedModel, columns: dict[str, list[Any]]) -> Float:
    """Return the items of columns by name, shape (m, n_features); the columns of numbered features by their order."""
    prepared = served.preparation
    if prepared is not None and not prepared.only_numbers:
        _check_names(columns, prepared.names)
        return np.hstack([_prepared(column, columns[column.name]) for column in prepared.columns])
    names = served.feature_names
    if names is None:
        if len(columns) != served.n_features:
            raise InvalidInputError(f"Expected {served.n_features} columns; got {len(columns)}.")
        names = list(columns)
    _check_names(columns, names)
    for name in names:
        if not set(map(type, columns[name])) <= {float, int, type(None)}:
            raise InvalidInputError(f"Expected numbers; the feature {name!r} has something else.")
    return _checked(served, np.column_stack([_numbers(columns[name], name) for name in names]))


def _columns_of(served: ServedModel, rows: list[dict[str, Any]], what: str) -> dict[str, list[Any]]:
    """Turn objects into columns; every object has the same names."""
    wanted = served.feature_names
    if served.preparation is not None:
        wanted = list(served.preparation.names)
    if wanted is None:
        raise InvalidInputError(
            f"Expected lists of {served.n_features} numbers, because the model has no feature names; got objects."
        )
    names = set(wanted)
    for number, row in enumerate(rows):
        if row.keys() != names:
            _check_names(row, wanted, f"item {number} of {what!r}")
    return {name: [row[name] for row in rows] for name in wanted}


def _check_names(found: Any, wanted: Sequence[str], where: str = "the request") -> None:
    known = set(wanted)
    missing, unknown = [name for name in wanted if name not in found], [name for name in found if name not in known]
    if missing:
        raise InvalidInputError(f"Expected the features {_listed(wanted)}; {where} lacks {_listed(missing)}.")
    if unknown:
        raise InvalidInputError(f"Expected the features {_listed(wanted)}; {where} also has {_listed(unknown)}.")


def _numbers(values: list[Any], what: str) -> Float:
    try:
        return np.array(values, dtype=np.float64)
    except (OverflowError, ValueError):
        raise InvalidInputError(f"Expected numbers below 1.8e308; {what!r} has a larger one.") from None


def _checked(served: ServedModel, X: Float) -> Float:
    """Impute missing values if the model does, and raise an error for anything else that is not a number."""
    if np.isfinite(X.sum()) or np.isfinite(X).all():
        return X
    if np.isinf(X).any():
        raise InvalidInputError("Expected numbers below 1.8e308; there is a larger one.")
    missing = np.isnan(X)
    if served.preparation is not None:
        fills = np.array([column.fill for column in served.preparation.columns])
        X = np.where(missing, fills, X)
        missing = np.isnan(X)
    if missing.any():
        row, column = np.argwhere(missing)[0].tolist()
        name = column if served.feature_names is None else repr(served.feature_names[column])
        raise InvalidInputError(f"Expected a number; item {row} has none for the feature {name}.")
    return X


def _prepared(column: PreparedColumn, cells: list[Any]) -> Float:
    """Return the features of one column of a table."""
    for cell in cells:
        if type(cell) not in (str, float, int, type(None)):
            raise InvalidInputError(f"Expected words, numbers or nulls; the column {column.name!r} has {_kind(cell)}.")
    words = np.array(["" if cell is None else str(cell).strip() for cell in cells], dtype=object)
    found = CellColumn(column.name, words)
    values = column.values(found)
    if column.kind != "category":
        strange = np.flatnonzero(np.isnan(values) & ~found.missing)
        if len(strange):
            expected = "a number" if column.kind == "number" else f"one of {_listed(column.levels)}"
            raise InvalidInputError(
                f"Expected {expected} in the column {column.name!r}; item {strange[0]} has {words[strange[0]][:40]!r}."
            )
        if found.missing.any() and math.isnan(column.fill):
            row = int(np.flatnonzero(found.missing)[0])
            raise InvalidInputError(f"Expected a value in the column {column.name!r}; item {row} has none.")
    return column.matrix(found)


def _listed(names: Sequence[Any]) -> str:
    return ", ".join(repr(str(name)[:60]) for name in names[:10]) + (", ..." if len(names) > 10 else "")


def _kind(value: Any) -> str:
    kinds = {dict: "an object", list: "a list", str: "a string", type(None): "nothing", bool: "true or false"}
    if isinstance(value, list) and not value:
        return "an empty list"
    return kinds.get(type(value), "a number")
