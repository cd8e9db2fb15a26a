"""Pairs held out at one λ, from the factors: two forms of one 2 × 2 system.

* **Residuals**: ``Γ_UU r = e_U`` and ``f_i - f_j = (y_i - y_j) - (r_i - r_j)``, for the dual form while λ is at most
  the trace of the problem's matrix. Γ is a sum of positive terms.
* **Smoother**: with ``H = L - λ Γ``, that is ``Q diag(d) Qᵀ`` in the primal and ``Q diag(μ / (μ + λ)) Qᵀ`` in the dual,
  ``P = L_UU - H_UU`` and ``h = H y``,

      ``f_U + b' = y_U - P⁻¹(L_U y - h_U) = P⁻¹(h_U - H_UU y_U - L_{U,rest} y_rest)``.

  With an intercept, ``L_{U,rest} y_rest = -w_U s`` and ``L_UU 1 = ρ w_U``, so that the last term only moves y by
  ``s / ρ``, the weighted mean ȳ' of the scores that remain, and adds a constant:
  ``f_i - f_j = [1, -1] P⁻¹(h_U - H_UU (y_U - ȳ'))``; without one, ȳ' = 0. Nothing here is larger than f itself, which
  is what a large λ needs, where f is tiny beside y. In the primal it is the form at hand for every λ; there P is a
  difference that loses digits for a pair that alone carries a direction of the features. Such pairs are told by a tiny
  determinant, and left to the caller.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kernelrank.arrays import Float, Index, blocks
from kernelrank.comparisons import ItemScores, ScoredQueries
from kernelrank.exact_cv.differing_pairs import DifferingPairs
from kernelrank.exact_cv.factors import Factors
from kernelrank.exact_cv.gamma import Gamma
from kernelrank.exact_cv.pair_loop import pairs_by_residuals, pairs_by_smoother

__all__ = ["HeldPairs", "held_pairs", "pairs_of_gamma"]

BLOCK_BYTES = 2**24
"""The size of a block of Γ or H."""

ROOM = 1000
"""How many pairs may be left to the caller."""


class HeldPairs(Protocol):
    """Differences of pairs at one λ; both methods return the numbers of the pairs that are left to the caller."""

    def all_pairs(self, pairs: DifferingPairs, agreement: Float, difference: Float) -> Index | None:
        """Add the agreement (k,) of all pairs, and store their differences (k, pairs) unless there is no room.

        None is returned if more than `ROOM` pairs are left.
        """

    def listed(self, pairs: Index, agreement: Float, difference: Float) -> Index | None:
        """Do the same for some pairs."""


def held_pairs(
    factors: Factors, left: Float, order: Index, truth: Float, twin: Index, lam: float, threshold: float
) -> HeldPairs:
    """Choose the form that keeps the digits, with the items in a given order.

    Parameters
    ----------
    factors : Factors
    left : ndarray, shape (m, s)
        The left factor in that order.
    order : ndarray of int64, shape (m,)
    truth : ndarray, shape (m, k)
    twin : ndarray of int64, shape (m,)
        The same for items with the same row; -1 for those that are alone.
    lam : float
    threshold : float
        The relative determinant below which a pair is left to the caller.

    Returns
    -------
    HeldPairs
    """
    if factors.primal or lam > factors.trace:
        return _Smoother(factors, left, order, truth, twin, lam, threshold)
    return _Residuals(factors, left, order, truth, twin, lam)


def _row_blocks(pairs: DifferingPairs) -> list[slice]:
    """Cut the rows that have partners: into four blocks or more, so that few needless columns are formed."""
    m = len(pairs.order)
    rows = int(np.searchsorted(pairs.end, m))
    step = max(1, min(-(-rows // 4), BLOCK_BYTES // (8 * m)))
    return [slice(start, min(start + step, rows)) for start in range(0, rows, step)]


class _Residuals:
    """The form with Γ."""

    def __init__(self, factors: Factors, left: Float, order: Index, truth: Float, twin: Index, lam: float) -> None:
        d = factors.inverse(np.array([lam]))
        self.left = left
        self.d = d[:, 0]
        self.e = np.ascontiguousarray(factors.coefficients(d)[order, :, 0])
        self.y = np.ascontiguousarray(truth[order])
        self.gamma: Float = (self.left**2) @ self.d
        self.twin = twin[order]

    def all_pairs(self, pairs: DifferingPairs, agreement: Float, difference: Float) -> Index | None:
        offset = pairs.offset
        e, y = np.ascontiguousarray(self.e.T), np.ascontiguousarray(self.y.T)
        for rows in _row_blocks(pairs):
            columns = int(pairs.end[rows.start])
            part = (self.left[rows] * self.d) @ self.left[columns:].T
            pairs_by_residuals(
                part, rows.start, columns, pairs.end, self.gamma, e, y, self.twin, agreement, offset, difference
            )
        return np.zeros(0, dtype=np.int64)

    def listed(self, pairs: Index, agreement: Float, difference: Float) -> Index | None:
        for rows in blocks(len(pairs), 16 * self.left.shape[1], BLOCK_BYTES):
            i, j = pairs[rows, 0], pairs[rows, 1]
            g = ((self.left[i] * self.left[j]) @ self.d)[:, None]
            gamma_i, gamma_j = self.gamma[i][:, None], self.gamma[j][:, None]
            determinant = gamma_i * gamma_j - g * g
            determinant[determinant == 0.0] = np.inf
            missed = ((gamma_j + g) * self.e[i] - (g + gamma_i) * self.e[j]) / determinant
            found = self.y[i] - self.y[j] - missed
            found[_alike(self.twin, i, j)] = 0.0
            _store(self.y[i] - self.y[j], found, rows, agreement, difference)
        return np.zeros(0, dtype=np.int64)


def pairs_of_gamma(
    gamma: Gamma, pairs: DifferingPairs, truth: Float, twin: Index, agreement: Float, difference: Float
) -> None:
    """Hold out all pairs in the form with residuals, from all of Γ.

    Parameters
    ----------
    gamma : Gamma
    pairs : DifferingPairs
    truth : ndarray, shape (m, k)
    twin : ndarray of int64, shape (m,)
    agreement : ndarray, shape (k,)
        To which the pairs are added.
    difference : ndarray, shape (k, pairs) or (k, 0)
    """
    order, offset = pairs.order, pairs.offset
    diagonal, twin_in_order = np.diagonal(gamma.matrix)[order], twin[order]
    e, y = np.ascontiguousarray(gamma.coefficients[order].T), np.ascontiguousarray(truth[order].T)
    for rows in _row_blocks(pairs):
        columns = int(pairs.end[rows.start])
        part = gamma.matrix[order[rows]].take(order[columns:], axis=1)
        pairs_by_residuals(
            part, rows.start, columns, pairs.end, diagonal, e, y, twin_in_order, agreement, offset, difference
        )


class _Smoother:
    """The form with H."""

    def __init__(
        self, factors: Factors, left: Float, order: Index, truth: Float, twin: Index, lam: float, threshold: float
    ) -> None:
        graph = factors.graph
        assert isinstance(graph, (ItemScores, ScoredQueries))
        first, second, d = factors.smoother(lam)
        self.first = left if first is factors.left else first[order]
        self.second = left if second is factors.left else second[order]
        self.d, self.threshold = d, threshold
        self.h = np.ascontiguousarray(((first * d) @ factors.rotated)[order])
        self.weight = graph.weight[order]
        self.share = 0.0 if isinstance(graph, ItemScores) else 1.0 / float(self.weight.sum())
        y = truth[order]
        self.y = np.ascontiguousarray(y - self.share * (self.weight @ y))
        self.twin = twin[order]
        self.eta: Float = np.einsum("is,is,s->i", self.first, self.second, d, optimize=True)

    def all_pairs(self, pairs: DifferingPairs, agreement: Float, difference: Float) -> Index | None:
        offset = pairs.offset
        h, y = np.ascontiguousarray(self.h.T), np.ascontiguousarray(self.y.T)
        doubtful, n_doubtful = np.empty(ROOM, dtype=np.int64), 0
        for rows in _row_blocks(pairs):
            columns = int(pairs.end[rows.start])
            H = (self.first[rows] * self.d) @ self.second[columns:].T
            n_doubtful = pairs_by_smoother(
                H,
                rows.start,
                columns,
                pairs.end,
                self.eta,
                h,
                y,
                self.weight,
                self.share,
                self.twin,
                agreement,
                offset,
                difference,
                self.threshold,
                doubtful,
                n_doubtful,
            )
        return doubtful[:n_doubtful] if n_doubtful <= ROOM else None

    def listed(self, pairs: Index, agreement: Float, difference: Float) -> Index | None:
        doubtful = []
        for rows in blocks(len(pairs), 16 * self.first.shape[1], BLOCK_BYTES):
            i, j = pairs[rows, 0], pairs[rows, 1]
            x = ((self.first[i] * self.second[j]) @ self.d)[:, None]
            w_i, w_j = self.weight[i][:, None], self.weight[j][:, None]
            eta_i, eta_j = self.eta[i][:, None], self.eta[j][:, None]
            P_ii, P_jj = w_i * (1.0 - self.share * w_i) - eta_i, w_j * (1.0 - self.share * w_j) - eta_j
            P_ij = -self.share * w_i * w_j - x
            determinant = P_ii * P_jj - P_ij * P_ij
            lost = determinant < self.threshold * w_i * w_j
            doubtful.append(np.flatnonzero(lost[:, 0]) + rows.start)
            determinant[lost] = np.inf
            y_i, y_j = self.y[i], self.y[j]
            centre = -self.share / (1.0 - self.share * (w_i + w_j)) * (w_i * y_i + w_j * y_j)
            z_i = self.h[i] - eta_i * (y_i - centre) - x * (y_j - centre)
            z_j = self.h[j] - x * (y_i - centre) - eta_j * (y_j - centre)
            found = ((P_jj + P_ij) * z_i - (P_ij + P_ii) * z_j) / determinant
            found[_alike(self.twin, i, j)] = 0.0
            _store(y_i - y_j, found, rows, agreement, difference)
        places = np.concatenate(doubtful)
        return places if len(places) <= ROOM else None


def _alike(twin: Index, i: Index, j: Index) -> NDArray[np.bool_]:
    """Tell which pairs are of two items with the same row."""
    return np.asarray((twin[i] >= 0) & (twin[i] == twin[j]))


def _store(truth: Float, found: Float, rows: slice, agreement: Float, difference: Float) -> None:
    difference[:, rows] = found.T
    agreement += (np.sign(found) * np.sign(truth)).sum(axis=0)
