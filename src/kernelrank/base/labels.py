"""Labels: what the user calls queries, items and judges, as numbers in the order of their first appearance."""

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
from sklearn.utils.validation import check_array

from kernelrank.base.arrays import Float, Index, Matrix, is_sparse, is_structured
from kernelrank.errors import InvalidInputError


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


# Queries --------------------------------------------------------------------------------------------------------------
#
# Queries: which items belong together, by any labels; weighted means over a partition of the items.

FEW_COLUMNS, FEW_NUMBERS = 4, 20_000
"""Up to so many columns and numbers, counting column by column costs less than a sparse matrix would to make."""


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

        Time O(m) when the items of each query are contiguous, O(m log m) otherwise; memory O(m).

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
        values = label_vector(qid, name)
        if len(values) != n_items:
            raise InvalidInputError(f"{name} has {len(values)} entries, but there are {n_items} items")
        refuse_missing(values, f"{name} is missing for item {{}}: every item needs a query")
        return cls(*number_labels(values, name))

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
        """Whether the items of each query are contiguous, in the order of the codes."""
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
        rank = rank_by_first(first)
        labels = np.empty(len(kept), dtype=self.labels.dtype)
        labels[rank] = self.labels[kept]
        return Queries(rank[codes], labels)


class Grouping:
    """A partition of m weighted items, queries or the score levels inside them.

    Shapes: codes (m,), weight (m,).
    """

    def __init__(self, codes: Index, count: int, weight: Float) -> None:
        self.codes = codes
        self.count = count
        self.weight = weight

    @cached_property
    def total(self) -> Float:
        """The weight of each group, shape (count,)."""
        return np.bincount(self.codes, weights=self.weight, minlength=self.count).astype(np.float64)

    @cached_property
    def _inverse_total(self) -> Float:
        return np.divide(1.0, self.total, out=np.zeros(self.count), where=self.total > 0)

    @cached_property
    def uniform(self) -> bool:
        """Whether all weights are one."""
        return bool(np.all(self.weight == 1.0))

    @cached_property
    def _indicator(self) -> Matrix:
        """The weights as a sparse matrix, count × m, made at its first use: a pairwise loss has none for it."""
        shape = len(self.codes), self.count
        return sparse.csr_array((self.weight, self.codes, np.arange(len(self.codes) + 1)), shape=shape).T.tocsr()

    def sums(self, V: Matrix) -> Matrix:
        """Return the weighted sums ``Σ_{i in g} w_i V_i`` (count × k), sparse when V is. Time O(nnz of V)."""
        if self.count > 1:
            few = not is_sparse(V) and V.shape[1] <= FEW_COLUMNS and V.size <= FEW_NUMBERS
            return self._count(V) if few else self._indicator @ V
        if is_sparse(V):
            return sparse.csr_array((self.weight @ V)[None])
        # Not a product: waking BLAS threads for one short column costs more than the sum.
        total: Float = V.sum(axis=0) if self.uniform else np.einsum("i,ij->j", self.weight, V)
        return total[None]

    def _count(self, V: Matrix) -> Float:
        """Return the sums column by column."""
        sums = np.empty((self.count, V.shape[1]))
        for k in range(V.shape[1]):
            sums[:, k] = np.bincount(self.codes, weights=self.weight * V[:, k], minlength=self.count)
        return sums

    def means(self, V: Matrix) -> Float:
        """Return the weighted means (count × k), dense; a group without weight has mean zero."""
        sums = self.sums(V)
        means: Float = (sums.toarray() if is_sparse(sums) else sums) * self._inverse_total[:, None]
        return means

    def subtract_means(self, V: Float) -> Float:
        """Return a copy of V with the mean of each item's group taken away."""
        return self.spread_minus(V, self.means(V))

    def spread_minus(self, V: Float, values: Float) -> Float:
        """Return ``V_i - values_{g(i)}``."""
        return V - (values if self.count == 1 else values[self.codes])


# Item sets ------------------------------------------------------------------------------------------------------------
#
# Sets of items, possibly overlapping, laid out one after the other.


