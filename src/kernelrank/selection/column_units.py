"""Units: the columns that enter a selection together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Index
from kernelrank.base.labels import Queries
from kernelrank.errors import InvalidInputError

__all__ = ["column_units", "required_units"]


def column_units(groups: Any, n_columns: int) -> list[Index]:
    """Return the columns of each unit; units in the order of their first columns.

    Parameters
    ----------
    groups : sequence, shape (n_columns,), or None
        Columns with the same label enter together; each by itself if None.
    n_columns : int

    Returns
    -------
    list of ndarray of int64

    Examples
    --------
    >>> column_units(["age", "city", "city"], 3)
    [array([0]), array([1, 2])]
    """
    if groups is None:
        return [np.array([column]) for column in range(n_columns)]
    if len(groups) != n_columns:
        raise InvalidInputError(
            f"Expected one label in feature_groups for each of the {n_columns} features of X; got {len(groups)}."
        )
    return list(Queries.from_labels(groups, n_columns, name="feature_groups"))


def required_units(required: Any, units: list[Index], names: NDArray[Any] | None) -> list[int]:
    """Return the units of the columns that must be selected, in the order given.

    Parameters
    ----------
    required : sequence of int or str, or None
        Numbers of columns, or their names.
    units : list of ndarray of int64
    names : ndarray of str, or None
        The names of the columns, if they have some.

    Returns
    -------
    list of int

    Examples
    --------
    >>> required_units([2], [np.array([0]), np.array([1, 2])], None)
    [1]
    """
    n_columns = sum(len(unit) for unit in units)
    unit_of = {int(column): number for number, unit in enumerate(units) for column in unit}
    place = {} if names is None else {str(name): number for number, name in enumerate(names)}
    found: list[int] = []
    for entry in [] if required is None else required:
        column = place.get(entry, -1) if isinstance(entry, str) else int(entry)
        if column not in unit_of:
            known = f"names of columns of X or numbers from 0 to {n_columns - 1}"
            raise InvalidInputError(f"Expected {known} in required_features; got {entry!r}.")
        if unit_of[column] not in found:
            found.append(unit_of[column])
    return found
