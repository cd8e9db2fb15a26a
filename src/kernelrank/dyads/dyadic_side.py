"""One side of the dyads: its objects, their kernel K, and the eigendecompositions ``K = U diag(μ) Uᵀ`` and of ``CKC``.

C is the projection ``I - 11ᵀ/m``: where the objects of a side are ranked, a constant added to all of them counts for
nothing, so that K may be replaced by CKC. Null eigenvectors of CKC may mix with 1; `SideSpectrum.eigenvectors` of a
centred side are therefore CU, which is U up to null directions that no centred score has.

**Digits.** Objects may be far from the origin: entries of K are then much larger than those of CKC, and a difference of
them is rounded beside K, not beside CKC. So linear features are centred before they are multiplied, and which
eigenvalues are zero is decided beside the numbers that were subtracted (`SideSpectrum.rounding`). The coefficients of
a ranked side add up to zero, so scores may be computed from ``KC``, ``k(a, b)`` less its mean over b (`score_rows`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from kernelrank.base.arrays import Float, Index, Matrix, available_bytes, in_gigabytes, is_sparse
from kernelrank.base.labels import Queries
from kernelrank.comparisons.scatter import shift_queries
from kernelrank.errors import InvalidInputError
from kernelrank.kernels import Kernel
from kernelrank.kernels.kernel import ADVICE, COMPUTED_DIGITS

__all__ = ["DyadicSide", "SideSpectrum"]

FEW_SPARSE = 2000
"""Up to so many columns of a sparse matrix are made dense."""

ROUNDINGS = 4.0
"""So many numbers of the size of K are added up for each entry of CKC."""


@dataclass(frozen=True)
class SideSpectrum:
    """The eigendecomposition of the kernel of one side.

    Parameters
    ----------
    eigenvalues : ndarray, shape (m,)
        μ, ascending, none of them negative.
    eigenvectors : ndarray, shape (m, m)
        U, one eigenvector a column; CU for a centred kernel.
    rounding : float
        Eigenvalues up to this size are rounding errors of zero.
    """

    eigenvalues: Float
    eigenvectors: Float
    rounding: float

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which eigenvalues are more than rounding errors."""
        return np.asarray(self.eigenvalues > self.rounding)


