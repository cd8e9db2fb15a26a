"""Products with a matrix of which some cells are known: ``(P Qᵀ)`` at the cells, and a sparse matrix times Q.

Either the cells are visited one after the other, O(l r) for l cells and r columns, or the whole matrix is formed by a
dense product, O(m₁ m₂ r): a dense product does some twenty times as many operations a second as a visit of cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from kernelrank.base.arrays import Float, Index, blocks
from kernelrank.dyads.known_cells import KnownCells
from kernelrank.dyads.one_set import symmetrised

__all__ = ["CellProducts"]

DENSE = 0.05
"""From this share of known cells on, the whole matrix is formed."""


@dataclass(frozen=True)
class CellProducts:
    """The pattern of known cells, as products need it.

    Parameters
    ----------
    cells : KnownCells
    """

    cells: KnownCells

    @property
    def dense(self) -> bool:
        """Whether whole matrices are formed."""
        return self.cells.density >= DENSE

    @cached_property
    def _flat(self) -> Index:
        return self.cells.rows * self.cells.shape[1] + self.cells.columns

    @cached_property
    def _row_starts(self) -> Index:
        counts = np.bincount(self.cells.rows, minlength=self.cells.shape[0])
        return np.concatenate([[0], np.cumsum(counts)])

    def gather(self, P: Float, Q: Float) -> Float:
        """Return the entries of ``P Qᵀ`` at the cells, (l,), for P (m₁, r) and Q (m₂, r)."""
        if self.dense:
            return np.asarray((P @ Q.T).ravel()[self._flat])
        values = np.empty(len(self.cells.rows))
        for part in blocks(len(values), 8 * P.shape[1]):
            np.einsum("ij,ij->i", P[self.cells.rows[part]], Q[self.cells.columns[part]], out=values[part])
        return values

    def scatter(self, values: Float, sign: int = 0) -> Float:
        """Return Z, (m₁, m₂), with some values at the cells and zeros elsewhere; ``(Z ± Zᵀ)/2`` by the sign."""
        matrix = np.zeros(self.cells.shape)
        matrix.ravel()[self._flat] = values
        return symmetrised(matrix, sign)

    def scatter_product(self, values: Float, Q: Float, sign: int = 0) -> Float:
        """Return the matrix of `scatter` times Q, shape (m₁, r), without forming it if few cells are known."""
        if self.dense:
            return self.scatter(values, sign) @ Q
        Z = sparse.csr_array((values, self.cells.columns, self._row_starts), shape=self.cells.shape)
        return np.asarray(Z @ Q if sign == 0 else 0.5 * (Z @ Q + sign * (Z.T @ Q)))
