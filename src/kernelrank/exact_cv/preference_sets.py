r"""Preferences held out: any set of them, from one decomposition for every alpha.

RankRLS on preferences is ridge regression of the magnitudes z on the differences of the features of two items: row e of
D is ``φ_h - φ_j``, and preference e has the weight ``w_e``. With ``A = DᵀWD + λI``, ``P = D A⁻¹ Dᵀ`` and the residuals
``r = z - D A⁻¹ DᵀW z`` the model without a set E misses on it

    ``q_E = (I - P_EE W_E)⁻¹ r_E``,   or   ``q_E = r_E + D_E (A - D_EᵀW_E D_E)⁻¹ D_EᵀW_E r_E``

where E is larger than the number of features. So the difference of the two items of preference e, by the model without
E, is ``z_e - q_e``.

**Coordinates.** One decomposition gives features Ψ in which ``DᵀWD = diag(μ)``: ``Ψ = Φ B`` with
``ΦᵀLΦ = B diag(μ) Bᵀ`` in the primal, ``Ψ = K Cᵀ B diag(μ)^-½`` with ``C K Cᵀ = B diag(μ) Bᵀ`` and any root ``CᵀC = L``
in the dual, where directions with μ = 0 say nothing. So ``A = diag(μ + λ)`` for every λ. What is subtracted is
``I - P W``: where E alone carries a direction of the features it has small pivots and loses digits, and such sets are
left to the caller.

**Both items new.** All preferences that touch one of the two items of a preference leave. With
``S_i = Σ_{e touches i} w_e D_eᵀD_e`` and ``S_hj`` of those between the two, ``A - S_h - S_j + S_hj`` is solved, in
batches.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from kernelrank.arrays import Float, Index, blocks
from kernelrank.comparisons import Preferences
from kernelrank.features import Features
from kernelrank.item_sets import ItemSets
from kernelrank.solvers.spectrum import spectrum

__all__ = ["PreferenceProblem"]

PIVOT = 1e-6
"""The smallest pivot of ``I - P W`` that is trusted: what is lost beside it is the rest of double precision."""

NULL = 1e-13
"""How small an eigenvalue counts as zero, beside the largest, in the dual form."""

ITEM_BYTES = 2**29
"""The size up to which the sums of all items are kept for held-out items."""


class PreferenceProblem:
    """Preferences between items, and what is held out from them.

    Parameters
    ----------
    features : Features
    graph : Preferences

    Notes
    -----
    One decomposition, O(n³) or O(m³) time. A single preference then takes O(s) time for each alpha, s being the number
    of columns of the decomposition; a set of u preferences O(min(u, s)² (u + s)).

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
        if columns is not None:
            A, target = columns.normal_equations(graph)
            self.values, B = spectrum(A, np.inf)
            self.features, self.target = columns.multiply(B), B.T @ target[:, 0]
        else:
            A, target = features.centred_kernel(graph), graph.root_target()
            rounding = max(1e-9 * float(np.trace(A)), 100 * len(A) * float(np.finfo(np.float64).eps))
            values, B = spectrum(A, rounding)
            known = values > NULL * values.max(initial=0.0)
            self.values, B = values[known], B[:, known]
            root = np.sqrt(self.values)
            self.features = features.kernel_multiply(graph.centre_transpose(np.ascontiguousarray(B))) / root
            self.target = root * (B.T @ target[:, 0])

    def _rows(self, preferences: slice | Index) -> Float:
        """Return the rows of D, shape (preferences, s)."""
        pairs = self.graph.pairs[preferences]
        return np.asarray(self.features[pairs[:, 0]] - self.features[pairs[:, 1]])

    def singles(self, alphas: Float) -> Float:
        """Return the difference of each preference without it, shape (l, n); NaN where digits are lost."""
        graph, shrunk = self.graph, 1.0 / (self.values[:, None] + alphas)
        scores = self.features @ (shrunk * self.target[:, None])
        found = np.empty((graph.n_pairs, len(alphas)))
        for part in blocks(graph.n_pairs, 16 * max(1, len(self.values))):
            rows, (first, second) = self._rows(part), graph.pairs[part].T
            z, w = graph.magnitude[part][:, None], graph.weight[part][:, None]
            r = z - (scores[first] - scores[second])
            pivot = 1.0 - w * (np.square(rows, out=rows) @ shrunk)
            found[part] = np.where(pivot > PIVOT, z - r / np.where(pivot > PIVOT, pivot, 1.0), np.nan)
        return found

    def sets(self, sets: ItemSets, alphas: Float) -> Float:
        """Return the differences of the preferences of each set without all of it, shape (total, n)."""
        shrunk = 1.0 / (self.values[:, None] + alphas)
        found = np.empty((len(sets.items), len(alphas)))
        for start, stop in zip(sets.bounds[:-1], sets.bounds[1:], strict=True):
            chosen = sets.items[start:stop]
            rows = self._rows(chosen)
            for number in range(len(alphas)):
                found[start:stop, number] = self._without(chosen, rows, shrunk[:, number])
        return found

    def _without(self, chosen: Index, rows: Float, shrunk: Float) -> Float:
        """Return the differences of some preferences by the model without them; NaN where digits are lost."""
        z, w = self.graph.magnitude[chosen], self.graph.weight[chosen]
        if np.count_nonzero(w) == np.count_nonzero(self.graph.weight):
            return np.zeros(len(chosen))  # nothing is left to train on
        r, root = z - rows @ (shrunk * self.target), np.sqrt(w)
        wide = rows * np.sqrt(shrunk)  # P = wide wideᵀ
        weighted = root[:, None] * wide
        if len(chosen) <= wide.shape[1]:
            factor = _trusted_factor(np.eye(len(chosen)) - weighted @ weighted.T)
            if factor is None:
                return np.full(len(chosen), np.nan)
            inner = linalg.cho_solve((factor, True), root * r)
        else:
            factor = _trusted_factor(np.eye(wide.shape[1]) - weighted.T @ weighted)
            if factor is None:
                return np.full(len(chosen), np.nan)
            inner = root * r + weighted @ linalg.cho_solve((factor, True), weighted.T @ (root * r))
        # Preferences of weight zero are predicted, and teach nothing.
        return np.asarray(z - (r + wide @ (weighted.T @ inner)))

    def items(self, alphas: Float) -> Float:
        """Return the difference of each preference by the model that saw neither of its items, shape (l, n)."""
        graph, size, m = self.graph, len(self.values), self.graph.n_items
        low, high = graph.pairs.min(axis=1), graph.pairs.max(axis=1)
        keys, which = np.unique(low * m + high, return_inverse=True)
        touching = _touching(graph.pairs, m)
        if 8 * m * size**2 <= ITEM_BYTES and size <= np.median(touching.sizes):
            return self._items_by_sums(keys, which, touching, alphas)
        ends = zip(touching.part(keys // m)[1], touching.part(keys % m)[1], strict=True)
        members = [np.union1d(first, second) for first, second in ends]
        bounds = np.concatenate([[0], np.cumsum([len(part) for part in members])]).astype(np.int64)
        scores = self.sets(ItemSets(np.concatenate(members), bounds), alphas)
        places = [int(bounds[one] + np.searchsorted(members[one], e)) for e, one in enumerate(which)]
        return np.asarray(scores[places])

    def _items_by_sums(self, keys: Index, which: Index, touching: ItemSets, alphas: Float) -> Float:
        """Solve for the model without each two items, known by ``m low + high``; `which` is that of a preference."""
        graph, m, size = self.graph, self.graph.n_items, len(self.values)
        weight, weighted = graph.weight, graph.weight * graph.magnitude
        sums, targets = np.empty((m, size, size)), np.empty((m, size))
        for item, edges in enumerate(touching):
            rows = self._rows(edges)
            sums[item] = (weight[edges, None] * rows).T @ rows
            targets[item] = weighted[edges] @ rows
        order = np.argsort(which, kind="stable")
        bounds = np.searchsorted(which[order], np.arange(len(keys) + 1))
        found = np.empty((graph.n_pairs, len(alphas)))
        for part in blocks(len(keys), 64 * size**2):
            first, second = keys[part] // m, keys[part] % m
            between = order[bounds[part.start] : bounds[part.start + len(first)]]
            rows, place = self._rows(between), which[between] - part.start
            gone, gone_target = -(sums[first] + sums[second]), targets[first] + targets[second]
            np.add.at(gone, place, weight[between, None, None] * rows[:, :, None] * rows[:, None, :])
            np.add.at(gone_target, place, -weighted[between, None] * rows)
            for number, alpha in enumerate(alphas):
                M = gone.copy()
                M[:, np.arange(size), np.arange(size)] += self.values + alpha
                found[between, number] = _differences(M, self.target - gone_target, rows, place, self.values + alpha)
        return found


def _touching(pairs: Index, n_items: int) -> ItemSets:
    """Return the preferences that touch each item."""
    edges = np.tile(np.arange(len(pairs), dtype=np.int64), 2)
    ends = np.concatenate([pairs[:, 0], pairs[:, 1]])
    order = np.argsort(ends, kind="stable")
    return ItemSets(edges[order], np.searchsorted(ends[order], np.arange(n_items + 1)).astype(np.int64))


def _trusted_factor(M: Float) -> Float | None:
    """Return the Cholesky factor, or None where a pivot is too small to be trusted."""
    try:
        factor: Float = np.linalg.cholesky(M).astype(np.float64, copy=False)
    except np.linalg.LinAlgError:
        return None
    return factor if float(np.diagonal(factor).min(initial=1.0)) ** 2 > PIVOT else None


def _differences(M: Float, targets: Float, rows: Float, place: Index, diagonal: Float) -> Float:
    """Solve each system and multiply with the rows that belong to it; NaN where a pivot is too small to be trusted."""
    try:
        factors = np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        return np.full(len(rows), np.nan)
    pivots = np.diagonal(factors, axis1=1, axis2=2) ** 2 / diagonal
    coefficients = np.linalg.solve(M, targets[..., None])[..., 0]
    found: Float = np.asarray((rows * coefficients[place]).sum(axis=1))
    found[pivots.min(axis=1, initial=1.0)[place] <= PIVOT] = np.nan
    return found
