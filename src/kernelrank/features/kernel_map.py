"""The empirical kernel map of a basis, ``φ(x) = U⁻ᵀ k(R, x)`` with ``Uᵀ U = K_RR`` [Air11]_ (Paper III).

A pivoted Cholesky factorisation of ``K_RR`` takes the basis items one by one, always the one that those taken before
explain least, and stops when rounding is all that is left. The items taken, as many as the numerical rank, span what
the whole basis spans; the others get no column and no coefficient.

Without some items H of those taken, the basis spans less: what is orthogonal to the rows H of ``U⁻¹`` as directions of
the features. The items that were not taken may make up for it, a duplicate above all. Item d is ``U c_d`` in the
features, with ``c = K_TT⁻¹ K_Td`` its coefficients on those taken; so its part in the directions that would be lost,
``Q R`` being these rows turned orthonormal, is ``R⁻ᵀ c_H``. A singular value decomposition of these parts tells which
directions the items that stay still span.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.linalg import blas, lapack, qr, solve_triangular, svd

from kernelrank.base.arrays import Float, GramSum, Index, Matrix, product
from kernelrank.errors import InvalidInputError
from kernelrank.features.map import duplicate_rows
from kernelrank.kernels import Kernel, refuse_indefinite

__all__ = ["KernelMap", "KernelRows", "kernel_scores"]

SCORE_BYTES = 2**26
"""The size of a block of kernel rows when scores are predicted."""

MOST_LOST = 2e7
"""Up to this product of two condition numbers, what both of them multiply keeps eight digits."""

UNSURE = 1e4
"""Squared lengths within this factor of what counts as zero may be rounding, or not."""


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
    left : ndarray of int64, shape (size - rank,)
        The places of the others.
    across : ndarray, shape (rank, size - rank)
        The features of the others, as columns.

    Notes
    -----
    O(r³/3) time to build; O(t r n + t r²) for the features of t items.
    """

    kernel: Kernel
    size: int
    taken: Index
    U: Float
    left: Index = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    across: Float = field(default_factory=lambda: np.zeros((0, 0)))

    @classmethod
    def of(cls, kernel: Kernel, K: Float) -> KernelMap:
        """Factorise the kernel of a basis in place (K is overwritten); raise an error if it is indefinite."""
        refuse_indefinite(kernel, K)
        # The transpose of a symmetric matrix is the same one, in the order that LAPACK overwrites. A negative tolerance
        # is its default: r ε times the largest diagonal entry.
        U, pivot, rank, _ = lapack.dpstrf(K.T, tol=-1.0, lower=0, overwrite_a=1)
        if rank == 0:
            raise InvalidInputError(
                "the kernel matrix of the basis is zero: every basis item is a zero vector. Choose other basis items"
            )
        for column in range(rank):
            U[column + 1 :, column] = 0.0
        order = pivot.astype(np.int64) - 1
        factor = U if rank == len(K) else np.asfortranarray(U[:rank, :rank])
        return cls(kernel, len(K), order[:rank], factor, order[rank:], np.asfortranarray(U[:rank, rank:]))

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
        """Turn ``K_RM L K_MR``, in its place, and ``K_RM M N`` into those of the features, ``U⁻ᵀ · U⁻¹`` and ``U⁻ᵀ ·``.

        O(r³) time. This saves O(m r²) beside making the features first; `keeps_digits` tells what it loses.
        """
        upper, _ = lapack.dsygst(gram.T, self.U, itype=1, lower=0, overwrite_a=1)
        return GramSum.onto(upper.T).matrix(), solve_triangular(self.U, right, trans="T", check_finite=False)

    def keeps_digits(self, gram: Float) -> bool:
        """Whether transformed equations, ``Φᵀ L Φ``, have solutions with eight digits, whatever alpha is.

        The map multiplies the rounding of the kernels by the condition number of their basis, and a solution that by
        the condition number of ``Φᵀ L Φ``, its diagonal scaled to one. Both are estimated in the 1-norm, which is
        larger than the spectral one by about √r each. O(r³/3) time.
        """
        diagonal = np.diagonal(gram)
        if not np.all(diagonal > 0.0):
            return False
        shrunk = 1.0 / np.sqrt(diagonal)
        scaled = gram * shrunk
        scaled *= shrunk[:, None]
        norm = float(lapack.dlange("1", scaled.T))
        factor, failed_at = lapack.dpotrf(scaled.T, clean=0, overwrite_a=1)
        reciprocal = lapack.dpocon(factor, norm)[0] if failed_at == 0 else 0.0
        return bool(self.condition <= MOST_LOST * self.rank * reciprocal)

    @cached_property
    def dependence(self) -> Float:
        """The coefficients of the items that were not taken on those that were, shape (rank, size - rank)."""
        solved: Float = solve_triangular(self.U, self.across, check_finite=False)
        return solved

    def lost_directions(self, columns: Index, gone: Index, rows: Float) -> Float | None:
        """Return directions that the basis no longer spans without some of its items.

        Parameters
        ----------
        columns : ndarray of int64, shape (h,)
            The columns of the features whose items leave.
        gone : ndarray of int64
            The places in `left` of the items that leave.
        rows : ndarray, shape (h, rank)
            The rows of ``U⁻¹`` at these columns, in any orthonormal basis of the features.

        Returns
        -------
        ndarray, shape (at most h, rank), or None
            Rows in the same basis; None where rounding leaves open whether a direction is spanned.

        Notes
        -----
        No time where the basis has full rank; else O(r h²) for a basis of r.
        """
        if len(self.left) == len(gone) or len(columns) == 0:
            return rows
        staying = np.delete(self.dependence[columns], gone, axis=1)
        Q, R = qr(rows.T, mode="economic", check_finite=False)
        reach = solve_triangular(R, staying, trans="T", check_finite=False)
        turns, sizes, _ = svd(reach, check_finite=False)
        lengths = np.zeros(len(columns))
        lengths[: len(sizes)] = sizes**2
        # What the factorisation itself takes for zero; the first pivot is the largest diagonal entry.
        tolerance = self.size * float(np.finfo(np.float64).eps) * self.U[0, 0] ** 2
        if np.any((lengths > tolerance / UNSURE) & (lengths < tolerance * UNSURE)):
            return None
        found: Float = turns[:, lengths <= tolerance].T @ Q.T
        return found

    def without(self, places: Index) -> Callable[[Float], Float] | None:
        """Return the matrix that turns features Φ into those of the basis without some of its items.

        This is Paper III's update of the map itself [Air11]_, for losses that have no closed form. A model without
        these basis items is one whose weights are orthogonal to what the basis no longer spans (`lost_directions`).
        Householder reflections turn that into the first axes; the other columns of the turned Φ are features whose
        inner products are the Nyström kernel of the items left.

        Parameters
        ----------
        places : ndarray of int64
            Places in the basis.

        Returns
        -------
        callable or None
            From ndarray, shape (t, rank), to ndarray, shape (t, at least rank - h); None where rounding leaves open
            whether an item left stands in for one that leaves.

        Notes
        -----
        O(r h²) time for h items, and O(t r h) for the features of t items, where a new map would cost O(t r²).
        """
        columns = np.flatnonzero(np.isin(self.taken, places))
        gone = np.flatnonzero(np.isin(self.left, places))
        units = np.zeros((self.rank, len(columns)))
        units[columns, np.arange(len(columns))] = 1.0
        rows = solve_triangular(self.U, units, trans="T", check_finite=False).T
        directions = self.lost_directions(columns, gone, rows)
        if directions is None:
            return None
        if len(directions) == 0:
            return lambda Phi: Phi
        reflectors, scales, _, _ = lapack.dgeqrf(directions.T)

        def turn(Phi: Float) -> Float:
            turned, _, _ = lapack.dormqr("R", "N", reflectors, scales, Phi, lwork=64 * max(1, len(Phi)))
            left: Float = turned[:, len(directions) :]
            return left

        return turn

    def coefficients(self, w: Float) -> Float:
        """Return the coefficients of the basis items, ``U⁻¹ w`` for those taken and zero for the others."""
        b = np.zeros((self.size, w.shape[1]))
        b[self.taken] = solve_triangular(self.U, w, check_finite=False)
        return b

    def sums(self, w: Float) -> Float:
        """Return for each output how large the coefficients are together, times the largest k(x, x)."""
        # The first pivot is the largest diagonal entry.
        return np.asarray(self.U[0, 0] ** 2 * np.linalg.norm(self.coefficients(w), axis=0))


