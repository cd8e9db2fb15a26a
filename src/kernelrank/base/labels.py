"""Labels: what the user calls queries, items and judges, as numbers in the order of their first appearance."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from numbers import Number
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from kernelrank.errors import InvalidInputError

__all__ = ["label_vector", "number_labels", "number_two", "rank_by_first", "refuse_missing"]


def label_vector(labels: object, name: str) -> NDArray[Any]:
    """Turn labels into a one-dimensional array without letting NumPy merge types (1 is not "1")."""
    column = labels if isinstance(labels, np.ndarray) else nw.from_native(labels, series_only=True, pass_through=True)
    if isinstance(column, nw.Series):
        values: NDArray[Any] = column.to_numpy()
        return values if values.ndim == 1 else _boxed(column.to_list())
    if hasattr(labels, "__array__"):
        values = np.asanyarray(labels)
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.ndim != 1:
            raise InvalidInputError(f"{name} must have one entry per item, got an array of shape {values.shape}")
        # Masked entries become None; records and strings that may be missing NumPy cannot compare.
        opaque = isinstance(values, np.ma.MaskedArray) or values.dtype.kind in "VT"
        return _boxed(values.tolist()) if opaque else np.asarray(values)
    if isinstance(labels, (str, bytes)) or not isinstance(labels, Sequence):
        raise InvalidInputError(f"{name} must be a list, an array or a data frame column, got {type(labels).__name__}")
    if set(map(type, labels)) == {int}:
        with contextlib.suppress(OverflowError):
            values = np.array(labels)
            # From 2**63 on NumPy may turn integers into floats, and different ones into the same.
            if values.dtype.kind in "iu":
                return values
    return _boxed(labels)


def _boxed(labels: Sequence[Any]) -> NDArray[Any]:
    return np.fromiter(labels, dtype=object, count=len(labels))


def refuse_missing(values: NDArray[Any], message: str) -> None:
    """Raise an error for missing labels (None, NaN); the message names the first one."""
    if values.dtype.kind in "fc":
        missing = np.isnan(values)
    elif values.dtype.kind in "mM":
        missing = np.isnat(values)
    elif values.dtype == object:
        if set(map(type, values)) <= {str, int}:
            return
        missing = np.fromiter((_is_missing(v) for v in values), dtype=bool, count=len(values))
    else:
        return
    if missing.any():
        raise InvalidInputError(message.format(int(np.argmax(missing))))


def _is_missing(label: object) -> bool:
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    # NaN and NaT of any library differ from themselves; only they are asked, for arrays have no one answer.
    return isinstance(label, (Number, np.generic)) and bool(label != label)


def rank_by_first(first: NDArray[Any]) -> NDArray[np.int64]:
    """Return the rank of each group among all, by the position of its first member."""
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank


def number_labels(values: NDArray[Any], name: str) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the number of each label, and the distinct labels in the order of their first appearance.

    O(m) time where equal labels are contiguous, and for strings, objects and integers of a small range; O(m log m)
    otherwise.

    Examples
    --------
    >>> number_labels(np.array(["b", "a", "b"]), "qid")
    (array([0, 1, 0]), array(['b', 'a'], dtype='<U1'))
    """
    return _number_hashables(values, name) if values.dtype == object else _number_array(values)


def number_two(
    first: NDArray[Any], second: NDArray[Any], name: str
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
    """Return numbers to the labels of two columns together; also return the distinct labels."""
    kinds = {first.dtype.kind, second.dtype.kind}
    if len(kinds) > 1:
        first, second = _boxed(first.tolist()), _boxed(second.tolist())
    codes, labels = number_labels(np.concatenate([first, second]), name)
    return codes[: len(first)], codes[len(first) :], labels


def _number_array(values: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return numbers to sortable labels; when the runs of equal labels are all different no item is sorted."""
    if len(values) == 0:
        return np.zeros(0, dtype=np.int64), values
    new_run = np.empty(len(values), dtype=bool)
    new_run[0] = True
    np.not_equal(values[1:], values[:-1], out=new_run[1:])
    run = np.cumsum(new_run, dtype=np.int64) - 1
    heads = values[new_run]
    first, code = _distinct(heads)
    if len(first) == len(heads):
        return run, heads
    rank = rank_by_first(first)
    return rank[code][run], heads[np.sort(first)]


def _distinct(values: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first position of each distinct value, and the number of each value."""
    if values.dtype.kind in "iu":
        low, high = int(values.min()), int(values.max())
        if high - low < 4 * len(values):
            # A table of the range, written from the end so that the first place of a value is what stays.
            offset = (values - values.dtype.type(low)).astype(np.int64)
            place = np.full(high - low + 1, -1, dtype=np.int64)
            place[offset[::-1]] = np.arange(len(values))[::-1]
            present = place >= 0
            number = np.cumsum(present) - 1
            return place[present], number[offset]
    if values.dtype.kind in "US":
        # Comparing strings to sort them costs more than hashing each.
        strings = values.tolist()
        first_of = dict(zip(reversed(strings), range(len(strings) - 1, -1, -1), strict=True))
        firsts = np.fromiter(first_of.values(), dtype=np.int64, count=len(first_of))
        return firsts, _looked_up(strings, dict(zip(first_of, range(len(first_of)), strict=True)))
    _, first, code = np.unique(values, return_index=True, return_inverse=True)
    return first, code


def _number_hashables(values: NDArray[Any], name: str) -> tuple[NDArray[np.int64], NDArray[Any]]:
    objects = values.tolist()
    try:
        labels = list(dict.fromkeys(objects))
    except TypeError as error:
        raise InvalidInputError(f"{name} has a label that is not hashable: {error}") from None
    return _looked_up(objects, dict(zip(labels, range(len(labels)), strict=True))), _boxed(labels)


def _looked_up(values: list[Any], numbers: dict[Any, int]) -> NDArray[np.int64]:
    return np.fromiter(map(numbers.__getitem__, values), dtype=np.int64, count=len(values))
