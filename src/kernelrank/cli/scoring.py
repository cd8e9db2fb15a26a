"""The scores of items by a model, with an error message if the two do not match."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernelrank.base.arrays import Float

__all__ = ["columns_matched", "scores_of"]


@contextmanager
def columns_matched() -> Iterator[None]:
    """Allow a model fitted to a data frame to take an array whose columns were matched by name."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
        yield


def scores_of(model: Any, X: Any) -> Float:
    """Score items; a classifier by its decision function.

    Parameters
    ----------
    model : estimator
        Fitted.
    X : array or sparse matrix, shape (m, n_features)

    Returns
    -------
    ndarray, shape (m,)
    """
    import numpy as np
    from scipy import sparse

    from kernelrank.errors import InvalidInputError

    expected = model.n_features_in_
    if X.shape[1] != expected:
        raise InvalidInputError(
            f"expected {expected} feature columns, as in the training data; the file has {X.shape[1]}"
        )
    if sparse.issparse(X) and not model.__sklearn_tags__().input_tags.sparse:
        X = X.toarray()
    with columns_matched():
        scores = model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)
    if np.ndim(scores) != 1:
        raise InvalidInputError(f"the model has {np.shape(scores)[1]} outputs; the command supports one")
    return np.asarray(scores, dtype=np.float64)
