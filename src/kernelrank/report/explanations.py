"""A score as a sum of contributions: of features for a linear kernel, of training items for every other kernel.

A score is ``f(x) = Σ_k c_k φ_k(x)``. For a linear kernel φ_k is feature k and c_k its weight; otherwise φ_k(x) is the
kernel of x and training (or basis) item k, and c_k the coefficient of that item. The contribution of k to a difference
of scores, ``c_k (φ_k(x_i) - φ_k(x_j))``, is exact: all of them sum to ``f(x_i) - f(x_j)``, an intercept cancels.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from kernelrank.base.arrays import Float, Index, Labels, Matrix, canonical, is_sparse
from kernelrank.base.results import Bars, Result
from kernelrank.base.sklearn_private import num_samples, safe_indexing
from kernelrank.errors import InvalidInputError
from kernelrank.estimators.base import KernelLearner
from kernelrank.kernels import Kernel


@dataclass(frozen=True, eq=False)
class Contributions:
    """The features or training items that contribute to one output of a fitted model.

    Shapes: coefficients (r,), numbers (r,).
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

        Shapes: training_ids (m,).
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
    """Return what transforms the items, or None, and the estimator that scores them."""
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


# Explanation ----------------------------------------------------------------------------------------------------------
#
# Why one item ranks above another: what each feature, or training item, adds to the difference of their scores.

