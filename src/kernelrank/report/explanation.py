"""Why one item ranks above another: what each feature, or training item, adds to the difference of their scores."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _num_samples

from kernelrank.base.arrays import Float, Labels, Matrix, is_sparse
from kernelrank.base.results import Bars, Result
from kernelrank.errors import InvalidInputError
from kernelrank.report.explanations import Contributions, scores_of

__all__ = ["Explanation", "explain"]

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
        columns = (self.names, self.contributions.tolist(), self.coefficients.tolist(), self.values.tolist())
        return {
            "kind": self.kind,
            "scores": list(self.scores),
            "difference": self.difference,
            "contributions": [
                {"name": str(name), "contribution": part, "coefficient": weight, "values": values}
                for name, part, weight, values in zip(*columns, strict=True)
            ],
            "rest": self.rest,
            "n_rest": self.n_rest,
        }

    def __str__(self) -> str:
        first, second = self.scores
        noun = "weight" if self.kind == "features" else "coefficient"
        columns = (self.names, self.contributions, self.coefficients, self.values)
        rows = [
            (f"{part:+.3g}", str(name), f"({x_i:.4g} and {x_j:.4g}, {noun} {weight:.4g})")
            for name, part, weight, (x_i, x_j) in zip(*columns, strict=True)
        ]
        name_width = max((len(name) for _, name, _ in rows), default=0)
        if self.n_rest:
            of = self.kind if self.kind == "features" else "training items"
            rows.append((f"{self.rest:+.3g}", f"{self.n_rest} other {of}", ""))
        part_width = max((len(part) for part, _, _ in rows), default=0)
        lines = [f"{part:>{part_width}}  {name:<{name_width}}  {why}".rstrip() for part, name, why in rows]
        return "\n".join([f"{first:.4g} - {second:.4g} = {self.difference:.4g}", *lines])

    def _facts(self) -> list[tuple[str, str]]:
        first, second = self.scores
        parts = [
            (str(name), f"{part:+.3g}") for name, part in zip(self.names, self.contributions.tolist(), strict=True)
        ]
        if self.n_rest:
            of = self.kind if self.kind == "features" else "training items"
            parts.append((f"{self.n_rest:,} other {of}", f"{self.rest:+.3g}"))
        return [("difference of the scores", f"{first:.4g} - {second:.4g} = {self.difference:.4g}"), *parts]

    def _chart(self) -> Bars:
        names, parts = [str(name) for name in self.names], self.contributions.tolist()
        if self.n_rest:
            names, parts = [*names, f"{self.n_rest:,} others"], [*parts, self.rest]
        return Bars(names, parts, "contribution to the difference of the scores")

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
    columns = _dense(contributions.columns(pair))
    parts = contributions.coefficients * (columns[0] - columns[1])
    largest = np.argsort(-np.abs(parts), kind="stable")[: int(k)]
    largest = largest[parts[largest] != 0]
    others = np.ones(len(parts), dtype=bool)
    others[largest] = False
    values = _dense(pair) if contributions.kind == "features" and contributions.keeps_columns else columns
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
    if _num_samples(X_pair) != 2:
        raise InvalidInputError(f"a pair is two items, got {_num_samples(X_pair)}")
    return np.asarray(X_pair) if isinstance(X_pair, (list, tuple)) else X_pair


def _dense(rows: Matrix) -> Float:
    """Return two rows as an array, whatever they came as."""
    return np.asarray(rows.toarray() if is_sparse(rows) else rows, dtype=np.float64)
