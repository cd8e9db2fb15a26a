r"""Preferences predicted by models trained without both of their items.

All preferences that involve one of the two items h and j are held out. In the coordinates of `preference_sets`, where
``A = diag(a)``, ``a = μ + λ``, and with ``S_i = Σ_{e touches i} w_e D_eᵀD_e`` the model solves

    ``(A - T) x = c``,   ``T = S_h + S_j - w_hj δδᵀ``,   ``δ = ψ_h - ψ_j``,

because preferences between the two items are counted twice, and all have the same row up to its sign. The difference is
``δᵀx``. All pairs of a block and all alphas are solved at once (`reduced_systems`). Systems that have not converged are
factorised. If a pivot is small, the two items alone determine a direction of the features, and the pair is left to
the caller.

**Few preferences per item.** If an item has fewer preferences than there are features, T is not summed: the
preferences are held out as a set (`SetRemoval`).

**A basis** is used without the two items. That is the constraint ``Bᵀ x = 0`` (see `basis_removal`):
with ``M = A - T``, ``x = M⁻¹(c - B ν)`` and ``(BᵀM⁻¹B) ν = BᵀM⁻¹c``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, solve_triangular

from kernelrank.base.arrays import Float, Index, blocks
from kernelrank.base.compiled import compiled
from kernelrank.base.labels import ItemSets
from kernelrank.exact_cv.basis import BasisPlaces
from kernelrank.exact_cv.preferences import PreferenceProblem, filled
from kernelrank.exact_cv.reduced_systems import CONVERGED, solve_reduced
from kernelrank.exact_cv.set_removal import PIVOT, SetRemoval
from kernelrank.features import Features, ReducedSet

__all__ = ["leave_items_out"]

ITEM_BYTES = 2**29
"""The size up to which the sums of all items are kept."""

PAIR_BYTES = 2**21
"""The size of the systems of pairs that are solved at once: they stay in a core's cache."""

SUM_PIVOT = 1e-4
"""The smallest pivot of ``I - A^-½ T A^-½`` that is trusted."""

CONVERGED_WITH_BASIS = 1e-15
"""The error at which systems are solved where a basis loses items: small pivots of `_orthogonal` enlarge it."""


