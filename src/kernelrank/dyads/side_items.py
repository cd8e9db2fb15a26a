"""Validation of the objects of one side; the number and names of features are stored."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from kernelrank.base.arrays import ItemsLike, Matrix
from kernelrank.base.validation import check_items
from kernelrank.errors import InvalidInputError
from kernelrank.kernels import Kernel, takes_sparse
from kernelrank.kernels.kernel import check_symmetric

__all__ = ["check_side", "remembered_names"]


class Rows(BaseEstimator):
    """Carries the number and the names of the features of the row objects."""


class Columns(BaseEstimator):
    """Carries the number and the names of the features of the column objects."""


SIDES: dict[str, Any] = {"rows": Rows, "columns": Columns}


def check_side(learner: BaseEstimator, X: ItemsLike, side: str, kernel: Kernel, *, reset: bool) -> Matrix:
    """Return the objects of a side as an array or sparse matrix.

    Parameters
    ----------
    learner : estimator
        Has ``n_features_rows_in_``, ``feature_names_rows_in_`` and the same for columns afterwards, if `reset`; its
        own are compared with X otherwise.
    X : array-like, data frame or sparse matrix
    side : {"rows", "columns"}
    kernel : Kernel
    reset : bool

    Returns
    -------
    array or sparse matrix, shape (m, n_features)
    """
    carrier: BaseEstimator = SIDES[side]()
    if not reset:
        carrier.n_features_in_ = getattr(learner, f"n_features_{side}_in_")
        if hasattr(learner, f"feature_names_{side}_in_"):
            carrier.feature_names_in_ = getattr(learner, f"feature_names_{side}_in_")
    formats = ("csr", "csc") if takes_sparse(kernel.metric) else False
    try:
        items = check_items(carrier, X, reset=reset, formats=formats)
        if reset and kernel.precomputed:
            check_symmetric(items)
    except ValueError as error:
        raise InvalidInputError(f"X_{side}: {error}") from None
    if reset:
        learner.__dict__.pop(f"feature_names_{side}_in_", None)
        for name, value in remembered_names(carrier, side).items():
            setattr(learner, name, value)
    return items


def remembered_names(carrier: BaseEstimator, side: str) -> dict[str, Any]:
    """Return the number and the names of features by the names that they have on the learner."""
    return {
        f"{name.removesuffix('_in_')}_{side}_in_": value
        for name, value in vars(carrier).items()
        if name in ("n_features_in_", "feature_names_in_")
    }
