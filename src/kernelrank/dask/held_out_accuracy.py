"""Held-out accuracy: a second pass, in which every query is ordered by the models that have not seen it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Float, Index, product
from kernelrank.dask.cluster import gathered, reduced
from kernelrank.dask.collection_types import ColumnBlock, ItemBlock
from kernelrank.dask.feature_map import FeatureMap
from kernelrank.dask.fold_models import FoldModels
from kernelrank.dask.query_counts import SpanningQueries
from kernelrank.dask.statistics import Batch
from kernelrank.dask.training_data import TrainingData
from kernelrank.errors import NothingToCompareError
from kernelrank.estimators import RankRLS
from kernelrank.metrics import PairwiseAccuracy

__all__ = ["held_out_accuracy"]


@dataclass(frozen=True)
class ScoredItems:
    """Items with the scores of models that have not seen them.

    Parameters
    ----------
    query, fold : ndarray of int64, shape (k,)
    part, n_parts : ndarray of int64, shape (k,)
        The partition of each item, and in how many its query lies.
    truth : ndarray, shape (k, outputs)
    scores : ndarray, shape (k, outputs, alphas)
    """

    query: Index
    fold: Index
    part: Index
    n_parts: Index
    truth: Float
    scores: Float

    @classmethod
    def joined(cls, several: list[ScoredItems]) -> ScoredItems:
        """Concatenate items."""
        return cls(*(np.concatenate([getattr(one, field.name) for one in several]) for field in fields(cls)))

    def rows(self, chosen: NDArray[np.bool_]) -> ScoredItems:
        """Return some items."""
        return ScoredItems(*(getattr(self, field.name)[chosen] for field in fields(self)))

    def complete(self) -> NDArray[np.bool_]:
        """Return which items belong to a query whose items are all present."""
        pairs = np.unique(np.column_stack([self.query, self.part]), axis=0)
        queries, here = np.unique(pairs[:, 0], return_counts=True)
        complete: NDArray[np.bool_] = here[np.searchsorted(queries, self.query)] == self.n_parts
        return complete


@dataclass(frozen=True)
class AccuracySums:
    """Sums over the queries measured so far.

    Parameters
    ----------
    total, count : ndarray, shape (folds, outputs, alphas)
        The sum of the accuracies of queries, and how many there are.
    waiting : ScoredItems
        The items of queries that go on elsewhere.
    """

    total: Float
    count: Float
    waiting: ScoredItems

    @classmethod
    def of(cls, items: ScoredItems, n_folds: int) -> AccuracySums:
        """Measure the queries that are complete."""
        shape = (n_folds, *items.scores.shape[1:])
        total, count = np.zeros(shape), np.zeros(shape)
        complete = items.complete()
        for fold in np.unique(items.fold[complete]):
            here = items.rows(complete & (items.fold == fold))
            for output, alpha in np.ndindex(shape[1:]):
                try:
                    values = PairwiseAccuracy()(
                        here.truth[:, output], here.scores[:, output, alpha], qid=here.query
                    ).values
                except NothingToCompareError:
                    break
                total[fold, output, alpha], count[fold, output, alpha] = values.sum(), len(values)
        return cls(total, count, items.rows(~complete))


def held_out_accuracy(data: TrainingData, models: FoldModels) -> Float:
    """Return the pairwise accuracy of each fold (folds, outputs, alphas), averaged over its queries that have a pair.

    O(m r a) time for a alphas. The items of queries that lie in several partitions meet, with a numbers each.
    """
    parts = data.each(_measure, models.coefficients)
    result: AccuracySums = gathered(data.client, reduced(_merge, parts))[0]
    if not result.count.any():
        raise NothingToCompareError("no fold has two items with different scores to compare")
    nothing = np.full(result.total.shape, np.nan)
    accuracy: Float = np.divide(result.total, result.count, out=nothing, where=result.count > 0)
    return accuracy


def _measure(
    number: int,
    X: ItemBlock,
    y: ColumnBlock,
    qid: ColumnBlock | None,
    weight: ColumnBlock | None,
    spanning: SpanningQueries,
    features: FeatureMap,
    learner: RankRLS,
    coefficients: Float,
) -> AccuracySums:
    """Score the items of one partition by the models without their fold."""
    n_folds, n_columns, n_outputs, n_alphas = coefficients.shape
    if X.shape[0] == 0:
        none = np.zeros(0, dtype=np.int64)
        empty = ScoredItems(none, none, none, none, np.zeros((0, n_outputs)), np.zeros((0, n_outputs, n_alphas)))
        return AccuracySums.of(empty, n_folds)
    batch = Batch.of(learner, X, y, qid, weight)
    m, codes = len(batch.scores), batch.queries.codes
    place = spanning.places(batch.queries.labels)
    n_parts = np.ones(len(place), dtype=np.int64)
    n_parts[place >= 0] = spanning.n_parts[place[place >= 0]]
    # Whole queries need a number that no other query here has; those that span keep theirs everywhere.
    query = np.where(place >= 0, place, -1 - np.arange(len(place)))
    fold, scores = np.zeros(m, dtype=np.int64), np.empty((m, n_outputs * n_alphas))
    for held, items in enumerate(batch.fold_items(n_folds)):
        fold[items] = held
        w = coefficients[held].reshape(n_columns, -1)
        if len(scores[items]):
            scores[items] = product(features.rows(batch.X[items]), w)
    return AccuracySums.of(
        ScoredItems(
            query[codes],
            fold,
            np.full(m, number, dtype=np.int64),
            n_parts[codes],
            batch.scores,
            scores.reshape(m, n_outputs, n_alphas),
        ),
        n_folds,
    )


def _merge(several: list[AccuracySums]) -> AccuracySums:
    """Add up, and measure the queries whose last part has come."""
    found = AccuracySums.of(ScoredItems.joined([one.waiting for one in several]), len(several[0].total))
    return AccuracySums(
        reduce(np.add, [one.total for one in several], found.total),
        reduce(np.add, [one.count for one in several], found.count),
        found.waiting,
    )
