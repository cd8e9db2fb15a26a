"""Counts of the queries: how large each is, and which of them lie in several partitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Float, Index
from kernelrank.base.labels import Queries
from kernelrank.base.validation import check_weight
from kernelrank.comparisons.scored import item_squares
from kernelrank.dask.collection_types import ColumnBlock
from kernelrank.errors import InvalidInputError

__all__ = [
    "QueryCounts",
    "QuerySummary",
    "SpanningQueries",
    "count_queries",
    "item_weight",
    "merge_counts",
    "partition_queries",
]


@dataclass(frozen=True)
class SpanningQueries:
    """The queries that lie in several partitions.

    Parameters
    ----------
    labels : ndarray, shape (s,)
    weight : ndarray, shape (s,)
        ``W_q``, the weight of all their items together.
    uncompared : ndarray, shape (s,)
        How much of ``W_q²`` is not compared; see `kernelrank.comparisons.scored`.
    n_parts : ndarray of int64, shape (s,)
        In how many partitions each lies.
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

    Parameters
    ----------
    labels : ndarray, shape (q,)
    n_items : ndarray of int64, shape (q,)
        How many items with a positive weight each has.
    weight : ndarray, shape (q,)
        The sum of their weights.
    uncompared : ndarray, shape (q,)
        How much of its square is not compared.
    n_parts : ndarray of int64, shape (q,)
        In how many partitions each lies.
    sizes : dict
        The number of rows of each partition.
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
    """Add up the counts of some partitions.

    Examples
    --------
    >>> first = count_queries(0, [1.0, 2.0, 3.0], ["a", "a", "b"], None)
    >>> both = merge_counts([first, count_queries(1, [4.0], ["b"], None)])
    >>> both.spanning().labels, both.summary().n_pairs
    (array(['b'], dtype=object), 2)
    """
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
