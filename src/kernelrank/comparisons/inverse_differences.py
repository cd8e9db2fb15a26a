"""Inverse differences: sums of ``1 / (u_g - u_h)ᵖ`` over the different scores of each query, without Python loops.

Queries of nearly equal size are stacked, and a batch of small matrices is multiplied at once. A query with many
different scores is cut into cells (`score_tree`): cells near each other are such matrices too, and those far from each
other cost a constant time for each score.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kernelrank.base.arrays import Float, Index, blocks
from kernelrank.comparisons.score_tree import ScoreTree

__all__ = ["InverseDifferences"]

LARGE = 512
"""Queries with more different scores have a tree."""

ROUNDED = ((16, 1), (64, 8), (LARGE, 32))
"""Up to so many scores a query is filled up to a multiple of so many."""


@dataclass(frozen=True)
class _Batch:
    """Sets of scores against sets of scores, as equally large matrices.

    Parameters
    ----------
    rows, columns : ndarray of int64, shapes (sets, s), (other sets, t)
        Numbers of scores; the number of all scores where a set has fewer.
    pairs : ndarray of int64, shape (pairs, 2)
        Which set meets which, sorted by the first.
    """

    rows: Index
    columns: Index
    pairs: Index

    @property
    def entries(self) -> int:
        """The number of entries of all matrices."""
        return len(self.pairs) * int(self.rows.shape[1]) * int(self.columns.shape[1])


class InverseDifferences:
    """The scores that occur in each query.

    Parameters
    ----------
    scores : ndarray, shape (n,)
        Sorted by query and score; the scores of a query are different.
    bounds : ndarray of int64, shape (queries + 1,)
        Where each query begins, and the end of the last.
    kept : int
        Up to so many entries matrices are kept for the next sum with the same power.
    block_bytes : int
        The size of the matrices that are made at once.

    Notes
    -----
    O(Σ min(n_q², n_q)) time for each column of a sum, where large queries have a constant of some hundreds; O(n) memory
    besides what is kept.

    Examples
    --------
    >>> differences = InverseDifferences(np.array([0.0, 2.0, 1.0, 5.0]), np.array([0, 2, 4]), 100, 2**20)
    >>> differences.sums(np.ones((4, 1)), 2).ravel()
    array([0.25  , 0.25  , 0.0625, 0.0625])
    """

    def __init__(self, scores: Float, bounds: Index, kept: int, block_bytes: int) -> None:
        self.scores = scores
        self.bounds = bounds
        self._block_bytes = block_bytes
        self._keep = sum(batch.entries for batch in self._batches) <= kept
        self._kept: dict[int, list[Float]] = {}

    @cached_property
    def _trees(self) -> list[tuple[int, ScoreTree]]:
        """The trees of large queries, and where their scores begin."""
        sizes = np.diff(self.bounds)
        return [
            (int(self.bounds[q]), ScoreTree(self.scores[self.bounds[q] : self.bounds[q + 1]]))
            for q in np.flatnonzero(sizes > LARGE)
        ]

    @cached_property
    def _batches(self) -> list[_Batch]:
        """Small queries by size, and the near cells of large ones."""
        starts, sizes, n = self.bounds[:-1], np.diff(self.bounds), len(self.scores)
        batches = []
        rounded = np.zeros(len(sizes), dtype=np.int64)
        for largest, multiple in reversed(ROUNDED):
            small = sizes <= largest
            rounded[small] = -(-sizes[small] // multiple) * multiple
        for size in np.unique(rounded[rounded > 1]):
            queries = np.flatnonzero(rounded == size)
            members = starts[queries, None] + np.arange(size)
            members = np.where(np.arange(size) < sizes[queries, None], members, n)
            batches.append(_Batch(members, members, np.arange(len(queries))[:, None].repeat(2, axis=1)))
        for start, tree in self._trees:
            cells = np.where(tree.cells < len(tree.scores), start + tree.cells, n)
            batches.append(_Batch(cells, cells, tree.near_pairs))
        return batches

    def _matrices(self, power: int) -> Iterator[tuple[_Batch, slice, Float]]:
        """Yield some pairs of a batch at a time, and their matrices."""
        kept = iter(self._kept.get(power, ()))
        made = []
        padded = np.append(self.scores, np.inf)
        for batch in self._batches:
            for part in blocks(len(batch.pairs), 8 * batch.entries // len(batch.pairs), self._block_bytes):
                matrix = next(kept, None)
                if matrix is None:
                    first, second = batch.pairs[part].T
                    matrix = padded[batch.rows[first]][:, :, None] - padded[batch.columns[second]][:, None, :]
                    matrix[matrix == 0.0] = np.inf
                    np.reciprocal(matrix if power == 1 else np.square(matrix, out=matrix), out=matrix)
                    if self._keep:
                        made.append(matrix)
                yield batch, part, matrix
        if made:
            self._kept[power] = made

    @np.errstate(all="ignore")  # whoever solves the problem checks its range
    def sums(self, V: Float, power: int) -> Float:
        """Return ``Σ_h V_h / (u_g - u_h)ᵖ`` over the other scores h of each query.

        Parameters
        ----------
        V : ndarray, shape (n, k)
        power : {1, 2}

        Returns
        -------
        ndarray, shape (n, k)
        """
        total = np.zeros((len(V) + 1, V.shape[1]))
        padded = np.vstack([V, np.zeros((1, V.shape[1]))])
        for batch, part, matrix in self._matrices(power):
            first, second = batch.pairs[part].T
            products = matrix @ padded[batch.columns[second]]
            starts = np.flatnonzero(np.diff(first, prepend=-1))
            if len(starts) < len(first):
                products = np.add.reduceat(products, starts, axis=0)
            total[batch.rows[first[starts]]] += products
        for start, tree in self._trees:
            stop = start + len(tree.scores)
            total[start:stop] += tree.far_sums(V[start:stop], power)
        return total[:-1]
