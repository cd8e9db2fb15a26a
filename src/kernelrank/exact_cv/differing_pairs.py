"""Which pairs are held out: all whose true scores differ, or those that were asked for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelrank.arrays import Float, Index

__all__ = ["DifferingPairs"]


@dataclass(frozen=True)
class DifferingPairs:
    """All pairs of items with different scores, known by one sort and never written out unless asked for.

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
