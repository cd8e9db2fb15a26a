"""Validation of scores of dyads, given as a matrix or a list."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array

from kernelrank.base.arrays import Float, Index
from kernelrank.errors import InvalidInputError

__all__ = ["check_dyad_list", "check_dyads", "check_score_matrix", "refuse_unknown_objects"]


def check_score_matrix(Y: ArrayLike, shape: tuple[int, int]) -> tuple[Float, bool]:
    """Return scores as (m₁, m₂, outputs), NaN where unknown, and whether there is one output without an axis.

    Parameters
    ----------
    Y : array-like or data frame, shape (m1, m2) or (m1, m2, outputs)
    shape : tuple of int
        How many objects the sides have.

    Returns
    -------
    Y : ndarray, shape (m1, m2, outputs)
    one_output : bool
    """
    _refuse_duplicate_names(Y)
    try:
        scores: Float = check_array(
            Y,
            dtype=np.float64,
            input_name="Y",
            ensure_2d=False,
            allow_nd=True,
            ensure_all_finite="allow-nan",
            ensure_min_samples=0,
        )
    except ValueError as error:
        if "could not convert" not in str(error):
            raise InvalidInputError(str(error)) from None
        raise InvalidInputError(f"Y must hold numbers, NaN where unknown: {error}") from None
    if scores.ndim not in (2, 3):
        raise InvalidInputError(f"Y must be a matrix, rows × columns or rows × columns × outputs, got {scores.shape}")
    if scores.shape[:2] != shape:
        turned = ". Y.T would fit" if scores.shape[1::-1] == shape else ""
        raise InvalidInputError(
            f"Y has {scores.shape[0]} rows and {scores.shape[1]} columns, but X_rows has {shape[0]} objects and "
            f"X_columns {shape[1]}{turned}"
        )
    if scores.ndim == 3 and scores.shape[2] == 0:
        raise InvalidInputError("Y has no outputs: its last axis has the length 0")
    return (scores[:, :, None], True) if scores.ndim == 2 else (scores, False)


def _refuse_duplicate_names(Y: ArrayLike) -> None:
    """Raise an error for a data frame two of whose rows or columns have the same name."""
    for axis, what in (("index", "rows"), ("columns", "columns")):
        names: Any = getattr(Y, axis, None)
        duplicated = getattr(names, "duplicated", None)
        if duplicated is not None and duplicated().any():
            name = names[duplicated()][0]
            raise InvalidInputError(f"Y has several {what} with the name {name!r}: each object must occur once")


def check_dyads(rows: ArrayLike, columns: ArrayLike, shape: tuple[int, int]) -> tuple[Index, Index]:
    """Return dyads as two lists of object numbers.

    Parameters
    ----------
    rows, columns : array-like of int, shape (l,)
    shape : tuple of int
        How many objects the sides have.

    Returns
    -------
    rows, columns : ndarray of int, shape (l,)
    """
    checked = [_object_numbers(rows, "rows", shape[0]), _object_numbers(columns, "columns", shape[1])]
    if len(checked[0]) != len(checked[1]):
        raise InvalidInputError(f"rows has {len(checked[0])} entries and columns {len(checked[1])}: one for each dyad")
    return checked[0], checked[1]


def _object_numbers(numbers: ArrayLike, name: str, n_objects: int) -> Index:
    values = np.asarray(numbers)
    if values.ndim != 1:
        raise InvalidInputError(f"{name} must be a list with one object number for each dyad, got shape {values.shape}")
    if values.dtype.kind == "f" and np.all(np.isfinite(values) & (values == np.floor(values))):
        values = values.astype(np.int64)
    if values.dtype.kind not in "iu":
        raise InvalidInputError(f"{name} must hold object numbers (integers), got {values.dtype}")
    outside = (values < 0) | (values >= n_objects)
    if outside.any():
        first = int(np.argmax(outside))
        raise InvalidInputError(
            f"{name}[{first}] is {int(values[first])}, but X_{name} has the objects 0 to {n_objects - 1}"
        )
    return values.astype(np.int64)


def check_dyad_list(y: Any, n_dyads: int) -> tuple[Float, bool]:
    """Return the scores of listed dyads as (l, outputs), and whether there is one output without an axis."""
    try:
        scores: Float = check_array(y, dtype=np.float64, input_name="y", ensure_2d=False, ensure_min_samples=0)
    except ValueError as error:
        raise InvalidInputError(f"y must hold the score of each listed dyad: {error}") from None
    if scores.ndim not in (1, 2) or len(scores) != n_dyads:
        raise InvalidInputError(f"y has shape {scores.shape}, but there are {n_dyads} dyads: one score for each")
    if n_dyads == 0:
        raise InvalidInputError("the list of dyads is empty: nothing to learn from")
    return (scores[:, None], True) if scores.ndim == 1 else (scores, False)


def refuse_unknown_objects(rows: Index, columns: Index, shape: tuple[int, int], *, one_set: bool) -> None:
    """Raise an error for an object without a single known score: it has no part in training.

    Parameters
    ----------
    rows, columns : ndarray of int, shape (l,)
        Known dyads.
    shape : tuple of int
    one_set : bool
        Whether rows and columns are the same objects, which then need be known on one side only.
    """
    known = [np.bincount(numbers, minlength=size) > 0 for numbers, size in zip((rows, columns), shape, strict=True)]
    for name, seen in [("object", known[0] | known[1])] if one_set else zip(("row", "column"), known, strict=True):
        if not seen.all():
            more = int(np.count_nonzero(~seen)) - 1
            raise InvalidInputError(
                f"{name} {int(np.argmin(seen))} has no known score"
                + (f", nor {'has 1 other' if more == 1 else f'have {more} others'}" if more else "")
                + ": remove from the training data the objects that are only to be predicted"
            )