@dataclass(frozen=True)
class ItemSets:
    """Sets of items to hold out.

    Shapes: items (total,), bounds (sets + 1,).
    """

    items: Index
    bounds: Index

    @classmethod
    def of(cls, held_out: Sequence[object], n_items: int) -> ItemSets:
        """Read sets of item numbers; a set may also be a mask of booleans."""
        sets = [_read_set(held, number, n_items) for number, held in enumerate(held_out)]
        if not sets:
            raise InvalidInputError("held_out is empty: give at least one set of items")
        bounds = np.concatenate([[0], np.cumsum([len(items) for items in sets])])
        return cls(np.concatenate(sets), bounds.astype(np.int64))

    @classmethod
    def of_queries(cls, queries: Queries) -> ItemSets:
        """Make each query a set."""
        return cls(queries.order, queries.bounds)

    @classmethod
    def singles(cls, n_items: int) -> ItemSets:
        """Make each item a set."""
        return cls(np.arange(n_items, dtype=np.int64), np.arange(n_items + 1, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __iter__(self) -> Iterator[Index]:
        for start, stop in zip(self.bounds[:-1], self.bounds[1:], strict=True):
            yield self.items[start:stop]

    @cached_property
    def sizes(self) -> Index:
        """The number of items in each set."""
        return np.diff(self.bounds)

    def places(self, numbers: Index, size: int) -> Index:
        """Return the positions of the items of some sets of equal size, shape (sets, size)."""
        return self.bounds[numbers][:, None] + np.arange(size, dtype=np.int64)

    def part(self, numbers: Index) -> tuple[Index, ItemSets]:
        """Return the positions of the items of some sets, and these sets as a new object."""
        if len(numbers) == len(self):
            return np.arange(len(self.items), dtype=np.int64), self
        places = np.concatenate([np.arange(self.bounds[k], self.bounds[k + 1]) for k in numbers])
        bounds = np.concatenate([[0], np.cumsum(self.sizes[numbers])]).astype(np.int64)
        return places, ItemSets(self.items[places], bounds)

    def without(self, items: Index) -> ItemSets:
        """Remove items from every set; sets that lose all of theirs are dropped."""
        kept = np.isin(self.items, items, invert=True)
        owner = np.repeat(np.arange(len(self)), self.sizes)
        sizes = np.bincount(owner[kept], minlength=len(self))
        bounds = np.concatenate([[0], np.cumsum(sizes[sizes > 0])]).astype(np.int64)
        return ItemSets(self.items[kept], bounds)

    def whole_queries(self, queries: Queries) -> NDArray[np.bool_]:
        """Return for each set whether it is a union of whole queries. O(total log total) time."""
        owner = np.repeat(np.arange(len(self), dtype=np.int64), self.sizes)
        codes = queries.codes[self.items]
        keys, counts = np.unique(owner * len(queries) + codes, return_counts=True)
        whole = counts == queries.sizes[keys % len(queries)]
        broken = np.bincount(keys // len(queries), weights=~whole, minlength=len(self))
        return np.asarray(broken == 0, dtype=np.bool_)

    def touched(self, codes: Index, counted: NDArray[np.bool_]) -> Index:
        """Return how many of the counted queries have an item in each set. O(total log total) time."""
        owner = np.repeat(np.arange(len(self), dtype=np.int64), self.sizes)
        keys = np.sort(owner * len(counted) + codes[self.items], kind="stable")  # nearly sorted: linear time
        keys = keys[np.append(True, keys[1:] != keys[:-1])]
        keys = keys[counted[keys % len(counted)]]
        return np.bincount(keys // len(counted), minlength=len(self))


def _read_set(held: object, number: int, n_items: int) -> Index:
    values = np.asarray(held)
    if values.dtype == bool and values.shape == (n_items,):
        values = np.flatnonzero(values)
    if values.ndim != 1 or len(values) == 0 or values.dtype.kind not in "iu":
        raise InvalidInputError(
            f"held_out[{number}] must be a non-empty list of item numbers or a mask of {n_items} booleans"
        )
    ordered = np.sort(values)
    if ordered[0] < 0 or ordered[-1] >= n_items:
        wrong = values[(values < 0) | (values >= n_items)][0]
        raise InvalidInputError(f"held_out[{number}] has the item {wrong}, but the items go from 0 to {n_items - 1}")
    if np.any(ordered[1:] == ordered[:-1]):
        raise InvalidInputError(f"held_out[{number}] names an item twice")
    if len(values) == n_items:
        raise InvalidInputError(f"held_out[{number}] holds out every item: nothing is left to train on")
    return values.astype(np.int64)


# Lifetimes ------------------------------------------------------------------------------------------------------------
#
# Lifetimes: validation of times until an event, some of them censored.
#
# A lifetime is a time and whether the event happened then. Where it did not, the item is only known to last longer.
# Times and events travel together as a structured array with a field of bool and a field of numbers, which is what
# scikit-survival takes too. It has one entry per item, so whatever selects items selects both. A data frame with two
# columns, one of bool and one of numbers, is turned into such an array.


def event_times(time: Any, event: Any = None, *, weight: Any = None, entry: Any = None) -> Any:
    """Combine times and events into one structured array, to pass as y to `fit` and the measures.

    Parameters
    ----------
    time : array-like, shape (m,), or data frame with two columns
        Times; finite, or NaN for an item without one. A data frame with a bool and a number column holds events and
        times; so does one whose columns are named "event" and "time", where the events may be 0 and 1.
    event : array-like of bool or of 0 and 1, shape (m,), optional
        Whether the event happened at that time; otherwise the item is censored. Without it, `time` is returned as it
        is.
    weight : array-like, shape (m,), optional
        Event weights, such as the inverse probability of censoring; they multiply all pairs that an event is the
        earlier item of, and must be equal for tied events of a stratum. Those of censored items are not used.
    entry : array-like, shape (m,), optional
        When each item came under observation (left truncation), before its time. An event is compared with those who
        had entered before it.

    Returns
    -------
    ndarray, structured, shape (m,), or `time`
        With the fields "event", "time" and, if given, "weight" and "entry".

    Notes
    -----
    O(m) time and memory.

    Examples
    --------
    >>> event_times([3.0, 5.0], [True, False])
    array([( True, 3.), (False, 5.)], dtype=[('event', '?'), ('time', '<f8')])
    """
    columns = _two_columns(time)
    if event is None:
        if entry is not None and columns is None:
            raise InvalidInputError("entry needs event=, which says whether the event happened at each time.")
        return time if columns is None else event_times(*columns, weight=weight, entry=entry)
    if is_structured(time) or columns is not None:
        raise InvalidInputError("Expected event=None where y has the events already; got both. Leave one of them out.")
    times = _numbers(time, "the times")
    events = check_events(event, len(times))
    kinds: list[tuple[str, Any]] = [("event", np.bool_), ("time", np.float64)]
    given = [name for name, values in (("weight", weight), ("entry", entry)) if values is not None]
    result = np.empty(len(times), dtype=kinds + [(name, np.float64) for name in given])
    result["event"], result["time"] = events, times
    if entry is not None:
        result["entry"] = _check_entry(entry, times)
    if weight is not None:
        result["weight"] = _check_weight(weight, len(times))
    return result


def _two_columns(y: Any) -> tuple[Any, Any] | None:
    """Return the times and the events of a data frame that holds both, else None."""
    if not hasattr(y, "columns"):
        return None
    frame = nw.from_native(y, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame) or len(set(frame.columns)) != 2 or frame.shape[1] != 2:
        return None
    columns = list(frame.iter_columns())
    events = [column for column in columns if column.dtype == nw.Boolean]
    if len(events) != 1 and set(frame.columns) == {"event", "time"}:
        events = [frame["event"]]
    times = [column for column in columns if column.name != events[0].name] if len(events) == 1 else []
    if not times or not times[0].dtype.is_numeric():
        return None
    return times[0].to_numpy(), events[0].to_numpy()


def check_events(event: Any, n_items: int) -> NDArray[np.bool_]:
    """Return events as a vector of bool; zeros and ones are accepted too, other values are an error."""
    values = np.asarray(event)
    if values.shape != (n_items,):
        raise InvalidInputError(f"Expected one event for each of {n_items} items; got shape {values.shape}.")
    if values.dtype == np.bool_:
        return values
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        numbers = np.full(n_items, np.nan)
    wrong = (numbers != 0) & (numbers != 1)
    if wrong.any():
        place = int(np.argmax(wrong))
        raise InvalidInputError(
            f"Expected event to be True (or 1) where the event happened and False (or 0) where the time is censored; "
            f"got {values[place]!r} for item {place}. Recode it, for example event=(status == 2)."
        )
    return np.equal(numbers, 1.0)


def _numbers(time: Any, name: str) -> Float:
    try:
        times: Float = check_array(
            time, ensure_2d=False, dtype=np.float64, input_name=name, ensure_min_samples=0, ensure_all_finite=False
        )
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
        raise InvalidInputError(f"Expected {name} to be numbers: {error}") from None
    if times.ndim != 1:
        raise InvalidInputError(
            f"Expected one column of times with event=; got shape {times.shape}. Fit one outcome at a time."
        )
    return times


def _check_weight(weight: Any, n_items: int) -> Float:
    values = _numbers(weight, "the event weights")
    if len(values) != n_items or not np.all(np.isfinite(values) & (values >= 0)):
        raise InvalidInputError(
            f"Expected {n_items} event weights, finite and at least zero; got {len(values)} from "
            f"{values.min(initial=np.inf):g} to {values.max(initial=-np.inf):g}."
        )
    return values


def _check_entry(entry: Any, times: Float) -> Float:
    values = _numbers(entry, "the entry times")
    if len(values) != len(times) or np.isnan(values).any():
        raise InvalidInputError(f"Expected one entry time for each of {len(times)} items; got {len(values)}.")
    if np.any(values >= times):
        place = int(np.argmax(values >= times))
        raise InvalidInputError(
            f"Expected each entry before the time; got entry {values[place]:g} and time {times[place]:g} for item "
            f"{place}."
        )
    return values


@dataclass(frozen=True)
class Lifetimes:
    """Times with events, read from a structured array.

    Shapes: time (m,), event (m,), weight, entry (m,).
    """

    time: Float
    event: NDArray[np.bool_]
    weight: Float | None = None
    entry: Float | None = None

    @classmethod
    def of(cls, y: NDArray[Any], *, n_items: int | None = None, allow_missing: bool = False) -> Lifetimes:
        """Read and check a structured array.

        Shapes: y (m,).

        n_items: How many entries there must be.
        allow_missing: Whether a time may be NaN.
        """
        names = list(y.dtype.names or ())
        others = [name for name in names if name not in ("weight", "entry") or len(names) < 3]
        events = [name for name in others if y.dtype[name] == np.bool_]
        times = [name for name in others if y.dtype[name].kind in "fiu"]
        if y.ndim != 1 or len(others) != 2 or len(events) != 1 or len(times) != 1:
            raise InvalidInputError(
                "Expected a structured y with a bool field (the event), a number field (the time) and optionally a "
                f"field 'weight'; got {y.dtype}, shape {y.shape}. kernelrank.data.event_times(time, event) makes one."
            )
        if n_items is not None and len(y) != n_items:
            raise InvalidInputError(f"y has {len(y)} entries, but X has {n_items} items")
        time = np.ascontiguousarray(y[times[0]], dtype=np.float64)
        wrong = np.isinf(time) if allow_missing else ~np.isfinite(time)
        if wrong.any():
            place = int(np.argmax(wrong))
            raise InvalidInputError(f"Expected finite times; got {time[place]} for item {place}.")
        more = names if len(names) > 2 else []
        weight = _check_weight(y["weight"], len(y)) if "weight" in more else None
        entry = _check_entry(y["entry"], time) if "entry" in more else None
        return cls(time, np.ascontiguousarray(y[events[0]]), weight, entry)

    def nothing_to_compare(self, n_queries: int, cost: str) -> str:
        """Return why no order is known."""
        inside = "" if n_queries == 1 else f" inside one of {n_queries} strata"
        known = "a later item" if cost == "unit" else "another event at another time"
        return (
            f"nothing to compare: no event has {known}{inside} ({int(self.event.sum())} events among "
            f"{len(self.event)} items)"
        )
