"""What regressors share: every item is compared with its own score, and predictions are judged by R²."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin

from kernelrank.base.arrays import Float, Matrix
from kernelrank.base.labels import Queries
from kernelrank.base.validation import check_scores, check_weight
from kernelrank.comparisons import ItemScores
from kernelrank.comparisons.costs import OutputGraph, by_missing_pattern
from kernelrank.errors import NothingToCompareError
from kernelrank.estimators.base import KernelLearner
from kernelrank.estimators.file_items import predict_scored

__all__ = ["Regressor", "compare_items"]


class Regressor(RegressorMixin, KernelLearner):
    """A learner whose predictions are scores by themselves."""

    __metadata_request__fit: ClassVar = {"qid": True}
    __metadata_request__score: ClassVar = {"qid": True}

    def _compare(
        self, X: Matrix, y: object, qid: object, sample_weight: object, *, allow_no_comparisons: bool = False
    ) -> tuple[list[OutputGraph], bool]:
        """Build the graphs, one for each pattern of missing scores; also return whether y has one dimension."""
        Queries.from_labels(qid, X.shape[0])
        scores = check_scores(y, X.shape[0], allow_missing=self.missing == "ignore")
        weight = check_weight(sample_weight, X.shape[0])
        graphs = compare_items(
            scores[:, None] if scores.ndim == 1 else scores, weight, allow_no_comparisons=allow_no_comparisons
        )
        return graphs, scores.ndim == 1

    def _unlabelled(self, queries: Queries, weight: Float | None) -> ItemScores:
        """Compare every item with its own score, for the scale of alpha."""
        return ItemScores(np.zeros((queries.n_items, 1)), weight=weight)

    def predict(self, X: Any) -> Float:
        """Predict scores.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (t, n_features), or (t, m) if the kernel is precomputed, or a path
            The items, or a file of them as in `RankRLS.fit`, read in batches: its columns by name if the model was
            fitted to named columns, else all columns of numbers.

        Returns
        -------
        ndarray, shape (t,) or (t, n_outputs)
        """
        return self._raw_scores(X)

    def score(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> float:
        """Return R², averaged over the outputs.

        Parameters
        ----------
        X : array-like or sparse matrix, or a path
            The items, or a file of them as in `predict`.
        y : array-like, shape (t,) or (t, n_outputs), or str
            The name of the column in a file that has names; None for SVMlight.
        qid : sequence, shape (t,), optional
            Not used, present for API consistency by convention. Its length is checked.
        sample_weight : array-like, shape (t,), optional

        Returns
        -------
        float
        """
        from sklearn.metrics import r2_score

        predicted, y, qid = predict_scored(self, X, y, qid)
        Queries.from_labels(qid, len(predicted))
        weight = check_weight(sample_weight, len(predicted))
        truth = check_scores(y, len(predicted), allow_missing=self.missing == "ignore")
        if not np.isnan(truth).any():
            return float(r2_score(truth, predicted, sample_weight=weight))
        truth, predicted = truth.reshape(len(truth), -1), predicted.reshape(len(truth), -1)
        scored = ~np.isnan(truth)
        return float(
            np.mean(
                [
                    r2_score(truth[s, k], predicted[s, k], sample_weight=None if weight is None else weight[s])
                    for k, s in enumerate(scored.T)
                ]
            )
        )


def compare_items(scores: Float, weight: Float | None, *, allow_no_comparisons: bool = False) -> list[OutputGraph]:
    """Build the graphs of least squares over items: one for each pattern of missing scores.

    Parameters
    ----------
    scores : ndarray, shape (m, outputs)
        NaN where there is none.
    weight : ndarray, shape (m,), or None
    allow_no_comparisons : bool, default=False
        Whether an output may be without any score of a positive weight.

    Returns
    -------
    list of OutputGraph

    Examples
    --------
    >>> [(columns, graph)] = compare_items(np.array([[1.0, -1.0], [-1.0, 1.0]]), None)
    >>> columns, graph.n_items
    (array([0, 1]), 2)
    """
    graphs = by_missing_pattern(
        scores, weight, lambda columns, values, item_weight: [(columns, ItemScores(values, weight=item_weight))]
    )
    for columns, graph in [] if allow_no_comparisons else graphs:
        if not np.any(graph.diagonal() > 0):
            raise NothingToCompareError(f"output {int(columns[0])} has no score with a positive weight")
    return graphs
