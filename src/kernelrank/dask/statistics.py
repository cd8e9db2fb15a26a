"""The statistics of partitions: sums over queries that add up, whichever partition each item lies in.

With ``ω_q = c_q W_q`` from the counts of all partitions, a query gives ``ω_q S_q`` to ``Φᵀ L Φ``, where S_q is its
scatter, and ``ω_q s_q`` to ``Φᵀ M N``. Its scatter is the sum of those inside its parts and of that between their
means (see `spanning_parts`), so a partition gives ``ω_q`` times the former for all its queries, and the means of the
queries that go on elsewhere. These are the statistics of `RankRLS.partial_fit`, fold by fold, and with them

    ``‖N - Mᵀ f‖² = wᵀ (Φᵀ L Φ) w - 2 wᵀ (Φᵀ M N) + ‖N‖²``  for ``f = Φ w``,

the squared error over the pairs of a fold, for any w and without its items.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from kernelrank.base.arrays import Float, GramSum, Index, Matrix
from kernelrank.base.labels import Grouping, Queries
from kernelrank.base.validation import check_scores
from kernelrank.comparisons import Comparisons, ScoredQueries
from kernelrank.comparisons.costs import resolved_cost
from kernelrank.comparisons.moments import QueryMeans
from kernelrank.comparisons.scored import item_squares, pair_weight
from kernelrank.dask.collection_types import ColumnBlock, ItemBlock
from kernelrank.dask.feature_map import FeatureMap
from kernelrank.dask.folds import fold_of
from kernelrank.dask.query_counts import SpanningQueries, item_weight, partition_queries
from kernelrank.dask.spanning_parts import SpanningParts
from kernelrank.errors import InvalidInputError
from kernelrank.estimators import RankRLS
from kernelrank.model_selection.alpha_grid import centred_trace

__all__ = ["Batch", "Statistics", "merge_statistics", "mergeable", "partition_statistics"]


def mergeable(learner: RankRLS) -> bool:
    """Whether a query may lie in several partitions, because its statistics are means and scatters."""
    return resolved_cost(learner.cost) == "magnitude" and learner.ties == "include"


@dataclass
class Statistics:
    """What the queries of some partitions give.

    Parameters
    ----------
    gram : ndarray, shape (folds, r, r)
        ``Φᵀ L Φ`` of each fold.
    right : ndarray, shape (folds, r, outputs)
        ``Φᵀ M N``.
    energy : ndarray, shape (folds, outputs)
        ``‖N‖²``, the squared error of a model that says nothing.
    pair_weight : ndarray, shape (folds,)
        The weight of all pairs together.
    largest : ndarray, shape (outputs,)
        The largest absolute score.
    spanning : SpanningParts
        The parts of queries that lie in other partitions too.
    n_pairs, n_idle_queries : int
        The pairs, and the queries without a pair; counted here only where no query may span partitions.
    spread : float
        The trace of ``Φᵀ L Φ`` if all pairs of each query were compared, whatever their scores; only where `gram` has
        other pairs.
    """

    gram: Float
    right: Float
    energy: Float
    pair_weight: Float
    largest: Float
    spanning: SpanningParts
    n_pairs: int = 0
    n_idle_queries: int = 0
    spread: float = 0.0

    @classmethod
    def zero(cls, n_folds: int, n_columns: int, n_outputs: int) -> Statistics:
        """Return the statistics of nothing."""
        return cls(
            np.zeros((n_folds, n_columns, n_columns)),
            np.zeros((n_folds, n_columns, n_outputs)),
            np.zeros((n_folds, n_outputs)),
            np.zeros(n_folds),
            np.zeros(n_outputs),
            SpanningParts.none(n_columns, n_outputs),
        )

    @property
    def tied(self) -> NDArray[np.bool_]:
        """Which outputs have ties only, up to rounding errors."""
        rounding = 8 * np.finfo(np.float64).eps * self.largest
        ties: NDArray[np.bool_] = self.energy.sum(axis=0) <= self.pair_weight.sum() * rounding**2
        return ties

    def add(self, fold: int, Phi: Matrix, graph: Comparisons, energy: Float) -> None:
        """Add what a graph over some items gives to a fold."""
        gram, right = graph.normal_equations(Phi)
        self.gram[fold] += gram
        self.right[fold] += right
        self.energy[fold] += energy


@dataclass(frozen=True)
class Batch:
    """The checked items of one partition."""

    X: Matrix
    scores: Float
    queries: Queries
    weight: Float

    @classmethod
    def of(
        cls, learner: RankRLS, X: ItemBlock, y: ColumnBlock, qid: ColumnBlock | None, weight: ColumnBlock | None
    ) -> Batch:
        """Check one partition, as `RankRLS.partial_fit` checks a batch."""
        X = clone(learner)._check_items(X, reset=True, least=1)
        scores = check_scores(y, X.shape[0])
        columns = scores[:, None] if scores.ndim == 1 else scores
        return cls(X, columns, partition_queries(qid, X.shape[0]), item_weight(weight, X.shape[0]))

    def fold_items(self, n_folds: int) -> list[Index | slice]:
        """Return the items of each fold."""
        if n_folds == 1:
            return [slice(None)]
        fold = fold_of(self.queries.labels, n_folds)[self.queries.codes]
        return [np.flatnonzero(fold == number).astype(np.int64) for number in range(n_folds)]

    def part(self, items: Index | slice) -> Batch:
        """Return some of the items."""
        if isinstance(items, slice):
            return self
        return Batch(self.X[items], self.scores[items], self.queries.subset(items), self.weight[items])


def partition_statistics(
    number: int,
    X: ItemBlock,
    y: ColumnBlock,
    qid: ColumnBlock | None,
    weight: ColumnBlock | None,
    spanning: SpanningQueries,
    features: FeatureMap,
    learner: RankRLS,
    n_folds: int,
    n_outputs: int,
) -> Statistics:
    """Return the statistics of one partition.

    O(m r²) time for m rows; memory one block, r² numbers for each fold and r for each spanning query; with several
    folds also a copy of the rows of one.
    """
    total = Statistics.zero(n_folds, features.n_columns, n_outputs)
    if len(y) == 0 and X.shape[0] == 0:
        return total
    try:
        batch = Batch.of(learner, X, y, qid, weight)
    except ValueError as error:
        raise InvalidInputError(f"partition {number}: {error}") from error
    total.largest[:] = np.abs(batch.scores).max(axis=0)
    for fold, items in enumerate(batch.fold_items(n_folds)):
        part = batch.part(items)
        if len(part.scores) == 0:
            continue
        if mergeable(learner):
            _add_parts(total, fold, part, spanning, features, learner)
        else:
            _add_whole(total, fold, part, features, learner)
    return total


def _add_whole(total: Statistics, fold: int, batch: Batch, features: FeatureMap, learner: RankRLS) -> None:
    """Add whole queries of any cost, which make a graph of their own."""
    codes, weight = batch.queries.codes, batch.weight
    if not weight.any():
        total.n_idle_queries += len(batch.queries)
        return
    graphs, _ = learner._compare(batch.X, batch.scores, codes, weight, allow_no_comparisons=True)
    graph = graphs[0][1]
    pairs = float(graph.diagonal().sum()) / 2
    if learner.cost == "unit":
        energy = np.array([pairs])
    else:
        centred = Grouping(codes, len(batch.queries), np.ones(len(codes))).subtract_means(graph.magnitudes)
        energy = np.einsum("ij,ij->j", centred, graph.target())
    Phi = features.rows(batch.X)
    total.add(fold, Phi, graph, energy)
    total.spread += centred_trace(Phi, learner._unlabelled(batch.queries, weight))
    total.pair_weight[fold] += pairs
    total.n_pairs += graph.n_pairs
    total.n_idle_queries += graph.n_idle_queries


def _add_parts(
    total: Statistics, fold: int, batch: Batch, spanning: SpanningQueries, features: FeatureMap, learner: RankRLS
) -> None:
    """Add the scatter inside the parts of queries that this partition has, and note the means of those that span."""
    queries, weight = batch.queries, batch.weight
    mine = np.bincount(queries.codes, weights=weight, minlength=len(queries)).astype(np.float64)
    place = spanning.places(queries.labels)
    whole = mine.copy()
    whole[place >= 0] = spanning.weight[place[place >= 0]]
    uncompared = np.bincount(queries.codes, item_squares(weight), len(queries)).astype(np.float64)
    uncompared[place >= 0] = spanning.uncompared[place[place >= 0]]
    c = pair_weight(learner.query_weight, whole, uncompared)
    scale = c * whole
    Phi = features.rows(batch.X)
    graph, energy = _scaled_graph(batch.scores, queries, weight * scale[queries.codes])
    total.add(fold, Phi, graph, energy)
    total.pair_weight[fold] += float((c[queries.codes] * weight * (whole[queries.codes] - weight)).sum()) / 2
    chosen = np.flatnonzero(place >= 0)
    if len(chosen) == 0:
        return
    items, bounds = _items_of(queries, chosen)
    ones = np.ones(len(chosen), dtype=np.int64)
    means = QueryMeans.of(Phi, batch.scores, graph.weight, items, bounds)
    parts = SpanningParts(place[chosen], fold * ones, ones, spanning.n_parts[place[chosen]], means)
    total.spanning = SpanningParts.joined([total.spanning, parts])


def _scaled_graph(scores: Float, queries: Queries, weight: Float) -> tuple[ScoredQueries, Float]:
    """Return the graph whose Laplacian is the plain weighted scatter inside queries, and ``‖N‖²``."""
    graph = ScoredQueries(scores, queries, weight=weight, query_weight="items")
    centred = Grouping(queries.codes, len(queries), weight).subtract_means(graph.magnitudes)
    energy: Float = weight @ centred**2
    return graph, energy


def _items_of(queries: Queries, chosen: Index) -> tuple[Index, Index]:
    """Return the items of some queries, sorted by query, and where each query begins among them."""
    is_chosen = np.zeros(len(queries), dtype=bool)
    is_chosen[chosen] = True
    order = queries.order
    return order[is_chosen[queries.codes[order]]], np.append(0, np.cumsum(queries.sizes[chosen]))


def merge_statistics(several: list[Statistics]) -> Statistics:
    """Add up statistics; queries whose parts meet here give the scatter between the means of their parts."""
    table, folds, features, scores = SpanningParts.merged([one.spanning for one in several])
    total = Statistics(
        reduce(np.add, [one.gram for one in several]),
        reduce(np.add, [one.right for one in several]),
        reduce(np.add, [one.energy for one in several]),
        reduce(np.add, [one.pair_weight for one in several]),
        reduce(np.maximum, [one.largest for one in several]),
        table,
        sum(one.n_pairs for one in several),
        sum(one.n_idle_queries for one in several),
        sum(one.spread for one in several),
    )
    for fold in np.unique(folds):
        rows, row_scores = features[folds == fold], scores[folds == fold]
        scatter = GramSum.onto(total.gram[fold])
        scatter.add(rows)
        scatter.matrix()
        total.right[fold] += rows.T @ row_scores
        total.energy[fold] += np.einsum("ij,ij->j", row_scores, row_scores)
    return total
