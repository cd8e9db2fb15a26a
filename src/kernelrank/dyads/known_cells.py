"""The known cells of a matrix of scores: where, which score, and how often it was observed.

A dyad that is observed n times with the mean score ȳ has ``Σ (y - f)² = n (ȳ - f)² + constant``, so that its
observations are one cell with the weight n.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Float, Index
from kernelrank.errors import InvalidInputError

__all__ = ["KnownCells", "OutputCells"]


@dataclass(frozen=True)
class KnownCells:
    """Known cells, row by row, each of them once.

    Parameters
    ----------
    shape : tuple of int
        m₁ and m₂.
    rows, columns : ndarray of int, shape (l,)
        Where they are; ascending by row, then by column.
    y : ndarray, shape (l, outputs)
        Their mean scores.
    count : ndarray, shape (l,)
        How often each was observed.

    Examples
    --------
    >>> cells = KnownCells.of_list((2, 2), np.array([1, 0, 1]), np.array([0, 1, 0]), np.array([[2.0], [5.0], [4.0]]))
    >>> cells.rows, cells.columns, cells.y[:, 0], cells.count
    (array([0, 1]), array([1, 0]), array([5., 3.]), array([1., 2.]))
    """

    shape: tuple[int, int]
    rows: Index
    columns: Index
    y: Float
    count: Float

    @property
    def density(self) -> float:
        """The share of the cells that are known."""
        return len(self.rows) / (self.shape[0] * self.shape[1])

    @property
    def complete(self) -> bool:
        """Whether every cell is known, each as often as any other: once."""
        return len(self.rows) == self.shape[0] * self.shape[1] and bool(np.all(self.count == 1.0))

    def without(self, leaving: NDArray[np.bool_]) -> KnownCells:
        """Return the cells that are not held out, given a mask (m₁, m₂)."""
        kept = ~leaving[self.rows, self.columns]
        if not kept.any():
            raise InvalidInputError("a training fold has no known score: use more folds")
        return KnownCells(self.shape, self.rows[kept], self.columns[kept], self.y[kept], self.count[kept])

    @classmethod
    def of_list(cls, shape: tuple[int, int], rows: Index, columns: Index, y: Float) -> KnownCells:
        """Collect a list of dyads in any order, with repetitions; O(l log l) time."""
        keys = rows * shape[1] + columns
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        first = np.flatnonzero(np.diff(keys, prepend=-1))
        count = np.diff(first, append=len(keys)).astype(np.float64)
        sums = np.add.reduceat(y[order], first, axis=0) if len(first) else y
        cells = keys[first]
        return cls(shape, cells // shape[1], cells % shape[1], sums / count[:, None], count)

    @classmethod
    def of_matrix(cls, Y: Float) -> KnownCells:
        """Return the cells of a matrix (m₁, m₂, outputs) whose outputs know the same cells; NaN is unknown."""
        rows, columns = np.nonzero(~np.isnan(Y[:, :, 0]))
        return cls((Y.shape[0], Y.shape[1]), rows, columns, Y[rows, columns], np.ones(len(rows)))

    @classmethod
    def by_output(cls, Y: Float) -> Iterator[OutputCells]:
        """Return the cells of a matrix, for each set of outputs that know the same ones."""
        patterns: dict[bytes, list[int]] = {}
        for k in range(Y.shape[2]):
            patterns.setdefault(np.packbits(np.isnan(Y[:, :, k])).tobytes(), []).append(k)
        for outputs in patterns.values():
            yield np.array(outputs), cls.of_matrix(Y[:, :, outputs])


OutputCells: TypeAlias = tuple[Index, KnownCells]
"""Numbers of outputs, and the cells that they know."""
