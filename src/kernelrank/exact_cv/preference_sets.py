r"""Preferences held out: any set of them, from one decomposition for every alpha.

RankRLS on preferences is ridge regression of the magnitudes z on the differences of the features of two items: row e of
D is ``φ_h - φ_j``, and preference e has the weight ``w_e``. With ``A = DᵀWD + λI``, ``P = D A⁻¹ Dᵀ`` and the residuals
``r = z - D A⁻¹ DᵀW z`` the model without a set E misses on it by

    ``q_E = (I - P_EE W_E)⁻¹ r_E``,

so the difference of the two items of preference e, by the model without E, is ``z_e - q_e``. Where E is larger than the
number of features, ``D_EᵀW_E D_E`` is added up for every such set instead, and the model without E solves the sum of
all others: ``before + after``, which are running sums from both ends. Nothing is subtracted there.

**Coordinates.** One decomposition gives features Ψ in which ``DᵀWD = diag(μ)``: ``Ψ = Φ B`` with
``ΦᵀLΦ = B diag(μ) Bᵀ`` in the primal, ``Ψ = K Cᵀ B diag(μ)^-½`` with ``C K Cᵀ = B diag(μ) Bᵀ`` and any root ``CᵀC = L``
in the dual, where directions with μ = 0 say nothing. So ``A = diag(μ + λ)`` for every λ. What is subtracted is
``I - P W``: where E alone carries a direction of the features it has small pivots and loses digits, and such sets are
left to the caller.

Preferences whose two items are both held out are in `preference_items`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import lapack

from kernelrank.arrays import Float, Index, block_rows, blocks
from kernelrank.comparisons import Preferences
from kernelrank.compiled import compiled
from kernelrank.features import Features
from kernelrank.item_sets import ItemSets
from kernelrank.solvers.spectrum import spectrum

__all__ = ["PIVOT", "PreferenceProblem", "SetRemoval"]

PIVOT = 1e-6
"""The smallest pivot of ``I - P W`` that is trusted: what is lost beside it is the rest of double precision."""

NULL = 1e-13
"""How small an eigenvalue counts as zero, beside the largest, in the dual form."""

SUM_BYTES = 2**28
"""The size up to which the sums ``D_EᵀW_E D_E`` of all large sets are kept at once."""


class PreferenceProblem:
    """Preferences between items, and what is held out from them.

    Parameters
    ----------
    features : Features
    graph : Preferences

    Attributes
    ----------
    values : ndarray, shape (s,)
        μ.
    features : ndarray, shape (m, s)
        Ψ.
    target : ndarray, shape (s,)
        ``DᵀW z``.
    rotation : ndarray or None
        B, in the primal.

    Notes
    -----
    One decomposition, O(n³) or O(m³) time. A single preference then takes O(s) time for each alpha, s being the number
    of columns of the decomposition. A set of u preferences takes O(u² s) for each alpha, or O(u s²) once and O(s³) for
    each alpha if u > s.

    Examples
    --------
    >>> from kernelrank.features import ExplicitFeatures
    >>> pairs = np.array([[1, 0], [2, 1], [2, 0]])
    >>> graph = Preferences(3, pairs, magnitude=np.ones(3), weight=np.ones(3))
    >>> problem = PreferenceProblem(ExplicitFeatures(np.array([[0.0], [1.0], [2.0]])), graph)
    >>> problem.singles(np.array([1.0])).round(3).ravel()
    array([0.5  , 0.5  , 1.333])
    """

    def __init__(self, features: Features, graph: Preferences) -> None:
        self.graph = graph
        columns = features.primal
        self.rotation: Float | None = None
        if columns is not None:
            A, target = columns.normal_equations(graph)
            self.values, B = spectrum(A, np.inf)
            self.features, self.target, self.rotation = columns.multiply(B), B.T @ target[:, 0], B
        else:
            A, target = features.centred_kernel(graph), graph.root_target()
            rounding = max(1e-9 * float(np.trace(A)), 100 * len(A) * float(np.finfo(np.float64).eps))
            values, B = spectrum(A, rounding)
            known = values > NULL * values.max(initial=0.0)
            self.values, B = values[known], B[:, known]
            root = np.sqrt(self.values)
            self.features = features.kernel_multiply(graph.centre_transpose(np.ascontiguousarray(B))) / root
            self.target = root * (B.T @ target[:, 0])

    def rows(self, preferences: slice | Index) -> Float:
        """Return the rows of D, shape (preferences, s)."""
        pairs = self.graph.pairs[preferences]
        difference = self.features[pairs[:, 0]]
        difference -= self.features[pairs[:, 1]]
        return np.asarray(difference)

    def singles(self, alphas: Float) -> Float:
        """Return the difference of each preference without it, shape (l, n); NaN where digits are lost."""
        graph, shrunk = self.graph, 1.0 / (self.values[:, None] + alphas)
        scores = self.features @ (shrunk * self.target[:, None])
        found = np.empty((graph.n_pairs, len(alphas)))
        step = min(graph.n_pairs, block_rows(2 * len(self.values)))
        first, second = np.empty((2, step, len(self.values)))
        for start in range(0, graph.n_pairs, step):
            part = slice(start, min(start + step, graph.n_pairs))
            pairs, size = graph.pairs[part], part.stop - start
            # Items were checked before; the mode "raise" would make a copy.
            np.take(self.features, pairs[:, 0], axis=0, out=first[:size], mode="clip")
            np.take(self.features, pairs[:, 1], axis=0, out=second[:size], mode="clip")
            rows = np.subtract(first[:size], second[:size], out=first[:size])
            np.dot(np.square(rows, out=rows), shrunk, out=found[part])
            _leave_singles(pairs, graph.magnitude[part], graph.weight[part], scores, found[part])
        return found

    def sets(self, sets: ItemSets, alphas: Float) -> Float:
        """Return the differences of the preferences of each set without all of it, shape (total, n).

        The sets have no preference in common, and every preference is in one of them.
        """
        found = np.empty((len(sets.items), len(alphas)))
        large = sets.sizes > len(self.values)
        small, rest = np.flatnonzero(~large), np.zeros((len(self.values), len(self.values) + 1))
        for number in small:
            place = slice(int(sets.bounds[number]), int(sets.bounds[number + 1]))
            found[place] = self._small_set(sets.items[place], alphas)
        if not large.any():
            return found
        if len(small):
            rest = self.sum(sets.part(small)[1].items)
        for one, others in self._others(sets, np.flatnonzero(large), rest):
            place = slice(int(sets.bounds[one]), int(sets.bounds[one + 1]))
            coefficients = np.stack([_solve(others, alpha) for alpha in alphas], axis=1)
            found[place] = self.rows(sets.items[place]) @ coefficients
        return found

    def _small_set(self, chosen: Index, alphas: Float) -> Float:
        """Return the differences of a few preferences without them, shape (u, n); NaN where digits are lost."""
        z, w = self.graph.magnitude[chosen], self.graph.weight[chosen]
        found = np.zeros((len(chosen), len(alphas)))
        if np.count_nonzero(w) == np.count_nonzero(self.graph.weight):
            return found  # nothing is left to train on
        rows = self.rows(chosen)
        for number, alpha in enumerate(alphas):
            without = SetRemoval.of(rows, w, 1.0 / (self.values + alpha))
            found[:, number] = np.nan if without is None else rows @ without.model(self.target, z)
        return found

    def sum(self, chosen: Index) -> Float:
        """Return ``[DᵀWD, DᵀWz]`` of some preferences, shape (s, s + 1)."""
        total = np.zeros((len(self.values), len(self.values) + 1))
        for part in blocks(len(chosen), 8 * len(self.values), 2**22):
            preferences = chosen[part]
            rows, w = self.rows(preferences), self.graph.weight[preferences]
            weighted = w[:, None] * rows
            total[:, :-1] += weighted.T @ rows
            total[:, -1] += weighted.T @ self.graph.magnitude[preferences]
        return total

    def _others(self, sets: ItemSets, numbers: Index, rest: Float) -> Iterator[tuple[int, Float]]:
        """Yield for each of some sets the sums of all others of them and of the rest."""
        if len(numbers) > 1 and 16 * len(numbers) * rest.size > SUM_BYTES:
            halves = np.array_split(numbers, 2)
            for half, other in (halves, halves[::-1]):
                yield from self._others(sets, half, rest + self.sum(sets.part(other)[1].items))
            return
        sums = [self.sum(sets.items[sets.bounds[number] : sets.bounds[number + 1]]) for number in numbers]
        after = [np.zeros_like(rest)]
        for own in sums[:0:-1]:
            after.append(after[-1] + own)
        before = rest.copy()
        for number, own in zip(numbers, sums, strict=True):
            yield int(number), before + after.pop()
            before += own


class SetRemoval:
    """A problem without a set E, ``M = A - D_EᵀW_E D_E``, for one alpha.

    Parameters
    ----------
    rows : ndarray, shape (u, s)
        ``D_E``.
    weight : ndarray, shape (u,)
    shrunk : ndarray, shape (s,)
        The diagonal of ``A⁻¹``.
    factor : ndarray, shape (u, u)
        The Cholesky factor of ``I - W^½ P_EE W^½``.
    """

    def __init__(self, rows: Float, weight: Float, shrunk: Float, factor: Float) -> None:
        self.shrunk, self.factor = shrunk, factor
        self.rows, self.root = rows, np.sqrt(weight)
        self.weighted = self.root[:, None] * rows

    @classmethod
    def of(cls, rows: Float, weight: Float, shrunk: Float) -> SetRemoval | None:
        """Factorise; None where digits are lost."""
        scaled = rows * np.sqrt(weight)[:, None] * np.sqrt(shrunk)
        factor, info = lapack.dpotrf(np.eye(len(rows)) - scaled @ scaled.T, lower=1, overwrite_a=1)
        if info != 0 or float(np.diagonal(factor).min(initial=1.0)) ** 2 <= PIVOT:
            return None
        return cls(rows, weight, shrunk, factor)

    def model(self, target: Float, magnitude: Float) -> Float:
        """Return the coefficients of the model without E, ``A⁻¹(DᵀWz - D_EᵀW_E q_E)``."""
        r = magnitude - self.rows @ (self.shrunk * target)
        q, _ = lapack.dpotrs(self.factor, self.root * r, lower=1)
        return np.asarray(self.shrunk * (target - self.weighted.T @ q.ravel()))

    def solve(self, V: Float) -> Float:
        """Return ``M⁻¹ V``, shape (s, k)."""
        x = self.shrunk[:, None] * V
        inner, _ = lapack.dpotrs(self.factor, self.weighted @ x, lower=1)
        return np.asarray(x + self.shrunk[:, None] * (self.weighted.T @ inner))


@compiled
def _leave_singles(pairs: Index, magnitude: Float, weight: Float, scores: Float, found: Float) -> None:
    """Turn the diagonal of P, for every alpha a column, into held-out differences, NaN where digits are lost."""
    for e in range(len(pairs)):
        h, j, z = pairs[e, 0], pairs[e, 1], magnitude[e]
        for k in range(found.shape[1]):
            pivot = 1.0 - weight[e] * found[e, k]
            q = (z - (scores[h, k] - scores[j, k])) / pivot
            found[e, k] = z - q if pivot > PIVOT else np.nan


def _solve(sums: Float, alpha: float) -> Float:
    """Solve ``(DᵀWD + λI) x = DᵀWz``."""
    A = np.asfortranarray(sums[:, :-1])
    A[np.arange(len(A)), np.arange(len(A))] += alpha
    _, x, info = lapack.dposv(A, sums[:, -1:], lower=1, overwrite_a=1)
    return np.asarray(x[:, 0]) if info == 0 else np.full(len(A), np.nan)
