"""The statistics of partitions: sums over queries that add up, whichever partition each item lies in.

With ``ω_q = c_q W_q`` from the counts of all partitions, a query gives ``ω_q S_q`` to ``Φᵀ L Φ``, where S_q is its
scatter, and ``ω_q s_q`` to ``Φᵀ M N``. Its scatter is the sum of those inside its parts and of that between their
means (see `spanning_parts`), so a partition gives ``ω_q`` times the former for all its queries, and the means of the
queries that go on elsewhere. These are the statistics of `RankRLS.partial_fit`, fold by fold, and with them

    ``‖N - Mᵀ f‖² = wᵀ (Φᵀ L Φ) w - 2 wᵀ (Φᵀ M N) + ‖N‖²``  for ``f = Φ w``,

the squared error over the pairs of a fold, for any w and without its items.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import reduce
from hashlib import blake2b
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from kernelrank.base.arrays import Float, GramSum, Index, Matrix
from kernelrank.base.labels import Grouping, Queries
from kernelrank.base.validation import check_scores, check_weight
from kernelrank.comparisons import Comparisons, ScoredQueries
from kernelrank.comparisons.costs import resolved_cost
from kernelrank.comparisons.moments import QueryMeans
from kernelrank.comparisons.scored import item_squares, pair_weight
from kernelrank.dask.partitions import ColumnBlock, ItemBlock, Partitions
from kernelrank.errors import InvalidInputError
from kernelrank.estimators import RankRLS
from kernelrank.features import KernelMap, KernelRows, basis_stream, choose_basis
from kernelrank.model_selection.alpha_grid import centred_trace


def mergeable(learner: RankRLS) -> bool:
    """Whether a query may lie in several partitions, because its statistics are means and scatters."""
    return resolved_cost(learner.cost) == "magnitude" and learner.ties == "include"


@dataclass
class Statistics:
    """What the queries of some partitions give.

    Shapes: gram (folds, r, r), right (folds, r, outputs), energy (folds, outputs), pair_weight (folds,), largest
    (outputs,).

    energy: ``‖N‖²``, the squared error of a model that says nothing.
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


# Query counts ---------------------------------------------------------------------------------------------------------
#
# Counts of the queries: how large each is, and which of them lie in several partitions.


@dataclass(frozen=True)
class SpanningQueries:
    """The queries that lie in several partitions.

    Shapes: labels (s,), weight (s,), uncompared (s,), n_parts (s,).
    """

    labels: NDArray[Any]
    weight: Float
    uncompared: Float
    n_parts: Index

    def places(self, labels: NDArray[Any]) -> Index:
        """Return the position of each of some distinct labels, -1 if it is absent; O(s + len(labels))."""
        places = np.full(len(labels), -1, dtype=np.int64)
        if len(self.labels) and len(labels):
            codes = Queries.from_labels(_joined([self.labels, labels]), len(self.labels) + len(labels)).codes
            mine = codes[len(self.labels) :]
            # The labels of this table are distinct and come first, so their codes are their places.
            places[mine < len(self.labels)] = mine[mine < len(self.labels)]
        return places


@dataclass(frozen=True)
class QuerySummary:
    """What is sent to the client: counts, the number of rows of each partition, and one query in several of them."""

    n_queries: int
    n_idle_queries: int
    n_pairs: int
    n_spanning: int
    example: Any
    sizes: Index


@dataclass(frozen=True)
class QueryCounts:
    """The queries of one or more partitions.

    Shapes: labels (q,), n_items (q,), weight (q,), uncompared (q,), n_parts (q,).
    """

    labels: NDArray[Any]
    n_items: Index
    weight: Float
    uncompared: Float
    n_parts: Index
    sizes: dict[int, int]

    def spanning(self) -> SpanningQueries:
        """Return the queries that lie in several partitions."""
        several = self.n_parts > 1
        return SpanningQueries(
            self.labels[several], self.weight[several], self.uncompared[several], self.n_parts[several]
        )

    def summary(self) -> QuerySummary:
        """Return what is sent to the client."""
        several = np.flatnonzero(self.n_parts > 1)
        pairs = self.n_items * (self.n_items - 1) // 2
        return QuerySummary(
            len(self.labels),
            int((pairs == 0).sum()),
            int(pairs.sum()),
            len(several),
            self.labels[several[0]] if len(several) else None,
            np.array([self.sizes[number] for number in sorted(self.sizes)], dtype=np.int64),
        )


