"""A summary of the data: how many queries, items, levels and ties there are, and what is left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelrank.base.arrays import Float, Index, Labels
from kernelrank.base.labels import Queries

__all__ = ["DataSummary"]

FEW_LEVELS = 10
"""Up to this many levels are counted one by one."""


@dataclass(frozen=True)
class DataSummary:
    """Counts of a set of scored items.

    Parameters
    ----------
    name : str
        What the items are for.
    n_items, n_queries, n_features : int
    query_sizes : tuple of float
        The smallest, the median and the largest number of items in a query.
    n_levels : int
        How many different true scores there are.
    level_counts : list of (level, number of items), or None
        None beyond ten levels.
    level_range : tuple of float
        The lowest and the highest true score.
    n_pairs : int
        Pairs of items inside queries.
    n_tied : int
        Those of them whose true scores are the same.
    n_unscored : int
        Items without a score.
    single_item : list
        The labels of queries with one scored item, or none.
    single_level : list
        The labels of queries whose scores are all the same, with two items at least.

    Examples
    --------
    >>> summary = DataSummary.of("training", (5, 2), np.array([1.0, 2.0, 2.0, 1.0, 0.0]), ["a", "a", "a", "b", "c"])
    >>> summary.n_pairs, summary.n_tied, summary.single_item
    (3, 1, ['b', 'c'])
    """

    name: str
    n_items: int
    n_queries: int
    n_features: int
    query_sizes: tuple[float, float, float]
    n_levels: int
    level_counts: list[tuple[float, int]] | None
    level_range: tuple[float, float]
    n_pairs: int
    n_tied: int
    n_unscored: int
    single_item: list[Any]
    single_level: list[Any]

    @classmethod
    def of(cls, name: str, shape: tuple[int, int], y: Float, qid: Labels | None) -> DataSummary:
        """Count: O(m log m) time, O(m) memory.

        Parameters
        ----------
        name : str
        shape : tuple of int
            The number of items and of features.
        y : ndarray, shape (m,)
            True scores; NaN for an item without one.
        qid : sequence, shape (m,), or None

        Returns
        -------
        DataSummary
        """
        queries = Queries.from_labels(qid, len(y))
        scored = ~np.isnan(y)
        levels, level = np.unique(y[scored], return_inverse=True)
        codes = queries.codes[scored]
        sizes = np.bincount(codes, minlength=len(queries))
        # A cell is a level inside a query: the pairs of a cell are tied.
        cells, members = np.unique(codes * max(1, len(levels)) + level, return_counts=True)
        kinds = np.bincount(cells // max(1, len(levels)), minlength=len(queries))
        few = len(levels) <= FEW_LEVELS
        counts = list(zip(levels.tolist(), np.bincount(level).tolist(), strict=True)) if few else None
        named = queries.labels.tolist()
        return cls(
            name=name,
            n_items=shape[0],
            n_queries=len(queries),
            n_features=shape[1],
            query_sizes=(float(queries.sizes.min()), float(np.median(queries.sizes)), float(queries.sizes.max())),
            n_levels=len(levels),
            level_counts=counts,
            level_range=(float(levels[0]), float(levels[-1])) if len(levels) else (np.nan, np.nan),
            n_pairs=_pairs(sizes),
            n_tied=_pairs(members),
            n_unscored=int((~scored).sum()),
            single_item=[named[q] for q in np.flatnonzero(sizes < 2).tolist()],
            single_level=[named[q] for q in np.flatnonzero((sizes >= 2) & (kinds == 1)).tolist()],
        )

    @property
    def n_without_pairs(self) -> int:
        """How many queries have nothing to compare."""
        return len(self.single_item) + len(self.single_level)


def _pairs(sizes: Index) -> int:
    return int((sizes * (sizes - 1) // 2).sum())
