"""What rankers share: the items of a query are compared with each other, and predictions are judged by their order."""

from __future__ import annotations

from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from kernelrank.base.arrays import Float, Matrix, is_structured
from kernelrank.base.labels import Lifetimes, Queries
from kernelrank.base.validation import (
    check_pair_values,
    check_pairs,
    check_scores,
    check_weight,
    is_path,
    mapped,
    require_scores,
    scores_or_times,
)
from kernelrank.comparisons import (
    ItemScores,
    PreferenceGraph,
    ScoredComparisons,
    ScoredQueries,
    compare_pairs,
    compare_scores,
)
from kernelrank.comparisons.costs import CostOption, OutputGraph, by_missing_pattern, resolved_cost
from kernelrank.comparisons.scored import QueryWeight
from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.estimators.base import KernelLearner, OutputGraphs, predict_scored, predict_scored_file
from kernelrank.features import Features
from kernelrank.metrics import Concordance, PairwiseAccuracy
from kernelrank.solvers import Solution


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
        if isinstance(graph, PreferenceGraph):
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

    def _keep_preferences(self, features: Features, graph: PreferenceGraph, solution: Solution) -> None:
        """Store the results of a fit to preferences, in addition to the coefficients."""

    def _compare_pairs(self, X: Matrix, pairs: object, magnitude: object, weight: object) -> PreferenceGraph:
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


# Regressor ------------------------------------------------------------------------------------------------------------
#
# What regressors share: every item is compared with its own score, and predictions are judged by R².


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

    Shapes: scores (m, outputs), weight (m,).

    scores: NaN where there is none.
    """
    graphs = by_missing_pattern(
        scores, weight, lambda columns, values, item_weight: [(columns, ItemScores(values, weight=item_weight))]
    )
    for columns, graph in [] if allow_no_comparisons else graphs:
        if not np.any(graph.diagonal() > 0):
            raise NothingToCompareError(f"output {int(columns[0])} has no score with a positive weight")
    return graphs


# Classifier -----------------------------------------------------------------------------------------------------------
#
# What classifiers by least squares share: classes as outputs, and the class with the largest score.
#
# Each class is an output: +1 for its items and -1 for all others. The outputs share their kernel and their weights, so
# that one decomposition serves them all, in a fit and in every hold-out. Two classes need one output only, for the two
# are each other's negative.


class Classifier(ClassifierMixin, KernelLearner):
    """A learner of classes: +1 for the items of a class, -1 for all others."""

    __metadata_request__fit: ClassVar = {"qid": True}
    __metadata_request__score: ClassVar = {"qid": True}

    classes_: NDArray[Any]

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that y is one column of classes."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags

    def _compare(
        self, X: Matrix, y: object, qid: object, sample_weight: object, *, allow_no_comparisons: bool = False
    ) -> tuple[list[OutputGraph], bool]:
        """Build the graph of all outputs; also return whether there is one only, as for two classes."""
        Queries.from_labels(qid, X.shape[0])
        scores = check_scores(self._encode(y), X.shape[0])
        weight = check_weight(sample_weight, X.shape[0])
        return compare_items(scores, weight, allow_no_comparisons=allow_no_comparisons), scores.shape[1] == 1

    def _encode(self, y: object) -> Float:
        """Turn classes into columns of ±1, one for each class, or one for two."""
        require_scores(y)
        labels = column_or_1d(y, warn=True)
        assert_all_finite(labels, input_name="y")
        check_classification_targets(labels)
        self.classes_ = np.unique(labels)
        if len(self.classes_) < 2:
            raise InvalidInputError(
                f"{type(self).__name__} expected at least two classes; y has one class: {self.classes_[0]!r}"
            )
        positive = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        return np.where(labels[:, None] == positive, 1.0, -1.0)

    def _unlabelled(self, queries: Queries, weight: Float | None) -> ItemScores:
        """Compare every item with its own class, for the scale of alpha."""
        return ItemScores(np.zeros((queries.n_items, 1)), weight=weight)

    def decision_function(self, X: Any) -> Float:
        """Return the decision values; larger values mean the (positive) class.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (t, n_features), or (t, m) if the kernel is precomputed

        Returns
        -------
        ndarray, shape (t,) or (t, k)
            For two classes, values above zero mean ``classes_[1]``; for more, one column for each class.
        """
        return self._raw_scores(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class with the largest decision value.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (t, n_features), or (t, m) if the kernel is precomputed, or a path
            The items, or a file of them as in `RankRLS.fit`, read in batches: its columns by name if the model was
            fitted to named columns, else all columns of numbers.

        Returns
        -------
        ndarray, shape (t,)
        """
        scores = self._raw_scores(X)
        chosen = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        classes: NDArray[Any] = self.classes_[chosen]
        return classes

    def score(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy: the share of items whose class is predicted correctly.

        Parameters
        ----------
        X : array-like or sparse matrix, or a path
            The items, or a file of them as in `predict`.
        y : array-like, shape (t,), or str
            The name of the column in a file that has names; None for SVMlight.
        qid : sequence, shape (t,), optional
            Not used, present for API consistency by convention. Its length is checked.
        sample_weight : array-like, shape (t,), optional

        Returns
        -------
        float
        """
        from sklearn.metrics import accuracy_score

        predicted, y, qid = predict_scored(self, X, y, qid)
        Queries.from_labels(qid, len(predicted))
        weight = check_weight(sample_weight, len(predicted))
        return float(accuracy_score(y, predicted, sample_weight=weight))
