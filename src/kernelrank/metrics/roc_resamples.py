"""ROC curves of given scores, and those of other items drawn from the same ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Float, Index

__all__ = ["RocResamples"]


@dataclass(frozen=True, eq=False)
class RocResamples:
    """The scores of two classes, from which items or whole groups can be drawn with replacement.

    Items of each class are drawn by themselves; groups in up to three parts: those of positive items only, of negative
    items only, and of both. So no draw lacks a class.

    Parameters
    ----------
    positive : ndarray of bool, shape (m,)
    scores : ndarray, shape (m,)
    groups : ndarray of int64, shape (m,), optional
        What is drawn together; each item by itself unless given.

    Examples
    --------
    >>> roc = RocResamples(np.array([False, True, False, True]), np.array([1.0, 2.0, 3.0, 4.0]))
    >>> fpr, tpr = roc.curve
    >>> fpr.tolist(), tpr.tolist()
    ([0.0, 0.0, 0.5, 0.5, 1.0], [0.0, 0.5, 0.5, 1.0, 1.0])
    """

    positive: NDArray[np.bool_]
    scores: Float
    groups: Index | None = None

    @property
    def curve(self) -> tuple[Float, Float]:
        """The false and true positive rates at every threshold, from (0, 0) to (1, 1); tied items are one step."""
        return self._curve_of(np.ones(len(self.scores)))

    def draws(self, n_resamples: int, generator: np.random.Generator) -> Iterator[tuple[Float, Float]]:
        """Draw curves, each in O(m) time."""
        ordered = self._units[self._order]
        times = np.zeros(int(ordered.max()) + 1)
        for _ in range(n_resamples):
            for kind in self._kinds:
                times[kind] = np.bincount(generator.integers(len(kind), size=len(kind)), minlength=len(kind))
            yield self._curve_of(times[ordered])

    @cached_property
    def n_units(self) -> tuple[int, int]:
        """How many items, or groups with some, each class has: the positive and the negative one."""
        return len(np.unique(self._units[self.positive])), len(np.unique(self._units[~self.positive]))

    @property
    def _units(self) -> Index:
        return np.arange(len(self.scores)) if self.groups is None else self.groups

    @cached_property
    def _order(self) -> Index:
        return np.argsort(-self.scores, kind="stable")

    @cached_property
    def _last(self) -> Index:
        """Where each run of tied items ends."""
        return np.append(np.flatnonzero(np.diff(self.scores[self._order])), len(self._order) - 1)

    @cached_property
    def _kinds(self) -> list[Index]:
        """The groups of positive items only, of negative items only, and of both."""
        of_positive, of_negative = (np.bincount(self._units, weights=of) > 0 for of in (self.positive, ~self.positive))
        kinds = (of_positive & ~of_negative, of_negative & ~of_positive, of_positive & of_negative)
        return [np.flatnonzero(kind) for kind in kinds if kind.any()]

    @cached_property
    def _positive_in_order(self) -> Float:
        return self.positive[self._order].astype(np.float64)

    def _curve_of(self, weight: Float) -> tuple[Float, Float]:
        """Return the curve of items that count as often as `weight` says, in descending order of their scores."""
        up, all_items = np.cumsum(weight * self._positive_in_order), np.cumsum(weight)
        if len(self._last) < len(weight):
            up, all_items = up[self._last], all_items[self._last]
        right = all_items - up  # exact: whole numbers
        return np.append(0.0, right / right[-1]), np.append(0.0, up / up[-1])
