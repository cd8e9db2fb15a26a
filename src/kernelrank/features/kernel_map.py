"""The empirical kernel map of a basis, ``φ(x) = U⁻ᵀ k(R, x)`` with ``Uᵀ U = K_RR`` [Air11]_ (Paper III).

A pivoted Cholesky factorisation of ``K_RR`` takes the basis items one by one, always the one that those taken before
explain least, and stops when rounding is all that is left. The items taken, as many as the numerical rank, span what
the whole basis spans; the others get no column and no coefficient.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import blas, lapack, solve_triangular

from kernelrank.arrays import Float, Index, Matrix
from kernelrank.errors import InvalidInputError
from kernelrank.kernels import Kernel

__all__ = ["KernelMap", "KernelRows"]


@dataclass(frozen=True)
class KernelMap:
    """Turns items into features whose inner products are the Nyström approximation of the kernel.

    Parameters
    ----------
    kernel : Kernel
    size : int
        The number of basis items, r.
    taken : ndarray of int64, shape (rank,)
        The places in the basis of the items that were taken, in their order.
    U : ndarray, shape (rank, rank)
        The upper triangular factor of their kernel.

    Notes
    -----
    O(r³/3) time to build; O(t r n + t r²) for the features of t items.
    """

    kernel: Kernel
    size: int
    taken: Index
    U: Float

    @classmethod
    def of(cls, kernel: Kernel, K: Float) -> KernelMap:
        """Factorise the kernel of a basis, in its place: K is lost."""
        # The transpose of a symmetric matrix is the same one, in the order that LAPACK overwrites. A negative tolerance
        # is its default: r ε times the largest diagonal entry.
        U, pivot, rank, _ = lapack.dpstrf(K.T, tol=-1.0, lower=0, overwrite_a=1)
        if rank == 0:
            raise InvalidInputError("the kernel of the basis is zero: every basis item is the zero vector")
        for column in range(rank):
            U[column + 1 :, column] = 0.0
        taken = pivot[:rank].astype(np.int64) - 1
        return cls(kernel, len(K), taken, U if rank == len(K) else np.asfortranarray(U[:rank, :rank]))

    @property
    def rank(self) -> int:
        """The numerical rank of the kernel of the basis, and the number of features."""
        return len(self.taken)

    def features(self, K_MR: Float) -> Float:
        """Return ``K_MR U⁻¹`` for kernels with the items taken (t × rank), in place where K_MR allows it."""
        solved: Float = blas.dtrsm(1.0, self.U, np.asarray(K_MR, order="C").T, trans_a=1, overwrite_b=1)
        return solved.T

    @cached_property
    def condition(self) -> float:
        """An estimate of the condition number of the kernel of the items taken, O(r²)."""
        reciprocal, _ = lapack.dtrcon(self.U)
        return float(reciprocal) ** -2 if reciprocal > 0 else np.inf

    def transform_equations(self, gram: Float, right: Float) -> tuple[Float, Float]:
        """Turn ``K_RM L K_MR`` and ``K_RM M N`` into those of the features, ``U⁻ᵀ · U⁻¹`` and ``U⁻ᵀ ·``.

        This saves O(m r²) beside making the features first, and loses as many digits as `condition` has.
        """
        half = solve_triangular(self.U, gram, trans="T", check_finite=False)
        whole = solve_triangular(self.U, half.T, trans="T", check_finite=False)
        return (whole + whole.T) / 2, solve_triangular(self.U, right, trans="T", check_finite=False)

    def without(self, places: Index) -> Callable[[Float], Float]:
        """Return what turns features Φ into those of the basis without some of its items.

        This is Paper III's update of the map itself [Air11]_, for losses that have no closed form. A model without
        these basis items is one whose weights are orthogonal to the rows that ``U⁻¹`` has for them. Householder
        reflections turn those rows into the first h axes; the other columns of the turned Φ are features whose inner
        products are the Nyström kernel of the items left.

        Parameters
        ----------
        places : ndarray of int64
            Places in the basis; it must have full numerical rank, else an item left may stand in for one that leaves.

        Returns
        -------
        callable
            From ndarray, shape (t, rank), to ndarray, shape (t, rank - h).

        Notes
        -----
        O(r h²) time for h items, and O(t r h) for the features of t items, where a new map would cost O(t r²).
        """
        if self.rank < self.size:
            raise InvalidInputError(
                f"the basis has rank {self.rank} of {self.size}: remove its duplicated items before any other"
            )
        columns = np.flatnonzero(np.isin(self.taken, places))
        if len(columns) == 0:
            return lambda Phi: Phi
        units = np.zeros((self.rank, len(columns)))
        units[columns, np.arange(len(columns))] = 1.0
        constraints = solve_triangular(self.U, units, trans="T", check_finite=False)
        reflectors, scales, _, _ = lapack.dgeqrf(constraints)

        def turn(Phi: Float) -> Float:
            turned, _, _ = lapack.dormqr("R", "N", reflectors, scales, Phi, lwork=64 * max(1, len(Phi)))
            left: Float = turned[:, len(columns) :]
            return left

        return turn

    def coefficients(self, w: Float) -> Float:
        """Return the coefficients of the basis items, ``U⁻¹ w`` for those taken and zero for the others."""
        b = np.zeros((self.size, w.shape[1]))
        b[self.taken] = solve_triangular(self.U, w, check_finite=False)
        return b


class KernelRows:
    """The features of many items, computed when rows are asked for and never kept.

    Parameters
    ----------
    kernel_map : KernelMap
    X : array or sparse matrix, shape (m, n), or kernels with the items taken (m, rank) if precomputed
    basis_items : array or sparse matrix, shape (rank, n), or None if precomputed
    plain : bool, default=False
        Whether rows are the kernels themselves, without the map.
    """

    dtype = np.dtype(np.float64)

    def __init__(self, kernel_map: KernelMap, X: Matrix, basis_items: Matrix | None, *, plain: bool = False) -> None:
        self.map = kernel_map
        self.X = X
        self.basis_items = basis_items
        self.plain = plain
        self.shape = (X.shape[0], kernel_map.rank)

    def part(self, items: Index) -> KernelRows:
        """Return the features of some of the items, still to be computed."""
        return KernelRows(self.map, self.X[items], self.basis_items, plain=self.plain)

    def __getitem__(self, rows: slice | Index) -> Float:
        """Return the features, or the kernels, of some items."""
        K = self.map.kernel.matrix(self.X[rows], self.basis_items)
        return K if self.plain else self.map.features(K)
