"""Items of a file: features, targets, queries, ids, weights and groups, for every file format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from kernelrank.data.table_preparation import TablePreparation

__all__ = ["Items"]


@dataclass(frozen=True, eq=False)
class Items:
    """The items of a file: features, targets, queries, ids, weights and groups.

    Parameters
    ----------
    X : ndarray or csr_array, shape (m, n_features)
        The features.
    y : ndarray of float64, shape (m,), or None
        The targets; 0 and 1 for two classes that have names.
    qid : ndarray of int64 or str, shape (m,), or None
        The queries: integers if all labels are (as Python writes them, so that "007" is a string).
    ids : ndarray of str, shape (m,), or None
        The names of the items, unique within a query.
    weight : ndarray of float64, shape (m,), or None
        The sample weight of each item.
    groups : ndarray of int64 or str, shape (m,), or None
        Which items stay together when the data is split, such as those of one patient.
    feature_names : tuple of str, or None
        The names of the columns of X; None in files without names.
    path : str
        The name of the file, for messages.
    notes : tuple of str
        What was guessed and what was left out, in words.
    classes : tuple of str, or None
        The names of the targets 0 and 1, if they have names.
    first_index : int, default=1
        The number of the first column in a file that numbers its columns instead of naming them.
    positive_reason : str or None
        Why this class is the target 1, where the classes have names: "as requested", "by its meaning" or "it sorts
        last".
    preparation : TablePreparation or None
        How the columns of the file became X, where `read_table` read it.
    filled : ndarray of bool, shape (m, n_features), or None
        Where a number is missing in the file and X has the median or mean of its column; None if none is.

    Examples
    --------
    >>> items = Items(np.ones((2, 1)), np.array([0.0, 1.0]), None, None, None, None, ("age",), "a.csv", ())
    >>> len(items), items.n_features
    (2, 1)
    >>> Items(np.ones((1, 2)), None, None, None, None, None, None, "a.txt", ()).column_names
    ('f1', 'f2')
    """

    X: Any
    y: NDArray[np.float64] | None
    qid: NDArray[Any] | None
    ids: NDArray[np.object_] | None
    weight: NDArray[np.float64] | None
    groups: NDArray[Any] | None
    feature_names: tuple[str, ...] | None
    path: str
    notes: tuple[str, ...]
    classes: tuple[str, str] | None = None
    first_index: int = 1
    positive_reason: str | None = None
    preparation: TablePreparation | None = None
    filled: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """The number of columns of X."""
        return int(self.X.shape[1])

    @property
    def n_queries(self) -> int | None:
        """The number of queries; None if the items have none. Time O(m)."""
        return None if self.qid is None else len(set(self.qid.tolist()))

    @property
    def column_names(self) -> tuple[str, ...]:
        """The column names of X, or the feature numbers of the file."""
        first = self.first_index
        return self.feature_names or tuple(f"f{number}" for number in range(first, first + self.n_features))
