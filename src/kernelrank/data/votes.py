"""Preferences: pairs of items of which the first is preferred, and what else a file says of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Preferences"]


class Preferences(NamedTuple):
    """Pairs of items of which the first is preferred to the second.

    Parameters
    ----------
    pairs : ndarray of int64, shape (l, 2)
        Item numbers: winner, loser. In a tie, the two items in the order of the file.
    magnitude : ndarray of float64, shape (l,), or None
        By how much, if the file has magnitudes. Ties have 0, and all others 1 where the file has no magnitudes.
    weight : ndarray of float64, shape (l,), or None
        The weight of each pair, if the file has weights.
    names : ndarray of str, shape (n_items,), or None
        The names of the items in the file; None if it numbers them.
    tie : ndarray of bool, shape (l,), or None
        Which of them are ties; None if there are none.
    judge : ndarray, shape (l,), or None
        Whose preference it is: integers if all labels are, else strings. In a file of rankings, the number of the
        ranking, counted from one.
    side : ndarray of int8, shape (l,), or None
        If the file has sides: 1 if the item of ``pairs[:, 0]`` was on the first side (left, first, home), -1 if the
        other was.
    notes : tuple of str
        What was guessed in order to read the file, and what was left out.
    """

    pairs: NDArray[np.int64]
    magnitude: NDArray[np.float64] | None
    weight: NDArray[np.float64] | None
    names: NDArray[np.object_] | None
    tie: NDArray[np.bool_] | None = None
    judge: NDArray[Any] | None = None
    side: NDArray[np.int8] | None = None
    notes: tuple[str, ...] = ()

    def chosen(self, rows: NDArray[np.bool_]) -> Preferences:
        """Return some of the preferences, with the names of all items."""
        return self._replace(
            pairs=self.pairs[rows],
            magnitude=None if self.magnitude is None else self.magnitude[rows],
            weight=None if self.weight is None else self.weight[rows],
            tie=None if self.tie is None else self.tie[rows],
            judge=None if self.judge is None else self.judge[rows],
            side=None if self.side is None else self.side[rows],
        )
