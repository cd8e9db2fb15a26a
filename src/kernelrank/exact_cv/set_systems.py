"""The systems ``Γ_UU r = e_U`` of many sets U and many λ: the residuals of held-out sets.

The dual inverse Γ (`kernelrank.exact_cv.dual_inverse`) is never formed: its blocks are products of the rows of a
decomposition's factors. Small sets of one size are solved together, all λ at once.

**Null directions.** Where U takes a query whole, the constant of that query lies in the null space of ``Γ_UU`` and e_U
is orthogonal to it; adding any multiple of ``1 1ᵀ`` there leaves the solution that is wanted. Items that are compared
with none have zero rows in Γ, and r is zero there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from kernelrank.arrays import Float, Index, blocks
from kernelrank.comparisons import Comparisons
from kernelrank.compiled import compiled

__all__ = ["SMALL", "SetSystems"]

SMALL = 40
"""Sets of up to this many items go through the compiled loop, all λ at once."""

CACHE_BYTES = 2**19
"""The size of the systems that are factorised in one go."""


class SetSystems:
    """``Γ_UU r = e_U`` for several sets U of one size and several λ, from the factors of a decomposition.

    Parameters
    ----------
    graph : Comparisons
        Scored queries, or the items of RLS.
    uncompared : ndarray of bool, shape (m,)
        The items that are compared with none.
    items : ndarray of int64, shape (sets, u)
    left : ndarray, shape (m, s)
        Q.
    sign : float
        +1 where ``Γ = Q diag(d) Qᵀ``, -1 where ``λ Γ = L - Q diag(d) Q'ᵀ``.
    right : ndarray, shape (m, s), optional
        Q'; Q unless given.
    """

    def __init__(
        self,
        graph: Comparisons,
        uncompared: NDArray[np.bool_],
        items: Index,
        left: Float,
        sign: float,
        right: Float | None = None,
    ) -> None:
        self.items, self.sign = items, sign
        self.Q = left[items]  # (sets, u, s)
        self.right = self.Q if right is None or right is left else right[items]
        self.uncompared = uncompared[items]
        size = items.shape[1]
        self.same: NDArray[np.bool_] | None = None
        self.null = self.uncompared[..., None] * np.eye(size)
        if graph.queries is not None:
            codes = graph.queries.codes[items]
            self.same = codes[..., :, None] == codes[..., None, :]
            whole = self.same.sum(axis=-1) == graph.queries.sizes[codes]
            self.null += (self.same & whole[..., None]) / size
        self.base = graph.submatrix(items) if sign < 0 else np.zeros((len(items), size, size))

    def solve(self, e: Float, d: Float) -> Float:
        """Overwrite e_U by r, shape (sets, u, k, n); return the smallest relative pivots, shape (sets, n).

        Parameters
        ----------
        e : ndarray, shape (sets, u, k, n)
        d : ndarray, shape (1 or sets, s, n)
        """
        if self.items.shape[1] <= SMALL and self.right is self.Q:
            return self._solve_together(e, d)
        pivots = np.empty((len(self.items), d.shape[2]))
        for q, number in np.ndindex(pivots.shape):
            own = d[q if len(d) > 1 else 0, :, number]
            e[q, :, :, number], pivots[q, number] = self.solve_one(q, own, e[q, :, :, number])
        return pivots

    def _solve_together(self, e: Float, d: Float) -> Float:
        """Do what `solve` does for small sets, all λ in one product and in one factorisation.

        Sets are taken a few at a time, so that their systems stay in the processor's cache.
        """
        n_sets, u, k, n = e.shape
        first, second = np.tril_indices(u)
        diagonal = np.flatnonzero(first == second)
        packed = u * first + second
        base, null = (part.reshape(n_sets, -1).take(packed, axis=1) for part in (self.base, self.null))
        pivots = np.empty((n_sets, n))
        for part in blocks(n_sets, 8 * len(first) * (n + self.Q.shape[2]), CACHE_BYTES):
            products = self.Q[part].take(first, axis=1)
            products *= self.Q[part].take(second, axis=1)
            systems = np.empty((len(products), len(first) + k * u, n))
            M, right = systems[:, : len(first)], systems[:, len(first) :].reshape(-1, k, u, n)
            right[:] = e[part].transpose(0, 2, 1, 3)
            if len(d) > 1:
                gamma_blocks = np.matmul(products, self.sign * d[part])
            else:  # one product for all sets
                flat = products.reshape(-1, products.shape[2]) @ (self.sign * d[0])
                gamma_blocks = flat.reshape(len(products), len(first), n)
            floor = base[part][:, diagonal, None]  # what pivots are compared with
            t = np.zeros((len(products), n))
            if not floor.all() or null[part].any():
                entries = gamma_blocks[:, diagonal] + floor
                t = entries.mean(axis=1)
                t[t <= 0.0] = 1.0
                entries += t[:, None] * null[part][:, diagonal, None]
                floor = np.where(floor == 0.0, entries, floor)
            _solve_packed(systems, gamma_blocks, base[part], null[part], t, u, k)
            e[part] = right.transpose(0, 2, 1, 3)
            inverse = M[:, diagonal]  # of R; its squares are one over the pivots
            with np.errstate(over="ignore"):  # where a pivot is zero
                inverse *= inverse
                inverse *= floor
            pivots[part] = 1.0 / (inverse[:, 0] if u == 1 else inverse.max(axis=1))
        return pivots

    def solve_one(self, q: int, d: Float, e: Float) -> tuple[Float, float]:
        """Solve the system of one set for one λ; return r (u, k), and the smallest relative pivot: 0 where it fails."""
        M = self.base[q] + self.sign * ((self.Q[q] * d) @ self.right[q].T)
        mean = float(np.diagonal(M).mean())
        M += (mean if mean > 0 else 1.0) * self.null[q]
        floor = np.diagonal(self.base[q] if self.sign < 0 else M).copy()
        floor[floor == 0.0] = np.diagonal(M)[floor == 0.0]
        factor, failed_at = lapack.dpotrf(M, lower=1, clean=0)
        if failed_at > 0:
            return e, 0.0
        r, _info = lapack.dpotrs(factor, e, lower=1)
        return r, float((np.diagonal(factor) ** 2 / floor).min())


@compiled
def _solve_packed(M: Float, P: Float, base: Float, null: Float, t: Float, u: int, k: int) -> None:
    """Solve ``(P + base + t null) x = e`` for every set and λ: M holds ``R Rᵀ``, the matrix, and x overwrites e.

    The right sides stand below the matrix as further rows: what factorises a row of the matrix solves ``R z = e`` for a
    right side. The innermost loops run over λ, whose numbers stand side by side, so that all λ are factorised together.

    Parameters
    ----------
    M : ndarray, shape (sets, u (u + 1) / 2 + k u, n)
        Room for packed lower triangles for every λ, and k right sides. The diagonal of R comes back as its reciprocals.
    P : ndarray, shape (sets, u (u + 1) / 2, n)
    base, null : ndarray, shape (sets, u (u + 1) / 2)
    t : ndarray, shape (sets, n)
    u, k : int
    """
    n_sets, _size, n = M.shape
    for q in range(n_sets):
        for entry in range(base.shape[1]):
            for a in range(n):
                M[q, entry, a] = P[q, entry, a] + base[q, entry] + t[q, a] * null[q, entry]
        row = 0
        for i in range(u + k):
            width = min(i + 1, u)
            other = 0
            for j in range(width):
                for c in range(j):
                    for a in range(n):
                        M[q, row + j, a] -= M[q, row + c, a] * M[q, other + c, a]
                other += j
                if j == i:
                    for a in range(n):
                        M[q, other, a] = 1.0 / np.sqrt(max(M[q, other, a], 1e-300))
                else:
                    for a in range(n):
                        M[q, row + j, a] *= M[q, other, a]
                other += 1
            row += width
        for _ in range(k):
            row -= u
            for step in range(u):
                i = max(u - 1 - step, 0)
                other = i * (i + 1) // 2
                for a in range(n):
                    M[q, row + i, a] *= M[q, other + i, a]
                for j in range(i):
                    for a in range(n):
                        M[q, row + j, a] -= M[q, other + j, a] * M[q, row + i, a]