class KernelRows:
    """The features of many items, computed on demand and never stored.

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
        K = self.map.kernel.matrix(self.X[rows], self.basis_items, n_rows=self.shape[0])
        return K if self.plain else self.map.features(K)


def kernel_scores(kernel: Kernel, X: Matrix, basis: Matrix, coefficients: Float) -> Float:
    """Return ``k(X, basis) coefficients``, rows of the kernel computed in blocks; items with the same row are tied.

    Parameters
    ----------
    kernel : Kernel
    X : array or sparse matrix, shape (t, n), or (t, r) if precomputed
    basis : array or sparse matrix, shape (r, n)
    coefficients : ndarray, shape (r, outputs)

    Returns
    -------
    ndarray, shape (t, outputs)

    Notes
    -----
    O(t r n) time for a named kernel; memory one block of at most 64 MiB, never t × r.
    """
    if kernel.precomputed:
        return product(X, coefficients)
    scores = np.empty((X.shape[0], coefficients.shape[1]))
    step = max(1, SCORE_BYTES // (8 * len(coefficients)))
    for start in range(0, X.shape[0], step):
        rows = slice(start, start + step)
        scores[rows] = kernel.matrix(X[rows], basis, n_rows=len(scores)) @ coefficients
    # Where in a product a row stands decides its last digit, and that must not order items that are the same.
    duplicate_of = duplicate_rows(X)
    alike = duplicate_of >= 0
    scores[alike] = scores[duplicate_of[alike]]
    return scores
