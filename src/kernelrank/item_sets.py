"""Sets of items, possibly overlapping, laid out one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Index
from kernelrank.errors import InvalidInputError
from kernelrank.queries import Queries

__all__ = ["ItemSets"]


@dataclass(frozen=True)
class ItemSets:
    """Sets of items to hold out.

    Parameters
    ----------
    items : ndarray of int64, shape (total,)
        The items of the first set, then of the second, and so on.
    bounds : ndarray of int64, shape (sets + 1,)
        Where each set begins; the last entry is `total`.

    Examples
    --------
    >>> sets = ItemSets.of([[0, 2], [2]], 3)
    >>> [items.tolist() for items in sets], sets.sizes
    ([[0, 2], [2]], array([2, 1]))
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
