"""Two classes: which items are positive, and what an estimator is fitted to."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import column_or_1d

from kernelrank.base.arrays import Index, Labels
from kernelrank.base.labels import Queries
from kernelrank.errors import InvalidInputError

__all__ = ["TwoClasses", "check_groups", "shared_groups"]


@dataclass(frozen=True, eq=False)
class TwoClasses:
    """Items of two classes.

    Parameters
    ----------
    labels : ndarray, shape (m,)
        The classes as the user wrote them.
    positive : ndarray of bool, shape (m,)
        Which items are positive.
    names : tuple
        The negative and the positive class.
    sign : {1, -1}
        Whether scores that speak for the class that sorts last speak for the positive one.

    Examples
    --------
    >>> classes = TwoClasses.read(["ill", "well", "ill"], 3, pos_label="ill")
    >>> classes.positive, classes.names, classes.sign
    (array([ True, False,  True]), ('well', 'ill'), -1)
    """

    labels: NDArray[Any]
    positive: NDArray[np.bool_]
    names: tuple[Any, Any]
    sign: int

    @classmethod
    def read(cls, y: ArrayLike | None, n_items: int, *, pos_label: Hashable = None) -> TwoClasses:
        """Read any two labels; the one that sorts last is positive, as in scikit-learn, unless `pos_label` is given.

        Parameters
        ----------
        y : array-like, shape (m,)
        n_items : int
        pos_label : label, optional

        Returns
        -------
        TwoClasses
        """
        if y is None:
            raise InvalidInputError("an AUC needs y, the two classes of the items, but y is None")
        labels = column_or_1d(y)
        if len(labels) != n_items:
            raise InvalidInputError(f"y has {len(labels)} entries, but X has {n_items} items")
        assert_all_finite(labels, input_name="y")
        try:
            found = np.unique(labels)
        except TypeError as error:
            raise InvalidInputError(f"y must hold two classes that can be sorted: {error}") from None
        if len(found) != 2:
            count = "one class" if len(found) == 1 else f"{len(found)} classes"
            raise InvalidInputError(f"an AUC compares two classes, and y has {count}: {_short(found)}")
        if pos_label is not None and pos_label not in found.tolist():
            raise InvalidInputError(f"pos_label is {pos_label!r}, but the classes of y are {_short(found)}")
        sign = 1 if pos_label is None or pos_label == found[1] else -1
        names = tuple(found[::sign].tolist())
        return cls(labels, labels == found[::sign][1], (names[0], names[1]), sign)

    def part(self, items: Index) -> TwoClasses:
        """Return the classes of some items."""
        return replace(self, labels=self.labels[items], positive=self.positive[items])

    @property
    def positives(self) -> Index:
        """The numbers of the positive items."""
        return np.flatnonzero(self.positive)

    @property
    def negatives(self) -> Index:
        """The numbers of the negative items."""
        return np.flatnonzero(~self.positive)

    def target(self, estimator: BaseEstimator) -> NDArray[Any]:
        """Return what an estimator is fitted to: the labels, or ±1 if it learns scores and they are not numbers."""
        if is_classifier(estimator):
            return self.labels
        if self.labels.dtype.kind in "iuf":
            return self.labels.astype(np.float64)
        return self.sign * np.where(self.positive, 1.0, -1.0)

    def pairs_need(self, groups: Index | None = None) -> int:
        """Return how many items (or groups) each class needs, so that some remain when a pair is held out.

        Two, or three if a group has items of both classes: then two groups of one class may be held out with a pair.
        """
        return 3 if groups is not None and self.has_mixed(groups) else 2

    def has_mixed(self, groups: Index) -> bool:
        """Return whether a group has items of both classes."""
        return bool(np.isin(groups[self.positive], groups[~self.positive]).any())

    def has(self, least: int, groups: Index | None = None) -> bool:
        """Return whether every class occurs in so many items, or groups."""
        return min(self.counts(groups)) >= least

    def require(self, least: int, what: str, groups: Index | None = None) -> None:
        """Raise an error for a class that occurs in fewer items, or groups, than a method needs."""
        noun = "item" if groups is None else "group"
        for name, count in zip(self.names, self.counts(groups), strict=True):
            if count < least:
                raise InvalidInputError(
                    f"{what} needs at least {least} {noun}s of each class, so that both remain to train on; "
                    f"class {name!r} has {count} {noun if count == 1 else noun + 's'}"
                )

    def counts(self, groups: Index | None) -> tuple[int, int]:
        """Return in how many items, or groups, the negative and the positive class occur."""
        if groups is None:
            return int((~self.positive).sum()), int(self.positive.sum())
        return len(np.unique(groups[~self.positive])), len(np.unique(groups[self.positive]))


def _short(found: NDArray[Any]) -> str:
    shown = ", ".join(repr(label) for label in found[:5].tolist())
    return shown + (", …" if len(found) > 5 else "")


def check_groups(groups: Labels | None, classes: TwoClasses) -> Index | None:
    """Return group numbers, or None.

    Parameters
    ----------
    groups : sequence, shape (m,), or None
        Labels of any hashable type.
    classes : TwoClasses

    Returns
    -------
    ndarray of int64, shape (m,), or None
    """
    return None if groups is None else Queries.from_labels(groups, len(classes.labels), name="groups").codes


def shared_groups(groups: Index | None) -> Index | None:
    """Return the groups, or None if every group has one item, because such groups have no effect."""
    return None if groups is None or int(groups.max()) + 1 == len(groups) else groups
