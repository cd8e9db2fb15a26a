"""Held-out pairs of items with different weights: the dual inverse as a power series, one for all pairs."""

from __future__ import annotations

import numpy as np

from kernelrank.base.arrays import Float, Index
from kernelrank.base.compiled import compiled
from kernelrank.comparisons.scored import ScoredComparisons
from kernelrank.exact_cv.decomposition import Decomposition
from kernelrank.exact_cv.item_pairs import DifferingPairs
from kernelrank.exact_cv.pair_forms import difference_places, row_blocks, tied_numbers

__all__ = ["MOST_TERMS", "SeriesPairs", "middle_scale", "terms_of_series"]

MOST_TERMS = 12
"""The largest number of terms; with more of them a system for each pair costs as much."""

LEAST = 1e-17
"""The largest term that may be left out, relative to the first."""


class SeriesPairs:
    """Held-out pairs of items with different weights, each at its own λ, from one power series of the dual inverse.

    Without items of the weights ``w_i`` and ``w_j``, the λ of one ranking is ``λ / κ`` with ``κ = W - w_i - w_j``,
    which differs little from pair to pair. About ``λ_0 = λ / κ_0``, with ``u = 1 - κ_0 / κ``,

        ``Γ = Σ_k u^k Q diag(d_k) Qᵀ``,   ``d_k = (λ_0 / (μ + λ_0))^k / (μ + λ_0)``,

    and as many terms as `terms_of_series` says leave nothing but rounding, for all terms of Γ are positive.

    Parameters
    ----------
    decomposition : Decomposition
        A spectrum, in the dual form.
    lam : float
        λ.
    n_terms : int
    order, truth, duplicate_of
        As in `kernelrank.exact_cv.pair_forms.ResidualPairs`.
    """

    def __init__(
        self,
        decomposition: Decomposition,
        lam: float,
        n_terms: int,
        order: Index,
        truth: Float,
        duplicate_of: Index,
    ) -> None:
        graph = decomposition.graph
        assert isinstance(graph, ScoredComparisons)
        assert decomposition.values is not None
        self.weight, self.total = graph.weight[order], float(graph.weight.sum())
        self.middle = middle_scale(graph.weight)
        shrunk = 1.0 / (decomposition.values + lam / self.middle)
        self.d = shrunk * (lam / self.middle * shrunk) ** np.arange(n_terms)[:, None]  # (terms, s)
        self.left = decomposition.left[order]
        self.diagonal = self.d @ (self.left**2).T
        scaled = self.d[:, :, None] * decomposition.rotated
        self.e = np.ascontiguousarray((self.left @ scaled).transpose(2, 0, 1))  # (k, terms, m)
        self.y = np.ascontiguousarray(truth[order].T)
        self.tied = tied_numbers(duplicate_of[order])

    def all_pairs(self, pairs: DifferingPairs, agreement: Float, difference: Float) -> Index | None:
        """As in `PairForm`."""
        offset, difference = difference_places(pairs, difference)
        known = pairs.end, offset, self.diagonal, self.e, self.y, self.tied, agreement, difference
        for rows in row_blocks(pairs, len(self.d)):
            columns = int(pairs.end[rows.start])
            G = (self.left[rows] * self.d[:, None, :]) @ self.left[columns:].T
            _pairs_by_series(G, rows.start, columns, self.weight, self.total, self.middle, *known)
        return np.zeros(0, dtype=np.int64)

    def listed(self, pairs: Index, agreement: Float, difference: Float) -> Index | None:  # noqa: ARG002
        """Leave a list of pairs to the caller."""
        return None


def middle_scale(weight: Float) -> float:
    """Return κ_0, in the middle of the κ of all pairs."""
    two = np.sort(weight)
    return float(weight.sum() - (two[0] + two[1] + two[-1] + two[-2]) / 2.0)


def terms_of_series(weight: Float) -> int:
    """Return how many terms a series needs so that what is left is below the rounding of its sum.

    Examples
    --------
    >>> terms_of_series(np.linspace(0.5, 2.0, 500))
    7
    """
    two, total = np.sort(weight), float(weight.sum())
    middle = middle_scale(weight)
    ends = total - np.array([two[0] + two[1], two[-1] + two[-2]])
    if ends.min() <= 0.0:
        return MOST_TERMS + 1
    widest = float(np.abs(1.0 - middle / ends).max())
    return MOST_TERMS + 1 if widest >= 0.5 else int(np.ceil(np.log(LEAST) / np.log(max(widest, LEAST))))


@compiled
def _pairs_by_series(
    G: Float,
    start: int,
    columns: int,
    weight: Float,
    total: float,
    middle: float,
    end: Index,
    offset: Index,
    gamma: Float,
    e: Float,
    y: Float,
    tied: Index,
    agreement: Float,
    difference: Float,
) -> None:
    """Hold out the pairs of a block of rows of Γ, which is a power series.

    Parameters
    ----------
    G : ndarray, shape (terms, rows, m - columns)
        The block.
    weight : ndarray, shape (m,)
    total, middle : float
        W and κ_0.
    gamma : ndarray, shape (terms, m)
        The diagonal of Γ.
    e : ndarray, shape (k, terms, m)
        ``Γ y``.
    start, columns, end, offset, y, tied, agreement, difference
        As in `kernelrank.exact_cv.pair_forms._pairs_by_residuals`.
    """
    k, m = y.shape
    last = G.shape[0] - 1
    for p in range(G.shape[1]):
        i = start + p
        first = max(end[i], 0)
        shift, to = max(first - columns, 0), max(offset[i], 0)
        for c in range(k):
            right = 0
            for b in range(m - first):
                j = first + b
                u = 1.0 - middle / (total - weight[i] - weight[j])
                g, gamma_i, gamma_j = G[last, p, shift + b], gamma[last, i], gamma[last, j]
                e_i, e_j = e[c, last, i], e[c, last, j]
                for term in range(last - 1, -1, -1):
                    g = g * u + G[term, p, shift + b]
                    gamma_i = gamma_i * u + gamma[term, i]
                    gamma_j = gamma_j * u + gamma[term, j]
                    e_i = e_i * u + e[c, term, i]
                    e_j = e_j * u + e[c, term, j]
                missed = (gamma_j + g) * e_i - (g + gamma_i) * e_j
                determinant = gamma_i * gamma_j - g * g
                truth = y[c, i] - y[c, j]
                found = 0.0 if tied[j] == tied[i] else truth - missed / (determinant + int(determinant == 0.0))
                difference[c, to + b] = found
                sign = found * truth
                right += int(sign > 0.0) - int(sign < 0.0)
            agreement[c] += right
