"""Features of one side in which the complete problem is diagonal: ``K = Φ Φᵀ`` and ``Φᵀ diag(r) Φ = diag(μ)``.

r says how much of each object is known. If the counts of the cells are about ``r cᵀ``, the normal equations are about
diagonal in the products of such features of both sides, ``μ₁ μ₂ᵀ + alpha``, whatever is known of which object: this is
what conjugate gradients are preconditioned by.

From ``√r K √r = U diag(μ) Uᵀ``: ``Φ = U √μ / √r``, and ``Ψ = √r U / √μ`` turns weights B of pairs of features into dual
coefficients ``Ψ₁ B Ψ₂ᵀ``. A ranked side has features less their mean weighted by r; Ψ then adds up to zero. With few
linear features ``Xᵀ diag(r) X = V diag(μ) Vᵀ`` and ``Φ = X V``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from kernelrank.base.arrays import Float, dense_rows
from kernelrank.dyads.dyadic_side import DyadicSide, SideSpectrum

__all__ = ["SideBasis"]


@dataclass(frozen=True)
class SideBasis:
    """Features Φ of a side, and the way back to coefficients.

    Parameters
    ----------
    features : ndarray, shape (m, r)
        Φ.
    eigenvalues : ndarray, shape (r,)
        μ, positive.
    back : ndarray, shape (m, r) or (n_features, r)
        Ψ, or V for few linear features: ``Ψ₁ B Ψ₂ᵀ`` are dual coefficients and ``V₁ B V₂ᵀ`` weights of features.
    """

    features: Float
    eigenvalues: Float
    back: Float

    @classmethod
    def of_kernel(cls, side: DyadicSide, known: Float, *, centred: bool) -> SideBasis:
        """Decompose the kernel of a side, scaled by how much is known of each object: O(m³)."""
        root = np.sqrt(known)
        if not centred:
            return cls._scaled(side.decomposed(root[:, None] * side.K * root), root)
        K, share = side.centred_K, known / known.sum()
        mean = K @ share
        K = K - mean[:, None] - mean + share @ mean
        # Ψ adds up to zero to the last digit: what is left of constants would meet the whole of K in a prediction.
        return cls._scaled(side.decomposed(root[:, None] * K * root, side.scale * float(known.max()), root), root)

    @classmethod
    def _scaled(cls, spectrum: SideSpectrum, root: Float) -> SideBasis:
        kept = _kept(spectrum.eigenvalues, spectrum.rounding)
        values, vectors = spectrum.eigenvalues[kept], spectrum.eigenvectors[:, kept]
        inverse = np.divide(1.0, np.sqrt(values), out=np.zeros_like(values), where=values > 0)
        return cls(vectors * np.sqrt(values) / root[:, None], values, root[:, None] * vectors * inverse)

    @classmethod
    def of_spectrum(cls, side: DyadicSide) -> SideBasis:
        """Take the eigendecomposition of the kernel itself, as if all objects were known to the same share."""
        return cls._scaled(side.spectrum, np.ones(side.n_objects))

    @classmethod
    def of_features(cls, side: DyadicSide, known: Float, *, centred: bool) -> SideBasis:
        """Decompose the scatter matrix of few linear features: O(m d² + d³)."""
        X = dense_rows(side.items, slice(None))
        if centred:
            X = X - (known / known.sum()) @ X
        values, vectors = eigh((X.T * known) @ X, driver="evd", overwrite_a=True, check_finite=False)
        kept = _kept(values, len(values) * float(np.finfo(np.float64).eps) * float(values[-1]))
        return cls(X @ vectors[:, kept], values[kept], vectors[:, kept])

    def coefficients_of(self, other: SideBasis, A: Float) -> Float:
        """Return ``Φ₁ᵀ A Φ₂``: weights of pairs of features from dual coefficients."""
        return self.features.T @ A @ other.features


def _kept(values: Float, rounding: float) -> slice:
    """Return which eigenvalues, in ascending order, are more than rounding; one at least."""
    return slice(min(int(np.searchsorted(values, max(rounding, 0.0), side="right")), len(values) - 1), None)
