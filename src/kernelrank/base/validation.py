"""Validation of user input: paths, items, scores, weights and pairs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from copy import deepcopy
from numbers import Real
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import assert_all_finite, check_array, validate_data

from kernelrank.base.arrays import (
    Float,
    Index,
    Matrix,
    available_bytes,
    canonical,
    in_gigabytes,
    is_sparse,
    is_structured,
)
from kernelrank.base.labels import event_times
from kernelrank.errors import FileFormatError, InvalidInputError

FilePath: TypeAlias = str | os.PathLike[str]


def is_path(X: object) -> TypeGuard[FilePath]:
    """Return whether X is a path instead of items."""
    return isinstance(X, (str, os.PathLike))


def refuse_file_options(**given: Any) -> None:
    """Raise an error for options that only files have."""
    for name, value in given.items():
        if value is not None and len(value):
            raise InvalidInputError(f"{name} is for files: X is in memory. Choose its columns, or impute it, before")


def mapped(X: Any) -> Any:
    """Return the array of a ``.npy`` path, mapped into memory and read when it is used; anything else as it is."""
    if not is_path(X) or Path(X).suffix.lower() != ".npy":
        return X
    if not os.path.exists(X):
        raise FileFormatError("there is no such file or folder", os.fspath(X))
    try:
        return np.load(X, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise FileFormatError(f"expected a NumPy array file: {error}", os.fspath(X)) from None


def _refuse_too_wide(X: object) -> None:
    """Raise an error for sparse items with so many columns that nothing can be learnt from them in memory.

    A file of a few bytes can have two thousand million columns.
    """
    if not is_sparse(X):
        return
    # A column without values needs a weight, a gradient and an index at least.
    needed, available = 24 * X.shape[1], available_bytes()
    if available is not None and needed > available:
        raise InvalidInputError(
            f"X has {X.shape[1]:,} columns: training needs at least {in_gigabytes(needed)} of memory, "
            f"and {in_gigabytes(available)} are available. Number the features without gaps"
        )


def check_items(
    estimator: BaseEstimator,
    X: Any,
    *,
    reset: bool,
    formats: tuple[str, ...] | bool,
    least: int = 1,
    finite: bool = True,
    objects: bool = False,
) -> Matrix:
    """Return items as an array or sparse matrix of float64 or float32.

    Entries of a sparse matrix are stored once and sorted afterwards: duplicates, which are legal, are summed in a copy.
    Everything behind this door counts on that.

    Shapes: returns (m, n_features).

    estimator: Whose number and names of features X must have.
    least: How many items there must be.
    finite: Whether NaN and infinities are refused here. A caller that sees them in its results can look for them then,
    with `refuse_infinite`, and so saves a pass over X.
    objects: Whether items may be other things than rows of numbers, for a kernel that takes them: one column of copies.
    """
    column = _object_column(X) if objects else None
    if column is not None:
        return _keep_objects(estimator, column, least, reset=reset)
    _refuse_too_wide(X)
    items = validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse=formats,
        dtype=[np.float64, np.float32],
        ensure_min_samples=least,
        ensure_all_finite=finite,
    )
    if not sparse.issparse(items):
        return items
    summed = canonical(items)
    if summed is not items and not np.all(np.isfinite(summed.data)):
        raise InvalidInputError("X has duplicate sparse entries whose sum overflows")
    return summed


def _object_column(X: Any) -> NDArray[Any] | None:
    """Return strings, sets, sequences and other things as one column of objects; None for rows of numbers."""
    if hasattr(X, "to_numpy") and not hasattr(X, "columns"):
        X = X.to_numpy()
    if isinstance(X, np.ndarray):
        one_column = X.dtype.kind in "OUS" and (X.ndim == 1 or X.shape[1:] == (1,))
        things = X.reshape(-1).tolist() if one_column else []
        return None if all(isinstance(thing, Real) for thing in things) else _column_of(things)
    if not isinstance(X, (list, tuple)) or len(X) == 0:
        return None
    if not isinstance(X[0], (str, bytes)):
        try:
            read = np.asarray(X)
        except ValueError:  # sequences of different lengths
            return _column_of(X)
        if read.dtype.kind in "biufc" and read.ndim < 3:
            return None
    return _column_of(X)


def _column_of(things: Sequence[Any]) -> NDArray[Any]:
    column = np.empty((len(things), 1), dtype=object)
    for number, thing in enumerate(things):
        if thing is None or (isinstance(thing, float) and np.isnan(thing)):
            raise InvalidInputError(f"X[{number}] is missing: a kernel compares items that are there")
        column[number, 0] = thing
    return column


def _keep_objects(estimator: Any, column: NDArray[Any], least: int, *, reset: bool) -> NDArray[Any]:
    """Return the objects, at a fit as copies; their one column is what `n_features_in_` says."""
    name = type(estimator).__name__
    if len(column) < least:
        raise InvalidInputError(f"Found array with {len(column)} sample(s) while a minimum of {least} is required.")
    if not reset:
        if estimator.n_features_in_ != 1:
            raise InvalidInputError(
                f"Expected rows of {estimator.n_features_in_} numbers, which {name} was fitted to; got objects of the "
                f"type {type(column[0, 0]).__name__}."
            )
        return column
    estimator.__dict__.pop("feature_names_in_", None)
    estimator.n_features_in_ = 1
    try:
        return deepcopy(column)
    except Exception:  # whatever the copying of a foreign object raises
        return column


def refuse_infinite(estimator: BaseEstimator, items: Matrix) -> None:
    """Raise the error of `check_items` if there is a NaN or an infinity in items that it has returned."""
    assert_all_finite(items, estimator_name=type(estimator).__name__, input_name="X")


def check_scores(y: Any, n_items: int, *, allow_missing: bool = False) -> Float:
    """Return scores as a float64 array (m,) or (m, outputs).

    allow_missing: Whether NaN, an unscored item, may occur.
    """
    require_scores(y)
    if is_structured(y):
        raise InvalidInputError(
            "Expected scores; got times with events in y. Use RankRLS, RankRLSCV or RankSVM, which learn from "
            "censored times."
        )
    try:
        scores: Float = check_array(
            y,
            ensure_2d=False,
            dtype=np.float64,
            input_name="y",
            ensure_min_samples=0,
            ensure_all_finite="allow-nan" if allow_missing else True,
        )
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
        raise InvalidInputError(f"y must hold numbers: {error}") from None
    if scores.ndim not in (1, 2):
        raise InvalidInputError(f"y must have one or two dimensions, got shape {scores.shape}")
    if len(scores) != n_items:
        raise InvalidInputError(f"y has {len(scores)} entries, but X has {n_items} items")
    return scores


def scores_or_times(y: Any, event: Any, entry: Any = None) -> Any:
    """Return scores as they are; times with their events, or a data frame of both, as a structured array."""
    plain = event is None and entry is None and not hasattr(y, "columns")
    return y if plain else event_times(y, event, entry=entry)


def require_scores(y: Any) -> None:
    """Raise an error if y is None."""
    if y is None:
        raise InvalidInputError("this estimator requires y to be passed, but the target y is None")


def check_weight(weight: Any, n_items: int, *, name: str = "sample_weight") -> Float | None:
    """Return item weights as a float64 vector, or None; a single number weighs every item.

    Shapes: returns (m,).
    """
    if weight is None:
        return None
    if isinstance(weight, Real):
        weight = np.full(n_items, weight, dtype=np.float64)
    values: Float = check_array(weight, ensure_2d=False, dtype=np.float64, input_name=name, ensure_min_samples=0)
    if values.ndim != 1:
        raise InvalidInputError(f"{name}: Sample weights must be 1D array or scalar, got shape {values.shape}")
    if len(values) != n_items:
        raise InvalidInputError(f"{name} has {len(values)} entries, but there are {n_items}")
    if np.any(values < 0):
        raise InvalidInputError(f"{name}[{int(np.argmax(values < 0))}] is negative: weights must be at least zero")
    if n_items and not np.any(values > 0):
        raise InvalidInputError(f"{name} is zero everywhere: at least one weight must be positive")
    return values


def check_option(name: str, value: object, known: Sequence[str]) -> None:
    """Raise an error for an option that is not one of the known words."""
    if value not in known:
        raise InvalidInputError(f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}")


def check_confidence(confidence: float) -> None:
    """Raise an error for a confidence that is not between 0 and 1."""
    if not isinstance(confidence, (int, float)) or not 0 < confidence < 1:
        raise InvalidInputError(f"confidence must lie between 0 and 1, got {confidence!r}")


def check_pairs(pairs: Any, n_items: int) -> Index:
    """Return preferences as integers (l, 2) that all point at items.

    Shapes: returns (l, 2).
    """
    frame = nw.from_native(pairs, eager_only=True, pass_through=True)
    values = frame.to_numpy() if isinstance(frame, nw.DataFrame) else np.asarray(pairs)
    if values.size == 0:
        return np.zeros((0, 2), dtype=np.int64)
    if values.ndim != 2 or values.shape[1] != 2:
        raise InvalidInputError(f"pairs must have two columns (preferred, other), got shape {values.shape}")
    if values.dtype.kind == "f" and np.all(np.isfinite(values) & (values == np.floor(values))):
        values = values.astype(np.int64)
    if values.dtype.kind not in "iu":
        raise InvalidInputError(f"pairs must hold item numbers (integers), got {values.dtype}")
    low, high = int(values.min()), int(values.max())
    if low < 0 or high >= n_items:
        row = int(np.argmax(((values < 0) | (values >= n_items)).any(axis=1)))
        raise InvalidInputError(
            f"pair {row} is {tuple(values[row].tolist())}, which points outside X: the items go from 0 to {n_items - 1}"
        )
    same = values[:, 0] == values[:, 1]
    if same.any():
        row = int(np.argmax(same))
        raise InvalidInputError(f"pair {row} compares item {int(values[row, 0])} with itself")
    return values


def check_pair_values(values: object, n_pairs: int, *, name: str) -> Float | None:
    """Return magnitudes or weights of pairs as a float64 vector of numbers that are at least zero, or None."""
    if values is None:
        return None
    numbers = _pair_numbers(values, n_pairs, name)
    if np.any(numbers < 0):
        row = int(np.argmax(numbers < 0))
        raise InvalidInputError(
            f"{name} of pair {row} is {numbers[row]:g}, but must be at least zero"
            + (": swap the two items instead" if name == "magnitude" else "")
        )
    return numbers


def check_ties(tie: object, n_pairs: int) -> NDArray[np.bool_] | None:
    """Return which pairs are ties as a vector of bool, or None; zeros and ones are taken too."""
    values = _pair_numbers_among(tie, n_pairs, "tie", (0.0, 1.0), "True or False")
    return None if values is None else np.equal(values, 1.0)


def check_sides(side: object, n_pairs: int) -> Index | None:
    """Return on which side the preferred item of each pair stood as a vector of 1, -1 and 0, or None."""
    expected = "1 (the item of column 0 was on the first side), -1 (the item of column 1 was) or 0 (unknown)"
    values = _pair_numbers_among(side, n_pairs, "side", (-1.0, 0.0, 1.0), expected)
    return None if values is None else values.astype(np.int64)


def _pair_numbers_among(
    values: object, n_pairs: int, name: str, known: tuple[float, ...], expected: str
) -> Float | None:
    """Return values of pairs that are among a few known ones, or None."""
    if values is None:
        return None
    numbers = _pair_numbers(values, n_pairs, name)
    wrong = ~np.isin(numbers, known)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidInputError(f"{name} of pair {row} is {numbers[row]:g}: expected {expected}")
    return numbers


def _pair_numbers(values: object, n_pairs: int, name: str) -> Float:
    try:
        numbers: Float = check_array(values, ensure_2d=False, dtype=np.float64, input_name=name, ensure_min_samples=0)
    except (TypeError, ValueError) as error:
        if "could not convert" not in str(error):
            raise
        kind = "True or False" if name == "tie" else "numbers"
        raise InvalidInputError(f"{name} must hold {kind}: {error}") from None
    if numbers.shape != (n_pairs,):
        raise InvalidInputError(f"{name} has shape {numbers.shape}, but there are {n_pairs} pairs")
    return numbers