def leave_items_out(problem: PreferenceProblem, features: Features, alphas: Float) -> Float:
    """Return the difference of each preference by a model trained without both of its items.

    Parameters
    ----------
    problem : PreferenceProblem
    features : Features
        Those that the problem was made of: a basis loses the two items.
    alphas : ndarray, shape (n,)

    Returns
    -------
    ndarray, shape (l, n)
        NaN where digits are lost.

    Notes
    -----
    O(s²) time for each two items that are compared, each alpha and each of some six steps; O(s³) where they do not
    converge. Where items have d < s/2 preferences, O(d² s + d³) for each alpha. Memory m s², or a block.
    """
    graph, size, m = problem.graph, len(problem.values), problem.graph.n_items
    low, high = graph.pairs.min(axis=1), graph.pairs.max(axis=1)
    keys, which = np.unique(low * m + high, return_inverse=True)
    between: Float = np.bincount(which, weights=graph.weight, minlength=len(keys)).astype(np.float64)
    signed = np.where(graph.pairs[:, 0] == low, 1.0, -1.0)
    gains = graph.weight * graph.magnitude * signed
    won: Float = np.bincount(which, weights=gains, minlength=len(keys)).astype(np.float64)
    pairs = _Pairs(problem, keys // m, keys % m, between, won, _Constraints.of(problem, features))
    touching = _touching(graph.pairs, m)
    dense = 8 * m * size**2 <= ITEM_BYTES and size <= 2 * np.median(touching.sizes[touching.sizes > 0])
    found = pairs.by_sums(touching, filled(alphas))[:, : len(alphas)] if dense else pairs.by_sets(touching, alphas)
    compared = graph.weight > 0
    touched = np.bincount(graph.pairs[compared].ravel(), minlength=m)
    leaving = touched[pairs.first] + touched[pairs.second] - np.bincount(which[compared], minlength=len(keys))
    found[leaving == np.count_nonzero(compared)] = 0.0  # nothing is left to train on
    return np.asarray(signed[:, None] * found[which])


class _Constraints:
    """What a basis no longer spans without two of its items; nothing for features without a basis."""

    def __init__(self, features: ReducedSet, rotation: Float, n_items: int) -> None:
        self.map, self.places = features.map, BasisPlaces.of(features, n_items)
        self.inverse = solve_triangular(features.map.U, rotation, check_finite=False)  # rows of U⁻¹ B

    @classmethod
    def of(cls, problem: PreferenceProblem, features: Features) -> _Constraints | None:
        if not isinstance(features, ReducedSet) or problem.rotation is None:
            return None
        return cls(features, problem.rotation, problem.graph.n_items)

    def touches(self, items: Index) -> NDArray[np.bool_]:
        return np.asarray((self.places.column_of[items] >= 0) | (self.places.left_of[items] >= 0), dtype=np.bool_)

    def directions(self, items: Index) -> Float | None:
        """Return the directions that are lost, shape (at most 2, s); None if rounding errors hide them."""
        columns, gone = self.places.columns(items), self.places.left(items)
        return self.map.lost_directions(columns, gone, self.inverse[columns])


class _Pairs:
    """The pairs of items that are compared: first and second item, weight and won magnitude between them."""

    def __init__(
        self,
        problem: PreferenceProblem,
        first: Index,
        second: Index,
        between: Float,
        won: Float,
        constraints: _Constraints | None,
    ) -> None:
        self.problem, self.constraints = problem, constraints
        self.first, self.second, self.between, self.won = first, second, between, won

    def rows(self, part: slice) -> Float:
        """Return δ of some pairs."""
        return np.asarray(self.problem.features[self.first[part]] - self.problem.features[self.second[part]])

    def by_sums(self, touching: ItemSets, alphas: Float) -> Float:
        """Solve with the sums of all items, in blocks of pairs; return the differences, shape (pairs, n)."""
        problem, size = self.problem, len(self.problem.values)
        sums = np.stack([problem.sum(edges) for edges in touching])
        targets, sums = np.ascontiguousarray(sums[:, :, -1]), np.ascontiguousarray(sums[:, :, :-1])
        a = problem.values[:, None] + alphas  # (s, n)
        whole = problem.target[:, None] / a
        missed = targets[:, :, None] - sums @ whole  # what each item adds to the gradient
        found = np.empty((len(self.first), len(alphas)))
        parts = list(blocks(len(self.first), 8 * size * (size + 4 * len(alphas)), PAIR_BYTES))
        longest = max(part.stop - part.start for part in parts)
        room, residuals = np.empty((longest, size, size)), np.empty((longest, size, len(alphas)))
        for part in parts:
            first, second, rows = self.first[part], self.second[part], self.rows(part)
            T, r = room[: len(first)], residuals[: len(first)]
            twice = self.won[part, None] - self.between[part, None] * (rows @ whole)
            _leaving(sums, missed, first, second, self.between[part], rows, twice, T, r)
            x = _solve(T, a, whole, r, CONVERGED if self.constraints is None else CONVERGED_WITH_BASIS)
            if self.constraints is not None:
                self._constrain(part, T, a, x)
            found[part] = (rows[:, None, :] @ x)[:, 0]
        return found

    def _constrain(self, part: slice, T: Float, a: Float, x: Float) -> None:
        """Take from the solutions what the basis loses with the items of a pair."""
        assert self.constraints is not None
        items = np.column_stack([self.first[part], self.second[part]])
        for number in np.flatnonzero(self.constraints.touches(items).any(axis=1)):
            B = self.constraints.directions(items[number])
            if B is None:
                x[number] = np.nan
                continue
            own, first = np.repeat(T[number][None], len(B), axis=0), B[:, :, None] / a
            solved = _solve(own, a, first, own @ first, CONVERGED_WITH_BASIS)
            for k in range(x.shape[2]):
                x[number, :, k] = _orthogonal(x[number, :, k], solved[:, :, k].T, B)

    def by_sets(self, touching: ItemSets, alphas: Float) -> Float:
        """Hold the leaving preferences out as a set, pair by pair; return the differences, shape (pairs, n)."""
        problem, graph = self.problem, self.problem.graph
        found = np.empty((len(self.first), len(alphas)))
        for number, (first, second) in enumerate(zip(self.first, self.second, strict=True)):
            ends = [touching.items[touching.bounds[item] : touching.bounds[item + 1]] for item in (first, second)]
            leaving = np.union1d(*ends)
            z, w = graph.magnitude[leaving], graph.weight[leaving]
            B: Float | None = np.zeros((0, len(problem.values)))
            if self.constraints is not None:
                B = self.constraints.directions(np.array([first, second]))
            rows, delta = problem.rows(leaving), problem.features[first] - problem.features[second]
            for k, alpha in enumerate(alphas):
                found[number, k] = np.nan
                if B is None:
                    continue
                without = SetRemoval.of(rows, w, 1.0 / (problem.values + alpha))
                if without is not None:
                    x = without.model(problem.target, z)
                    found[number, k] = delta @ _orthogonal(x, without.solve(B.T), B)
        return found


def _touching(pairs: Index, n_items: int) -> ItemSets:
    """Return the preferences that touch each item."""
    edges = np.tile(np.arange(len(pairs), dtype=np.int64), 2)
    ends = np.concatenate([pairs[:, 0], pairs[:, 1]])
    order = np.argsort(ends, kind="stable")
    return ItemSets(edges[order], np.searchsorted(ends[order], np.arange(n_items + 1)).astype(np.int64))


def _orthogonal(x: Float, solved: Float, B: Float) -> Float:
    """Return ``x - M⁻¹Bᵀ ν`` such that ``B x = 0``, from ``solved = M⁻¹Bᵀ``; NaN where digits are lost."""
    if len(B) == 0:
        return x
    products = B @ solved
    scale = 1.0 / np.sqrt(np.maximum(np.diagonal(products), np.finfo(np.float64).tiny))
    factor, info = lapack.dpotrf(products * scale[:, None] * scale, lower=1)
    if info != 0 or not float(np.diagonal(factor).min()) ** 2 > PIVOT:
        return np.full_like(x, np.nan)
    nu, _ = lapack.dpotrs(factor, scale * (B @ x), lower=1)
    return np.asarray(x - solved @ (scale * nu.ravel()))


def _solve(T: Float, a: Float, first: Float, r: Float, converged: float) -> Float:
    """Solve ``(diag(a_k) - T_b) x = c`` for all systems T (b, s, s) and all columns of a (s, n).

    Parameters
    ----------
    T, a, converged
        As above.
    first : ndarray, shape (s, n) or (b, s, n)
        A first guess.
    r : ndarray, shape (b, s, n)
        What it leaves of c.

    Returns
    -------
    ndarray, shape (b, s, n)
        NaN where digits are lost.
    """
    x, given = np.broadcast_to(first, r.shape).copy(), r.copy()
    solved = solve_reduced(lambda p, some: T[some] @ p, a, x, r, (a * first * first).sum(axis=-2), converged)
    for number, k in np.argwhere(~solved):
        start = np.broadcast_to(first, r.shape)[number, :, k]
        x[number, :, k] = start + _factorise(T[number], a[:, k], given[number, :, k])
    return x


@compiled
def _leaving(
    sums: Float,
    missed: Float,
    first: Index,
    second: Index,
    between: Float,
    rows: Float,
    twice: Float,
    T: Float,
    r: Float,
) -> None:
    """Add up what leaves with the two items of each pair, and what the model of all preferences then misses."""
    for number in range(len(first)):
        h, j = first[number], second[number]
        for i in range(rows.shape[1]):
            shared = between[number] * rows[number, i]
            for k in range(rows.shape[1]):
                T[number, i, k] = sums[h, i, k] + sums[j, i, k] - shared * rows[number, k]
            for k in range(twice.shape[1]):
                r[number, i, k] = rows[number, i] * twice[number, k] - missed[h, i, k] - missed[j, i, k]


def _factorise(T: Float, a: Float, c: Float) -> Float:
    """Solve one system; NaN where a pivot is too small to be trusted."""
    root = np.sqrt(a)
    factor, info = lapack.dpotrf(np.eye(len(a)) - T / (root[:, None] * root), lower=1)
    if info != 0 or float(np.diagonal(factor).min(initial=1.0)) ** 2 <= SUM_PIVOT:
        return np.full(len(a), np.nan)
    x, _ = lapack.dpotrs(factor, c / root, lower=1)
    return np.asarray(x.ravel() / root)
