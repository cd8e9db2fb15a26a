"""Pairs held out from a reduced set at one λ, with their basis items removed: constant time for each pair.

In the features ``Φ = K_MR U⁻¹`` of the basis, with ``A = Φᵀ L Φ + λ I``, ``A⁻¹ = B diag(d) Bᵀ`` and ``Q = L Φ B``, the
smoother of `kernelrank.exact_cv.pair_forms` is ``H = Q diag(d) Qᵀ`` and ``h = H y``. A model without the basis items S
has ``b_S = 0``: its weights are orthogonal to the rows S of ``U⁻¹``, which are ``β = (U⁻¹)_S B`` beside Q. The
constraint removes these directions from A⁻¹, and so

    ``H⁽ˢ⁾ = H - E_S N_SS⁻¹ E_Sᵀ``,   ``h⁽ˢ⁾ = h - E_S N_SS⁻¹ g_S``,

with ``E = Q diag(d) βᵀ`` (m × r), ``N = β diag(d) βᵀ`` and ``g = β diag(d) Qᵀ y`` for the whole basis. A pair has two
basis items at most. Cholesky's factor of ``N_SS`` turns the two corrections into squares, and then the pair is held out
as any other, ``P = L_UU - H⁽ˢ⁾_UU``.

If the basis is singular, a remaining item may span the direction of a removed one. If no remaining item depends on the
removed item, its direction is lost. For all other pairs, `KernelMap.lost_directions` computes β pair by pair, and also
for two nearly identical items, whose second direction is a difference.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from kernelrank.base.arrays import Float, Index
from kernelrank.exact_cv.basis import BasisPlaces
from kernelrank.exact_cv.decomposition import Decomposition
from kernelrank.exact_cv.item_pairs import DifferingPairs
from kernelrank.exact_cv.pair_forms import BLOCK_BYTES, SmootherPairs, store_pairs
from kernelrank.features import ReducedSet

__all__ = ["BasisPairs", "LostDirections"]

DEPENDENT = 1e-2
"""Where the squared correlation of two basis items is less than one by so little, a pair is solved by itself."""

TRUSTED = 1e-6
"""The smallest part of a direction that is orthogonal to the other one; below, a pair is left to the caller."""

PAIR_BYTES = 300
"""About what the arrays of a pair take that is held out among many."""


class LostDirections:
    """The directions that the basis no longer spans without the items of a pair, for any λ.

    Parameters
    ----------
    features : ReducedSet
    n_items : int
    keep_basis : bool
        Whether basis items stay when they are held out, so that nothing is lost.
    """

    def __init__(self, features: ReducedSet, n_items: int, *, keep_basis: bool) -> None:
        self.map = features.map
        self.rows = solve_triangular(self.map.U, np.eye(self.map.rank), check_finite=False)  # (rank, rank): U⁻¹
        self.places = BasisPlaces.of(features, n_items)
        if keep_basis:
            nowhere = np.full(n_items, -1, dtype=np.int64)
            self.places = BasisPlaces(nowhere, nowhere)
        replaced = np.abs(self.map.dependence).max(axis=1, initial=0.0) > 0.0
        self.may_be_replaced = np.append(replaced, False)[self.places.column_of]
        self._known: dict[tuple[int, int], Float | None] = {}

    def of(self, i: int, j: int) -> Float | None:
        """Return the lost directions in the features, shape (at most 2, rank), or None if rounding errors hide them."""
        if (i, j) not in self._known:
            columns, gone = self.places.columns(np.array([i, j])), self.places.left(np.array([i, j]))
            self._known[i, j] = self.map.lost_directions(columns, gone, self.rows[columns])
        return self._known[i, j]


class BasisPairs(SmootherPairs):
    """The smoother of a reduced set, from which the basis items of each pair are removed.

    Parameters
    ----------
    lost : LostDirections
    decomposition, lam, threshold, order, truth, duplicate_of
        As in `SmootherPairs`.

    Notes
    -----
    O(m r²) time for each λ, and O(r + k) for each pair.
    """

    room = np.inf

    def __init__(
        self,
        lost: LostDirections,
        decomposition: Decomposition,
        lam: float,
        threshold: float,
        order: Index,
        truth: Float,
        duplicate_of: Index,
    ) -> None:
        super().__init__(decomposition, lam, threshold, order, truth, duplicate_of)
        self.lost, self.order, self.B = lost, order, decomposition.basis
        self.rotated = decomposition.rotated
        beta = lost.rows @ self.B
        size = np.sqrt((beta**2) @ self.d)
        beta /= np.where(size > 0.0, size, 1.0)[:, None]
        # One more row and column of zeros, for items that are not in the basis.
        self.E, self.N = np.zeros((len(order), len(beta) + 1)), np.zeros((len(beta) + 1, len(beta) + 1))
        self.E[:, :-1] = (self.first * self.d) @ beta.T
        self.N[:-1, :-1] = (beta * self.d) @ beta.T
        self.g = np.vstack([(beta * self.d) @ self.rotated, np.zeros((1, self.rotated.shape[1]))])
        self.column = lost.places.column_of[order]
        self.special = lost.may_be_replaced[order]

    def all_pairs(self, pairs: DifferingPairs, agreement: Float, difference: Float) -> Index | None:
        """As in `PairForm`."""
        m, doubtful = len(pairs.order), []
        step = max(1, BLOCK_BYTES // (PAIR_BYTES * m))
        for start in range(0, int(np.searchsorted(pairs.end, m)), step):
            rows, columns = np.arange(start, min(start + step, m)), int(pairs.end[start])
            H = (self.first[rows] * self.d) @ self.second[columns:].T
            p, q = np.nonzero(np.arange(columns, m) >= pairs.end[rows][:, None])
            found, small = self._differences(rows[p], columns + q, H[p, q])
            first = int(pairs.offset[start])
            doubtful.append(np.flatnonzero(small) + first)
            truth = self.y[rows[p]] - self.y[columns + q]
            store_pairs(truth, found, slice(first, first + len(p)), agreement, difference)
        return np.concatenate(doubtful)

    def _terms(self, i: Index, j: Index, x: Float) -> tuple[Float, Float, Float, Float, Float, NDArray[np.bool_]]:
        """Return H_ij, H_ii, H_jj, h_i and h_j without the basis items of each pair, and where these are not known."""
        c_i, c_j = self.column[i], self.column[j]
        rho = self.N[c_i, c_j]
        alone = (rho * rho > 1.0 - DEPENDENT) | self.special[i] | self.special[j]
        root = np.sqrt(np.where(alone, 1.0, 1.0 - rho * rho))
        a, b, g = np.empty((2, len(i))), np.empty((2, len(i))), np.empty((2, len(i), self.g.shape[1]))
        for target, values, last in ((a, self.E[i, c_i], self.E[i, c_j]), (b, self.E[j, c_i], self.E[j, c_j])):
            target[0], target[1] = values, (last - rho * values) / root
        g[0], g[1] = self.g[c_i], (self.g[c_j] - rho[:, None] * self.g[c_i]) / root[:, None]
        unknown = np.zeros(len(i), dtype=bool)
        for place in np.flatnonzero(alone):
            unknown[place] = not self._remove_directions(int(i[place]), int(j[place]), a, b, g, int(place))
        h_i, h_j = (self.h[of] - np.einsum("cp,cpk->pk", of_pair, g) for of, of_pair in ((i, a), (j, b)))
        squares = (a * b).sum(axis=0), (a * a).sum(axis=0), (b * b).sum(axis=0)
        return x - squares[0], self.eta[i] - squares[1], self.eta[j] - squares[2], h_i, h_j, unknown

    def _remove_directions(self, i: int, j: int, a: Float, b: Float, g: Float, place: int) -> bool:
        """Fill in the corrections of a pair by what the basis loses without it; tell whether that is known."""
        for corrections in (a, b, g):
            corrections[:, place] = 0.0
        directions = self.lost.of(int(self.order[i]), int(self.order[j]))
        if directions is None or len(directions) == 0:
            return directions is not None
        root, n = np.sqrt(self.d), len(directions)
        beta = (directions @ self.B) * root
        beta /= np.linalg.norm(beta, axis=1)[:, None]
        if n == 2:  # what the second adds to the first, formed so that it keeps its digits
            beta[1] -= (beta[1] @ beta[0]) * beta[0]
            length = np.linalg.norm(beta[1])
            if length < TRUSTED:
                return False
            beta[1] /= length
            beta[1] -= (beta[1] @ beta[0]) * beta[0]
        a[:n, place], b[:n, place] = beta @ (root * self.first[i]), beta @ (root * self.first[j])
        g[:n, place] = beta @ (root[:, None] * self.rotated)
        return True
