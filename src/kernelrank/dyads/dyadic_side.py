"""One side of the dyads: its objects, their kernel K, and the eigendecompositions ``K = U diag(μ) Uᵀ`` and of ``CKC``.

C is the projection ``I - 11ᵀ/m``: where the objects of a side are ranked, a constant added to all of them counts for
nothing, so that K may be replaced by CKC. Null eigenvectors of CKC may mix with 1; `SideSpectrum.eigenvectors` of a
centred side are therefore CU, which is U up to null directions that no centred score has.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import eigh

from kernelrank.arrays import Float, Index, Matrix, available_bytes, in_gigabytes, is_sparse
from kernelrank.errors import InvalidInputError
from kernelrank.kernels import Kernel
from kernelrank.kernels.semidefinite import ADVICE, COMPUTED_DIGITS

__all__ = ["DyadicSide", "SideSpectrum"]

FEW_SPARSE = 2000
"""Up to so many columns of a sparse matrix are made dense."""


@dataclass(frozen=True)
class SideSpectrum:
    """The eigendecomposition of the kernel of one side.

    Parameters
    ----------
    eigenvalues : ndarray, shape (m,)
        μ, ascending, none of them negative.
    eigenvectors : ndarray, shape (m, m)
        U, one eigenvector a column; CU for a centred kernel.
    """

    eigenvalues: Float
    eigenvectors: Float


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
    """

    items: Matrix
    kernel: Kernel
    name: str

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
        return SideSpectrum(*self.decomposed(self.K.copy()))

    @cached_property
    def centred_spectrum(self) -> SideSpectrum:
        """U and μ of CKC, in which constants have the eigenvalue zero."""
        mean = self.K.mean(axis=0)
        values, vectors = self.decomposed(self.K - mean - (mean - mean.mean())[:, None])
        vectors -= vectors.mean(axis=0)
        return SideSpectrum(values, vectors)

    def only(self, kept: Index) -> DyadicSide:
        """Return some of the objects, by their kernel."""
        return DyadicSide(self.K[np.ix_(kept, kept)], Kernel("precomputed"), self.name)

    def decomposed(self, A: Float) -> tuple[Float, Float]:
        """Decompose a kernel of this side, which is overwritten; raise an error if it is indefinite."""
        scale = float(np.abs(A).max(initial=0.0))
        values, vectors = eigh(A, driver="evd", overwrite_a=True, check_finite=False)
        if not self.kernel.semidefinite and values[0] < -self._rounding() * len(A) * scale:
            raise InvalidInputError(
                f"the kernel of the {self.name} is indefinite: its smallest eigenvalue is {values[0]:.3g} and its "
                f"largest {values[-1]:.3g}; {ADVICE}"
            )
        return np.maximum(values, 0.0), vectors

    def _rounding(self) -> float:
        """Return how much of its largest value an eigenvalue of a semidefinite kernel may be negative, by object."""
        if not self.kernel.precomputed:
            return COMPUTED_DIGITS
        return 10 * float(np.finfo(np.float32 if self.items.dtype == np.float32 else np.float64).eps)
