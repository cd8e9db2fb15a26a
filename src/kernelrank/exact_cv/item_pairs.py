"""Item pairs: which pairs are held out, all whose true scores differ, or those that were requested."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from kernelrank.base.arrays import Float, Index
from kernelrank.base.labels import ItemSets, Queries
from kernelrank.errors import InvalidInputError

__all__ = ["DifferingPairs", "GivenPairs", "ItemPairs", "PairForm"]


class ItemPairs(ABC):
    """Pairs of items, numbered from 0."""

    order: Index
    """The order in which a `PairForm` is to have the items."""

    @property
    @abstractmethod
    def n_pairs(self) -> int:
        """How many pairs there are."""

    def items(self) -> tuple[Index, Index]:
        """Return the first and the second item of every pair: O(pairs) memory."""
        return self.at(np.arange(self.n_pairs, dtype=np.int64))

    @abstractmethod
    def at(self, places: Index) -> tuple[Index, Index]:
        """Return the first and the second item of some pairs, by their numbers."""

    @abstractmethod
    def among(self, items: Index) -> Self:
        """Return the pairs of some items (ascending), by their numbers among these; the pairs keep their order."""

    def n_differing(self, truth: Float) -> Float:
        """Return for each output the number of pairs with different scores (m, k)."""
        first, second = self.items()
        return np.asarray((truth[first] != truth[second]).sum(axis=0), dtype=np.float64)

    @abstractmethod
    def hold_out(self, form: PairForm, agreement: Float, difference: Float) -> Index | None:
        """Hold all pairs out; see `PairForm`."""

    def sets(self, n_items: int, groups: Queries | None = None) -> tuple[ItemSets, Index, Index]:
        """Make each pair a set, with the groups of its items; pairs between the same two groups share one.

        Parameters
        ----------
        n_items : int
        groups : Queries, optional

        Returns
        -------
        ItemSets, first, second
            The sets, and where the first and the second item of each pair lie in them.
        """
        first, second = self.items()
        if groups is None:
            places = 2 * np.arange(len(first))
            items = np.stack([first, second], axis=1).ravel()
            return ItemSets(items, np.append(places, len(items))), places, places + 1
        code_first, code_second = groups.codes[first], groups.codes[second]
        low, high = np.minimum(code_first, code_second), np.maximum(code_first, code_second)
        keys, set_of = np.unique(low * len(groups) + high, return_inverse=True)
        members = list(groups)
        held = [
            members[a] if a == b else np.concatenate([members[a], members[b]])
            for a, b in zip(keys // len(groups), keys % len(groups), strict=True)
        ]
        for number, items in enumerate(held):
            if len(items) == n_items:
                pair = int(np.argmax(set_of == number))
                raise InvalidInputError(
                    f"leaving out the pair ({first[pair]}, {second[pair]}) with its groups leaves nothing to train on"
                )
        bounds = np.concatenate([[0], np.cumsum([len(items) for items in held])]).astype(np.int64)
        rank = np.empty(n_items, dtype=np.int64)
        rank[groups.order] = np.arange(n_items) - np.repeat(groups.bounds[:-1], groups.sizes)
        start = bounds[:-1][set_of]
        shift_first = np.where(code_first == low, 0, groups.sizes[low])
        shift_second = np.where(code_second == low, 0, groups.sizes[low])
        return (
            ItemSets(np.concatenate(held), bounds),
            start + shift_first + rank[first],
            start + shift_second + rank[second],
        )


class PairForm(Protocol):
    """Differences of pairs at one λ.

    Both methods add the agreement (k,) of the pairs, and store their differences (k, pairs) unless there is no room for
    them. They return the numbers of pairs that are left to the caller, or None if there are too many.
    """

    def all_pairs(self, pairs: DifferingPairs, agreement: Float, difference: Float) -> Index | None:
        """Hold out all pairs that differ."""

    def listed(self, pairs: Index, agreement: Float, difference: Float) -> Index | None:
        """Hold out some pairs."""


@dataclass(frozen=True)
class DifferingPairs(ItemPairs):
    """All pairs of items with different scores, known by one sort and never listed unless requested.

    Parameters
    ----------
    order : ndarray of int64, shape (m,)
        The items in descending order of their scores; the first output decides, then the second, and so on.
    end : ndarray of int64, shape (m,)
        For each place in `order`, where the items with lower scores begin. An item forms a pair with each of them.

    Examples
    --------
    >>> pairs = DifferingPairs.of(np.array([[0.0], [1.0], [0.0]]))
    >>> pairs.n_pairs, pairs.items()
    (2, (array([1, 1]), array([0, 2])))
    """

    order: Index
    end: Index

    @classmethod
    def of(cls, scores: Float) -> DifferingPairs:
        """Sort the items: O(m log m) time. Items without any score (NaN) form no pair."""
        scored = np.flatnonzero(~np.isnan(scores).all(axis=1))
        keys = [np.where(np.isnan(column), -np.inf, column) for column in scores.T]
        order = scored[np.lexsort([-key[scored] for key in keys[::-1]])].astype(np.int64)
        new = np.zeros(len(order), dtype=bool)
        for key in keys:
            new[1:] |= key[order][1:] != key[order][:-1]
        starts = np.append(np.flatnonzero(new), len(order))
        end = starts[np.cumsum(new)]
        return cls(order, end.astype(np.int64))

    def among(self, items: Index) -> DifferingPairs:
        """Return the pairs of some items, by their numbers among these; the pairs keep their order.

        Examples
        --------
        >>> DifferingPairs.of(np.array([[0.0], [1.0], [2.0]])).among(np.array([0, 2])).items()
        (array([1]), array([0]))
        """
        number = np.full(int(max(self.order.max(initial=-1), items.max(initial=-1))) + 1, -1, dtype=np.int64)
        number[items] = np.arange(len(items))
        kept = number[self.order] >= 0
        before = np.concatenate([[0], np.cumsum(kept)]).astype(np.int64)
        return DifferingPairs(number[self.order[kept]], before[self.end[kept]])

    @property
    def n_pairs(self) -> int:
        """How many pairs there are."""
        return int((len(self.order) - self.end).sum())

    @property
    def offset(self) -> Index:
        """The number of pairs before those of each place in `order`."""
        return np.concatenate([[0], np.cumsum(len(self.order) - self.end)[:-1]]).astype(np.int64)

    def at(self, places: Index) -> tuple[Index, Index]:
        """Return the higher and the lower item of some pairs, by their numbers."""
        row = np.searchsorted(self.offset, places, side="right") - 1
        return self.order[row], self.order[places - self.offset[row] + self.end[row]]

    def items(self) -> tuple[Index, Index]:
        """Return the higher and the lower item of every pair: O(pairs) memory."""
        m = len(self.order)
        counts = m - self.end
        first = np.repeat(self.order, counts)
        places = np.arange(self.n_pairs, dtype=np.int64) - np.repeat(self.offset - self.end, counts)
        return first, self.order[places]

    def n_differing(self, truth: Float) -> Float:
        """Return for each output the number of pairs with different scores, counted by level."""
        levels = [np.unique(column, return_counts=True)[1].astype(np.float64) for column in truth.T]
        return np.array([(len(truth) ** 2 - (counts**2).sum()) / 2 for counts in levels])

    def hold_out(self, form: PairForm, agreement: Float, difference: Float) -> Index | None:
        """Hold all pairs out, in blocks."""
        return form.all_pairs(self, agreement, difference)


class GivenPairs(ItemPairs):
    """Pairs one by one.

    Parameters
    ----------
    pairs : ndarray of int64, shape (pairs, 2)
    n_items : int
    """

    def __init__(self, pairs: Index, n_items: int) -> None:
        self.pairs, self.order = pairs, np.arange(n_items)

    @property
    def n_pairs(self) -> int:
        """How many pairs there are."""
        return len(self.pairs)

    def at(self, places: Index) -> tuple[Index, Index]:
        """Return the first and the second item of some pairs, by their numbers."""
        return self.pairs[places, 0], self.pairs[places, 1]

    def among(self, items: Index) -> GivenPairs:
        """Return the pairs of some items (ascending), by their numbers among these."""
        inside = np.isin(self.pairs, items).all(axis=1)
        return GivenPairs(np.searchsorted(items, self.pairs[inside]), len(items))

    def hold_out(self, form: PairForm, agreement: Float, difference: Float) -> Index | None:
        """Hold the pairs out."""
        return form.listed(self.pairs, agreement, difference)