def count_queries(
    number: int, y: ColumnBlock | None, qid: ColumnBlock | None, weight: ColumnBlock | None
) -> QueryCounts:
    """Count the items of the queries of one partition: O(m) time, or O(m log m) where its queries are scattered.

    Scores are looked at for their number only, and only without labels.
    """
    try:
        counted = y if qid is None else qid
        assert counted is not None, "y is left out only where there are labels to count"
        n_rows = len(counted)
        queries = partition_queries(qid, n_rows)
        weights = None if weight is None else item_weight(weight, n_rows)
    except ValueError as error:
        raise InvalidInputError(f"partition {number}: {error}") from error
    taking_part = None if weights is None else weights > 0
    count = np.bincount(queries.codes, weights=taking_part, minlength=len(queries)).astype(np.int64)
    total = np.bincount(queries.codes, weights=weights, minlength=len(queries)).astype(np.float64)
    squares = None if weights is None else item_squares(weights)
    uncompared = np.bincount(queries.codes, weights=squares, minlength=len(queries)).astype(np.float64)
    return QueryCounts(
        queries.labels, count, total, uncompared, np.ones(len(queries), dtype=np.int64), {number: n_rows}
    )


def merge_counts(several: list[QueryCounts]) -> QueryCounts:
    """Add up the counts of some partitions."""
    labels = _joined([one.labels for one in several])
    queries = Queries.from_labels(labels, len(labels))

    def added(values: list[NDArray[Any]]) -> Float:
        return np.bincount(queries.codes, weights=np.concatenate(values), minlength=len(queries)).astype(np.float64)

    return QueryCounts(
        queries.labels,
        added([one.n_items for one in several]).astype(np.int64),
        added([one.weight for one in several]),
        added([one.uncompared for one in several]),
        added([one.n_parts for one in several]).astype(np.int64),
        {number: size for one in several for number, size in one.sizes.items()},
    )


def partition_queries(qid: ColumnBlock | None, n_items: int) -> Queries:
    """Return the queries of one partition; without labels all partitions are one query, called 0."""
    if qid is None:
        return Queries(np.zeros(n_items, dtype=np.int64), np.zeros(min(n_items, 1), dtype=np.int64))
    return Queries.from_labels(qid, n_items)


def item_weight(weight: ColumnBlock | None, n_items: int) -> Float:
    """Return the weights of the items of one partition, which may all be zero there; one unless given."""
    if weight is None:
        return np.ones(n_items)
    if n_items and len(weight) == n_items and not np.any(np.asarray(weight)):
        return np.zeros(n_items)
    checked = check_weight(weight, n_items)
    assert checked is not None
    return checked


def _joined(labels: list[NDArray[Any]]) -> NDArray[Any]:
    """Put labels one after the other without letting NumPy merge types (1 is not "1")."""
    parts = [part for part in labels if len(part)]
    if len({part.dtype.kind for part in parts}) > 1:
        parts = [part.astype(object) for part in parts]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


# Spanning parts -------------------------------------------------------------------------------------------------------
#
# Spanning parts: the part that a partition has of each query that lies in several partitions.
#
# The scatter inside the parts of a query needs no other partition; the scatter between them needs the weights and means
# of the parts only (see `kernelrank.comparisons.moments`). So r numbers for each part are passed on, not r².


@dataclass(frozen=True)
class SpanningParts:
    """The parts of spanning queries that have been seen so far, one entry for each query.

    Shapes: code (s,), fold (s,), n_parts, n_parts_in_all (s,).
    """

    code: Index
    fold: Index
    n_parts: Index
    n_parts_in_all: Index
    means: QueryMeans

    @classmethod
    def none(cls, n_columns: int, n_outputs: int) -> SpanningParts:
        """Return an empty table."""
        whole = np.zeros(0, dtype=np.int64)
        return cls(whole, whole, whole, whole, QueryMeans.none(0, n_columns, n_outputs))

    @classmethod
    def joined(cls, tables: list[SpanningParts]) -> SpanningParts:
        """Concatenate tables."""
        return cls(
            np.concatenate([table.code for table in tables]),
            np.concatenate([table.fold for table in tables]),
            np.concatenate([table.n_parts for table in tables]),
            np.concatenate([table.n_parts_in_all for table in tables]),
            QueryMeans.joined([table.means for table in tables]),
        )

    @classmethod
    def merged(cls, tables: list[SpanningParts]) -> tuple[SpanningParts, Index, Float, Float]:
        """Merge tables; queries that are complete then have nothing left to give.

        Shapes: returns fold (l,).
        """
        every = cls.joined(tables)
        codes, first, queries = np.unique(every.code, return_index=True, return_inverse=True)
        means = QueryMeans.none(len(codes), every.means.features.shape[1], every.means.scores.shape[1])
        between, stop = [], 0
        for table in tables:
            start, stop = stop, stop + len(table.code)
            mine = queries[start:stop]
            met = means.weight[mine] > 0
            between.append((table.fold[met], *(rows[met] for rows in means.merge(table.means, mine))))
        n_parts = np.bincount(queries, weights=every.n_parts, minlength=len(codes)).astype(np.int64)
        going_on = np.flatnonzero(n_parts < every.n_parts_in_all[first])
        places = first[going_on]
        kept = (every.code[places], every.fold[places], n_parts[going_on], every.n_parts_in_all[places])
        fold, features, scores = (np.concatenate(column) for column in zip(*between, strict=True))
        return cls(*kept, means.rows(going_on)), fold, features, scores


