"""Part means: what a partition knows of the queries that go on elsewhere.

A query that lies in several partitions has its scatter as that inside its parts and that between their means. The
former needs no other partition; the latter is the scatter of the means, each an item with the weight of its part. So
r numbers for each part are passed on, not r².
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from kernelrank.arrays import Float, Index, Matrix, block_rows
from kernelrank.comparisons.grouping import Grouping

__all__ = ["PartMeans", "mean_rows"]


@dataclass(frozen=True)
class PartMeans:
    """The parts of spanning queries that have been seen so far, one entry for each query.

    Parameters
    ----------
    code : ndarray of int64, shape (s,)
        The place of the query in the table of spanning queries.
    fold : ndarray of int64, shape (s,)
    n_parts, n_parts_in_all : ndarray of int64, shape (s,)
        How many partitions have been merged, and how many there are.
    weight : ndarray, shape (s,)
        The weight of the items seen.
    scale : ndarray, shape (s,)
        ``c_q W_q``, with the weight of the whole query.
    features : ndarray, shape (s, r)
    scores : ndarray, shape (s, outputs)
        Their means, those of the scores from their origin.
    origin : ndarray, shape (s, outputs)
        What was taken from the scores.
    """

    code: Index
    fold: Index
    n_parts: Index
    n_parts_in_all: Index
    weight: Float
    scale: Float
    features: Float
    scores: Float
    origin: Float

    @classmethod
    def none(cls, n_columns: int, n_outputs: int) -> PartMeans:
        """Return the table of no query."""
        whole, real, scores = np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros((0, n_outputs))
        return cls(whole, whole, whole, whole, real, real, np.zeros((0, n_columns)), scores, scores)

    @classmethod
    def joined(cls, tables: list[PartMeans]) -> PartMeans:
        """Put tables one below the other."""
        return cls(*(np.concatenate([getattr(table, field.name) for table in tables]) for field in fields(cls)))

    def __len__(self) -> int:
        return len(self.code)

    def rows(self, chosen: Index) -> PartMeans:
        """Return some entries."""
        return PartMeans(*(getattr(self, field.name)[chosen] for field in fields(self)))

    def from_one_origin(self) -> Float:
        """Return the mean scores, those of each query from the origin of its first part."""
        _, first, codes = np.unique(self.code, return_index=True, return_inverse=True)
        scores: Float = self.scores + (self.origin - self.origin[first][codes])
        return scores

    def merged(self) -> PartMeans:
        """Return one entry for each query; queries that are complete have nothing left to give."""
        if len(self) == 0:
            return self
        _, first, codes = np.unique(self.code, return_index=True, return_inverse=True)
        groups = Grouping(codes, len(first), self.weight)
        n_parts = np.bincount(codes, weights=self.n_parts, minlength=len(first)).astype(np.int64)
        together = PartMeans(
            self.code[first],
            self.fold[first],
            n_parts,
            self.n_parts_in_all[first],
            groups.total,
            self.scale[first],
            groups.means(self.features),
            groups.means(self.from_one_origin()),
            self.origin[first],
        )
        return together.rows(np.flatnonzero(n_parts < together.n_parts_in_all))


def mean_rows(Phi: Matrix, items: Index, codes: Index, count: int, weight: Float) -> Float:
    """Return the weighted means of the rows of groups (count × r), a block of rows at a time.

    Parameters
    ----------
    Phi : array, shape (m, r)
        Anything whose rows can be taken.
    items : ndarray of int64, shape (k,)
        The rows that belong to a group, sorted by group.
    codes : ndarray of int64, shape (k,)
        Their groups, from 0 to `count` - 1, ascending.
    count : int
    weight : ndarray, shape (k,)
        Their weights; a group without weight has mean zero.

    Notes
    -----
    O(k r) time; memory count × r and one block.
    """
    sums = np.zeros((count, Phi.shape[1]))
    step = block_rows(Phi.shape[1])
    for start in range(0, len(items), step):
        part = slice(start, start + step)
        rows = Phi[items[part]]
        dense = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)
        starts = np.flatnonzero(np.diff(codes[part], prepend=-1))
        sums[codes[part][starts]] += np.add.reduceat(dense * weight[part][:, None], starts, axis=0)
    total = np.bincount(codes, weights=weight, minlength=count)
    return sums / np.where(total > 0, total, 1.0)[:, None]
