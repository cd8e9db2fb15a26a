"""The loops over triples of a jackknife: pairs in order without an item or a group.

The symbols are those of `kernelrank.model_selection.auc_jackknife`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernelrank.arrays import Float, Index
from kernelrank.compiled import CompilingPays, compiled

__all__ = ["wins_without", "wins_without_each"]


COMPILED = CompilingPays(at_once=100_000_000, in_all=100_000_000, loaded=10)
"""Whether a loop counts so many triples; else NumPy does, with the same result."""

NUMPY_CALLS = 15_000
"""What the calls of NumPy for one item cost, counted in triples."""


def wins_without_each(
    Gamma: Float,
    e: Float,
    y: Float,
    duplicate_of: Index,
    n_positive: int,
    sign: float,
    chosen: NDArray[np.int16],
    number: int,
) -> Float:
    """Return how many pairs are in the right order without each item, shape (m,); positive items come first.

    Items with the same row are tied. Counted are the pairs (i, j) for which candidate `number` is chosen without k, and
    all if `chosen` is empty.
    """
    m, data = len(e), (Gamma, e, y, duplicate_of, n_positive, sign, chosen, number)
    if not COMPILED(m * (NUMPY_CALLS + n_positive * (m - n_positive))):
        return np.array([_wins_without_one(*data, k) for k in range(m)])
    found = np.empty(m)
    _fill_wins(*data, found)
    return found


def _wins_without_one(
    Gamma: Float,
    e: Float,
    y: Float,
    duplicate_of: Index,
    n_positive: int,
    sign: float,
    chosen: NDArray[np.int16],
    number: int,
    k: int,
) -> float:
    """Return how many pairs are in the right order without item k, by the operations of `_fill_wins`."""
    i, j = slice(None, n_positive), slice(n_positive, None)
    counted = chosen[k, i, j] == number if chosen.shape[1] > 0 else np.True_
    if not counted.any():
        return 0.0
    inverse, diagonal, column = 1.0 / Gamma[k, k], np.diagonal(Gamma), Gamma[:, k]
    share = column * inverse
    gamma, rest = diagonal - share * column, e - share * e[k]
    g_ij = Gamma[i, j] - np.outer(share[i], column[j])
    g_ii, e_i = gamma[i, None], rest[i, None]
    missed = (gamma[j] + g_ij) * e_i - (g_ij + g_ii) * rest[j]
    difference = sign * ((y[i, None] - y[j]) * (g_ii * gamma[j] - g_ij * g_ij) - missed)
    duplicate = duplicate_of[i, None]
    tied = (difference == 0.0) | ((duplicate >= 0) & (duplicate == duplicate_of[j]))
    wins = np.where(tied, 0.5, difference > 0.0) * counted
    wins[k if k < n_positive else slice(None), slice(None) if k < n_positive else k - n_positive] = 0.0
    return float(wins.sum())


@compiled
def _fill_wins(
    Gamma: Float,
    e: Float,
    y: Float,
    duplicate_of: Index,
    n_positive: int,
    sign: float,
    chosen: NDArray[np.int16],
    number: int,
    found: Float,
) -> None:
    """Fill in what `wins_without_each` returns."""
    m, choosing = len(e), chosen.shape[1] > 0
    for k in range(m):
        inverse = 1.0 / Gamma[k, k]
        wins = 0.0
        for i in range(n_positive):
            if i == k:
                continue
            share = Gamma[i, k] * inverse
            g_ii = Gamma[i, i] - share * Gamma[i, k]
            e_i = e[i] - share * e[k]
            for j in range(n_positive, m):
                if j == k or (choosing and chosen[k, i, j] != number):
                    continue
                g_ij = Gamma[i, j] - share * Gamma[j, k]
                g_jj = Gamma[j, j] - Gamma[j, k] * inverse * Gamma[j, k]
                e_j = e[j] - Gamma[j, k] * inverse * e[k]
                missed = (g_jj + g_ij) * e_i - (g_ij + g_ii) * e_j
                difference = sign * ((y[i] - y[j]) * (g_ii * g_jj - g_ij * g_ij) - missed)
                if difference == 0.0 or (duplicate_of[i] >= 0 and duplicate_of[j] == duplicate_of[i]):
                    wins += 0.5
                elif difference > 0.0:
                    wins += 1.0
        found[k] = wins


@compiled
def wins_without(
    Gamma: Float,
    e: Float,
    y: Float,
    duplicate_of: Index,
    positive: NDArray[np.bool_],
    bounds: Index,
    left_out: int,
    total: int,
    sign: float,
    pivot: float,
    chosen: NDArray[np.int16],
    number: int,
    R: Float,
    items: Index,
) -> float:
    """Return how many pairs are in the right order, each without its groups; items are sorted by group, equal rows tie.

    `total` chooses the sets by how many items leave with the group that is left out; 0 takes all. Counted are the pairs
    of groups for which candidate `number` is chosen, and all if `chosen` is empty. NaN where a pivot is smaller than
    `pivot` beside its diagonal entry. `R` has room for the factor of a set and one row more, `items` for the set.
    """
    n_groups, leaving = len(bounds) - 1, bounds[left_out + 1] - bounds[left_out]
    r = R[len(items)]
    wins = 0.0
    for a in range(n_groups):
        for b in range(a, n_groups):
            within = bounds[a + 1] - bounds[a]
            u = within if a == b else within + bounds[b + 1] - bounds[b]
            if a == left_out or b == left_out or (total > 0 and u + leaving != total):
                continue
            if len(chosen) > 0 and chosen[a, b] != number:
                continue
            if u == 2 and a != b and positive[bounds[a]] == positive[bounds[b]]:
                continue
            for i in range(u):
                items[i] = bounds[a] + i if i < within else bounds[b] + i - within
            for i in range(u):  # Cholesky's factor, and the forward substitution along with it
                for j in range(i + 1):
                    value = Gamma[items[i], items[j]]
                    for c in range(j):
                        value -= R[i, c] * R[j, c]
                    if j < i:
                        R[i, j] = value / R[j, j]
                    elif value < pivot * Gamma[items[i], items[i]]:
                        return np.nan
                    else:
                        R[i, i] = np.sqrt(value)
                r[i] = e[items[i]]
                for c in range(i):
                    r[i] -= R[i, c] * r[c]
                r[i] /= R[i, i]
            for i in range(u - 1, -1, -1):
                for c in range(i + 1, u):
                    r[i] -= R[c, i] * r[c]
                r[i] /= R[i, i]
            for i in range(u):
                for j in range(u):
                    apart = a == b or (i < within) != (j < within)
                    if not apart or not positive[items[i]] or positive[items[j]]:
                        continue
                    difference = sign * ((y[items[i]] - y[items[j]]) - (r[i] - r[j]))
                    if difference == 0.0 or (
                        duplicate_of[items[i]] >= 0 and duplicate_of[items[i]] == duplicate_of[items[j]]
                    ):
                        wins += 0.5
                    elif difference > 0.0:
                        wins += 1.0
    return wins
