"""Lifetimes: validation of times until an event, some of them censored.

A lifetime is a time and whether the event happened then. Where it did not, the item is only known to last longer. Times
and events travel together as a structured array with a field of bool and a field of numbers, which is what
scikit-survival takes too. It has one entry per item, so whatever selects items selects both. A data frame with two
columns, one of bool and one of numbers, is turned into such an array.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from kernelrank.base.arrays import Float, is_structured
from kernelrank.errors import InvalidInputError

__all__ = ["Lifetimes", "event_times"]

FIELDS = "a bool field (the event), a number field (the time) and optionally a field 'weight'"


def event_times(time: Any, event: Any = None, *, weight: Any = None) -> Any:
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

    Returns
    -------
    ndarray, structured, shape (m,), or `time`
        With the fields "event", "time" and, if given, "weight".

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
        return time if columns is None else event_times(*columns, weight=weight)
    if is_structured(time) or columns is not None:
        raise InvalidInputError("Expected event=None where y has the events already; got both. Leave one of them out.")
    times = _numbers(time, "the times")
    events = check_events(event, len(times))
    kinds: list[tuple[str, Any]] = [("event", np.bool_), ("time", np.float64)]
    result = np.empty(len(times), dtype=kinds + ([] if weight is None else [("weight", np.float64)]))
    result["event"], result["time"] = events, times
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


@dataclass(frozen=True)
class Lifetimes:
    """Times with events, read from a structured array.

    Parameters
    ----------
    time : ndarray, shape (m,)
    event : ndarray of bool, shape (m,)
    weight : ndarray, shape (m,), or None
        Event weights.

    Examples
    --------
    >>> Lifetimes.of(np.array([(True, 3.0)], dtype=[("died", bool), ("months", float)])).time
    array([3.])
    """

    time: Float
    event: NDArray[np.bool_]
    weight: Float | None = None

    @classmethod
    def of(cls, y: NDArray[Any], *, n_items: int | None = None, allow_missing: bool = False) -> Lifetimes:
        """Read and check a structured array.

        Parameters
        ----------
        y : ndarray, structured, shape (m,)
        n_items : int, optional
            How many entries there must be.
        allow_missing : bool, default=False
            Whether a time may be NaN.
        """
        names = list(y.dtype.names or ())
        others = [name for name in names if name != "weight" or len(names) < 3]
        events = [name for name in others if y.dtype[name] == np.bool_]
        times = [name for name in others if y.dtype[name].kind in "fiu"]
        if y.ndim != 1 or len(others) != 2 or len(events) != 1 or len(times) != 1:
            raise InvalidInputError(
                f"Expected a structured y with {FIELDS}; got {y.dtype}, shape {y.shape}. "
                "kernelrank.data.event_times(time, event) makes one."
            )
        if n_items is not None and len(y) != n_items:
            raise InvalidInputError(f"y has {len(y)} entries, but X has {n_items} items")
        time = np.ascontiguousarray(y[times[0]], dtype=np.float64)
        wrong = np.isinf(time) if allow_missing else ~np.isfinite(time)
        if wrong.any():
            place = int(np.argmax(wrong))
            raise InvalidInputError(f"Expected finite times; got {time[place]} for item {place}.")
        weight = _check_weight(y["weight"], len(y)) if len(names) > 2 else None
        return cls(time, np.ascontiguousarray(y[events[0]]), weight)

    def nothing_to_compare(self, n_queries: int, cost: str) -> str:
        """Return why no order is known."""
        inside = "" if n_queries == 1 else f" inside one of {n_queries} strata"
        known = "a later item" if cost == "unit" else "another event at another time"
        return (
            f"nothing to compare: no event has {known}{inside} ({int(self.event.sum())} events among "
            f"{len(self.event)} items)"
        )