# Feature map ----------------------------------------------------------------------------------------------------------
#
# The features of partitions: their columns, or the kernels of a basis that was chosen among all of them.


@dataclass(frozen=True)
class FeatureMap:
    """How the rows of a partition become features.

    Shapes: items (r, n).
    """

    n_columns: int
    map: KernelMap | None = None
    items: Matrix = None

    def rows(self, X: Matrix) -> Matrix:
        """Return the features of some items, computed on demand."""
        return X if self.map is None else KernelRows(self.map, X, self.items)

    def coefficients(self, w: Float) -> Float:
        """Return the coefficients that predict: of the columns, or of all basis items."""
        return w if self.map is None else self.map.coefficients(w)


@dataclass(frozen=True)
class Basis:
    """The basis items, and their numbers among all items if they are among them."""

    items: Matrix
    numbers: Index | None


def choose_map(
    learner: RankRLS, partitions: Partitions, sizes: Index, gather: Callable[..., list[Any]]
) -> tuple[FeatureMap, Basis | None]:
    """Return the features of a linear learner, or those of a basis.

    A number of basis items is drawn uniformly among all items, as `RankRLS` draws it; the partitions that have one are
    read once for that. Items that are given themselves are taken as they are.
    """
    if learner.basis is None:
        return FeatureMap(partitions.n_features), None
    if isinstance(learner.basis, Integral) or np.ndim(learner.basis) == 1:
        given = int(learner.basis) if isinstance(learner.basis, Integral) else np.asarray(learner.basis)
        numbers = choose_basis(given, int(sizes.sum()), basis_stream(learner.random_state))
        basis = Basis(_fetched(partitions, numbers, sizes, gather), numbers)
    else:
        basis = Basis(learner.basis, None)
    items = learner._check_items(basis.items, reset=True, least=1)
    if basis.numbers is None:
        items = items.copy()  # a model keeps them, and those given are the caller's
    kernel_map = KernelMap.of(learner._kernel(), learner._kernel().matrix(items))
    return FeatureMap(kernel_map.rank, kernel_map, items[kernel_map.taken]), Basis(items, basis.numbers)


def _fetched(partitions: Partitions, numbers: Index, sizes: Index, gather: Callable[..., list[Any]]) -> Matrix:
    """Bring some rows here, in the order of their numbers."""
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    home = np.searchsorted(bounds, numbers, side="right") - 1
    places = {int(partition): np.flatnonzero(home == partition) for partition in np.unique(home)}
    wanted = {partition: numbers[place] - bounds[partition] for partition, place in places.items()}
    tasks = partitions.each(_take, ("X",), (wanted,))
    pieces = gather(*(tasks[partition] for partition in places))
    order = np.argsort(np.concatenate(list(places.values())), kind="stable")
    return (sparse.vstack(pieces, format="csr") if sparse.issparse(pieces[0]) else np.concatenate(pieces))[order]


def _take(number: int, X: ItemBlock, wanted: dict[int, Index]) -> Matrix:
    rows = wanted[number]
    return X.iloc[rows].to_numpy() if hasattr(X, "iloc") else X[rows]


# Folds ----------------------------------------------------------------------------------------------------------------
#
# Folds of queries, by a hash of their labels: every partition computes the fold of a query by itself.


def fold_of(labels: NDArray[Any], n_folds: int) -> Index:
    """Return the fold of each query; the same label has the same fold in any partition, process or run.

    O(q) time. Folds are about as large as any other where there are many queries.

    Shapes: labels (q,); returns (q,).
    """
    if labels.dtype == object and all(isinstance(label, int) for label in labels):
        labels = np.array(labels.tolist(), dtype=np.int64) if _fits(labels) else labels
    if labels.dtype.kind in "iub":
        return (_mixed(labels) % np.uint64(n_folds)).astype(np.int64)
    return np.array([_hash(label) % n_folds for label in labels.tolist()], dtype=np.int64)


def _fits(labels: NDArray[Any]) -> bool:
    return all(-(2**63) <= label < 2**63 for label in labels)


def _mixed(labels: NDArray[Any]) -> NDArray[np.uint64]:
    """Return splitmix64 of integers."""
    z = labels.astype(np.int64).view(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _hash(label: Hashable) -> int:
    # 1.0 is the same label as 1.
    text = repr(int(label)) if isinstance(label, float) and label.is_integer() else repr(label)
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
