"""A score as a sum of contributions: of features for a linear kernel, of training items for every other kernel.

A score is ``f(x) = Σ_k c_k φ_k(x)``. For a linear kernel φ_k is feature k and c_k its weight; otherwise φ_k(x) is the
kernel of x and training (or basis) item k, and c_k the coefficient of that item. The contribution of k to a difference
of scores, ``c_k (φ_k(x_i) - φ_k(x_j))``, is exact: all of them sum to ``f(x_i) - f(x_j)``, an intercept cancels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from kernelrank.base.arrays import Float, Index, Labels, Matrix, canonical
from kernelrank.errors import InvalidInputError
from kernelrank.estimators.base import KernelLearner
from kernelrank.kernels import Kernel

__all__ = ["Contributions", "has_contributions", "last_step", "scores_of"]


@dataclass(frozen=True, eq=False)
class Contributions:
    """The features or training items that contribute to one output of a fitted model.

    Parameters
    ----------
    kind : {"features", "items"}
        What contributes.
    names : list
        What the features or items are called.
    coefficients : ndarray, shape (r,)
        Weights of the features, or coefficients of the items.
    numbers : ndarray of int64, shape (r,)
        The number of each feature, or of each training item.
    transform : transformer or None
        The steps before the model in a pipeline.
    keeps_columns : bool
        Whether the items given and the items transformed have the same columns, so that those given can be shown.
    learner : KernelLearner or None
        What checks the items and knows the kernel; None for a linear model of another library.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import RankRLS
    >>> X, y = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 0.0]]), np.array([1.0, 4.0, 3.0])
    >>> contributions = Contributions.of(RankRLS(0.01).fit(X, y), feature_names=["size", "age"])
    >>> contributions.names, contributions.coefficients.round(2)
    (['size', 'age'], array([1.  , 1.99]))
    """

    kind: Literal["features", "items"]
    names: list[Any]
    coefficients: Float
    numbers: Index
    transform: Pipeline | None
    keeps_columns: bool
    learner: KernelLearner | None

    @classmethod
    def of(
        cls,
        model: BaseEstimator,
        *,
        feature_names: Labels | None = None,
        training_ids: Labels | None = None,
        output: int | None = None,
    ) -> Contributions:
        """Return the contributions of a fitted model.

        Parameters
        ----------
        model : estimator
            RLS, RankRLS, RankSVM, their searches, any linear model with `coef_`; also at the end of a pipeline, and
            inside scikit-learn's searches.
        feature_names : sequence of str, optional
            The names of the columns of X; the names that the model was fitted with, or x0, x1, ... unless given.
        training_ids : sequence, shape (m,), optional
            The names of the training items; their row numbers, counted from 0, unless given.
        output : int, optional
            Which output, if there are several.

        Returns
        -------
        Contributions
        """
        transform, learner = last_step(model)
        if not has_contributions(model):
            raise InvalidInputError(
                f"Expected a fitted RLS, RankRLS, RankSVM or linear model; got a {type(learner).__name__}, "
                "whose scores are not a sum over features or training items"
            )
        if not hasattr(learner, "coef_"):
            coefficients = _one_output(learner.dual_coef_.T, output)
            numbers = np.asarray(getattr(learner, "basis_", np.arange(len(coefficients))), dtype=np.int64)
            names = _item_names(training_ids, numbers, reduced=hasattr(learner, "basis_"))
            return cls("items", names, coefficients, numbers, transform, False, learner)
        coefficients = _one_output(learner.coef_, output)
        names, same = _feature_names(model, transform, feature_names, len(coefficients))
        known = learner if isinstance(learner, KernelLearner) else None
        return cls("features", names, coefficients, np.arange(len(coefficients)), transform, same, known)

    def columns(self, X: Any) -> Matrix:
        """Return φ(X), shape (t, r): features, dense or sparse, or kernels with the items; O(t r n) for a kernel."""
        rows = X if self.transform is None else self.transform.transform(X)
        if self.learner is None:
            return canonical(sparse.csr_array(rows)) if sparse.issparse(rows) else np.asarray(rows, dtype=np.float64)
        rows = self.learner._check_items(rows, reset=False)
        if self.kind == "features":
            return rows
        kernel: Kernel = self.learner._kernel()
        if kernel.precomputed:
            return kernel.matrix(rows[:, self.numbers] if hasattr(self.learner, "basis_") else rows)
        return kernel.matrix(rows, self.learner.X_fit_)


def has_contributions(model: BaseEstimator) -> bool:
    """Return whether the scores of a fitted model are one sum over features or items; those of a forest are not."""
    learner = last_step(model)[1]
    if hasattr(learner, "coef_"):
        return isinstance(learner.coef_, np.ndarray)
    return isinstance(learner, KernelLearner) and isinstance(getattr(learner, "dual_coef_", None), np.ndarray)


def last_step(model: BaseEstimator) -> tuple[Pipeline | None, BaseEstimator]:
    """Return what transforms the items, or None, and the estimator that scores them.

    Parameters
    ----------
    model : estimator
        A pipeline, a search that was refitted, or an estimator itself.

    Returns
    -------
    transform : transformer or None
    learner : estimator
    """
    while hasattr(model, "best_estimator_"):
        model = model.best_estimator_
    check_is_fitted(model)
    if not isinstance(model, Pipeline):
        return None, model
    before, learner = last_step(model[-1])
    if before is not None:
        raise InvalidInputError("a pipeline inside a pipeline cannot be explained: use one pipeline")
    steps = [step for step in model[:-1] if step not in (None, "passthrough")]
    return (model[:-1] if steps else None), learner


def scores_of(model: BaseEstimator, X: Any) -> Float:
    """Return real-valued scores of items: the decision function of a classifier, predictions of all others."""
    judge = getattr(model, "decision_function", None)
    scores: Float = np.asarray(model.predict(X) if judge is None else judge(X), dtype=np.float64)
    return scores


def _one_output(coefficients: ArrayLike, output: int | None) -> Float:
    """Return the coefficients of one output from (n,) or (outputs, n)."""
    rows = np.atleast_2d(np.asarray(coefficients, dtype=np.float64))
    if output is None and len(rows) > 1:
        raise InvalidInputError(f"the model has {len(rows)} outputs: choose one with output=0, 1, ...")
    number = 0 if output is None else output
    if not 0 <= number < len(rows):
        raise InvalidInputError(f"output is {output!r}, but the model has {len(rows)}")
    row: Float = rows[number]
    return row


def _item_names(ids: Labels | None, numbers: Index, *, reduced: bool) -> list[Any]:
    if ids is None:
        return [f"item {number}" for number in numbers.tolist()]
    least = int(numbers.max()) + 1
    if len(ids) < least or (not reduced and len(ids) != least):
        raise InvalidInputError(f"training_ids has {len(ids)} entries, but the model was trained on {least} items")
    every = list(ids)  # a column of a data frame is read by place, whatever its index says
    return [every[number] for number in numbers.tolist()]


def _feature_names(
    model: BaseEstimator, transform: Pipeline | None, given: Labels | None, n_out: int
) -> tuple[list[Any], bool]:
    """Return the names of the columns that the learner sees, and whether they are the columns that were given."""
    while hasattr(model, "best_estimator_"):
        model = model.best_estimator_
    n_in = int(getattr(model, "n_features_in_", n_out)) if transform is not None else n_out
    if given is not None and len(given) not in {n_in, n_out}:
        raise InvalidInputError(f"feature_names has {len(given)} entries, but there are {n_in} features")
    known = getattr(model, "feature_names_in_", None)
    names = list(given) if given is not None else (known.tolist() if known is not None else [])
    if transform is None:
        return names or [f"x{number}" for number in range(n_out)], True
    before = [f"x{number}" for number in range(n_in)]
    try:
        # Asked with plain names, so that names given by the user need not be those of the fit.
        after = list(transform.get_feature_names_out(known if known is not None else before))
    except (AttributeError, ValueError):
        after = []
    if after == (known.tolist() if known is not None else before):
        return names or before, True
    if given is not None and len(given) == n_out != n_in:
        return names, False
    return after or [f"column {number}" for number in range(n_out)], False
