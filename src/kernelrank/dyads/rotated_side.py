"""One side of complete dyads in its eigenbasis, as hold-outs need it.

With ``K = U diag(μ) Uᵀ``: ``P = U`` and ``V = K P = U diag(μ)``. Where the objects of the side are ranked, ``CKC`` is
decomposed in place of K, ``P = CU``, and ``V = K P = P diag(μ) + 1ℓᵀ`` keeps the levels ℓ of the scores, which CKC has
lost. A direction with ``μ = 0`` has ``V = 0``: ``pᵀ K p = 0`` means ``K p = 0``.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernelrank.base.arrays import Float, Index
from kernelrank.dyads.dyadic_side import DyadicSide

__all__ = ["RotatedSide"]


@dataclass(frozen=True)
class RotatedSide:
    """The objects of a side in its eigenbasis.

    Parameters
    ----------
    P : ndarray, shape (m, r)
        Eigenvectors, centred if the side is ranked.
    mu : ndarray, shape (r,)
        Eigenvalues.
    V : ndarray, shape (t, r)
        ``K P`` for the objects that are predicted: those of P, or others.
    """

    P: Float
    mu: Float
    V: Float

    @classmethod
    def of(cls, side: DyadicSide, *, centred: bool) -> RotatedSide:
        """Predict the objects of the side themselves."""
        spectrum = side.centred_spectrum if centred else side.spectrum
        P, mu = spectrum.eigenvectors, spectrum.eigenvalues
        V = P * mu
        if centred:
            V += side.levels @ P
        V[:, ~spectrum.known] = 0.0
        return cls(P, mu, V)

    @classmethod
    def of_part(cls, side: DyadicSide, kept: Index, new: Index, *, centred: bool) -> RotatedSide:
        """Decompose the kernel of some objects, and predict others: O(m³)."""
        part = side.only(kept)
        spectrum = part.centred_spectrum if centred else part.spectrum
        V = side.score_rows(new, ranked=centred)[:, kept] @ spectrum.eigenvectors
        V[:, ~spectrum.known] = 0.0
        return cls(spectrum.eigenvectors, spectrum.eigenvalues, V)
