"""Pairs held out at one λ, constant time for each: two forms of one 2 × 2 system, and their compiled loops.

* **Residuals**: ``Γ_UU r = e_U`` and ``f_i - f_j = (y_i - y_j) - (r_i - r_j)``, for the dual form while λ is at most
  the trace of the problem's matrix. Γ is a sum of positive terms.
* **Smoother**: with ``H = L - λ Γ``, that is ``Q diag(d) Qᵀ`` in the primal and ``Q diag(μ / (μ + λ)) Qᵀ`` in the dual,
  ``P = L_UU - H_UU`` and ``h = H y``,

      ``f_U + b' = y_U - P⁻¹(L_U y - h_U) = P⁻¹(h_U - H_UU y_U - L_{U,rest} y_rest)``.

  With an intercept, ``L_{U,rest} y_rest = -w_U s`` and ``L_UU 1 = ρ w_U``, so that the last term only moves y by
  ``s / ρ``, the weighted mean ȳ' of the scores that remain, and adds a constant:
  ``f_i - f_j = [1, -1] P⁻¹(h_U - H_UU (y_U - ȳ'))``; without one, ȳ' = 0. Nothing here is larger than f itself, which
  is what a large λ needs, where f is tiny beside y. In the primal every λ takes this form; there P is a difference that
  loses digits for a pair that alone carries a direction of the features. Such pairs are told by a tiny determinant, and
  left to the caller.

Items are numbered by their place in descending order of the scores. Row p of a block is item ``start + p``, column q is
item ``columns + q``. Both loops add pairs in the right order less those in the wrong order to `agreement`, and store
the differences unless `difference` has no room for them. The innermost loops have no branches, so that several pairs
are held out at a time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernelrank.arrays import Float, Index, blocks
from kernelrank.comparisons.scored_comparisons import ScoredComparisons
from kernelrank.compiled import compiled
from kernelrank.exact_cv.decomposition import Decomposition
from kernelrank.exact_cv.dual_inverse import DualInverse
from kernelrank.exact_cv.item_pairs import DifferingPairs

__all__ = ["BLOCK_BYTES", "ResidualPairs", "SmootherPairs", "store_pairs"]

BLOCK_BYTES = 2**24
"""The size of a block of Γ or H."""

ROOM = 1000
"""How many pairs may be left to the caller."""


class ResidualPairs:
    """The form with Γ, whether it is a matrix or a product, and whatever has left it.

    Parameters
    ----------
    inverse : DualInverse
        Its items in the order of the pairs.
    order : ndarray of int64, shape (m,)
        The order of the items in which pairs are told.
    truth : ndarray, shape (m, k)
    duplicate_of : ndarray of int64, shape (m,)
        The same for items with the same row; -1 for those that are alone.
    """

    def __init__(self, inverse: DualInverse, order: Index, truth: Float, duplicate_of: Index) -> None:
        self.inverse = inverse
        self.e = np.ascontiguousarray(inverse.coefficients)
        self.y = np.ascontiguousarray(truth[order])
        self.diagonal = inverse.diagonal()
        self.duplicate_of = duplicate_of[order]

    def all_pairs(self, pairs: DifferingPairs, agreement: Float, difference: Float) -> Index | None:
        """As in `PairForm`."""
        offset = pairs.offset
        known = self.diagonal, np.ascontiguousarray(self.e.T), np.ascontiguousarray(self.y.T), self.duplicate_of
        found = np.empty(len(self.diagonal))
        for rows in _row_blocks(pairs):
            columns = int(pairs.end[rows.start])
            part = self.inverse.rows(rows, slice(columns, None))
            _pairs_by_residuals(part, rows.start, columns, pairs.end, offset, *known, agreement, difference, found)
        return np.zeros(0, dtype=np.int64)

    def listed(self, pairs: Index, agreement: Float, difference: Float) -> Index | None:
        """As in `PairForm`."""
        for rows in blocks(len(pairs), 16 * len(self.diagonal), BLOCK_BYTES):
            i, j = pairs[rows, 0], pairs[rows, 1]
            g = self.inverse.entries(i, j)[:, None]
            gamma_i, gamma_j = self.diagonal[i][:, None], self.diagonal[j][:, None]
            determinant = gamma_i * gamma_j - g * g
            determinant[determinant == 0.0] = np.inf
            missed = ((gamma_j + g) * self.e[i] - (g + gamma_i) * self.e[j]) / determinant
            found = self.y[i] - self.y[j] - missed
            found[_alike(self.duplicate_of, i, j)] = 0.0
            store_pairs(self.y[i] - self.y[j], found, rows, agreement, difference)
        return np.zeros(0, dtype=np.int64)


class SmootherPairs:
    """The form with H.

    Parameters
    ----------
    decomposition : Decomposition
    lam : float
    threshold : float
        The relative determinant below which a pair is left to the caller.
    order, truth, duplicate_of
        As in `ResidualPairs`.
    """

    room: float = ROOM
    """How many pairs may be left to the caller."""

    def __init__(
        self,
        decomposition: Decomposition,
        lam: float,
        threshold: float,
        order: Index,
        truth: Float,
        duplicate_of: Index,
    ) -> None:
        graph = decomposition.graph
        assert isinstance(graph, ScoredComparisons)
        first, second, self.d = decomposition.smoother(lam)
        self.threshold = threshold
        self.first = first[order]
        self.second = self.first if second is first else second[order]
        self.h = np.ascontiguousarray(((first * self.d) @ decomposition.rotated)[order])
        self.weight = graph.weight[order]
        self.share = 0.0 if graph.queries is None else 1.0 / float(self.weight.sum())
        y = truth[order]
        self.y = np.ascontiguousarray(y - self.share * (self.weight @ y))
        self.duplicate_of = duplicate_of[order]
        self.eta: Float = np.einsum("is,is,s->i", self.first, self.second, self.d, optimize=True)

    def all_pairs(self, pairs: DifferingPairs, agreement: Float, difference: Float) -> Index | None:
        """As in `PairForm`."""
        offset = pairs.offset
        h, y = np.ascontiguousarray(self.h.T), np.ascontiguousarray(self.y.T)
        known = self.eta, h, y, self.weight, self.share, self.duplicate_of, agreement, difference, self.threshold
        doubtful, n_doubtful = np.empty(ROOM, dtype=np.int64), 0
        diagonal, room = self.weight * (1.0 - self.share * self.weight) - self.eta, np.empty((2, len(self.eta)))
        for rows in _row_blocks(pairs):
            columns = int(pairs.end[rows.start])
            H = (self.first[rows] * self.d) @ self.second[columns:].T
            n_doubtful = _pairs_by_smoother(
                H, rows.start, columns, pairs.end, offset, *known, doubtful, n_doubtful, diagonal, *room
            )
        return doubtful[:n_doubtful] if n_doubtful <= ROOM else None

    def listed(self, pairs: Index, agreement: Float, difference: Float) -> Index | None:
        """As in `PairForm`."""
        doubtful = []
        for rows in blocks(len(pairs), 16 * self.first.shape[1], BLOCK_BYTES):
            i, j = pairs[rows, 0], pairs[rows, 1]
            found, small = self._differences(i, j, (self.first[i] * self.second[j]) @ self.d)
            doubtful.append(np.flatnonzero(small) + rows.start)
            store_pairs(self.y[i] - self.y[j], found, rows, agreement, difference)
        places = np.concatenate(doubtful)
        return places if len(places) <= self.room else None

    def _terms(self, i: Index, j: Index, x: Float) -> tuple[Float, Float, Float, Float, Float, NDArray[np.bool_]]:
        """Return H_ij, H_ii, H_jj, h_i and h_j of some pairs with H_ij = x, and which of them are not known."""
        return x, self.eta[i], self.eta[j], self.h[i], self.h[j], np.zeros(len(i), dtype=bool)

    def _differences(self, i: Index, j: Index, x: Float) -> tuple[Float, NDArray[np.bool_]]:
        """Return the differences of some pairs, shape (pairs, k), and which of them have lost digits."""
        x, eta_i, eta_j, h_i, h_j, unknown = self._terms(i, j, x)
        w_i, w_j = self.weight[i], self.weight[j]
        P_ii, P_jj = w_i * (1.0 - self.share * w_i) - eta_i, w_j * (1.0 - self.share * w_j) - eta_j
        P_ij = -self.share * w_i * w_j - x
        determinant = P_ii * P_jj - P_ij * P_ij
        small = (determinant < self.threshold * w_i * w_j) | unknown
        determinant[small | (determinant == 0.0)] = np.inf
        y_i, y_j = self.y[i], self.y[j]
        x, eta_i, eta_j, w_i, w_j = (values[:, None] for values in (x, eta_i, eta_j, w_i, w_j))
        centre = -self.share / (1.0 - self.share * (w_i + w_j)) * (w_i * y_i + w_j * y_j)
        z_i = h_i - eta_i * (y_i - centre) - x * (y_j - centre)
        z_j = h_j - x * (y_i - centre) - eta_j * (y_j - centre)
        found = (P_jj + P_ij)[:, None] * z_i - (P_ij + P_ii)[:, None] * z_j
        found /= determinant[:, None]
        found[_alike(self.duplicate_of, i, j)] = 0.0
        return found, small


def _alike(duplicate_of: Index, i: Index, j: Index) -> NDArray[np.bool_]:
    """Tell which pairs are of two items with the same row."""
    return np.asarray((duplicate_of[i] >= 0) & (duplicate_of[i] == duplicate_of[j]))


def store_pairs(truth: Float, found: Float, rows: slice, agreement: Float, difference: Float) -> None:
    """Store the differences of some pairs (pairs, k), if there is room, and add their agreement with the truth."""
    if difference.shape[1] > 0:
        difference[:, rows] = found.T
    agreement += (np.sign(found) * np.sign(truth)).sum(axis=0)


def _row_blocks(pairs: DifferingPairs) -> list[slice]:
    """Cut the rows that have partners: into four blocks or more, so that few needless columns are formed."""
    m = len(pairs.order)
    rows = int(np.searchsorted(pairs.end, m))
    step = max(1, min(-(-rows // 4), BLOCK_BYTES // (8 * m)))
    return [slice(start, min(start + step, rows)) for start in range(0, rows, step)]


@compiled
def _pairs_by_residuals(
    G: Float,
    start: int,
    columns: int,
    end: Index,
    offset: Index,
    gamma: Float,
    e: Float,
    y: Float,
    duplicate_of: Index,
    agreement: Float,
    difference: Float,
    found: Float,
) -> None:
    """Hold out the pairs of a block of rows of Γ.

    Parameters
    ----------
    G : ndarray, shape (rows, m - columns)
        The block.
    start, columns : int
    end, offset : ndarray of int64, shape (m,)
        Where the partners of each item begin, and where its differences are stored.
    gamma : ndarray, shape (m,)
        The diagonal of Γ.
    e, y : ndarray, shape (k, m)
        ``Γ y`` and the scores.
    duplicate_of : ndarray of int64, shape (m,)
        The same for items with the same row, whose difference is zero; -1 for those that are alone.
    agreement : ndarray, shape (k,)
    difference : ndarray, shape (k, pairs) or (k, 0)
    found : ndarray, shape (m,)
        Room for the differences of one item.
    """
    k, m = y.shape
    store = difference.shape[1] > 0
    for p in range(G.shape[0]):
        i = start + p
        first = end[i]
        for c in range(k):
            for j in range(first, m):
                g = G[p, j - columns]
                missed = (gamma[j] + g) * e[c, i] - (g + gamma[i]) * e[c, j]
                determinant = gamma[i] * gamma[j] - g * g
                # Zero where rounding took all digits, of items with the same row above all.
                found[j] = y[c, i] - y[c, j] - missed / (determinant + int(determinant == 0.0))
            if duplicate_of[i] >= 0:
                for j in range(first, m):
                    if duplicate_of[j] == duplicate_of[i]:
                        found[j] = 0.0
            right = 0
            for j in range(first, m):
                sign = found[j] * (y[c, i] - y[c, j])
                right += int(sign > 0.0) - int(sign < 0.0)
            agreement[c] += right
            if store:
                for j in range(first, m):
                    difference[c, offset[i] + j - first] = found[j]


@compiled
def _pairs_by_smoother(
    H: Float,
    start: int,
    columns: int,
    end: Index,
    offset: Index,
    eta: Float,
    h: Float,
    y: Float,
    weight: Float,
    share: float,
    duplicate_of: Index,
    agreement: Float,
    difference: Float,
    threshold: float,
    doubtful: Index,
    n_doubtful: int,
    diagonal: Float,
    found: Float,
    determinant: Float,
) -> int:
    """Hold out the pairs of a block of rows of the smoother ``H = L - λ Γ``; return the new number of doubtful ones.

    Parameters
    ----------
    H : ndarray, shape (rows, m - columns)
        The block.
    start, columns : int
    end, offset : ndarray of int64, shape (m,)
        Where the partners of each item begin, and where its differences are stored.
    eta : ndarray, shape (m,)
        The diagonal of H.
    h, y : ndarray, shape (k, m)
        ``H y`` and the scores, which have the weighted mean zero if there is an intercept.
    weight : ndarray, shape (m,)
    share : float
        One over the total weight if there is an intercept, else zero.
    duplicate_of : ndarray of int64, shape (m,)
        The same for items with the same row, whose difference is zero; -1 for those that are alone.
    agreement : ndarray, shape (k,)
    difference : ndarray, shape (k, pairs) or (k, 0)
    threshold : float
        A pair whose determinant is smaller than this beside its weights has lost digits: it is not counted but noted.
    doubtful : ndarray of int64, shape (room,)
        The numbers of such pairs, as far as there is room.
    n_doubtful : int
        How many there are already.
    diagonal : ndarray, shape (m,)
        The diagonal of P.
    found, determinant : ndarray, shape (m,)
        Room for the differences of one item and for their determinants.
    """
    k, m = y.shape
    store = difference.shape[1] > 0
    for p in range(H.shape[0]):
        i = start + p
        first = end[i]
        small = 0
        for j in range(first, m):
            g = -share * weight[i] * weight[j] - H[p, j - columns]
            determinant[j] = diagonal[i] * diagonal[j] - g * g
            small += int(determinant[j] < threshold * weight[i] * weight[j])
            determinant[j] += int(determinant[j] == 0.0) * 1e-30 * weight[i] * weight[j]
        for c in range(k):
            for j in range(first, m):
                x = H[p, j - columns]
                g = -share * weight[i] * weight[j] - x
                rest = share * (weight[i] * y[c, i] + weight[j] * y[c, j]) / (1.0 - share * (weight[i] + weight[j]))
                u_i, u_j = y[c, i] + rest, y[c, j] + rest
                z_i = h[c, i] - eta[i] * u_i - x * u_j
                z_j = h[c, j] - x * u_i - eta[j] * u_j
                found[j] = ((diagonal[j] + g) * z_i - (g + diagonal[i]) * z_j) / determinant[j]
            if duplicate_of[i] >= 0:
                for j in range(first, m):
                    if duplicate_of[j] == duplicate_of[i]:
                        found[j] = 0.0
            right = 0
            for j in range(first, m):
                sign = found[j] * (y[c, i] - y[c, j])
                right += int(sign > 0.0) - int(sign < 0.0)
            if small > 0:
                for j in range(first, m):
                    if determinant[j] < threshold * weight[i] * weight[j]:
                        sign = found[j] * (y[c, i] - y[c, j])
                        right -= int(sign > 0.0) - int(sign < 0.0)
            agreement[c] += right
            if store:
                for j in range(first, m):
                    difference[c, offset[i] + j - first] = found[j]
        if small > 0:
            for j in range(first, m):
                if determinant[j] < threshold * weight[i] * weight[j]:
                    if n_doubtful < len(doubtful):
                        doubtful[n_doubtful] = offset[i] + j - first
                    n_doubtful += 1
    return n_doubtful
