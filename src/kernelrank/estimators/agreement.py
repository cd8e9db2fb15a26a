"""Agreement of several views on unscored items: one matrix for all alphas and nus.

With ``Ψ = [Ψ_1 ... Ψ_M]`` the features of the unscored items in M views and ``𝓛`` their Laplacian, ``G = Ψᵀ 𝓛 Ψ`` has
the blocks ``G_vu``. Two views ``f_v = Ψ_v w_v`` and ``f_u`` disagree by

    ``d_vu = (f_v - f_u)ᵀ 𝓛 (f_v - f_u) = w_vᵀ G_vv w_v - 2 w_vᵀ G_vu w_u + w_uᵀ G_uu w_u``,

and ``nu Σ_vu d_vu``, over all v and u, is ``wᵀ P w`` with the blocks ``2 nu (M - 1) G_vv`` on the diagonal of P and
``-2 nu G_vu`` beside it [TPBSH11]_ (17).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from kernelrank.base.arrays import Float, Index

__all__ = ["Agreement"]


@dataclass(frozen=True)
class Agreement:
    """The scatter of unscored queries in the features of all views.

    Parameters
    ----------
    gram : ndarray, shape (R, R)
        ``Ψᵀ 𝓛 Ψ``, R being the number of features of all views together.
    bounds : ndarray of int64, shape (M + 1,)
        Where the features of each view begin.
    pair_weight : float, default=0.0
        The weight of all pairs of unscored items together.
    n_items, n_queries : int, default=0
        How many unscored items and queries there were.

    Notes
    -----
    Memory R² numbers, whatever the number of unscored items. Each method takes O(R²), `turned` O(R³).

    Examples
    --------
    >>> agreement = Agreement(np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([0, 1, 2]), 1.0)
    >>> agreement.penalty(0.5)
    array([[ 1., -1.],
           [-1.,  1.]])
    >>> agreement.disagreement(np.array([[1.0], [3.0]]))
    array([4.])
    """

    gram: Float
    bounds: Index
    pair_weight: float = 0.0
    n_items: int = 0
    n_queries: int = 0

    @classmethod
    def none(cls, ranks: Sequence[int]) -> Agreement:
        """Return the agreement on no item, of views with some numbers of features."""
        bounds = np.concatenate([[0], np.cumsum(ranks)]).astype(np.int64)
        return cls(np.zeros((bounds[-1], bounds[-1])), bounds)

    @property
    def parts(self) -> list[slice]:
        """The columns of the features of each view."""
        return [slice(start, stop) for start, stop in pairwise(self.bounds.tolist())]

    def penalty(self, nu: float) -> Float:
        """Return P with ``wᵀ P w = nu Σ_vu d_vu``."""
        P = -2.0 * nu * self.gram
        for part in self.parts:
            P[part, part] *= 1 - len(self.parts)
        return P

    def disagreement(self, w: Float) -> Float:
        """Return the mean squared disagreement of each output: over pairs of views, and over pairs of unscored items.

        Parameters
        ----------
        w : ndarray, shape (R, outputs)

        Returns
        -------
        ndarray, shape (outputs,)
            Pairs of items count as `query_weight` says; NaN without unscored items.
        """
        M = len(self.parts)
        if self.pair_weight == 0:
            return np.full(w.shape[1], np.nan)
        total: Float = np.einsum("io,io->o", w, self.penalty(1.0) @ w)
        return np.maximum(total, 0.0) / (M * (M - 1) * self.pair_weight)

    def turned(self, turns: Sequence[Float]) -> Agreement:
        """Return the agreement in other features, ``Ψ_v Q_v``."""
        bounds = np.concatenate([[0], np.cumsum([Q.shape[1] for Q in turns])]).astype(np.int64)
        half = np.hstack([self.gram[:, part] @ Q for part, Q in zip(self.parts, turns, strict=True)])
        gram = np.vstack([Q.T @ half[part] for part, Q in zip(self.parts, turns, strict=True)])
        return Agreement((gram + gram.T) / 2, bounds, self.pair_weight, self.n_items, self.n_queries)

    def silent(self, scales: Sequence[float]) -> Iterator[int]:
        """Yield the uninformative views: constant within each unscored query, up to rounding."""
        for number, (part, scale) in enumerate(zip(self.parts, scales, strict=True)):
            if np.trace(self.gram[part, part]) <= self.pair_weight * 1e-24 * scale:
                yield number
