"""The path of a greedy selection: one model for each number of features, all from one search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import column_or_1d

from kernelrank.base.arrays import Float, Index, product
from kernelrank.base.labels import Queries
from kernelrank.base.validation import check_scores
from kernelrank.errors import InvalidInputError
from kernelrank.metrics import PairwiseAccuracy
from kernelrank.metrics.two_classes import TwoClasses
from kernelrank.selection.estimators import GreedySelector

__all__ = ["SelectionData", "SelectionPath", "mean_accuracy", "selector_of"]


def selector_of(estimator: Any) -> GreedySelector:
    """Return the selector that an estimator is, or that a pipeline ends with."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    if not isinstance(last, GreedySelector):
        raise InvalidInputError(
            f"Expected GreedyRankRLS, GreedyRLS, or a pipeline that ends with one; got {type(estimator).__name__}."
        )
    return last


@dataclass(frozen=True, eq=False)
class SelectionData:
    """The items, scores and queries that features are selected for.

    Parameters
    ----------
    X : array-like or sparse matrix, shape (m, n_features)
    y : ndarray, shape (m,)
    qid : ndarray of int64, shape (m,), or None
        The query of each item, as numbers.
    """

    X: Any
    y: Float
    qid: Index | None

    @classmethod
    def read(cls, estimator: Any, X: Any, y: Any, qid: Any) -> SelectionData:
        """Check the data; two classes that are not numbers become ±1, where the one that sorts last is positive."""
        m = X.shape[0] if hasattr(X, "shape") else len(X)
        values = column_or_1d(y)
        if values.dtype.kind not in "iuf":
            values = TwoClasses.read(values, m).target(selector_of(estimator))
        codes = None if qid is None else Queries.from_labels(qid, m).codes
        return cls(X, check_scores(values, m), codes)

    def __len__(self) -> int:
        return len(self.y)

    def part(self, items: Index) -> SelectionData:
        """Return the data of some items."""
        return SelectionData(
            _safe_indexing(self.X, items), self.y[items], None if self.qid is None else self.qid[items]
        )


@dataclass(frozen=True, eq=False)
class SelectionPath:
    """The models of one path, from the first feature to the last.

    Parameters
    ----------
    preparation : Pipeline or None
        The fitted steps before the selector.
    selector : GreedySelector
        Fitted.
    steps : list of dict
        For each number of features the best step with so many, as in `path_`.
    """

    preparation: Pipeline | None
    selector: GreedySelector
    steps: list[dict[str, Any]]

    @classmethod
    def fitted(cls, estimator: Any, data: SelectionData, n_features: int | None = None) -> SelectionPath:
        """Fit a clone, and keep one model for each number of features, or groups of them.

        Parameters
        ----------
        estimator : GreedySelector, or a pipeline that ends with one
        data : SelectionData
        n_features : int, optional
            How many features to select; as many as the estimator says unless given.
        """
        selector: GreedySelector = clone(selector_of(estimator))
        if n_features is not None:
            selector.set_params(n_features_to_select=n_features)
        preparation, X = None, data.X
        if isinstance(estimator, Pipeline) and len(estimator.steps) > 1:
            preparation = clone(estimator[:-1])
            X = preparation.fit_transform(X, data.y)
        selector.fit(X, data.y, **({} if data.qid is None else {"qid": data.qid}))
        return cls(preparation, selector, _by_size(selector))

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def names(self) -> list[Any]:
        """The features in the order of their selection: names if the selector has them, else numbers."""
        return [self.name(step["feature"]) for step in self.steps]

    def name(self, column: int) -> Any:
        """Return what a column of the selector is called: its name, or its number."""
        names = getattr(self.selector, "feature_names_in_", None)
        if names is None and self.preparation is not None and hasattr(self.preparation, "get_feature_names_out"):
            try:
                names = self.preparation.get_feature_names_out()
            except (ValueError, AttributeError):  # a step without names
                names = None
            if names is not None and not hasattr(self.preparation, "feature_names_in_"):
                names = None
        return column if names is None else str(names[column])

    def scores(self, X: Any) -> Float:
        """Predict the scores of t items by every model of the path, shape (t, number of models)."""
        X = X if self.preparation is None else self.preparation.transform(X)
        X = self.selector._check_items(X, reset=False)
        used = np.unique(np.concatenate([step["columns"] for step in self.steps]))
        W = np.zeros((len(used), len(self.steps)))
        for number, step in enumerate(self.steps):
            W[np.searchsorted(used, step["columns"]), number] = step["coefficients"]
        return product(X[:, used], W)


def _by_size(selector: GreedySelector) -> list[dict[str, Any]]:
    """Return for each number of units the step with the lowest criterion; a floating search has several."""
    labels = None if selector.feature_groups is None else np.asarray(selector.feature_groups)
    best: dict[int, dict[str, Any]] = {}
    for step in selector.path_:
        columns = step["columns"]
        size = len(columns) if labels is None else len(set(labels[columns].tolist()))
        if size not in best or step["criterion"] < best[size]["criterion"]:
            best[size] = step
    return [best[size] for size in sorted(best)]


def mean_accuracy(y: Float, scores: Float, qid: Index | None) -> float:
    """Return the share of pairs in the right order, as a mean over queries."""
    return PairwiseAccuracy()(y, scores, qid=qid).mean
