"""Label pairs: the vocabulary of a graph kernel, one feature for each pair of labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Index
from kernelrank.base.compiled import compiled
from kernelrank.kernels.all_paths import ConnectedLabels

__all__ = ["LabelPairs"]


@dataclass(frozen=True)
class LabelPairs:
    """Pairs of labels, numbered in the order of the first and then of the second.

    Parameters
    ----------
    bounds : ndarray of int64, shape (n_labels + 1,)
        Where the pairs with each first label begin.
    seconds : ndarray of int32, shape (n_pairs,)
        The second labels, ascending for each first one.
    """

    bounds: Index
    seconds: NDArray[np.int32]

    @classmethod
    def of(cls, connected: ConnectedLabels, n_labels: int) -> LabelPairs:
        """Collect the pairs that occur. Time O(entries + pairs log pairs), memory O(pairs + rows + labels).

        Examples
        --------
        >>> connected = ConnectedLabels(*map(np.array, ([0, 1, 2], [0, 0], [0, 1, 3], [2, 1, 2], [0.1, 0.1, 0.1])))
        >>> LabelPairs.of(connected, 3)
        LabelPairs(bounds=array([0, 2, 2, 2]), seconds=array([1, 2], dtype=int32))
        """
        order = np.argsort(connected.firsts, kind="stable")
        return cls(*_collect(connected.firsts, order, connected.entry_bounds, connected.seconds, n_labels))

    @property
    def firsts(self) -> NDArray[np.int32]:
        """The first labels of the pairs."""
        return np.repeat(np.arange(len(self.bounds) - 1, dtype=np.int32), np.diff(self.bounds))

    def number(self, connected: ConnectedLabels) -> NDArray[np.int32]:
        """Return the number of the pair of each entry, -1 for a pair that is not here.

        Time O(entries + pairs with the first labels that occur), memory O(entries).

        Examples
        --------
        >>> connected = ConnectedLabels(*map(np.array, ([0, 1], [0], [0, 2], [0, 2], [0.1, 0.1])))
        >>> LabelPairs(np.array([0, 2, 2, 2]), np.array([1, 2], dtype=np.int32)).number(connected)
        array([-1,  1], dtype=int32)
        """
        order = np.argsort(connected.firsts, kind="stable")
        n_labels = max(len(self.bounds) - 1, int(connected.seconds.max(initial=-1)) + 1)
        return _number(
            self.bounds, self.seconds, connected.firsts, order, connected.entry_bounds, connected.seconds, n_labels
        )


@compiled
def _collect(
    firsts: NDArray[np.int32], order: Index, entry_bounds: Index, seconds: NDArray[np.int32], n_labels: int
) -> tuple[Index, NDArray[np.int32]]:
    """Mark the second labels of one first label after the other."""
    bounds = np.zeros(n_labels + 1, dtype=np.int64)
    pairs = np.empty(len(seconds) // 4 + n_labels, dtype=np.int32)
    n_pairs = 0
    seen = np.zeros(n_labels, dtype=np.bool_)
    touched = np.empty(n_labels, dtype=np.int32)
    i = 0
    for a in range(n_labels):
        n_touched = 0
        while i < len(order) and firsts[order[i]] == a:
            for j in range(entry_bounds[order[i]], entry_bounds[order[i] + 1]):
                b = seconds[j]
                if not seen[b]:
                    seen[b] = True
                    touched[n_touched] = b
                    n_touched += 1
            i += 1
        if n_pairs + n_touched > len(pairs):
            pairs = np.concatenate((pairs, np.empty(max(n_touched, len(pairs)), dtype=np.int32)))
        some = np.sort(touched[:n_touched])
        pairs[n_pairs : n_pairs + n_touched] = some
        seen[some] = False
        n_pairs += n_touched
        bounds[a + 1] = n_pairs
    return bounds, pairs[:n_pairs].copy()


@compiled
def _number(
    bounds: Index,
    pairs: NDArray[np.int32],
    firsts: NDArray[np.int32],
    order: Index,
    entry_bounds: Index,
    seconds: NDArray[np.int32],
    n_labels: int,
) -> NDArray[np.int32]:
    """Look the entries up, all rows of one first label in turn."""
    numbers = np.full(len(seconds), -1, dtype=np.int32)
    place = np.full(n_labels, -1, dtype=np.int32)
    i = 0
    while i < len(order):
        a = firsts[order[i]]
        if a >= len(bounds) - 1:
            break
        for p in range(bounds[a], bounds[a + 1]):
            place[pairs[p]] = p
        while i < len(order) and firsts[order[i]] == a:
            for j in range(entry_bounds[order[i]], entry_bounds[order[i] + 1]):
                numbers[j] = place[seconds[j]]
            i += 1
        for p in range(bounds[a], bounds[a + 1]):
            place[pairs[p]] = -1
    return numbers