@dataclass(frozen=True)
class DyadicSide:
    """The objects of one side and their kernel; results are computed once and kept.

    Parameters
    ----------
    items : array or sparse matrix, shape (m, n_features), or (m, m) if the kernel is precomputed
    kernel : Kernel
        With a number for gamma.
    name : {"rows", "columns"}
        What messages call the side.
    around : tuple of ndarray, shapes (m, m) and (m,), optional
        K around an origin near the objects, and their levels, where K itself has fewer digits.
    """

    items: Matrix
    kernel: Kernel
    name: str
    around: tuple[Float, Float] | None = None

    @property
    def n_objects(self) -> int:
        """How many objects there are."""
        return int(self.items.shape[0])

    @property
    def few_columns(self) -> bool:
        """Whether the kernel is linear and there are no more features than objects; if sparse, also not many."""
        most = min(self.n_objects, FEW_SPARSE) if is_sparse(self.items) else self.n_objects
        return self.kernel.linear and self.items.shape[1] <= most

    @cached_property
    def K(self) -> Float:  # noqa: N802 - the symbol of the equations
        """The kernel of all objects, (m, m), not centred."""
        needed, available = 8 * self.n_objects**2, available_bytes()
        if available is not None and needed > available:
            raise InvalidInputError(
                f"X_{self.name} has {self.n_objects:,} objects: their kernel needs {in_gigabytes(needed)} of "
                f"memory, and {in_gigabytes(available)} are available. Use linear kernels with fewer features "
                "than objects on both sides, such as those of NystromMap"
            )
        return self.kernel.matrix(self.items)

    @cached_property
    def spectrum(self) -> SideSpectrum:
        """U and μ of K, in O(m³) time and m² numbers."""
        return self.decomposed(self.K.copy())

    @cached_property
    def centred_spectrum(self) -> SideSpectrum:
        """U and μ of CKC, in which constants have the eigenvalue zero."""
        return self.decomposed(self.centred_K.copy(), self.scale, np.ones(self.n_objects))

    @cached_property
    def _around(self) -> tuple[Float, Float]:
        """K around some origin, (m, m), and what ``k(a, b)`` has more than it for every b, (m,), up to a constant."""
        if self.around is not None:
            return self.around
        if not self.kernel.linear:
            return self.K, np.zeros(self.n_objects)
        if is_sparse(self.items):
            everyone = Queries.from_labels(None, self.n_objects)
            X = shift_queries(self.items.tocsr(), everyone, np.ones(self.n_objects))
            origin = np.asarray((self.items - X).mean(axis=0)).ravel()
            return np.ascontiguousarray((X @ X.T).toarray()), np.asarray(X @ origin)
        items = np.asarray(self.items, dtype=np.float64)
        origin = items.mean(axis=0)
        X = items - origin
        return X @ X.T, X @ origin

    @cached_property
    def centred_K(self) -> Float:  # noqa: N802
        """``CKC``, (m, m): the kernel of a side that is ranked."""
        K = self._around[0]
        mean = K.mean(axis=0)
        return np.asarray(K - mean - (mean - mean.mean())[:, None])

    @cached_property
    def levels(self) -> Float:
        """``1ᵀKC / m``, (m,): what CKC has lost of the scores of all objects."""
        K, levels = self._around
        levels = K.mean(axis=0) + levels
        return np.asarray(levels - levels.mean())

    @cached_property
    def scale(self) -> float:
        """The size of the numbers that `centred_K` is a difference of."""
        return float(np.abs(self._around[0]).max(initial=0.0))

    def score_rows(self, new: Index, *, ranked: bool) -> Float:
        """Return some rows of K; of ``KC``, the same to coefficients that add up to zero, if the side is ranked."""
        return self.centred_K[new] + self.levels if ranked else self.K[new]

    def only(self, kept: Index) -> DyadicSide:
        """Return some of the objects, by their kernel."""
        part = np.ix_(kept, kept)
        around = (self._around[0][part], self._around[1][kept]) if self.kernel.linear or self.around else None
        return DyadicSide(self.K[part], Kernel("precomputed"), self.name, around)

    def decomposed(self, A: Float, summands: float = 0.0, null: Float | None = None) -> SideSpectrum:
        """Decompose a kernel of this side, which is overwritten; raise an error if it is indefinite.

        Parameters
        ----------
        A : ndarray, shape (m, m)
        summands : float, default=0
            The size of the numbers that A is a difference of.
        null : ndarray, shape (m,), optional
            A direction with the eigenvalue zero, which is taken out of all eigenvectors.
        """
        scale = max(float(np.abs(A).max(initial=0.0)), summands)
        values, vectors = eigh(A, driver="evd", overwrite_a=True, check_finite=False)
        if not self.kernel.semidefinite and values[0] < -self._rounding() * len(A) * scale:
            raise InvalidInputError(
                f"the kernel of the {self.name} is indefinite: its smallest eigenvalue is {values[0]:.3g} and its "
                f"largest {values[-1]:.3g}; {ADVICE}"
            )
        rounding = len(A) * float(np.finfo(np.float64).eps) * max(float(values[-1]), ROUNDINGS * summands)
        if null is not None:
            # Eigenvectors of eigenvalues that rounding made of zeros are mixtures of it.
            vectors -= np.outer(null, (null @ vectors) / (null @ null))
        return SideSpectrum(np.maximum(values, 0.0), vectors, rounding)

    def _rounding(self) -> float:
        """Return how much of its largest value an eigenvalue of a semidefinite kernel may be negative, by object."""
        if not self.kernel.precomputed:
            return COMPUTED_DIGITS
        return 10 * float(np.finfo(np.float32 if self.items.dtype == np.float32 else np.float64).eps)
