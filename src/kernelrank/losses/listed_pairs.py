"""Listed pairs: preferences that were observed one by one."""

from __future__ import annotations

import numpy as np

from kernelrank.base.arrays import Float, Index
from kernelrank.hinge.pairs import Pairs, PlacedPairs
from kernelrank.losses.loss_rounding import sum_error

__all__ = ["ListedPairs"]


class ListedPairs(Pairs):
    """A list of l pairs over m items; a pair may occur many times, and in both directions.

    Parameters
    ----------
    n_items : int
        The number of items, m.
    pairs : ndarray of int, shape (l, 2)
        The item of column 0 belongs above that of column 1.
    weight : ndarray, shape (l,)
        The weight of each pair.

    Notes
    -----
    O(m + l) time for everything; memory O(l).

    Examples
    --------
    >>> pairs = ListedPairs(3, np.array([[0, 1], [0, 2]]), np.ones(2))
    >>> pairs.place(np.array([0.5, 0.0, -1.0])).counts(1.0)
    (array([1., 0., 0.]), array([0., 1., 0.]))
    """

    def __init__(self, n_items: int, pairs: Index, weight: Float) -> None:
        self.n_items = n_items
        self.head, self.tail = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
        self.weight = weight
        self.total = float(weight.sum())
        self.n_terms = 3 * (n_items + len(weight)) + 32
        self.count_error = sum_error(self.n_terms)

    def place(self, f: Float) -> PlacedPairs:
        """Compute the margin of each pair at the scores f."""
        return _PlacedListedPairs(self, f)


class _PlacedListedPairs(PlacedPairs):
    """Listed pairs and their margins."""

    def __init__(self, pairs: ListedPairs, f: Float) -> None:
        self.pairs = pairs
        self.scores = f - f.mean()
        # The same expression as for scored pairs, so that both take the same pairs.
        self.f_head, self.f_tail = f[pairs.head], f[pairs.tail]

    def bring(self, values: Float) -> Float:
        """Return the values unchanged: the internal order is that of the items."""
        return values

    def back(self, values: Float) -> Float:
        """Return the values unchanged: the internal order is that of the items."""
        return values

    def _weight(self, low: float, high: float) -> Float:
        inside = (self.f_head - high < self.f_tail) & ~(self.f_head - low < self.f_tail)
        weight: Float = np.where(inside, self.pairs.weight, 0.0)
        return weight

    def _add(self, items: Index, values: Float) -> Float:
        return np.bincount(items, weights=values, minlength=self.pairs.n_items).astype(np.float64)

    def counts(self, threshold: float) -> tuple[Float, Float]:
        """Add up the weights at both ends."""
        weight = self._weight(-np.inf, threshold)
        return self._add(self.pairs.head, weight), self._add(self.pairs.tail, weight)

    def band(self, low: float, high: float) -> tuple[Float, Float, Float]:
        """Add up both the weights and the scores."""
        weight = self._weight(low, high)
        sums = self.sums(self.scores, low, high)
        return self._add(self.pairs.head, weight), self._add(self.pairs.tail, weight), sums

    def weights(self, places: Index, low: float, high: float) -> Float:
        """Add up the pairs between the places."""
        size = len(places)
        number = np.full(self.pairs.n_items, -1)
        number[places] = np.arange(size)
        head, tail = number[self.pairs.head], number[self.pairs.tail]
        among = (head >= 0) & (tail >= 0)
        cells, weight = (head * size + tail)[among], self._weight(low, high)[among]
        return np.bincount(cells, weights=weight, minlength=size**2).astype(np.float64).reshape(size, size)

    def band_rounding(self, low: float, high: float, enough: float) -> tuple[float, float]:  # noqa: ARG002
        """Bound the rounding errors of `band`: a fraction of the sum of absolute values."""
        counts = sum_error(self.pairs.n_terms) * 2.0 * float(self._weight(low, high).sum())
        return counts, counts * float(np.abs(self.scores).max())

    def sums(self, v: Float, low: float, high: float) -> Float:
        """Add up the other end's value at each end."""
        weight, head, tail = self._weight(low, high), self.pairs.head, self.pairs.tail
        return self._add(head, weight * v[tail]) + self._add(tail, weight * v[head])
