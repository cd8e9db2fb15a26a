"""Queries: which items belong together, whatever the user calls them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Number
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelrank.errors import InvalidInputError

__all__ = ["Queries"]


@dataclass(frozen=True, eq=False)
class Queries:
    """A partition of m items into queries, numbered in the order of their first item.

    Parameters
    ----------
    codes : ndarray of int64, shape (m,)
        The number of each item's query.
    labels : ndarray, shape (n_queries,)
        What the user calls each query.

    Examples
    --------
    >>> queries = Queries.from_labels(["b", "a", "b"], 3)
    >>> queries.codes, queries.sizes
    (array([0, 1, 0]), array([2, 1]))
    """

    codes: NDArray[np.int64]
    labels: NDArray[Any]

    @classmethod
    def from_labels(cls, qid: Any, n_items: int, *, name: str = "qid") -> Queries:
        """Read query labels: any hashable type, in any order, from a list, an array or a data frame column.

        Time O(m) when the items of each query stand together, O(m log m) otherwise; memory O(m).

        Parameters
        ----------
        qid : sequence or None
            One label per item; None puts all items into one query.
        n_items : int
            How many items there are.
        name : str, default="qid"
            What an error message calls the labels.

        Returns
        -------
        Queries
        """
        if qid is None:
            return cls(np.zeros(n_items, dtype=np.int64), np.full(min(n_items, 1), None, dtype=object))
        values = _as_vector(qid, name)
        if len(values) != n_items:
            raise InvalidInputError(f"{name} has {len(values)} entries, but there are {n_items} items")
        _refuse_missing(values, name)
        if values.dtype == object:
            return cls(*_number_hashables(values, name))
        return cls(*_number_array(values))

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def n_items(self) -> int:
        """The number of items, m."""
        return len(self.codes)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """The number of items in each query."""
        return np.bincount(self.codes, minlength=len(self)).astype(np.int64)

    @cached_property
    def contiguous(self) -> bool:
        """Whether the items of each query stand together, in the order of the codes."""
        return bool(np.all(self.codes[1:] >= self.codes[:-1]))

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Item numbers sorted by query, items of one query in their own order."""
        if self.contiguous:
            return np.arange(self.n_items, dtype=np.int64)
        # Transposing the items' indicator matrix is a counting sort, which is stable and linear.
        ones, pointers = np.ones(self.n_items, dtype=np.int8), np.arange(self.n_items + 1)
        indicator = sparse.csc_array((ones, self.codes, pointers), shape=(len(self), self.n_items))
        order: NDArray[np.int64] = indicator.tocsr().indices.astype(np.int64)
        return order

    @cached_property
    def bounds(self) -> NDArray[np.int64]:
        """Where each query begins in `order`; one more entry, m, closes the last."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)

    def __iter__(self) -> Iterator[NDArray[np.int64]]:
        """Yield the item numbers of each query."""
        for start, stop in zip(self.bounds[:-1], self.bounds[1:], strict=True):
            yield self.order[start:stop]

    def subset(self, items: NDArray[np.int64]) -> Queries:
        """Keep some items only; queries left without an item disappear."""
        kept, first, codes = np.unique(self.codes[items], return_index=True, return_inverse=True)
        rank = _rank_by_first(first)
        labels = np.empty(len(kept), dtype=self.labels.dtype)
        labels[rank] = self.labels[kept]
        return Queries(rank[codes], labels)


def _as_vector(qid: object, name: str) -> NDArray[Any]:
    """Turn labels into a one-dimensional array without letting NumPy merge types (1 is not "1")."""
    column = qid if isinstance(qid, np.ndarray) else nw.from_native(qid, series_only=True, pass_through=True)
    if isinstance(column, nw.Series):
        values: NDArray[Any] = column.to_numpy()
        return values if values.ndim == 1 else _boxed(column.to_list())
    if hasattr(qid, "__array__"):
        values = np.asanyarray(qid)
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.ndim != 1:
            raise InvalidInputError(f"{name} must have one entry per item, got an array of shape {values.shape}")
        # Masked entries become None; records and strings that may be missing NumPy cannot compare.
        opaque = isinstance(values, np.ma.MaskedArray) or values.dtype.kind in "VT"
        return _boxed(values.tolist()) if opaque else np.asarray(values)
    if isinstance(qid, (str, bytes)) or not isinstance(qid, Sequence):
        raise InvalidInputError(f"{name} must be a list, an array or a data frame column, got {type(qid).__name__}")
    if set(map(type, qid)) == {int}:
        with contextlib.suppress(OverflowError):
            values = np.array(qid)
            # From 2**63 on NumPy may turn integers into floats, and different ones into the same.
            if values.dtype.kind in "iu":
                return values
    return _boxed(qid)


def _boxed(labels: Sequence[Any]) -> NDArray[Any]:
    box = np.empty(len(labels), dtype=object)
    for i, label in enumerate(labels):
        box[i] = label
    return box


def _refuse_missing(values: NDArray[Any], name: str) -> None:
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
        raise InvalidInputError(f"{name} is missing for item {int(np.argmax(missing))}: every item needs a query")


def _is_missing(label: object) -> bool:
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    # NaN and NaT of any library differ from themselves; only they are asked, for arrays have no one answer.
    return isinstance(label, (Number, np.generic)) and bool(label != label)


def _rank_by_first(first: NDArray[Any]) -> NDArray[np.int64]:
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank


def _number_array(values: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Give numbers to sortable labels; when the runs of equal labels are all different no item is sorted."""
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
    rank = _rank_by_first(first)
    return rank[code][run], heads[np.sort(first)]


def _distinct(values: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where each distinct value stands first, and which of them each value is."""
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
    _, first, code = np.unique(values, return_index=True, return_inverse=True)
    return first, code


def _number_hashables(values: NDArray[Any], name: str) -> tuple[NDArray[np.int64], NDArray[Any]]:
    numbers: dict[Any, int] = {}
    try:
        codes = np.fromiter((numbers.setdefault(v, len(numbers)) for v in values), dtype=np.int64, count=len(values))
    except TypeError as error:
        raise InvalidInputError(f"{name} has a label that is not hashable: {error}") from None
    return codes, _boxed(list(numbers))