Pair: TypeAlias = Matrix | tuple[ArrayLike, ArrayLike]
"""Two items: a matrix of two rows, dense or sparse, a data frame, or a tuple of two rows."""


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Result):
    """Why two items have different scores: the difference as a sum of contributions.

    Parameters
    ----------
    kind : {"features", "items"}
        Whether the contributions are of features (linear models) or of training items (all other kernels).
    scores : tuple of float
        The scores of the two items.
    names : list
        What the largest contributions belong to, largest magnitude first.
    contributions : ndarray, shape (k,)
        Their contributions to the difference; negative ones favour the second item.
    coefficients : ndarray, shape (k,)
        The weight of each feature, or the coefficient of each training item.
    values : ndarray, shape (k, 2)
        The feature of both items, or the kernel of both with the training item.
    rest : float
        The sum of all contributions that are not listed.
    n_rest : int
        How many of those are not zero.

    Examples
    --------
    >>> size = np.array([2.5]), np.array([0.5]), np.array([[6.0, 1.0]])
    >>> print(Explanation("features", (3.0, 1.0), ["size"], *size, rest=-0.5, n_rest=4))
    3 - 1 = 2
    +2.5  size  (6 and 1, weight 0.5)
    -0.5  4 other features
    """

    kind: Literal["features", "items"]
    scores: tuple[float, float]
    names: list[Any]
    contributions: Float
    coefficients: Float
    values: Float
    rest: float
    n_rest: int

    @property
    def difference(self) -> float:
        """The score of the first item minus that of the second: the sum of all contributions, up to rounding."""
        return self.scores[0] - self.scores[1]

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as numbers, strings, lists and dicts, for JSON."""
        columns: dict[str, Any] = {name: np.asarray(column).tolist() for name, column in self._columns().items()}
        names, parts, weights, *values = columns.values()
        return {
            "kind": self.kind,
            "scores": list(self.scores),
            "difference": self.difference,
            "contributions": [
                {"name": name, "contribution": part, "coefficient": weight, "values": list(pair)}
                for name, part, weight, *pair in zip(names, parts, weights, *values, strict=True)
            ],
            "rest": self.rest,
            "n_rest": self.n_rest,
        }

    def _parts(self) -> list[tuple[str, float]]:
        """List the names and the contributions, with the sum of all others at the end."""
        parts = list(zip(map(str, self.names), self.contributions.tolist(), strict=True))
        others = "features" if self.kind == "features" else "training items"
        return [*parts, (f"{self.n_rest:,} other {others}", self.rest)] if self.n_rest else parts

    def __str__(self) -> str:
        total, facts = self._facts()[0][1], self._facts()[1:]
        noun = "weight" if self.kind == "features" else "coefficient"
        why = [
            f"({x_i:.4g} and {x_j:.4g}, {noun} {weight:.4g})"
            for weight, (x_i, x_j) in zip(self.coefficients, self.values, strict=True)
        ]
        why += [""] * (len(facts) - len(why))  # the others
        name_width = max((len(str(name)) for name in self.names), default=0)
        part_width = max((len(part) for _, part in facts), default=0)
        lines = [
            f"{part:>{part_width}}  {name:<{name_width}}  {reason}".rstrip()
            for (name, part), reason in zip(facts, why, strict=True)
        ]
        return "\n".join([total, *lines])

    def _facts(self) -> list[tuple[str, str]]:
        first, second = self.scores
        total = ("difference of the scores", f"{first:.4g} - {second:.4g} = {self.difference:.4g}")
        return [total, *((name, f"{part:+.3g}") for name, part in self._parts())]

    def _chart(self) -> Bars:
        names, values = [name for name, _ in self._parts()], [value for _, value in self._parts()]
        return Bars(names, values, "contribution to the difference of the scores")

    def _columns(self) -> dict[str, Any]:
        return {
            "name": [str(name) for name in self.names],
            "contribution": self.contributions,
            "coefficient": self.coefficients,
            "first": self.values[:, 0],
            "second": self.values[:, 1],
        }

    def __repr__(self) -> str:
        return f"<Explanation of {self.difference:.4g} by {len(self.names)} {self.kind} and {self.n_rest} others>"


def explain(
    model: BaseEstimator,
    X_pair: Pair,
    *,
    feature_names: Labels | None = None,
    training_ids: Labels | None = None,
    k: int = 10,
    output: int | None = None,
) -> Explanation:
    """Explain why a model ranks one item above another: the contributions to the difference of their scores.

    The contributions are exact, without sampling: they sum to the difference of the predicted scores.

    Parameters
    ----------
    model : estimator
        Fitted RLS, RankRLS, RankSVM, their searches, or any linear model; also at the end of a pipeline, where the
        contributions are of the columns that the last step sees, shown as they were given if the pipeline only rescales
        them.
    X_pair : array-like, data frame or sparse matrix, shape (2, n_features), or a tuple of two items
        The first and the second item; for a precomputed kernel, their kernel values with all training items.
    feature_names : sequence of str, optional
        The names of the columns of X; the names that the model was fitted with, or x0, x1, ... unless given.
    training_ids : sequence, shape (m,), optional
        The names of the training items, for kernels; row numbers, counted from 0, unless given.
    k : int, default=10
        How many contributions are listed.
    output : int, optional
        Which output, if the model has several.

    Returns
    -------
    Explanation

    Notes
    -----
    For a linear model ``w_k (x_ik - x_jk)`` for each feature, O(n) time; for any other kernel ``a_k (k(x_i, x_k) -
    k(x_j, x_k))`` for each training or basis item, O(r n) time and O(r) memory.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import RankRLS
    >>> from kernelrank.report import explain
    >>> X, y = np.array([[1.0, 5.0], [2.0, 4.0], [3.0, 7.0]]), np.array([1.0, 2.0, 3.0])
    >>> print(explain(RankRLS(0.01).fit(X, y), X[[2, 0]], feature_names=["size", "age"]))
    3 - 1.003 = 1.997
       +1.99  size  (3 and 1, weight 0.9971)
    +0.00249  age   (7 and 5, weight 0.001245)
    """
    if not isinstance(k, Integral) or k < 1:
        raise InvalidInputError(f"k must be a whole number of at least 1, got {k!r}")
    pair = _two_rows(X_pair)
    contributions = Contributions.of(model, feature_names=feature_names, training_ids=training_ids, output=output)
    predicted = scores_of(model, pair)
    predicted = predicted[:, output or 0] if predicted.ndim == 2 else predicted
    columns = dense(contributions.columns(pair))
    parts = contributions.coefficients * (columns[0] - columns[1])
    largest = np.argsort(-np.abs(parts), kind="stable")[: int(k)]
    largest = largest[parts[largest] != 0]
    others = np.ones(len(parts), dtype=bool)
    others[largest] = False
    values = dense(pair) if contributions.kind == "features" and contributions.keeps_columns else columns
    return Explanation(
        contributions.kind,
        (float(predicted[0]), float(predicted[1])),
        [contributions.names[number] for number in largest.tolist()],
        parts[largest],
        contributions.coefficients[largest],
        values[:, largest].T,
        float(parts[others].sum()),
        int(np.count_nonzero(parts[others])),
    )


def _two_rows(X_pair: Pair) -> Matrix:
    """Return a pair of items as a matrix of two rows, or as the data frame that it is."""
    if isinstance(X_pair, tuple) and len(X_pair) == 2:
        if any(is_sparse(row) for row in X_pair):
            return sparse.vstack([sparse.csr_array(row).reshape(1, -1) for row in X_pair], format="csr")
        rows = [np.asarray(row).reshape(-1) for row in X_pair]
        if len(rows[0]) != len(rows[1]):
            raise InvalidInputError(f"the two items have {len(rows[0])} and {len(rows[1])} features")
        return np.stack(rows)
    if num_samples(X_pair) != 2:
        raise InvalidInputError(f"a pair is two items, got {num_samples(X_pair)}")
    return np.asarray(X_pair) if isinstance(X_pair, (list, tuple)) else X_pair


def dense(rows: Matrix) -> Float:
    """Return two rows as an array, whatever they came as."""
    return np.asarray(rows.toarray() if is_sparse(rows) else rows, dtype=np.float64)


# Influence ------------------------------------------------------------------------------------------------------------
#
# Influence: the features, or the training items, that change the scores most.

MOST_NUMBERS = 4_000_000  # of a kernel that are looked at; beyond that, only some of the items


@dataclass(frozen=True, eq=False)
class Influence:
    """Features or training items, in descending order of their influence on the scores.

    Shapes: coefficients (k,), spreads (k,).
    """

    kind: Literal["features", "items"]
    names: list[Any]
    coefficients: Float
    spreads: Float
    n_contributions: int
    n_items: int

    @classmethod
    def of(cls, contributions: Contributions, X: Any, k: int = 15) -> Influence:
        """Order features or training items by ``|c_k|`` times the standard deviation of ``φ_k`` over some items.

        O(m n) time for features; for a kernel at most four million of its numbers, of items evenly spread over X.

        Shapes: X (m, n).
        """
        m, r = num_samples(X), len(contributions.coefficients)
        step = 1 if contributions.kind == "features" else max(1, -(-m * r // MOST_NUMBERS))
        rows = X if step == 1 else safe_indexing(X, np.arange(0, m, step))
        spreads = _deviations(contributions.columns(rows))
        largest = np.argsort(-np.abs(contributions.coefficients) * spreads, kind="stable")[:k]
        names = [contributions.names[number] for number in largest.tolist()]
        return cls(
            contributions.kind, names, contributions.coefficients[largest], spreads[largest], r, num_samples(rows)
        )

    @property
    def scaled(self) -> bool:
        """Whether all columns have a standard deviation of one, so that a movement is the coefficient itself."""
        return bool(np.all(np.abs(self.spreads - 1.0) < 1e-6))

    @property
    def movements(self) -> Float:
        """The change of a score when a feature (or a kernel value) grows by one standard deviation."""
        moved: Float = self.coefficients * self.spreads
        return moved


def _deviations(columns: Matrix) -> Float:
    if not is_sparse(columns):
        return np.asarray(np.std(columns, axis=0, dtype=np.float64))
    mean = np.asarray(columns.mean(axis=0), dtype=np.float64).ravel()
    squares = np.asarray(columns.multiply(columns).mean(axis=0), dtype=np.float64).ravel()
    return np.sqrt(np.maximum(squares - mean**2, 0.0))
