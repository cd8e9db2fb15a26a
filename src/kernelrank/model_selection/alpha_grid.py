r"""The values of alpha that a search tries: those given, or powers of two times the scale of the problem.

``alphas="auto"`` starts with the powers of two from 2⁻¹⁵ to 2⁵ times the scale. If the columns of X differ in size, a
few large eigenvalues dominate the scale, so most of the grid lies below it. While the best alpha is at an edge, five
powers of two are added there, down to 2⁻²⁵ and up to 2¹⁰. Below that, rounding errors dominate; above, all eigenvalues
are small relative to alpha, and the order of the items no longer changes.

In nested cross-validation the grid must not depend on the labels: it is then the whole range at once.

**The scale** is the mean eigenvalue of ``Φᵀ L Φ``, which alpha is added to. The objective is a sum, so the alphas worth
trying grow with the number of pairs and with the squared size of the features. Both are in the eigenvalues of
``Φᵀ L Φ``, or of ``C K Cᵀ`` with ``CᵀC = L``, which are the same. Their mean is

    ``tr(Φᵀ L Φ) / rank``.

* **Trace.** For columns it is the sum of squares of ``C Φ``: O(m n) time. For a kernel and item weights w,
  ``tr(L K) = Σ_q c_q Σ_{i<j in q} w_i w_j (K_ii + K_jj - 2 K_ij)``, a sum of squared distances in which nothing
  cancels: the kernel of each query, once. RLS has ``L = W`` and needs the diagonal of K only.
* **Rank.** Bounded by the number of columns, and by the number of different items: d items span at most d - 1
  differences, and in each query at most as many as it has different items, less one. Duplicates do not count, so that
  an item of weight k has the scale of k copies.

L is that of all pairs of each query, for any cost and ties of the learner, so labels are not used; items
without any score have the weight zero.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from scipy import sparse

from kernelrank.base.arrays import Float, Index, blocks, row_slices
from kernelrank.base.labels import Grouping, Queries
from kernelrank.base.validation import check_weight
from kernelrank.comparisons import ItemScores, ScoredQueries
from kernelrank.errors import EdgeOfGridWarning
from kernelrank.estimators.base import KernelLearner, check_alphas
from kernelrank.features import Features

UnlabelledGraph: TypeAlias = ItemScores | ScoredQueries
"""A graph that does not use scores: all items, or all pairs of items of each query."""

BLOCK = 2**24
"""The size of a block of columns that is centred at once, or of a kernel that is summed."""

AUTO = "auto"

LIMITS = (-25.0, 10.0)
"""The exponents of two that an extension may reach."""


def is_auto(alphas: Any) -> bool:
    """Return whether the grid is to be chosen from the items."""
    return isinstance(alphas, str) and alphas == AUTO


def edge_of(alphas: Float, values: Float) -> int:
    """Return -1 or 1 if the smallest or the largest alpha is better than every one between them, else 0.

    Shapes: alphas (n,), values (n,).
    """
    inside = (alphas > alphas.min()) & (alphas < alphas.max())
    best = int(np.argmax(values))
    if not inside.any() or inside[best] or not values[best] > values[inside].max():
        return 0
    return -1 if alphas[best] == alphas.min() else 1


@dataclass(frozen=True)
class AlphaGrid:
    """A grid of alphas, and how far it may be extended.

    Shapes: alphas (n,).

    alphas: The values: ascending, or as they were given.
    """

    alphas: Float
    scale: float | None = None
    low: float = 0.0
    high: float = 0.0
    step: float = 1.0

    @classmethod
    def given(cls, alphas: Any) -> Self:
        """Take alphas as they are."""
        return cls(np.array(check_alphas(alphas)))

    @classmethod
    def around(cls, scale: float, *, whole: bool = False, step: float = 1.0) -> Self:
        """Take powers of two times a scale.

        whole: Whether to take the whole range at once, where the grid must not depend on labels or is cheap.
        """
        return cls._between(scale, *(LIMITS if whole else (-15.0, 5.0)), step)

    @classmethod
    def of(cls, alphas: Any, features: Features, graph: UnlabelledGraph, *, whole: bool = False) -> Self:
        """Return the grid that a parameter `alphas` stands for, on some items and a graph without labels."""
        return cls.around(alpha_scale(features, graph), whole=whole) if is_auto(alphas) else cls.given(alphas)

    @classmethod
    def _between(cls, scale: float, low: float, high: float, step: float) -> Self:
        exponents = low + step * np.arange(round((high - low) / step) + 1)
        alphas: Float = scale * np.exp2(exponents)
        return cls(alphas, scale, low, high, step)

    def explored(self, measure: Callable[[Float], Float]) -> Self:
        """Measure the alphas, and more of them while the best lie at an edge and the range is not used up.

        Returns: All that was measured, in ascending order unless it was given.
        """
        grid, alphas, values = self, self.alphas, np.atleast_2d(measure(self.alphas))
        while (wider := grid._wider([edge_of(alphas, row) for row in values])) is not None:
            new = wider.alphas[~np.isin(wider.alphas, alphas)]
            alphas, values = np.append(alphas, new), np.hstack([values, np.atleast_2d(measure(new))])
            grid = wider
        return grid

    def _wider(self, edges: list[int]) -> Self | None:
        """Return the grid with more alphas at the edges where the best ones are; None if there are none to add."""
        if self.scale is None:
            return None
        low = max(self.low - 5.0, LIMITS[0]) if -1 in edges else self.low
        high = min(self.high + 5.0, LIMITS[1]) if 1 in edges else self.high
        return None if (low, high) == (self.low, self.high) else self._between(self.scale, low, high, self.step)

    def warn_at_edge(self, values: Float, *, stacklevel: int = 2) -> bool:
        """Warn if the best alpha is at an edge, and better than every one inside; return whether it is.

        Shapes: values (n,) or (choices, n).
        """
        for row in np.atleast_2d(values):
            edge = edge_of(self.alphas, row)
            if edge:
                side, more = ("smallest", "smaller") if edge < 0 else ("largest", "larger")
                advice = f"try {more} ones"
                if self.scale is not None:
                    advice = f"alphas='auto' goes no further; scale the columns of X, or give {more} alphas"
                warnings.warn(
                    f"the best alpha, {self.alphas[np.argmax(row)]:g}, is the {side} of the grid: {advice}",
                    EdgeOfGridWarning,
                    stacklevel=stacklevel + 1,
                )
                return True
        return False


def grid_for(
    learner: Any, X: Any, alphas: Any, *, qid: Any = None, sample_weight: Any = None, whole: bool = False
) -> AlphaGrid:
    """Return the grid that a parameter `alphas` stands for with a learner and its training items.

    Shapes: X (m, n_features), qid (m,), sample_weight (m,).
    """
    if not is_auto(alphas):
        return AlphaGrid.given(alphas)
    learner = learner._settled(X)
    X = learner._check_items(X, reset=True)
    unlabelled = learner._unlabelled(Queries.from_labels(qid, X.shape[0]), check_weight(sample_weight, X.shape[0]))
    return AlphaGrid.around(alpha_scale(KernelLearner._features(learner, X), unlabelled), whole=whole)


def alpha_scale(features: Features, graph: UnlabelledGraph) -> float:
    """Return the trace of ``Φᵀ L Φ`` over its rank.

    O(m n) time for columns, or O(nnz); O(Σ m_q² n) for a kernel and queries of m_q items. Memory: blocks.
    """
    if features.columns is None:
        return mean_eigenvalue(_kernel_trace(features, graph), _rank_of_items(features.duplicate_of, graph))
    return scale_of_columns([features.columns.X], features.duplicate_of, graph)


def scale_of_columns(parts: Sequence[Any], duplicate_of: Index, graph: UnlabelledGraph) -> float:
    """Return the trace over the rank where ``Φᵀ L Φ`` has a block for each of several feature maps.

    Shapes: parts (m, r), duplicate_of (m,).

    duplicate_of: For each item the number of the first one with the same row, or -1.
    """
    rank = _rank_of_items(duplicate_of, graph)
    return mean_eigenvalue(
        sum(centred_trace(Phi, graph) for Phi in parts), sum(min(rank, int(Phi.shape[1])) for Phi in parts)
    )


def mean_eigenvalue(trace: float, rank: int) -> float:
    """Return the trace over the rank; one where that is zero, or where alphas around it would not be numbers."""
    scale = trace / max(1, rank)
    return scale if np.isfinite(scale) and 2.0**-900 < scale < 2.0**900 else 1.0


@np.errstate(over="ignore", invalid="ignore")
def centred_trace(Phi: Any, graph: UnlabelledGraph) -> float:
    """Return the sum of squares of ``C Φ``, for an array, a sparse matrix or what computes rows on demand."""
    if sparse.issparse(Phi):
        return float(graph.gram_diagonal(Phi).sum())
    total = 0.0
    if isinstance(Phi, np.ndarray):
        for columns in blocks(Phi.shape[1], 8 * len(Phi), BLOCK):
            total += float((graph.centre(np.array(Phi[:, columns], dtype=np.float64)) ** 2).sum())
        return total
    # Rows that are computed: Σ_i ω_i ‖φ_i‖² - Σ_q c_q ‖Σ_i w_i φ_i‖², the sums of queries gathered from blocks.
    queries, weight, sums = graph.queries, graph.weight, np.zeros((graph.n_queries, Phi.shape[1]))
    if queries is not None:
        total_weight = np.bincount(queries.codes, weights=graph.weight, minlength=graph.n_queries)
        weight = graph.weight * (graph.pair_weights * total_weight)[queries.codes]
    for rows in row_slices(Phi):
        block = Phi[rows]
        total += float(weight[rows] @ (block**2).sum(axis=1))
        if queries is not None:
            sums += Grouping(queries.codes[rows], graph.n_queries, graph.weight[rows]).sums(block)
    return max(total - float(graph.pair_weights @ (sums**2).sum(axis=1)), 0.0)


@np.errstate(over="ignore", invalid="ignore")
def _kernel_trace(features: Features, graph: UnlabelledGraph) -> float:
    diagonal = features.diagonal()
    if graph.queries is None:
        return float(graph.weight @ diagonal)
    total = 0.0
    for items, c in zip(graph.queries, graph.pair_weights, strict=True):
        taking_part = items[graph.weight[items] > 0]
        if len(taking_part) > 1 and c > 0:
            total += c * _squared_distances(features, taking_part, graph.weight[taking_part], diagonal[taking_part])
    return total


def _squared_distances(features: Features, items: Index, weight: Float, diagonal: Float) -> float:
    """Return ``Σ_{i<j} w_i w_j (K_ii + K_jj - 2 K_ij)``, in blocks of rows."""
    total = 0.0
    for rows in blocks(len(items), 8 * len(items), BLOCK):
        distances = diagonal[rows, None] + diagonal - 2.0 * features.block(items[rows], items)
        here = np.arange(rows.start, rows.stop)
        distances[here - rows.start, here] = 0.0  # noise that a kernel adds to k(x, x) is no distance of x to itself
        total += float(weight[rows] @ np.maximum(distances, 0.0) @ weight)
    return total / 2.0


def _rank_of_items(duplicate_of: Index, graph: UnlabelledGraph) -> int:
    """Bound the rank of ``C K Cᵀ`` by the different items that have a weight, whatever the kernel."""
    taking_part = np.flatnonzero(graph.weight > 0)
    first = np.where(duplicate_of < 0, np.arange(len(duplicate_of)), duplicate_of)[taking_part]
    bound = len(np.unique(first))
    if graph.queries is None:
        return bound
    codes = graph.queries.codes[taking_part]
    in_queries = len(np.unique(codes * graph.n_items + first)) - len(np.unique(codes))
    return min(bound - 1, in_queries)
