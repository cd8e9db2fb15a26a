"""What labels cost: the quadratic form of a kernel RLS over clusters, dense or by its columns, and its descent.

`kernelrank.solvers.cluster_moves` derives the form and what a move changes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from kernelrank.base.arrays import Float, Index, blocks
from kernelrank.comparisons import ItemScores
from kernelrank.features import ColumnFeatures, Features
from kernelrank.solvers.cluster_moves import move_by_columns, move_items, swap_by_columns, swap_items
from kernelrank.solvers.direct import spectrum

__all__ = ["ClusterCost", "cluster_cost"]

DENSE_ITEMS = 2000
"""Up to so many items the m × m form is made from features in columns, too: every swap can be tried in O(1)."""

BLOCK_BYTES = 2**26

SWEEPS = 200
"""A descent ends after so many sweeps at the latest."""

ACTIVE_SHARE = 0.05
"""Between two sweeps over all items, this part of them is looked at several times."""

ACTIVE_SWEEPS = 10

PATIENCE = 50
"""So many pairs in a row may fail to change places before a list of candidates is given up."""

ROUNDING = 1e-13
"""A change of the cost must be larger than this for each item; the whole cost is at most one for each."""


class ClusterCost(ABC):
    """The cost ``tr(Yᵀ Q Y)`` of labels.

    Parameters
    ----------
    eigenvalues : ndarray, shape (t,)
        The eigenvalues of the kernel matrix that its columns can have, ascending.
    vectors : ndarray, shape (m, at most t)
        The eigenvectors of the last of them, in the same order.
    alpha : float
    """

    def __init__(self, eigenvalues: Float, vectors: Float, alpha: float) -> None:
        self.eigenvalues = eigenvalues
        self.vectors = vectors
        self.alpha = alpha
        self.n_items = len(vectors)
        self.threshold = ROUNDING * self.n_items

    @abstractmethod
    def descend(self, labels: Index, n_clusters: int, least: int, order: Index) -> None:
        """Move and swap the items of `order` until nothing lowers the cost; labels change in place."""

    @abstractmethod
    def apply(self, Y: Float) -> Float:
        """Return ``Q Y``."""

    def objective(self, labels: Index, n_clusters: int) -> float:
        """Return the cost of labels: that of ±1 for two clusters, else the sum over the columns of zeros and ones."""
        Y = memberships(labels, n_clusters)
        if n_clusters == 2:
            Y = Y[:, :1] - Y[:, 1:]
        return float(np.vdot(Y, self.apply(Y)))

    def lower_bound(self, n_clusters: int, least: int) -> float:
        """Return a lower bound on the cost of any labels.

        The columns of Y are orthogonal, and their squared lengths are the sizes of the clusters. So the cost is at
        least ``Σ_c s_c λ / (μ_c + λ)``, with the largest cluster beside the largest eigenvalue μ of K and so on. Labels
        of ±1 are one column of squared length m.
        """
        sizes = np.full(n_clusters, least)
        sizes[0] = self.n_items - (n_clusters - 1) * least
        if n_clusters == 2:
            sizes = np.array([self.n_items])
        largest = np.zeros(len(sizes))
        known = self.eigenvalues[::-1][: len(sizes)]
        largest[: len(known)] = known
        return float(np.sum(sizes * self.alpha / (largest + self.alpha)))


class DenseCost(ClusterCost):
    """The cost by the matrix Q, whose descent tries every swap.

    Parameters
    ----------
    features : Features
    alpha : float
    """

    def __init__(self, features: Features, alpha: float) -> None:
        K = features.centred_kernel(ItemScores(np.zeros((features.n_items, 1))))
        # A kernel is computed to fewer digits than a sum; what is made of columns cannot be indefinite.
        rounding = max(1e-9 * float(np.trace(K)), 100 * len(K) * np.finfo(np.float64).eps * features.kernel_scale)
        eigenvalues, vectors = spectrum(K, rounding)
        super().__init__(eigenvalues, vectors, alpha)
        self.Q = (vectors * (alpha / (eigenvalues + alpha))) @ vectors.T

    def apply(self, Y: Float) -> Float:
        """Return ``Q Y``."""
        return self.Q @ Y

    def descend(self, labels: Index, n_clusters: int, least: int, order: Index) -> None:
        """As in `ClusterCost`; O(m k) for a sweep of moves, O(m²) for one of swaps, and O(m) for each that is made."""
        F = np.ascontiguousarray((self.Q @ memberships(labels, n_clusters)).T)
        sizes = np.bincount(labels, minlength=n_clusters)
        for _ in range(SWEEPS):
            if move_items(self.Q, F, labels, sizes, order, least, self.threshold) == 0 and (
                swap_items(self.Q, F, labels, order, self.threshold) == 0
            ):
                break


class ColumnCost(ClusterCost):
    """The cost by the columns Ψ of features Φ; swaps are tried between the items that would gain most by a move.

    Parameters
    ----------
    features : ColumnFeatures
    alpha : float
    """

    def __init__(self, features: ColumnFeatures, alpha: float) -> None:
        m = features.n_items
        eigenvalues, W = spectrum(features.gram(ItemScores(np.zeros((m, 1)))), np.inf)
        self.Psi = np.empty((m, len(W)))
        for rows in blocks(m, 8 * len(W), BLOCK_BYTES):
            self.Psi[rows] = features.rows(np.arange(rows.start, rows.stop)) @ W
        self.Psi /= np.sqrt(eigenvalues + alpha)
        # Column c of Ψ has the length √(μ / (μ + λ)); eigenvalues that are nothing but rounding have no eigenvector.
        real = eigenvalues > len(W) * np.finfo(np.float64).eps * eigenvalues[-1]
        vectors = self.Psi[:, real] / np.sqrt(eigenvalues / (eigenvalues + alpha))[real]
        self.squares = np.einsum("ij,ij->i", self.Psi, self.Psi)
        super().__init__(eigenvalues, vectors, alpha)

    def apply(self, Y: Float) -> Float:
        """Return ``Q Y``."""
        return np.asarray(Y - self.Psi @ (self.Psi.T @ Y))

    def descend(self, labels: Index, n_clusters: int, least: int, order: Index) -> None:
        """As in `ClusterCost`; O(m r k) for a sweep of moves or swaps, and O(r) for each that is made."""
        V = memberships(labels, n_clusters).T @ self.Psi
        sizes = np.bincount(labels, minlength=n_clusters)
        for _ in range(SWEEPS):
            active = self._active(V, labels, order)
            moves = 0
            for _ in range(ACTIVE_SWEEPS):
                made = move_by_columns(self.Psi, V, labels, sizes, active, least, self.threshold)
                moves += made
                if made == 0:
                    break
            if moves == 0 and self._swap(V, labels, order) == 0:
                break

    def _active(self, V: Float, labels: Index, order: Index) -> Index:
        """Return the items that a move would help, and a part of the others: those it would cost least."""
        scores = self.Psi @ V.T
        items = np.arange(self.n_items)
        own = scores[items, labels]
        scores[items, labels] = -np.inf
        change = (own - scores.max(axis=1) - self.squares)[order]
        place = int(ACTIVE_SHARE * len(order))
        return np.asarray(order[change <= max(np.partition(change, place)[place], 0.0)])

    def _swap(self, V: Float, labels: Index, order: Index) -> int:
        """Swap items of every two clusters; those that would gain most by a move alone come first."""
        scores = self.Psi @ V.T
        moves = 0
        for p in range(len(V)):
            for q in range(p + 1, len(V)):
                gain = scores[:, q] - scores[:, p]
                inside, outside = order[labels[order] == p], order[labels[order] == q]
                first = inside[np.argsort(-gain[inside], kind="stable")]
                second = outside[np.argsort(gain[outside], kind="stable")]
                moves += swap_by_columns(self.Psi, V, labels, first, second, PATIENCE, self.threshold)
        return moves


def memberships(labels: Index, n_clusters: int) -> Float:
    """Return Y, a column of zeros and ones for each cluster, shape (m, k)."""
    return np.asarray(labels[:, None] == np.arange(n_clusters), dtype=np.float64)


def cluster_cost(features: Features, alpha: float) -> ClusterCost:
    """Return the cost of labels for a kernel: by columns where these are fewer than many items, else dense.

    Parameters
    ----------
    features : Features
    alpha : float

    Returns
    -------
    ClusterCost

    Notes
    -----
    O(m³) time and two m × m matrices if dense; O(m r²) and m × r numbers by columns.
    """
    if features.primal is not None and features.n_items > DENSE_ITEMS:
        return ColumnCost(features.primal, alpha)
    return DenseCost(features, alpha)
