"""Chunks: a stream of rows is cut into chunks, optionally between queries only."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from kernelrank.data.text import join_labels, shown
from kernelrank.errors import InvalidInputError


@dataclass(frozen=True)
class Rows:
    """Some rows of a file: an array for each column, or None; `labels` names those of labels."""

    labels: ClassVar[tuple[str, ...]] = ()

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns that the file has."""
        named = {column.name: getattr(self, column.name) for column in fields(self)}
        return {name: column for name, column in named.items() if column is not None}

    def part(self, start: int, stop: int, *, copy: bool = True) -> Self:
        """Return the rows from `start` to before `stop`. Time and memory O(size of the part)."""
        parts = {name: column[start:stop] for name, column in self.columns().items()}
        return replace(self, **{name: part.copy() if copy else part for name, part in parts.items()})

    def chosen(self, keep: NDArray[np.bool_]) -> Self:
        """Return some of the rows."""
        return replace(self, **{name: column[keep] for name, column in self.columns().items()})

    def joined(self, others: Sequence[Self], **ready: NDArray[Any]) -> Self:
        """Return these rows and those of others, with columns that are ready. Time and memory O(size)."""
        for name in self.columns().keys() - ready.keys() if others or ready else ():
            pieces = [getattr(piece, name) for piece in (self, *others)]
            ready[name] = join_labels(pieces) if name in self.labels else np.concatenate(pieces)
        return replace(self, **ready)


def check_chunk_rows(chunk_rows: int) -> None:
    """Raise an error if the chunk size is below 1."""
    if chunk_rows < 1:
        raise InvalidInputError(f"chunk_rows must be at least 1, got {chunk_rows}")


def cut(pieces: Iterable[Any], chunk_rows: int, whole_queries: bool) -> Iterator[Any]:
    """Cut a stream of rows into chunks. Time O(size): a row is joined to others a bounded number of times."""
    pending: list[Any] = []
    waiting, wanted = 0, chunk_rows
    for piece in itertools.chain(pieces, [None]):
        if piece is not None:
            pending.append(piece)
            waiting += len(piece)
            if waiting <= wanted:
                continue
        rows = pending[0].joined(pending[1:]) if pending else None
        if rows is None:
            return
        stops = _find_stops(rows, chunk_rows, whole_queries, last=piece is None)
        for start, stop in itertools.pairwise([0, *stops]):
            yield rows.part(start, stop)
        # What is left is copied when it is joined to what comes.
        rest = rows.part(stops[-1] if stops else 0, len(rows), copy=False)
        pending, waiting = [rest], len(rest)
        # A query larger than a chunk: look again when there is twice as much of it, lest time be quadratic.
        wanted = 2 * waiting if waiting > chunk_rows else chunk_rows


def _find_stops(rows: Any, chunk_rows: int, whole_queries: bool, *, last: bool) -> list[int]:
    """Return where the chunks end that are complete, whatever comes after these rows."""
    if whole_queries and rows.query_labels is not None:
        bounds = np.flatnonzero(rows.query_labels[1:] != rows.query_labels[:-1]) + 1
        bounds = np.append(bounds, len(rows)) if last else bounds
    else:
        bounds = np.arange(1, len(rows) + 1)
    stops: list[int] = []
    start = 0
    while start < len(rows) and (last or len(rows) - start > chunk_rows):
        place = int(np.searchsorted(bounds, start + chunk_rows, side="right"))
        fits = place > 0 and bounds[place - 1] > start
        if not fits and place == len(bounds):
            break
        start = int(bounds[place - 1] if fits else bounds[place])
        stops.append(start)
    return stops


def scattered_row(qids: NDArray[Any], seen: set[Any]) -> int | None:
    """Add the queries of a chunk to those seen; return the first row of one that was seen before, if there is one."""
    starts = np.concatenate([[0], np.flatnonzero(qids[1:] != qids[:-1]) + 1])
    for start, label in zip(starts.tolist(), qids[starts].tolist(), strict=True):
        if label in seen:
            return int(start)
        seen.add(label)
    return None


def scattered_message(label: object) -> str:
    """Return the error message for a query whose rows are not contiguous."""
    return f"the rows of query {shown(label)} are not contiguous, which whole_queries=True needs: sort them by query"


# Array builder --------------------------------------------------------------------------------------------------------
#
# An array that is built block by block, without a second copy of what is there already.


class ArrayBuilder:
    """A one-dimensional array to which blocks are appended; it grows by an eighth when it is full.

    Appending n values one block at a time takes O(n) time; the memory is at most 9/8 of the result (and the
    block), where joining the blocks at the end would take twice the result. Where the first block comes with its
    share of the whole, space for the whole is reserved at once.
    """

    def __init__(self, dtype: DTypeLike) -> None:
        self._values: NDArray[Any] = np.empty(0, dtype=dtype)
        self._size = 0

    def append(self, values: NDArray[Any], share: float | None = None) -> None:
        """Append values; `share`, from 0 to 1, is the fraction of all values that is then present."""
        size = self._size + len(values)
        if not self._size and share:
            # A little more than the first block suggests: memory that is reserved and never written to is not used.
            self._values = np.empty(max(size, int(size / share * (33 / 32))), dtype=self._values.dtype)
        elif size > len(self._values):
            self._values.resize(max(size, len(self._values) * 9 // 8), refcheck=False)
        self._values[self._size : size] = values
        self._size = size

    def finished(self) -> NDArray[Any]:
        """Return the array, cut to its size; nothing may be appended afterwards."""
        self._values.resize(self._size, refcheck=False)
        return self._values
