"""Pairs held out at one λ, constant time for each: two forms of one 2 × 2 system, and their compiled loops.

* **Residuals**: ``Γ_UU r = e_U`` and ``f_i - f_j = (y_i - y_j) - (r_i - r_j)``, for the dual form while λ is at most
  the trace of the problem's matrix. Γ is a sum of positive terms.
* **Smoother**: with ``H = L - λ Γ``, that is ``Q diag(d) Qᵀ`` in the primal and ``Q diag(μ / (μ + λ)) Qᵀ`` in the dual,
  ``P = L_UU - H_UU`` and ``h = H y``,

      ``f_U + b' = y_U - P⁻¹(L_U y - h_U) = P⁻¹(h_U - H_UU y_U - L_{U,rest} y_rest)``.

  With an intercept, ``L_{U,rest} y_rest = -w_U s`` and ``L_UU 1 = ρ w_U``, so that the last term only moves y by
  ``s / ρ``, the weighted mean ȳ' of the scores that remain, and adds a constant:
  ``f_i - f_j = [1, -1] P⁻¹(h_U - H_UU (y_U - ȳ'))``; without one, ȳ' = 0. Nothing here is larger than f itself, which
  is what a large λ needs, where f is much smaller than y. The primal uses this form for every λ; there P is a
  difference that loses digits for a pair that alone determines a direction of the features. Such pairs have a tiny
  determinant, and are left to the caller.

Items are numbered by their place in descending order of the scores. Row p of a block is item ``start + p``, column q is
item ``columns + q``. Both loops add pairs in the right order less those in the wrong order to `agreement`, and store
the differences. The innermost loops have no branches, so that several pairs are held out at a time.

**Ties.** Two scores may be equal by any model that is trained without the pair, though their rows differ: the model is
zero, or the features are whole numbers. Rounding must not order them. So a difference is zero if it is at most
`tie_share` times the true difference, in every form and where pairs are refitted, so that all forms count the same
ties.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from kernelrank.base.arrays import Float, Index, blocks
from kernelrank.base.compiled import compiled
from kernelrank.base.labels import ItemSets, Queries
from kernelrank.base.results import Bars, Histogram, Result
from kernelrank.comparisons.scored import ScoredComparisons
from kernelrank.errors import InvalidInputError
from kernelrank.exact_cv.problem import Decomposition, DualInverse

BLOCK_BYTES = 2**24
"""The size of a block of Γ or H."""

TIE = 1e-10
"""A difference that is smaller, relative to the true one, is the rounding error of a tie, unless λ is large."""


def tie_share(size: Float | float, n_items: int) -> Any:
    """Return the share of the true difference up to which a difference is a tie, where the trace is `size` times λ.

    Scores shrink in proportion to ``1 / λ`` where λ is larger than the eigenvalues, whose mean is the trace over the
    number of items.
    """
    return TIE * np.minimum(1.0, np.asarray(size) / n_items)


def settle_differences(difference: Float, truth: Float, share: Float | float) -> Float:
    """Return differences of which those that differ from zero by rounding only are zero."""
    return np.where(np.abs(difference) <= share * np.abs(truth), 0.0, difference)


class Workspace:
    """Arrays that are made once and overwritten by every λ: new ones cost a tenth of the products."""

    def __init__(self) -> None:
        self._arrays: list[Float] = []

    def arrays(self, *shapes: tuple[int, ...]) -> list[Float]:
        """Return arrays of some shapes, with any content; the same ones if the shapes are those of the last call."""
        if [array.shape for array in self._arrays] != list(shapes):
            self._arrays = [np.zeros(shape) for shape in shapes]
        return self._arrays


class ResidualPairs:
    """Held-out pairs from the dual inverse Γ, dense or as a product, after any removals of items.

    Shapes: order (m,), truth (m, k), duplicate_of (m,).

    duplicate_of: The same for items with the same row; -1 for those that are alone.
    """

    def __init__(
        self,
        inverse: DualInverse,
        order: Index,
        truth: Float,
        duplicate_of: Index,
        workspace: Workspace | None = None,
    ) -> None:
        self.inverse = inverse
        self.workspace = Workspace() if workspace is None else workspace
        self.e = np.ascontiguousarray(inverse.coefficients)
        self.y = np.ascontiguousarray(truth[order])
        self.tied = tied_numbers(duplicate_of[order])
        self.tie = float(tie_share(inverse.size, len(order)))

    @cached_property
    def diagonal(self) -> Float:
        """The diagonal of Γ."""
        return self.inverse.diagonal()

    def all_pairs(self, pairs: DifferingPairs, agreement: Float, difference: Float) -> Index | None:
        """As in `PairForm`."""
        offset, difference = difference_places(pairs, difference)
        e, y = np.ascontiguousarray(self.e.T), np.ascontiguousarray(self.y.T)
        upper = self._upper(pairs)
        diagonal = self.diagonal if upper is None else np.diagonal(upper).copy()
        known = pairs.end, offset, diagonal, e, y, self.tied, self.tie, agreement, difference
        for rows in row_blocks(pairs):
            columns = int(pairs.end[rows.start]) if upper is None else 0
            G = self.inverse.rows(rows, slice(columns, None)) if upper is None else upper[rows]
            _pairs_by_residuals(G, rows.start, columns, *known)
        return np.zeros(0, dtype=np.int64)

    def _upper(self, pairs: DifferingPairs) -> Float | None:
        """Return a matrix with Γ on and above its diagonal, by one symmetric product.

        None unless Γ is a product of which nearly all is needed, and the matrix is not too large.
        """
        left, d, m = self.inverse.left, self.inverse.d, len(self.e)
        if left is None or d is None or self.inverse.gone is not None:
            return None
        # The largest size of all of Γ; larger ones are formed in blocks, which takes a quarter more time.
        # The share of all ordered pairs from which the upper half of Γ costs less than blocks of it; all pairs are 0.5.
        if pairs.n_pairs < 0.4 * m * m or 8 * m * m > 2**26:
            return None
        scaled, upper = self.workspace.arrays(left.shape, (m, m))
        np.multiply(left, np.sqrt(d), out=scaled)
        # The transpose is what BLAS writes to, so its lower half is the upper one here.
        return np.asarray(blas.dsyrk(1.0, scaled.T, trans=1, lower=1, beta=0.0, c=upper.T, overwrite_c=1)).T

    def listed(self, pairs: Index, agreement: Float, difference: Float) -> Index | None:
        """As in `PairForm`."""
        for rows in blocks(len(pairs), 16 * len(self.diagonal), BLOCK_BYTES):
            i, j = pairs[rows, 0], pairs[rows, 1]
            g = self.inverse.entries(i, j)[:, None]
            gamma_i, gamma_j = self.diagonal[i][:, None], self.diagonal[j][:, None]
            missed = (gamma_j + g) * self.e[i] - (g + gamma_i) * self.e[j]
            determinant = gamma_i * gamma_j - g * g
            truth = self.y[i] - self.y[j]
            found = truth - missed / (determinant + (determinant == 0.0))
            found = settle_differences(found, truth, self.tie)
            found[self.tied[i] == self.tied[j]] = 0.0
            store_pairs(truth, found, rows, agreement, difference)
        return np.zeros(0, dtype=np.int64)


class SmootherPairs:
    """Held-out pairs from the smoother H: in the primal form, and in the dual form for large λ.

    Pairs whose determinant is below `threshold` times their weights are left to the caller, if there are up to `room`.
    """

    def __init__(
        self,
        decomposition: Decomposition,
        lam: float,
        threshold: float,
        room: float,
        order: Index,
        truth: Float,
        duplicate_of: Index,
    ) -> None:
        graph = decomposition.graph
        assert isinstance(graph, ScoredComparisons)
        first, second, self.d = decomposition.smoother(lam)
        self.threshold, self.room = threshold, room
        self.first = first[order]
        self.second = self.first if second is first else second[order]
        self.h = np.ascontiguousarray(((first * self.d) @ decomposition.rotated)[order])
        self.weight = graph.weight[order]
        self.share = 0.0 if graph.queries is None else 1.0 / float(self.weight.sum())
        y = truth[order]
        self.y = np.ascontiguousarray(y - self.share * (self.weight @ y))
        self.tied = tied_numbers(duplicate_of[order])
        self.eta: Float = (self.first * self.second) @ self.d
        self.P: Float = self.weight * (1.0 - self.share * self.weight) - self.eta
        self.tie = float(tie_share(decomposition.trace / lam, len(order)))

    def all_pairs(self, pairs: DifferingPairs, agreement: Float, difference: Float) -> Index | None:
        """As in `PairForm`."""
        offset, places = difference_places(pairs, difference)
        h, y = np.ascontiguousarray(self.h.T), np.ascontiguousarray(self.y.T)
        known = self.P, self.eta, h, y, self.weight, self.share, self.threshold, self.tied, self.tie, agreement, places
        inverse, doubtful, n_doubtful = np.empty(len(self.eta)), [np.zeros(0, dtype=np.int64)], 0
        for rows in row_blocks(pairs):
            columns = int(pairs.end[rows.start])
            H = (self.first[rows] * self.d) @ self.second[columns:].T
            n_new = _pairs_by_smoother(H, rows.start, columns, pairs.end, offset, *known, inverse)
            n_doubtful += n_new
            if n_doubtful > self.room:
                return None
            if n_new > 0:
                doubtful.append(self._doubtful(H, rows, columns, pairs))
        return np.concatenate(doubtful)

    def _doubtful(self, H: Float, rows: slice, columns: int, pairs: DifferingPairs) -> Index:
        """Return the numbers of the pairs of a block of H that have lost digits."""
        w_i, w_j = self.weight[rows, None], self.weight[columns:]
        P_ij = -self.share * w_i * w_j - H
        determinant = self.P[rows, None] * self.P[columns:] - P_ij * P_ij
        end = pairs.end[rows, None]
        p, q = np.nonzero((determinant < self.threshold * w_i * w_j) & (np.arange(columns, len(self.P)) >= end))
        return np.asarray(pairs.offset[rows][p] + columns + q - end[p, 0])

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
        """Return the differences of some pairs, shape (pairs, k), and which of them have lost digits.

        With the operations of `_pairs_by_smoother` in the same order.
        """
        x, eta_i, eta_j, h_i, h_j, unknown = self._terms(i, j, x)
        w_i, w_j = self.weight[i], self.weight[j]
        P_ii, P_jj = w_i * (1.0 - self.share * w_i) - eta_i, w_j * (1.0 - self.share * w_j) - eta_j
        P_ij = -self.share * w_i * w_j - x
        determinant = P_ii * P_jj - P_ij * P_ij
        small = (determinant < self.threshold * w_i * w_j) | unknown
        inverse = np.where(small | (determinant == 0.0) | (self.tied[i] == self.tied[j]), np.inf, determinant)
        np.divide(1.0, inverse, out=inverse)
        y_i, y_j = self.y[i], self.y[j]
        x, eta_i, eta_j, w_i, w_j = (values[:, None] for values in (x, eta_i, eta_j, w_i, w_j))
        rest = self.share * (w_i * y_i + w_j * y_j) / (1.0 - self.share * (w_i + w_j))
        u_i, u_j = y_i + rest, y_j + rest
        z_i = h_i - eta_i * u_i - x * u_j
        z_j = h_j - x * u_i - eta_j * u_j
        a, b = (P_jj + P_ij)[:, None], (P_ij + P_ii)[:, None]
        found = (a * z_i - b * z_j) * inverse[:, None]
        return settle_differences(found, y_i - y_j, self.tie), small


def tied_numbers(duplicate_of: Index) -> Index:
    """Return a number for each item, the same for items with the same row."""
    return np.where(duplicate_of >= 0, duplicate_of, -1 - np.arange(len(duplicate_of)))


def difference_places(pairs: DifferingPairs, difference: Float) -> tuple[Index, Float]:
    """Return where the differences of each item begin, and room for them; for those of one item if none are wanted."""
    if difference.shape[1] > 0:
        return pairs.offset, difference
    m = len(pairs.order)
    return np.zeros(m, dtype=np.int64), np.empty((len(difference), m))


def store_pairs(truth: Float, found: Float, rows: slice, agreement: Float, difference: Float) -> None:
    """Store the differences of some pairs (pairs, k), if there is room, and add their agreement with the truth."""
    if difference.shape[1] > 0:
        difference[:, rows] = found.T
    sign = np.sign(found) * np.sign(truth)
    agreement += (sign > 0.0).sum(axis=0) - (sign < 0.0).sum(axis=0)


def row_blocks(pairs: DifferingPairs, matrices: int = 1) -> list[slice]:
    """Cut the rows that have partners: into about eight blocks or more, so that few needless columns are formed."""
    m = len(pairs.order)
    rows = int(np.searchsorted(pairs.end, m))
    # The smallest number of rows in a block.
    step = max(1, min(max(-(-rows // 8), 64), BLOCK_BYTES // (8 * m * matrices)))
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
    tied: Index,
    least: float,
    agreement: Float,
    difference: Float,
) -> None:
    """Hold out the pairs of a block of rows of Γ.

    Shapes: G (rows, m - columns), end, offset (m,), gamma (m,), e, y (k, m), tied (m,), agreement (k,), difference (k,
    pairs).

    least: The share of the true difference up to which a difference is a tie.
    difference: Or (k, m) where all offsets are zero, so that each item overwrites what the one before it stored.
    """
    k, m = y.shape
    for p in range(G.shape[0]):
        i = start + p
        # An index that cannot be negative lets the loop take several pairs at a time.
        first = max(end[i], 0)
        shift, to = max(first - columns, 0), max(offset[i], 0)
        gamma_i, tie = gamma[i], tied[i]
        for c in range(k):
            y_i, e_i = y[c, i], e[c, i]
            right = 0
            for b in range(m - first):
                j = first + b
                g, gamma_j = G[p, shift + b], gamma[j]
                missed = (gamma_j + g) * e_i - (g + gamma_i) * e[c, j]
                determinant = gamma_i * gamma_j - g * g
                truth = y_i - y[c, j]
                found = truth - missed / (determinant + int(determinant == 0.0))
                found = 0.0 if tied[j] == tie or abs(found) <= least * abs(truth) else found
                difference[c, to + b] = found
                sign = found * truth
                right += int(sign > 0.0) - int(sign < 0.0)
            agreement[c] += right


@compiled
def _pairs_by_smoother(
    H: Float,
    start: int,
    columns: int,
    end: Index,
    offset: Index,
    diagonal: Float,
    eta: Float,
    h: Float,
    y: Float,
    weight: Float,
    share: float,
    threshold: float,
    tied: Index,
    least: float,
    agreement: Float,
    difference: Float,
    inverse: Float,
) -> int:
    """Hold out the pairs of a block of rows of the smoother ``H = L - λ Γ``; return how many are doubtful.

    A pair whose determinant is smaller than `threshold` beside its weights has lost digits: it is not counted, and its
    difference is zero.

    Shapes: H (rows, m - columns), diagonal, eta (m,), h, y (k, m), weight, inverse (m,).

    least: The share of the true difference up to which a difference is a tie.
    """
    k, m = y.shape
    n_doubtful = 0
    for p in range(H.shape[0]):
        i = start + p
        first = max(end[i], 0)
        shift, to = max(first - columns, 0), max(offset[i], 0)
        w_i, P_ii, eta_i, tie = weight[i], diagonal[i], eta[i], tied[i]
        for b in range(m - first):
            j = first + b
            P_ij = -share * w_i * weight[j] - H[p, shift + b]
            determinant = P_ii * diagonal[j] - P_ij * P_ij
            doubtful = determinant < threshold * w_i * weight[j]
            n_doubtful += doubtful
            inverse[b] = 0.0 if doubtful or determinant == 0.0 or tied[j] == tie else 1.0 / determinant
        for c in range(k):
            y_i, h_i = y[c, i], h[c, i]
            right = 0
            for b in range(m - first):
                j = first + b
                x, w_j, y_j = H[p, shift + b], weight[j], y[c, j]
                P_ij = -share * w_i * w_j - x
                rest = share * (w_i * y_i + w_j * y_j) / (1.0 - share * (w_i + w_j))
                u_i, u_j = y_i + rest, y_j + rest
                z_i = h_i - eta_i * u_i - x * u_j
                z_j = h[c, j] - x * u_i - eta[j] * u_j
                at_i, at_j = diagonal[j] + P_ij, P_ij + P_ii
                truth = y_i - y_j
                found = (at_i * z_i - at_j * z_j) * inverse[b]
                found = 0.0 if abs(found) <= least * abs(truth) else found
                difference[c, to + b] = found
                sign = found * truth
                right += int(sign > 0.0) - int(sign < 0.0)
            agreement[c] += right
    return n_doubtful


# Item pairs -----------------------------------------------------------------------------------------------------------
#
# Item pairs: which pairs are held out, all whose true scores differ, or those that were requested.


class ItemPairs(ABC):
    """Pairs of items, numbered from 0."""

    order: Index
    """The order in which a `PairForm` is to have the items."""

    @property
    @abstractmethod
    def n_pairs(self) -> int:
        """How many pairs there are."""

    def items(self) -> tuple[Index, Index]:
        """Return the first and the second item of every pair: O(pairs) memory."""
        return self.at(np.arange(self.n_pairs, dtype=np.int64))

    @abstractmethod
    def at(self, places: Index) -> tuple[Index, Index]:
        """Return the first and the second item of some pairs, by their numbers."""

    @abstractmethod
    def among(self, items: Index) -> Self:
        """Return the pairs of some items (ascending), by their numbers among these; the pairs keep their order."""

    def n_differing(self, truth: Float) -> Float:
        """Return for each output the number of pairs with different scores (m, k)."""
        first, second = self.items()
        return np.asarray((truth[first] != truth[second]).sum(axis=0), dtype=np.float64)

    @abstractmethod
    def hold_out(self, form: PairForm, agreement: Float, difference: Float) -> Index | None:
        """Hold all pairs out; see `PairForm`."""

    def sets(self, n_items: int, groups: Queries | None = None) -> tuple[ItemSets, Index, Index]:
        """Make each pair a set, with the groups of its items; pairs between the same two groups share one."""
        first, second = self.items()
        if groups is None:
            places = 2 * np.arange(len(first))
            items = np.stack([first, second], axis=1).ravel()
            return ItemSets(items, np.append(places, len(items))), places, places + 1
        code_first, code_second = groups.codes[first], groups.codes[second]
        low, high = np.minimum(code_first, code_second), np.maximum(code_first, code_second)
        keys, set_of = np.unique(low * len(groups) + high, return_inverse=True)
        members = list(groups)
        held = [
            members[a] if a == b else np.concatenate([members[a], members[b]])
            for a, b in zip(keys // len(groups), keys % len(groups), strict=True)
        ]
        for number, items in enumerate(held):
            if len(items) == n_items:
                pair = int(np.argmax(set_of == number))
                raise InvalidInputError(
                    f"leaving out the pair ({first[pair]}, {second[pair]}) with its groups leaves nothing to train on"
                )
        bounds = np.concatenate([[0], np.cumsum([len(items) for items in held])]).astype(np.int64)
        rank = np.empty(n_items, dtype=np.int64)
        rank[groups.order] = np.arange(n_items) - np.repeat(groups.bounds[:-1], groups.sizes)
        start = bounds[:-1][set_of]
        shift_first = np.where(code_first == low, 0, groups.sizes[low])
        shift_second = np.where(code_second == low, 0, groups.sizes[low])
        return (
            ItemSets(np.concatenate(held), bounds),
            start + shift_first + rank[first],
            start + shift_second + rank[second],
        )


class PairForm(Protocol):
    """Differences of pairs at one λ.

    Both methods add the agreement (k,) of the pairs, and store their differences (k, pairs) unless there is no room for
    them. They return the numbers of pairs that are left to the caller, or None if there are too many.
    """

    def all_pairs(self, pairs: DifferingPairs, agreement: Float, difference: Float) -> Index | None:
        """Hold out all pairs that differ."""

    def listed(self, pairs: Index, agreement: Float, difference: Float) -> Index | None:
        """Hold out some pairs."""


@dataclass(frozen=True)
class DifferingPairs(ItemPairs):
    """All pairs of items with different scores, known by one sort and never listed unless requested.

    Shapes: order (m,), end (m,).

    order: The items in descending order of their scores; the first output decides, then the second, and so on.
    """

    order: Index
    end: Index

    @classmethod
    def of(cls, scores: Float) -> DifferingPairs:
        """Sort the items: O(m log m) time. Items without any score (NaN) form no pair."""
        scored = np.flatnonzero(~np.isnan(scores).all(axis=1))
        keys = [np.where(np.isnan(column), -np.inf, column) for column in scores.T]
        order = scored[np.lexsort([-key[scored] for key in keys[::-1]])].astype(np.int64)
        new = np.zeros(len(order), dtype=bool)
        for key in keys:
            new[1:] |= key[order][1:] != key[order][:-1]
        starts = np.append(np.flatnonzero(new), len(order))
        end = starts[np.cumsum(new)]
        return cls(order, end.astype(np.int64))

    def among(self, items: Index) -> DifferingPairs:
        """Return the pairs of some items, by their numbers among these; the pairs keep their order."""
        number = np.full(int(max(self.order.max(initial=-1), items.max(initial=-1))) + 1, -1, dtype=np.int64)
        number[items] = np.arange(len(items))
        kept = number[self.order] >= 0
        before = np.concatenate([[0], np.cumsum(kept)]).astype(np.int64)
        return DifferingPairs(number[self.order[kept]], before[self.end[kept]])

    @property
    def n_pairs(self) -> int:
        """How many pairs there are."""
        return int((len(self.order) - self.end).sum())

    @property
    def offset(self) -> Index:
        """The number of pairs before those of each place in `order`."""
        return np.concatenate([[0], np.cumsum(len(self.order) - self.end)[:-1]]).astype(np.int64)

    def at(self, places: Index) -> tuple[Index, Index]:
        """Return the higher and the lower item of some pairs, by their numbers."""
        row = np.searchsorted(self.offset, places, side="right") - 1
        return self.order[row], self.order[places - self.offset[row] + self.end[row]]

    def items(self) -> tuple[Index, Index]:
        """Return the higher and the lower item of every pair: O(pairs) memory."""
        m = len(self.order)
        counts = m - self.end
        first = np.repeat(self.order, counts)
        places = np.arange(self.n_pairs, dtype=np.int64) - np.repeat(self.offset - self.end, counts)
        return first, self.order[places]

    def n_differing(self, truth: Float) -> Float:
        """Return for each output the number of pairs with different scores, counted by level."""
        levels = [np.unique(column, return_counts=True)[1].astype(np.float64) for column in truth.T]
        return np.array([(len(truth) ** 2 - (counts**2).sum()) / 2 for counts in levels])

    def hold_out(self, form: PairForm, agreement: Float, difference: Float) -> Index | None:
        """Hold all pairs out, in blocks."""
        return form.all_pairs(self, agreement, difference)


class GivenPairs(ItemPairs):
    """Pairs one by one.

    Shapes: pairs (pairs, 2).
    """

    def __init__(self, pairs: Index, n_items: int) -> None:
        self.pairs, self.order = pairs, np.arange(n_items)

    @property
    def n_pairs(self) -> int:
        """How many pairs there are."""
        return len(self.pairs)

    def at(self, places: Index) -> tuple[Index, Index]:
        """Return the first and the second item of some pairs, by their numbers."""
        return self.pairs[places, 0], self.pairs[places, 1]

    def among(self, items: Index) -> GivenPairs:
        """Return the pairs of some items (ascending), by their numbers among these."""
        inside = np.isin(self.pairs, items).all(axis=1)
        return GivenPairs(np.searchsorted(items, self.pairs[inside]), len(items))

    def hold_out(self, form: PairForm, agreement: Float, difference: Float) -> Index | None:
        """Hold the pairs out."""
        return form.listed(self.pairs, agreement, difference)


# Holdout result -------------------------------------------------------------------------------------------------------
#
# The result of leave-pair-out: held-out pairs and their predicted differences.


@dataclass(frozen=True, eq=False, repr=False)
class PairHoldout(Result):
    """Pairs of items, each scored by the model that was trained without both.

    Parameters
    ----------
    first, second : ndarray of int64, shape (pairs,)
        The item numbers of the pairs held out.
    difference : ndarray, shape (pairs[, outputs][, alphas])
        ``f(first) - f(second)`` by the model trained without both. An axis of outputs is there if y has two
        dimensions, an axis of alphas, always the last, if alphas were given.
    truth : ndarray, shape (pairs[, outputs])
        ``y_first - y_second``.
    accuracy : float or ndarray, shape ([outputs][, alphas])
        The share of the pairs with different true scores that are in the right order; a tied prediction counts a half.
        NaN for an output whose pairs are all tied.
    n_pairs : int
        How many pairs were held out: the length of the arrays, which are empty where only the accuracy was requested.

    Examples
    --------
    >>> import numpy as np
    >>> held_out = PairHoldout.of(np.array([0, 0]), np.array([1, 2]), np.array([0.3, -0.1]), np.array([1.0, 2.0]))
    >>> held_out.accuracy, held_out.n_pairs
    (0.5, 2)
    >>> held_out
    <PairHoldout 2 pairs held out, accuracy 0.5000>
    """

    first: Index
    second: Index
    difference: Float
    truth: Float
    accuracy: float | Float
    n_pairs: int

    @classmethod
    def of(
        cls, first: Index, second: Index, difference: Float, truth: Float, *, differences: bool = True
    ) -> PairHoldout:
        """Measure the accuracy of known differences and keep both, or the accuracy only.

        Parameters
        ----------
        first, second : ndarray of int, shape (pairs,)
        difference : ndarray, shape (pairs[, outputs][, alphas])
        truth : ndarray, shape (pairs[, outputs])
        differences : bool, default=True
            Whether to keep the pairs and their differences.

        Returns
        -------
        PairHoldout
        """
        kept = len(first) if differences else 0
        accuracy = pair_accuracy(difference, truth)
        return cls(first[:kept], second[:kept], difference[:kept], truth[:kept], accuracy, len(first))

    def __str__(self) -> str:
        return f"{self.n_pairs:,} pair{'s' if self.n_pairs != 1 else ''} held out, accuracy {self._accuracy()}"

    def _accuracy(self) -> str:
        values = np.asarray(self.accuracy)
        if values.ndim == 0:
            return f"{values:.4f}"
        if np.all(np.isnan(values)):
            return "not defined"
        return f"{np.nanmin(values):.4f} to {np.nanmax(values):.4f} ({' × '.join(map(str, values.shape))} values)"

    def _facts(self) -> list[tuple[str, str]]:
        return [("pairs held out", f"{self.n_pairs:,}"), ("accuracy", self._accuracy())]

    def _chart(self) -> Bars | Histogram:
        accuracy = np.asarray(self.accuracy)
        if accuracy.ndim:
            places = [" ".join(map(str, place)) for place in np.ndindex(accuracy.shape)]
            return Bars(places, accuracy.ravel().tolist(), "accuracy of pairs, by number of output and alpha")
        self._columns()  # says what to do where the differences were not kept
        right = self.difference * np.sign(self.truth)
        label = "held-out difference of a pair: above zero in the right order"
        return Histogram(right[np.abs(self.truth) > 0], label, "pairs", 0.0, f"accuracy {accuracy:.3f}")

    def _columns(self) -> dict[str, Any]:
        if len(self.first) < self.n_pairs:
            raise InvalidInputError(
                f"Expected the differences of {self.n_pairs:,} pairs, but only their accuracy was kept: "
                "pass differences=True to leave_pair_out."
            )
        parts = {"difference": self.difference, "truth": self.truth}
        columns: dict[str, Any] = {"first": self.first, "second": self.second}
        for name, values in parts.items():
            # An axis of outputs or alphas becomes one column for each of its places.
            for place in np.ndindex(values.shape[1:]):
                columns["_".join([name, *map(str, place)])] = values[(slice(None), *place)]
        return columns


def pair_accuracy(difference: Float, truth: Float) -> float | Float:
    """Return the share of pairs in the right order, a tied prediction counting a half.

    O(size of `difference`) time.

    Shapes: difference (pairs[, outputs][, alphas]), truth (pairs[, outputs]); returns ([outputs][, alphas]).

    truth: NaN for a pair that does not count.
    """
    sign = np.nan_to_num(np.sign(truth))
    counted = np.abs(sign).sum(axis=0)
    shape = sign.shape + (1,) * (difference.ndim - sign.ndim)
    agreement = np.sum(np.sign(difference) * sign.reshape(shape), axis=0)
    counted = counted.reshape(counted.shape + (1,) * (agreement.ndim - counted.ndim))
    share = np.full(agreement.shape, np.nan)
    np.divide(agreement, 2.0 * counted, out=share, where=counted > 0)
    return float(share + 0.5) if share.ndim == 0 else share + 0.5
