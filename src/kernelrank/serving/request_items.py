"""Conversion of the items of a request to the numbers that a model takes.

An item is a list of numbers, or an object of names and values. A model that prepares tables takes words and nulls, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelrank.data.table_preparation import CellColumn, PreparedColumn
from kernelrank.errors import InvalidInputError, MissingExtraError

try:
    import orjson
except ImportError:
    raise MissingExtraError("orjson", "serve") from None

if TYPE_CHECKING:
    from kernelrank.arrays import Float
    from kernelrank.serving.served_models import ServedModel

__all__ = ["MalformedRequestError", "items_of_columns", "items_of_rows", "read_arrow", "read_json"]


class MalformedRequestError(InvalidInputError):
    """The body of a request is not valid JSON, or not a valid Arrow stream."""


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


def read_arrow(body: bytes) -> dict[str, list[Any]]:
    """Read an Arrow stream, or an Arrow file, as columns by name."""
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingExtraError("pyarrow", "serve") from None
    try:
        reader = pa.ipc.open_file if body[:6] == b"ARROW1" else pa.ipc.open_stream
        table = reader(pa.py_buffer(body)).read_all()
        table.validate(full=True)
    except (pa.ArrowException, ValueError, OSError) as error:
        raise MalformedRequestError(f"Expected an Arrow stream; {error}.") from None
    if len(set(table.column_names)) < table.num_columns:
        raise MalformedRequestError("Expected columns with different names; two share one.")
    return {name: table.column(name).to_pylist() for name in table.column_names}


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
    missing, unknown = [name for name in wanted if name not in found], [name for name in found if name not in wanted]
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
