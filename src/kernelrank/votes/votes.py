"""Votes: preferences and ties between two items, added up for each pair that was compared."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelrank.base.arrays import Float, Index, Sparse
from kernelrank.comparisons.preferences import Preferences
from kernelrank.errors import NothingToCompareError

__all__ = ["Votes"]

TABLE = 2**20
"""Up to so many kinds of votes that could occur, or four for each vote, they are counted in a table; beyond, sorted."""


@dataclass(frozen=True, eq=False)
class Votes:
    """How often either item of a pair was preferred, and how often neither.

    Votes of one pair are one row, whichever item was named first; with sides or judges, one for each of these.

    Parameters
    ----------
    n_items : int
        The number of items, m.
    pairs : ndarray of int64, shape (k, 2)
        Two items, the lower number first.
    won, lost, tied : ndarray, shape (k,)
        The weight of the votes for the first item, for the second, and for neither.
    side : ndarray, shape (k,), or None
        One where the first item stood on the first side, minus one where the second did, zero if that is unknown.
    judge : ndarray of int64, shape (k,), or None
        The number of the judge.
    n_judges, n_votes : int
        How many judges there are, and how many votes were added up.
    """

    n_items: int
    pairs: Index
    won: Float
    lost: Float
    tied: Float
    side: Float | None
    judge: Index | None
    n_judges: int
    n_votes: int

    @classmethod
    def count(
        cls,
        n_items: int,
        pairs: Index,
        *,
        tie: NDArray[np.bool_] | None = None,
        weight: Float | None = None,
        side: Index | None = None,
        judge: Index | None = None,
        n_judges: int = 0,
    ) -> Votes:
        """Add up votes.

        Parameters
        ----------
        n_items : int
        pairs : ndarray of int, shape (l, 2)
            Column 0 is preferred to column 1, unless it is a tie.
        tie : ndarray of bool, shape (l,), optional
        weight : ndarray, shape (l,), optional
        side : ndarray of int, shape (l,), optional
            One where the item of column 0 stood on the first side, minus one where that of column 1 did, else zero.
        judge : ndarray of int, shape (l,), optional
        n_judges : int

        Returns
        -------
        Votes

        Notes
        -----
        O(l) time and memory where there are no more possible kinds of votes than 4 l or 2²⁰, O(l log l) otherwise.

        Examples
        --------
        >>> votes = Votes.count(3, np.array([[0, 1], [1, 0], [0, 1], [2, 0]]))
        >>> votes.pairs.tolist(), votes.won, votes.lost
        ([[0, 1], [0, 2]], array([2., 0.]), array([1., 1.]))
        """
        if len(pairs) == 0:
            raise NothingToCompareError("nothing to compare: pairs is empty")
        if weight is not None and not np.any(weight > 0):
            raise NothingToCompareError("nothing to compare: every weight is zero")
        first, second = pairs[:, 0].astype(np.int64), pairs[:, 1].astype(np.int64)
        turned = first > second
        key = _Key(np.where(turned, second, first), n_items)
        key.extend(np.where(turned, first, second), n_items)
        if side is not None:
            key.extend(np.where(turned, -side, side) + 1, 3)
        if judge is not None:
            key.extend(judge, n_judges)
        outcome = turned.astype(np.int64) if tie is None else np.where(tie, 2, turned)
        rows, counts = key.count(outcome, weight)
        used = counts.sum(axis=1) > 0
        rows, counts = rows[used], np.ascontiguousarray(counts[used].T)
        low, high = np.minimum(first[rows], second[rows]), np.maximum(first[rows], second[rows])
        stood = None if side is None else np.where(turned[rows], -side[rows], side[rows]).astype(np.float64)
        judges = None if judge is None else judge[rows]
        won, lost, tied = counts
        return cls(n_items, np.column_stack([low, high]), won, lost, tied, stood, judges, n_judges, len(pairs))

    @property
    def total(self) -> Float:
        """The weight of all votes in each row."""
        return self.won + self.lost + self.tied

    @property
    def head(self) -> Index:
        """The first item of each row."""
        return self.pairs[:, 0]

    @property
    def tail(self) -> Index:
        """The second item of each row."""
        return self.pairs[:, 1]

    @cached_property
    def incidence(self) -> Sparse:
        """D, shape (k, m): one at the first item of each row, minus one at the second."""
        k = len(self.pairs)
        signs = np.tile([1.0, -1.0], k)
        return sparse.csr_array((signs, self.pairs.ravel(), 2 * np.arange(k + 1)), shape=(k, self.n_items))

    def differences(self, f: Float) -> Float:
        """Return the score of the first item less that of the second, for each row."""
        return f[self.head] - f[self.tail]

    def item_sums(self, values: Float) -> Float:
        """Sum the values of the rows of each item, negative where it is the second: the transpose of `differences`."""
        sums = np.bincount(self.head, weights=values, minlength=self.n_items)
        sums -= np.bincount(self.tail, weights=values, minlength=self.n_items)
        return sums.astype(np.float64, copy=False)

    def item_totals(self, values: Float) -> Float:
        """Return for each item the sum of the values of its rows."""
        sums = np.bincount(self.head, weights=values, minlength=self.n_items)
        sums += np.bincount(self.tail, weights=values, minlength=self.n_items)
        return sums.astype(np.float64, copy=False)

    def graph(self, weight: Float) -> Preferences:
        """Return the graph of the compared pairs with some weights."""
        return Preferences(self.n_items, self.pairs, magnitude=np.ones(len(self.pairs)), weight=weight)


class _Key:
    """One number for each combination of values.

    Parameters
    ----------
    values : ndarray of int64, shape (l,)
        Numbers below `size`.
    size : int
    """

    def __init__(self, values: Index, size: int) -> None:
        self.values, self.size = values, size

    def extend(self, values: Index, size: int) -> None:
        """Split the rows of votes by the values of a further variable, such as the judge."""
        if self.size * size >= 2**61:
            self.values = np.unique(self.values, return_inverse=True)[1].astype(np.int64)
            self.size = len(self.values)
        self.values, self.size = self.values * size + values, self.size * size

    def count(self, outcome: Index, weight: Float | None) -> tuple[Index, Float]:
        """Return a row of each combination that occurs, and how often it occurs with the outcomes 0, 1 and 2."""
        if self.size <= max(TABLE, 4 * len(self.values)):
            place = np.full(self.size, -1, dtype=np.int64)
            place[self.values] = np.arange(len(self.values))
            counts = np.bincount(3 * self.values + outcome, weight, minlength=3 * self.size).reshape(-1, 3)
            present = place >= 0
            return place[present], counts[present].astype(np.float64)
        _, rows, number = np.unique(self.values, return_index=True, return_inverse=True)
        counts = np.bincount(3 * number + outcome, weight, minlength=3 * len(rows)).reshape(-1, 3)
        return rows.astype(np.int64), counts.astype(np.float64)
