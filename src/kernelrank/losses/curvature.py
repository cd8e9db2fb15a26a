r"""The curvature of a loss: the Hessian H by the scores, a Laplacian of the pairs in a range of margins.

Products with H come from sweeps. Where few items have such pairs, H itself is a small matrix of these items.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kernelrank.base.arrays import Float, Index
from kernelrank.hinge.pairs import PlacedPairs

__all__ = ["Curvature"]


@dataclass(frozen=True)
class Curvature:
    """``H = scale · L``, where L is the Laplacian of the pairs with a margin in ``[low, high)``.

    Parameters
    ----------
    placed : PlacedPairs
        The pairs with their margins.
    degree : ndarray, shape (m,)
        The diagonal of L, in the order of `placed`.
    low, high : float
        The range of margins.
    scale : float
        What the weight of every pair is multiplied by.

    Notes
    -----
    O(m log m) time for a product with scored pairs; `matrix` takes s² time and memory for s items.

    Examples
    --------
    >>> from kernelrank.losses import ListedPairs
    >>> placed = ListedPairs(3, np.array([[2, 0]]), np.ones(1)).place(np.zeros(3))
    >>> H = Curvature(placed, np.array([1.0, 0.0, 1.0]), -1.0, 1.0, 2.0)
    >>> H(np.array([1.0, 0.0, 0.0])), H.trace
    (array([ 2.,  0., -2.]), 4.0)
    >>> H.matrix()
    (array([0, 2]), array([[ 2., -2.],
           [-2.,  2.]]))
    """

    placed: PlacedPairs
    degree: Float
    low: float
    high: float
    scale: float

    def __call__(self, v: Float) -> Float:
        """Return ``H v``."""
        v = self.placed.bring(v)
        return self.placed.back(self.scale * (self.degree * v - self.placed.sums(v, self.low, self.high)))

    @property
    def trace(self) -> float:
        """The trace of H."""
        return self.scale * float(self.degree.sum())

    @property
    def n_curved(self) -> int:
        """The number of items that have pairs in the range."""
        return int(np.count_nonzero(self.degree))

    def matrix(self) -> tuple[Index, Float]:
        """Return the items that have pairs in the range, shape (s,), and H among them, shape (s, s)."""
        places = np.flatnonzero(self.degree)
        W = self.placed.weights(places, self.low, self.high)
        W += W.T
        degree = W.sum(axis=1)
        W *= -self.scale
        W[np.diag_indices_from(W)] += self.scale * degree
        numbers = self.placed.bring(np.arange(len(self.degree), dtype=np.float64))
        return numbers[places].astype(np.int64), W

    def times(self, factor: float) -> Curvature:
        """Return the curvature of the loss times a factor."""
        return replace(self, scale=self.scale * factor)
