"""Item scores: every item is compared with its own score, which is plain regularised least squares."""

from __future__ import annotations

import numpy as np

from kernelrank.base.arrays import (
    Float,
    GramSum,
    Index,
    Matrix,
    Sparse,
    as_columns,
    is_sparse,
    row_slices,
    weighted_gram,
    weighted_squares,
)
from kernelrank.comparisons.scored import ScoredComparisons

__all__ = ["ItemScores"]


class ItemScores(ScoredComparisons):
    """The case ``L = W, M N = W y`` with item weights W (the identity unless given): no pairs at all.

    Parameters
    ----------
    scores : ndarray, shape (m, outputs)
        What each item's prediction should be.
    weight : ndarray, shape (m,), optional
        The weight of each item's squared error.

    Examples
    --------
    >>> import numpy as np
    >>> ItemScores(np.array([[1.0], [2.0]]), weight=np.array([1.0, 3.0])).target().ravel()
    array([1., 6.])
    """

    shows_infinite = True

    def __init__(self, scores: Float, *, weight: Float | None = None) -> None:
        super().__init__(scores, weight=weight)
        self.n_pairs = 0
        self.is_identity = bool(np.all(self.weight == 1.0))

    def apply(self, V: Float) -> Float:
        """Return ``W V``."""
        return (as_columns(V) * self.weight[:, None]).reshape(V.shape)

    def diagonal(self) -> Float:
        """Return the weights."""
        return self.weight

    def centre(self, V: Float) -> Float:
        """Return ``W^½ V``."""
        return (as_columns(V) * np.sqrt(self.weight)[:, None]).reshape(V.shape)

    def centre_transpose(self, V: Float) -> Float:
        """Return ``W^½ V``."""
        return self.centre(V)

    def root_squares(self) -> Float:
        """Return the weights."""
        return self.weight

    def root_gram(self, Phi: Sparse, weight: Float) -> Float:
        """Return ``Φᵀ W^½ diag(weight) W^½ Φ`` from the stored entries."""
        return weighted_gram(self.weight * weight, Phi)

    def centre_kernel(self, K: Float) -> Float:
        """Return ``W^½ K W^½``; nothing is touched without weights."""
        root = np.sqrt(self.weight)
        if not np.all(root == 1.0):
            K *= root[:, None]
            K *= root
        return K

    def gram(self, Phi: Matrix) -> Float:
        """Accumulate ``Φᵀ W Φ`` in blocks."""
        if is_sparse(Phi):
            return weighted_gram(self.weight, Phi)
        return self._accumulate(Phi, np.zeros((self.n_items, 0)))[0]

    def normal_equations(self, Phi: Matrix) -> tuple[Float, Float]:
        """Return ``Φᵀ W Φ`` and ``Φᵀ W y`` from one pass over Φ."""
        return super().normal_equations(Phi) if is_sparse(Phi) else self._accumulate(Phi, self.root_target())

    def _accumulate(self, Phi: Matrix, root_target: Float) -> tuple[Float, Float]:
        total, right = GramSum(Phi.shape[1]), np.zeros((Phi.shape[1], root_target.shape[1]))
        root = np.sqrt(self.weight)[:, None]
        for rows in row_slices(Phi):
            block = np.asarray(Phi[rows] if self.is_identity else Phi[rows] * root[rows], dtype=np.float64)
            total.add(block)
            right += block.T @ root_target[rows]
        return total.matrix(), right

    def gram_diagonal(self, Phi: Matrix) -> Float:
        """Return ``Σ_i w_i φ_ij²``."""
        return weighted_squares(self.weight, Phi)

    def submatrix(self, items: Index) -> Float:
        """Return diagonal matrices with the weights of some items."""
        return self.weight[items][..., None] * np.eye(items.shape[-1])
