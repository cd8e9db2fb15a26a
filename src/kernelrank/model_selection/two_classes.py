"""Two classes: which items are positive, and what an estimator is fitted to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import column_or_1d

from kernelrank.arrays import Index
from kernelrank.errors import InvalidInputError
from kernelrank.queries import Queries

__all__ = ["TwoClasses", "check_groups"]


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
        Whether scores that speak for the larger class speak for the positive one.

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
    def read(cls, y: Any, n_items: int, *, pos_label: Any = None) -> TwoClasses:
        """Read any two labels; the larger in sorted order is positive unless `pos_label` says otherwise.

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

    @property
    def positives(self) -> Index:
        """The numbers of the positive items."""
        return np.flatnonzero(self.positive)

    @property
    def negatives(self) -> Index:
        """The numbers of the negative items."""
        return np.flatnonzero(~self.positive)

    def target(self, estimator: Any) -> NDArray[Any]:
        """Return what an estimator is fitted to: the labels, or ±1 if it learns scores and they are no numbers."""
        if is_classifier(estimator):
            return self.labels
        if self.labels.dtype.kind in "iuf":
            return self.labels.astype(np.float64)
        return self.sign * np.where(self.positive, 1.0, -1.0)

    def require(self, least: int, what: str) -> None:
        """Refuse a class of fewer items than a method needs."""
        for name, count in zip(self.names, (int((~self.positive).sum()), int(self.positive.sum())), strict=True):
            if count < least:
                items = "item" if count == 1 else "items"
                raise InvalidInputError(
                    f"{what} needs at least {least} items of each class, so that both remain to train on; "
                    f"class {name!r} has {count} {items}"
                )


def _short(found: NDArray[Any]) -> str:
    shown = ", ".join(repr(label) for label in found[:5].tolist())
    return shown + (", …" if len(found) > 5 else "")


def check_groups(groups: Any, classes: TwoClasses, *, pairs: bool) -> Index | None:
    """Return group numbers, or None; refuse groups so large that holding out a pair could take a class whole.

    Parameters
    ----------
    groups : sequence, shape (m,), or None
        Labels of any hashable type.
    classes : TwoClasses
    pairs : bool
        Whether the two groups of a pair leave together.

    Returns
    -------
    ndarray of int64, shape (m,), or None
    """
    if groups is None:
        return None
    queries = Queries.from_labels(groups, len(classes.labels), name="groups")
    for name, positive in zip(classes.names, (False, True), strict=True) if pairs else ():
        held = np.unique(queries.codes[classes.positive == positive])
        if len(held) < 3:
            count = "one group" if len(held) == 1 else f"{len(held)} groups"
            raise InvalidInputError(
                f"class {name!r} occurs in {count} only; it must occur in at least three, so that it remains to train "
                "on when the two groups of a pair leave"
            )
    return queries.codes
