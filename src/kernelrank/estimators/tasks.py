"""What rankers share: the items of a query are compared with each other, and predictions are judged by their order."""

from __future__ import annotations

from typing import Any, ClassVar, cast

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from kernelrank.base.arrays import Float, Matrix, is_structured
from kernelrank.base.labels import Lifetimes, Queries
from kernelrank.base.validation import (
    check_pair_values,
    check_pairs,
    check_scores,
    check_weight,
    is_path,
    mapped,
    scores_or_times,
)
from kernelrank.comparisons import Preferences, ScoredComparisons, ScoredQueries, compare_pairs, compare_scores
from kernelrank.comparisons.costs import CostOption, OutputGraph, resolved_cost
from kernelrank.comparisons.scored import QueryWeight
from kernelrank.errors import InvalidInputError
from kernelrank.estimators.base import KernelLearner, OutputGraphs
from kernelrank.estimators.file_items import predict_scored_file
from kernelrank.features import Features
from kernelrank.metrics import Concordance, PairwiseAccuracy
from kernelrank.solvers import Solution

__all__ = ["Ranker", "has_two_levels"]


class Ranker(RegressorMixin, KernelLearner):
    """A learner whose predictions mean something only in comparison with each other."""

    __metadata_request__fit: ClassVar = {"qid": True}
    __metadata_request__score: ClassVar = {"qid": True}

    cost: CostOption = "magnitude"
    ties: Any = "include"  # what a tie is differs between learners
    query_weight: QueryWeight

    _takes_events: ClassVar[bool] = False
    """Whether y may have times and events."""

    _has_two_classes: bool = False
    """Whether the scores of the last fit have two levels."""

    def _compare(
        self, X: Matrix, y: object, qid: object, sample_weight: object, *, allow_no_comparisons: bool = False
    ) -> tuple[list[OutputGraph], bool]:
        """Build the graphs of scored items; also return whether y has one dimension."""
        allow_missing = self.missing == "ignore"
        events = None
        if self._takes_events and is_structured(y):
            events = Lifetimes.of(cast(Any, y), n_items=X.shape[0], allow_missing=allow_missing)
        scores = check_scores(y, X.shape[0], allow_missing=allow_missing) if events is None else events.time
        graphs = compare_scores(
            scores[:, None] if scores.ndim == 1 else scores,
            Queries.from_labels(qid, X.shape[0]),
            weight=check_weight(sample_weight, X.shape[0]),
            cost=resolved_cost(self.cost, censored=events is not None),
            ties=self.ties,
            query_weight=self.query_weight,
            allow_no_comparisons=allow_no_comparisons,
            events=events,
        )
        return graphs, scores.ndim == 1

    def _keep_beside(self, features: Features, graphs: OutputGraphs, solutions: list[Solution]) -> None:
        """Store whether there are two classes, and what a subclass keeps of a fit to preferences."""
        graph = graphs[0][1]
        if isinstance(graph, Preferences):
            self._keep_preferences(features, graph, solutions[0])
        self._keep_scores(graphs)

    def _keep_scores(self, graphs: OutputGraphs) -> None:
        """Store whether there are two classes."""
        graph = graphs[0][1]
        scored = isinstance(graph, ScoredComparisons) and len(graphs) == 1 and graph.event is None
        self._keep_classes(scored and has_two_levels(cast("ScoredComparisons", graph).scores))

    def _keep_classes(self, two: bool) -> None:
        """Store that the scores have two levels, if they have."""
        self.__dict__.pop("_has_two_classes", None)
        if two:
            self._has_two_classes = True

    def _keep_preferences(self, features: Features, graph: Preferences, solution: Solution) -> None:
        """Store the results of a fit to preferences, in addition to the coefficients."""

    def _compare_pairs(self, X: Matrix, pairs: object, magnitude: object, weight: object) -> Preferences:
        """Build the graph of preferences."""
        listed = check_pairs(pairs, X.shape[0])
        return compare_pairs(
            X.shape[0],
            listed,
            magnitude=check_pair_values(magnitude, len(listed), name="magnitude"),
            weight=check_pair_values(weight, len(listed), name="weight"),
            cost=resolved_cost(self.cost),
        )

    def _unlabelled(self, queries: Queries, weight: Float | None) -> ScoredQueries:
        """Compare all items of each query, for the scale of alpha."""
        return ScoredQueries(np.zeros((queries.n_items, 1)), queries, weight=weight, query_weight=self.query_weight)

    def predict(self, X: Any) -> Float:
        """Predict scores; sorting by them ranks the items of any query.

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

    @available_if(lambda self: self._has_two_classes)
    def decision_function(self, X: Any) -> Float:
        """Return `predict`, by the name that scorers of two classes ask for, such as ``scoring="roc_auc"``.

        Available after a fit to scores of two levels in one column; scikit-learn's regressors have none. The scorers of
        scikit-learn 1.8 take classifiers only; there use ``kernelrank.metrics.scorer("auc")``.

        Parameters
        ----------
        X : array-like or sparse matrix, or a path
            As in `predict`.

        Returns
        -------
        ndarray, shape (t,) or (t, n_outputs)
        """
        return self.predict(X)

    def score(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None, event: Any = None) -> float:
        """Return the pairwise accuracy, averaged over queries (and outputs).

        For censored times, return the concordance index: the share of pairs of known order that are in the right order,
        over all strata together.

        Parameters
        ----------
        X : array-like or sparse matrix, or a path
            The items, or a file of them as in `predict`.
        y : array-like, shape (t,) or (t, n_outputs), or str
            True scores. The name of the column in a file that has names; None for SVMlight.
        qid : sequence, shape (t,), or str, optional
            The query of each item, or the name of its column; needed if the model was fitted on several queries.
        sample_weight : array-like, shape (t,), optional
            Item weights.
        event : array-like of bool, shape (t,), optional
            Whether the event happened at the time in y; the time is censored otherwise.

        Returns
        -------
        float
            The share of pairs in the right order; a tied prediction counts a half.
        """
        check_is_fitted(self)
        X, y, qid = mapped(X), mapped(y), mapped(qid)
        predicted = None
        if is_path(X):
            predicted, y, qid = predict_scored_file(self, X, y, qid)
        if qid is None and self.n_queries_ > 1:
            raise InvalidInputError(
                f"this model was fitted on {self.n_queries_} queries, so score needs qid: without it, items of "
                "different queries would be compared. Inside a search or a pipeline, turn metadata routing on: "
                "sklearn.set_config(enable_metadata_routing=True)"
            )
        predicted = self.predict(X) if predicted is None else predicted
        y = scores_or_times(y, event)
        if is_structured(y):
            return Concordance().average(y, predicted, qid=qid, sample_weight=sample_weight)
        truth = check_scores(y, len(predicted), allow_missing=self.missing == "ignore")
        weight = check_weight(sample_weight, len(predicted))
        if not np.isnan(truth).any():
            return PairwiseAccuracy().average(truth, predicted, qid=qid, sample_weight=weight)
        queries = Queries.from_labels(qid, len(predicted))
        truth, predicted = truth.reshape(len(truth), -1), predicted.reshape(len(truth), -1)
        accuracies = []
        for k in range(truth.shape[1]):
            scored = np.flatnonzero(~np.isnan(truth[:, k]))
            part = None if weight is None else weight[scored]
            codes = queries.codes[scored]
            accuracies.append(
                PairwiseAccuracy().average(truth[scored, k], predicted[scored, k], qid=codes, sample_weight=part)
            )
        return float(np.mean(accuracies))

    def score_pairs(self, X: Any, pairs: Any, *, weight: Any = None) -> float:
        """Return the (weighted) share of preferences that the predictions agree with; a tie counts 1/2.

        Several outputs are averaged.

        Parameters
        ----------
        X : array-like or sparse matrix
        pairs : array-like of int, shape (l, 2)
            Column 0 is preferred to column 1.
        weight : array-like, shape (l,), optional

        Returns
        -------
        float
        """
        predicted = self.predict(X)
        pairs = check_pairs(pairs, len(predicted))
        if len(pairs) == 0:
            raise InvalidInputError("pairs is empty: nothing to score")
        weight = check_pair_values(weight, len(pairs), name="weight")
        if weight is not None and not np.any(weight > 0):
            raise InvalidInputError("every weight is zero: nothing to score")
        difference = predicted[pairs[:, 0]] - predicted[pairs[:, 1]]
        return float(np.mean(np.average((np.sign(difference) + 1) / 2, axis=0, weights=weight)))


def has_two_levels(scores: Float) -> bool:
    """Return whether scores (m,) or (m, 1) have two values; NaN is none."""
    if scores.size > len(scores):
        return False
    low, high = np.nanmin(scores, initial=np.inf), np.nanmax(scores, initial=-np.inf)
    return bool(low < high) and bool(np.all((scores == low) | (scores == high) | np.isnan(scores)))
