"""Spanning parts: the part that a partition has of each query that lies in several partitions.

The scatter inside the parts of a query needs no other partition; the scatter between them needs the weights and means
of the parts only (see `kernelrank.comparisons.moments`). So r numbers for each part are passed on, not r².
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelrank.base.arrays import Float, Index
from kernelrank.comparisons.moments import QueryMeans

__all__ = ["SpanningParts"]


@dataclass(frozen=True)
class SpanningParts:
    """The parts of spanning queries that have been seen so far, one entry for each query.

    Parameters
    ----------
    code : ndarray of int64, shape (s,)
        The place of the query in the table of spanning queries.
    fold : ndarray of int64, shape (s,)
    n_parts, n_parts_in_all : ndarray of int64, shape (s,)
        How many partitions have been merged, and how many there are.
    means : QueryMeans
        Of the items seen, each with its weight times ``c_q W_q`` of the whole query.
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

        Returns
        -------
        table : SpanningParts
            One entry for each query that goes on elsewhere.
        fold : ndarray of int64, shape (l,)
        features, scores : ndarray, shapes (l, r), (l, outputs)
            Rows whose products are the scatter between the parts that met, and their folds.
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
