r"""Nested leave-pair-out without refits: leave-pair-out among the items outside each held-out set, to choose alpha.

To choose alpha by leave-pair-out without a set U, hold out U and two more items. With Γ at
``λ' = λ / κ(u + 2)``, where κ counts all held-out items, U is removed by a Schur complement, with the Cholesky factor R
of ``Γ_UU`` and ``W = R⁻¹ Γ_U:``,

    ``Γ' = Γ - WᵀW``,   ``e' = e - Wᵀ R⁻¹ e_U``,

and each pair of the others by the 2 × 2 system of `kernelrank.exact_cv.pairs`:

    ``f_i - f_j = (y_i - y_j) - [(Γ'_jj + Γ'_ij) e'_i - (Γ'_ij + Γ'_ii) e'_j] / (Γ'_ii Γ'_jj - Γ'_ij²)``.

Only its sign is needed, so there is no division, and Γ' is never stored: its rows are computed when they are needed.
One decomposition serves all sets and all alphas; u + 1 products and one comparison for every set, pair and alpha.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Float, Index
from kernelrank.base.compiled import compiled
from kernelrank.base.labels import ItemSets
from kernelrank.base.progress import track
from kernelrank.exact_cv.dual_inverse import PIVOT
from kernelrank.exact_cv.item_pairs import DifferingPairs
from kernelrank.exact_cv.problem import Problem

__all__ = ["inner_agreements"]

SETS_AT_ONCE, SET_BYTES = 256, 2**25
"""How many sets a compiled call takes, so that the progress bar moves, and the size of their corrections."""


def inner_agreements(problem: Problem, outer: ItemSets, alphas: Float) -> Float | None:
    """Count the pairs that leave-pair-out orders correctly among the items outside each set.

    Parameters
    ----------
    problem : Problem
        RLS, or one ranking, of one output.
    outer : ItemSets
        What is held out; the inner pairs are those of the other items with different scores.
    alphas : ndarray, shape (n,)

    Returns
    -------
    ndarray, shape (sets, n), or None
        Pairs in the right order less those in the wrong order; NaN where rounding took the digits of a set. None where
        sets of one size have no common Γ, or where not all of them leave two different scores in all that remains.

    Notes
    -----
    O(m³) time once, then for each alpha O(m³) for Γ, and O(u p) for each set of u items and p pairs.
    """
    if problem.truth.shape[1] != 1 or not problem.scored.all():
        return None
    sizes = np.unique(outer.sizes)
    found_scales = [problem.common_scale(int(size) + 2) for size in sizes]
    scales = [scale for scale in found_scales if scale is not None]
    levels, level_of = np.unique(problem.truth[:, 0], return_inverse=True)
    two_levels = len(levels) == 2
    if len(scales) < len(sizes) or not (two_levels or problem.differences_survive(int(sizes.max()) + 2)):
        return None
    pairs = DifferingPairs.of(problem.truth)
    order, place = pairs.order, np.empty(len(pairs.order), dtype=np.int64)
    place[order] = np.arange(len(order))
    y, duplicate_of = problem.truth[order, 0], problem.features.duplicate_of[order]
    found = np.empty((len(outer), len(alphas)))
    calls = [-(-np.count_nonzero(outer.sizes == size) // _at_once(int(size), len(order))) for size in sizes]
    n_steps = len(alphas) * int(sum(calls))
    steps = _steps(problem, outer, sizes, scales, alphas)
    with closing(track(steps, n_steps, "choosing alpha without each set")) as shown:
        for inverse, numbers, alpha in shown:
            Gamma, e = inverse
            places = place[outer.items[outer.places(numbers, int(outer.sizes[numbers[0]]))]]
            data = Gamma, e, y, pairs.end, duplicate_of
            found[numbers, alpha] = _agreements(*data, places, PIVOT[False])
    if two_levels:
        found[_nothing_left(outer, level_of)] = 0.0
    return found


def _steps(
    problem: Problem, outer: ItemSets, sizes: Index, scales: list[float], alphas: Float
) -> Iterator[tuple[tuple[Float, Float], Index, int]]:
    """Yield Γ and e with the items in descending order of their scores, some sets of one size, and which alpha."""
    order = DifferingPairs.of(problem.truth).order
    for size, scale in zip(sizes, scales, strict=True):
        numbers = np.flatnonzero(outer.sizes == size)
        for decomposition, served in problem.decompositions(alphas / scale, scores=False, dual=True):
            for alpha in served:
                inverse = decomposition.dual_inverse(float(alphas[alpha]) / scale).reordered(order)
                arrays = (
                    np.ascontiguousarray(inverse.rows(slice(None))),
                    np.ascontiguousarray(inverse.coefficients[:, 0]),
                )
                step = _at_once(int(size), len(order))
                for start in range(0, len(numbers), step):
                    yield arrays, numbers[start : start + step], int(alpha)


def _at_once(size: int, m: int) -> int:
    """Return how many sets of one size go into one compiled call."""
    return max(1, min(SETS_AT_ONCE, SET_BYTES // (8 * max(size, 2) * m)))


def _nothing_left(outer: ItemSets, level_of: Index) -> Index:
    """Return the sets without which no pair leaves items of both levels: all models in there are zero."""
    number = np.repeat(np.arange(len(outer)), outer.sizes)
    high = np.bincount(number, weights=level_of[outer.items], minlength=len(outer))
    n_high, n_low = int(level_of.sum()), len(level_of) - int(level_of.sum())
    return np.flatnonzero((n_high - high <= 1) | (n_low - (outer.sizes - high) <= 1))


def _agreements(Gamma: Float, e: Float, y: Float, end: Index, duplicate_of: Index, sets: Index, pivot: float) -> Float:
    """Return the agreement without each set, shape (sets,); the items are in descending order of y."""
    m, u = len(e), sets.shape[1]
    W, gamma, rest, trusted = _corrections(Gamma, e, sets, pivot)
    found = np.empty(len(sets))
    H = Gamma if u <= 2 else np.empty((m, m))
    _count_agreements(Gamma, y, end, duplicate_of, sets, W, gamma, rest, H, found)
    found[~trusted] = np.nan
    return found


def _corrections(Gamma: Float, e: Float, sets: Index, pivot: float) -> tuple[Float, Float, Float, NDArray[np.bool_]]:
    """Take each set out of Γ and e.

    Row i of W follows from those before it: ``W_c`` has ``R_ic`` at the place of item i of the set.

    Returns
    -------
    W : ndarray, shape (sets, u, m)
        Two rows at least, so that the last two corrections are made within the loop over pairs.
    gamma, rest : ndarray, shape (sets, m)
        The diagonal of ``Γ - WᵀW``, and ``e - WᵀR⁻¹e_U``; zero for the items of the set.
    trusted : ndarray of bool, shape (sets,)
        Where rounding left the pivots their digits.
    """
    (n_sets, u), m = sets.shape, len(e)
    W = np.zeros((n_sets, max(u, 2), m))
    gamma, rest = np.tile(np.diagonal(Gamma), (n_sets, 1)), np.tile(e, (n_sets, 1))
    trusted, number = np.ones(n_sets, dtype=np.bool_), np.arange(n_sets)
    for i in range(u):
        items = sets[:, i]
        row = Gamma[items]
        for c in range(i):
            row -= W[number, c, items][:, None] * W[:, c]
        squared = row[number, items]
        trusted &= squared >= pivot * Gamma[items, items]
        pivots = np.sqrt(np.where(trusted, squared, 1.0))[:, None]
        row /= pivots
        W[:, i] = row
        gamma -= row * row
        rest -= rest[number, items][:, None] / pivots * row
    gamma[number[:, None], sets] = 0.0
    rest[number[:, None], sets] = 0.0
    return W, gamma, rest, trusted


@compiled
def _count_agreements(
    Gamma: Float,
    y: Float,
    end: Index,
    duplicate_of: Index,
    sets: Index,
    W_of: Float,
    gamma_of: Float,
    rest_of: Float,
    H: Float,
    found: Float,
) -> None:
    """Fill in what `_agreements` returns, from what `_corrections` does; H gets all corrections but the last two."""
    m, u, n_corrections = Gamma.shape[0], sets.shape[1], W_of.shape[1]
    for number in range(sets.shape[0]):
        W, gamma, rest = W_of[number], gamma_of[number], rest_of[number]
        for a in range(m if u > 2 else 0):
            for b in range(m):
                H[a, b] = Gamma[a, b]
            for c in range(u - 2):
                for b in range(m):
                    H[a, b] -= W[c, a] * W[c, b]
        total = 0
        for a in range(m):
            first = end[a]
            if first == m or gamma[a] == 0.0:
                continue
            # Views that begin at zero: an index that cannot be negative lets the loop take several pairs at a time.
            g, below, e_b, y_b = H[a, first:], gamma[first:], rest[first:], y[first:]
            last, last_but_one = W[n_corrections - 1, first:], W[n_corrections - 2, first:]
            gamma_a, e_a, y_a, w, v = gamma[a], rest[a], y[a], W[n_corrections - 1, a], W[n_corrections - 2, a]
            right = 0
            for b in range(m - first):
                g_ab = g[b] - v * last_but_one[b] - w * last[b]
                determinant = gamma_a * below[b] - g_ab * g_ab
                missed = (below[b] + g_ab) * e_a - (g_ab + gamma_a) * e_b[b]
                difference = (y_a - y_b[b]) * determinant - missed
                right += int(difference > 0.0) - int(difference < 0.0)
            total += right
            # Items of the set have left, and duplicates are tied by any model: their counts are taken back.
            for i in range(u if duplicate_of[a] < 0 else m - first):
                b = sets[number, i] - first if duplicate_of[a] < 0 else i
                if b < 0 or (below[b] > 0.0 and duplicate_of[first + b] != duplicate_of[a]):
                    continue
                g_ab = g[b] - v * last_but_one[b] - w * last[b]
                determinant = gamma_a * below[b] - g_ab * g_ab
                missed = (below[b] + g_ab) * e_a - (g_ab + gamma_a) * e_b[b]
                difference = (y_a - y_b[b]) * determinant - missed
                total -= int(difference > 0.0) - int(difference < 0.0)
        found[number] = total
