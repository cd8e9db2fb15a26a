"""The systems ``Γ_UU r = e_U`` of many sets U and many λ: the residuals of held-out sets.

The dual inverse Γ (`kernelrank.exact_cv.dual_inverse`) is never formed: its blocks are products of the rows of a
decomposition's factors. Small sets of one size are solved together, all λ at once. Sets of more items than the factors
have columns need systems of the size of the columns only.

**Null directions.** Where U takes a query whole, the constant of that query lies in the null space of ``Γ_UU`` and e_U
is orthogonal to it; adding any multiple of ``1 1ᵀ`` there leaves the solution that is wanted. Items that are compared
with none have zero rows in Γ, and r is zero there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from kernelrank.base.arrays import Float, Index, blocks
from kernelrank.base.compiled import CompilingPays, compiled
from kernelrank.comparisons import Comparisons

__all__ = ["SMALL", "SetSystems"]

SMALL = 40
"""Sets of up to this many items go through the compiled loop, all λ at once."""

CACHE_BYTES = 2**19
"""The size of the systems that are factorised in one go."""

COLUMNS = 100
"""Up to this many columns of Q, systems of that size go through the compiled loop."""

COMPILED = CompilingPays(at_once=60_000_000, in_all=60_000_000, loaded=20)
"""Whether the loop makes so many multiplications; else NumPy does, to the same bit."""

NUMPY_CALLS, PER_NUMBER = 20_000, 3
"""What the calls of NumPy for one column of the systems cost, and reading one number, counted in multiplications."""

UNEVEN = 1e-5
"""Where a pivot of the base is smaller than this part of its diagonal entry, no system is derived from its factor."""


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
        u, n, symmetric = self.items.shape[1], d.shape[2], self.right is self.Q
        more_items = self.sign < 0 and u > self.Q.shape[2]
        if symmetric and more_items and n > 1:
            return self._solve_in_columns(e, d)
        if symmetric and not more_items and u <= SMALL:
            return self._solve_together(e, d)
        pivots = np.empty((len(self.items), d.shape[2]))
        for q in range(len(pivots)):
            self._solve_each(q, e, d, pivots)
        return pivots

    def _solve_each(self, q: int, e: Float, d: Float, pivots: Float) -> None:
        """Solve the systems of one set, λ by λ."""
        own = d[q if len(d) > 1 else 0]
        for number in range(own.shape[1]):
            e[q, :, :, number], pivots[q, number] = self.solve_one(q, own[:, number], e[q, :, :, number])

    def _solve_together(self, e: Float, d: Float) -> Float:
        """Do what `solve` does for small sets, all λ in one product and in one factorisation.

        Sets are taken a few at a time, so that their systems stay in the processor's cache.
        """
        n_sets, u, _k, n = e.shape
        first, second = np.tril_indices(u)
        corners, d = _corners(u), self.sign * d
        raised = self._raised_base().reshape(n_sets, -1).take(u * first + second, axis=1)
        null = self.null.reshape(n_sets, -1).take(u * first + second, axis=1)
        pivots, lifted = np.empty((n_sets, n)), self.sign > 0 and bool(null.any())
        for part in blocks(n_sets, 8 * len(first) * (n + self.Q.shape[2]), CACHE_BYTES):
            products = self.Q[part].take(first, axis=1)
            products *= self.Q[part].take(second, axis=1)
            if len(d) > 1:
                systems = np.matmul(products, d[part])
            else:  # one product for all sets
                flat = products.reshape(-1, products.shape[2]) @ d[0]
                systems = flat.reshape(len(products), len(first), n)
            if self.sign < 0:
                systems += raised[part, :, None]
                diagonal = raised[part][:, corners, None]
            else:
                if lifted:
                    mean = systems[:, corners].mean(axis=1, keepdims=True)
                    systems += null[part, :, None] * np.where(mean > 0.0, mean, 1.0)
                diagonal = systems[:, corners]
            pivots[part] = _solve_packed(systems, e[part], diagonal)
        return pivots

    def _raised_base(self) -> Float:
        """Return the base with its null space raised to the size of its diagonal, shape (sets, u, u)."""
        t = np.trace(self.base, axis1=1, axis2=2) / self.base.shape[1]
        raised: Float = self.base + np.where(t > 0.0, t, 1.0)[:, None, None] * self.null
        return raised

    def _solve_in_columns(self, e: Float, d: Float) -> Float:
        """Do what `solve` does for sets with more items than Q has columns. Each λ needs a system of s equations only.

        With ``B = R Rᵀ``, the base and what lifts its null space, and ``V = R⁻¹ Q_U``, the matrix of a set is
        ``R (I - V diag(d) Vᵀ) Rᵀ``, and by Woodbury's formula the inverse of the inner matrix is
        ``I + V √d (I - √d VᵀV √d)⁻¹ √d Vᵀ``: one factorisation of u × u for all λ.
        """
        n_sets, u, k, n = e.shape
        s, root, pivots = self.Q.shape[2], np.sqrt(d), np.empty((n_sets, n))
        B = self._raised_base()
        both = np.concatenate([self.Q, e.reshape(n_sets, u, -1)], axis=2)
        factors = {}
        for q in range(n_sets):
            factor, failed_at = lapack.dpotrf(B[q], lower=1, clean=0)
            if failed_at > 0 or (np.diagonal(factor) ** 2 < UNEVEN * np.diagonal(B[q])).any():
                self._solve_each(q, e, d, pivots)
            else:
                factors[q] = factor
                both[q], _info = lapack.dtrtrs(factor, both[q], lower=1)
        even = np.array(list(factors), dtype=np.int64)
        V, z = both[even, :, :s], both[even, :, s:]
        if len(d) > 1:
            root = root[even]
        inner = (V.transpose(0, 2, 1) @ z).reshape(len(even), s, k, n) * root[:, :, None]
        pivots[even] = _solve_scaled(V.transpose(0, 2, 1) @ V, root, inner)
        inner *= root[:, :, None]
        z += V @ inner.reshape(len(even), s, k * n)
        for q, own in zip(factors, z, strict=True):
            r, _info = lapack.dtrtrs(factors[q], own, lower=1, trans=1)
            e[q] = r.reshape(u, k, n)
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


def _solve_scaled(G: Float, root: Float, e: Float) -> Float:
    """Overwrite e by the solutions of ``(I - √d G √d) x = e`` for every set and λ; return the smallest pivots.

    Parameters
    ----------
    G : ndarray, shape (sets, s, s)
    root : ndarray, shape (1 or sets, s, n)
        √d.
    e : ndarray, shape (sets, s, k, n)

    Returns
    -------
    ndarray, shape (sets, n)
    """
    n_sets, s, _k, n = e.shape
    pivots = np.zeros((n_sets, n))
    if s > COLUMNS:
        for q, number in np.ndindex(n_sets, n):
            own = root[q if len(root) > 1 else 0, :, number]
            factor, failed_at = lapack.dpotrf(np.eye(s) - own[:, None] * G[q] * own, lower=1, clean=0)
            if failed_at == 0:
                e[q, :, :, number], _info = lapack.dpotrs(factor, e[q, :, :, number], lower=1)
                pivots[q, number] = np.diagonal(factor).min() ** 2
        return pivots
    first, second = np.tril_indices(s)
    scale = root[:, first] * -root[:, second]
    for part in blocks(n_sets, 8 * len(first) * n, CACHE_BYTES):
        systems = G[part, first, second][..., None] * (scale[part] if len(root) > 1 else scale)
        systems[:, _corners(s)] += 1.0
        pivots[part] = _solve_packed(systems, e[part], np.ones((1, s, 1)))
    return pivots


def _corners(u: int) -> Index:
    """Return where the diagonal stands in a packed lower triangle of u rows."""
    rows = np.arange(u)
    return np.asarray(rows * (rows + 3) // 2)


def _solve_packed(M: Float, e: Float, diagonal: Float) -> Float:
    """Overwrite e by the solutions of ``M x = e`` for every set and λ; return the smallest relative pivots.

    Parameters
    ----------
    M : ndarray, shape (sets, u (u + 1) / 2, n)
        Packed lower triangles.
    e : ndarray, shape (sets, u, k, n)
    diagonal : ndarray, shape (1 or sets, u, 1 or n)
        What pivots are compared with.

    Returns
    -------
    ndarray, shape (sets, n)
    """
    (n_sets, u, k, n), size = e.shape, M.shape[1]
    both = np.empty((n_sets, size + k * u, n))
    both[:, :size] = M
    right = both[:, size:].reshape(n_sets, k, u, n)
    right[:] = e.transpose(0, 2, 1, 3)
    multiplications = n_sets * n * u * (u * (u + 3 * k) // 3 + PER_NUMBER * (u + k))
    if COMPILED(u * NUMPY_CALLS + multiplications):
        _factorise_and_solve(both, u, k)
    else:
        _eliminate_columns(both, u, k)
    e[:] = right.transpose(0, 2, 1, 3)
    reciprocal = both[:, _corners(u)]
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        reciprocal *= reciprocal
        reciprocal *= diagonal
        return np.asarray(1.0 / reciprocal.max(axis=1))


def _eliminate_columns(M: Float, u: int, k: int) -> None:
    """Do what `_factorise_and_solve` does, by the same operations on each number, a column of all systems at a time."""
    rows = np.arange(u + k)
    starts = np.where(rows <= u, rows * (rows + 1) // 2, (u + 1) * u // 2 + (rows - u) * u)
    first, second = np.tril_indices(u + k, m=u)
    for c in range(u):
        pivot = M[:, starts[c] + c]
        np.divide(1.0, np.sqrt(np.maximum(pivot, 1e-300)), out=pivot)
        column = M[:, starts[c + 1 :] + c] * pivot[:, None]
        M[:, starts[c + 1 :] + c] = column
        below, left = first[second > c], second[second > c]
        M[:, starts[below] + left] -= column[:, below - c - 1] * column[:, left - c - 1]
    right = M[:, starts[u] :].reshape(len(M), k, u, -1)
    for i in range(u - 1, -1, -1):
        right[:, :, i] *= M[:, None, starts[i] + i]
        right[:, :, :i] -= M[:, None, starts[i] : starts[i] + i] * right[:, :, i, None]


@compiled
def _factorise_and_solve(M: Float, u: int, k: int) -> None:
    """Replace packed systems by Cholesky's factors, and the k rows of right-hand sides below them by the solutions.

    A right-hand side is eliminated forwards as one more row of the matrix would be. The innermost loops run over λ,
    whose numbers stand side by side, so that all λ are factorised together.

    Parameters
    ----------
    M : ndarray, shape (sets, u (u + 1) / 2 + k u, n)
        The diagonal of the factor is stored as its reciprocals.
    u, k : int
    """
    n = M.shape[2]
    for q in range(M.shape[0]):
        row = 0
        for i in range(u + k):
            other = 0
            for j in range(min(i + 1, u)):
                for c in range(j):
                    for a in range(n):
                        M[q, row + j, a] -= M[q, row + c, a] * M[q, other + c, a]
                other += j
                if j < i:
                    for a in range(n):
                        M[q, row + j, a] *= M[q, other, a]
                else:
                    for a in range(n):
                        M[q, other, a] = 1.0 / np.sqrt(max(M[q, other, a], 1e-300))
                other += 1
            row += min(i + 1, u)
        for _ in range(k):
            row -= u
            other = u * (u + 1) // 2
            for i in range(u - 1, -1, -1):  # backwards
                other -= i + 1
                for a in range(n):
                    M[q, row + i, a] *= M[q, other + i, a]
                for j in range(i):
                    for a in range(n):
                        M[q, row + j, a] -= M[q, other + j, a] * M[q, row + i, a]
