r"""The scale of alpha: the mean eigenvalue of ``Φᵀ L Φ``, which alpha is added to.

The objective is a sum, so the alphas worth trying grow with the number of pairs and with the squared size of the
features. Both are in the eigenvalues of ``Φᵀ L Φ``, or of ``C K Cᵀ`` with ``CᵀC = L``, which are the same. Their mean
is

    ``tr(Φᵀ L Φ) / rank``.

* **Trace.** For columns it is the sum of squares of ``C Φ``: O(m n) time. For a kernel and item weights w,
  ``tr(L K) = Σ_q c_q Σ_{i<j in q} w_i w_j (K_ii + K_jj - 2 K_ij)``, a sum of squared distances in which nothing
  cancels: the kernel of each query, once. RLS has ``L = W`` and needs the diagonal of K only.
* **Rank.** Bounded by the number of columns, and by the number of different items: d items span at most d - 1
  differences, and in each query at most as many as it has different items, less one. Duplicates do not count, so that
  an item of weight k has the scale of k copies.

L is that of all pairs of each query, whatever the cost and the ties of the learner, so no label takes part; items that
have no score at all are left out by their weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from kernelrank.arrays import Float, Index, Matrix, blocks, row_slices
from kernelrank.comparisons import ItemScores, ScoredQueries
from kernelrank.features import Features
from kernelrank.features.duplicate_rows import duplicate_rows
from kernelrank.queries import Grouping

__all__ = ["UnlabelledGraph", "alpha_scale", "centred_trace", "mean_eigenvalue", "scale_of_columns"]

UnlabelledGraph: TypeAlias = ItemScores | ScoredQueries
"""A graph whose scores take no part: all items, or all pairs of items of each query."""

BLOCK = 2**24
"""The size of a block of columns that is centred at once, or of a kernel that is summed."""


def alpha_scale(features: Features, graph: UnlabelledGraph) -> float:
    """Return the trace of ``Φᵀ L Φ`` over its rank.

    Parameters
    ----------
    features : Features
    graph : ItemScores or ScoredQueries
        With ties included. Its scores take no part.

    Returns
    -------
    float

    Notes
    -----
    O(m n) time for columns, or O(nnz); O(Σ m_q² n) for a kernel and queries of m_q items. Memory: blocks.

    Examples
    --------
    >>> from kernelrank.features import ExplicitFeatures
    >>> graph = ItemScores(np.zeros((3, 1)))
    >>> alpha_scale(ExplicitFeatures(np.array([[3.0, 0.0], [0.0, 1.0], [0.0, 2.0]])), graph)
    7.0
    """
    if features.columns is None:
        return mean_eigenvalue(_kernel_trace(features, graph), _rank_of_items(features.items, graph))
    return scale_of_columns([features.columns.X], features.items, graph)


def scale_of_columns(parts: Sequence[Any], items: Matrix, graph: UnlabelledGraph) -> float:
    """Return the trace over the rank where ``Φᵀ L Φ`` has a block for each of several feature maps.

    Parameters
    ----------
    parts : sequence of array, sparse matrix, or what computes rows when they are asked for, each of shape (m, r)
    items : array or sparse matrix, shape (m, n)
        What they are the features of.
    graph : ItemScores or ScoredQueries

    Returns
    -------
    float
    """
    rank = _rank_of_items(items, graph)
    return mean_eigenvalue(
        sum(centred_trace(Phi, graph) for Phi in parts), sum(min(rank, int(Phi.shape[1])) for Phi in parts)
    )


def mean_eigenvalue(trace: float, rank: int) -> float:
    """Return the trace over the rank; one where that is zero, or where alphas around it would not be numbers."""
    scale = trace / max(1, rank)
    return scale if np.isfinite(scale) and 2.0**-900 < scale < 2.0**900 else 1.0


@np.errstate(over="ignore", invalid="ignore")
def centred_trace(Phi: Any, graph: UnlabelledGraph) -> float:
    """Return the sum of squares of ``C Φ``, for an array, a sparse matrix or what computes rows when asked for."""
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


def _rank_of_items(items: Matrix, graph: UnlabelledGraph) -> int:
    """Bound the rank of ``C K Cᵀ`` by the different items that have a weight, whatever the kernel."""
    duplicate_of = duplicate_rows(items)
    taking_part = np.flatnonzero(graph.weight > 0)
    first = np.where(duplicate_of < 0, np.arange(len(duplicate_of)), duplicate_of)[taking_part]
    bound = len(np.unique(first))
    if graph.queries is None:
        return bound
    codes = graph.queries.codes[taking_part]
    in_queries = len(np.unique(codes * graph.n_items + first)) - len(np.unique(codes))
    return min(bound - 1, in_queries)
