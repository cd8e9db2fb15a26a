"""Rounding errors of a stream: what remains in the sums after large numbers were subtracted again.

A sum ``G = Σ B_t`` of statistics is rounded with every batch that comes or goes, by about ε times its size and some
times that of the batch. Rounding does not leave with the batch: queries 10⁷ times as large as the others leave 10¹⁴ ε.
So its size is kept for the diagonal of ``G = Φᵀ L Φ``, ``ρ_j²``, and for ``b = Φᵀ M N``, ``β_j``; independent errors
add like variances. By Cauchy and Schwarz an entry ``G_ij`` is rounded by about ``ρ_i ρ_j``, and the rounding of batch
b_t by ``ε √(B_jj ‖N‖²)``.

With ``A = G + alpha I`` and ``w = A⁻¹ b``, errors δG and δb make ``δw = A⁻¹ (δb - δG w)``. Row i of the bracket has the
variance ``β_i² + ρ_i² Σ_j ρ_j² w_j²``, so that

    ``E ‖δw‖² = E ‖A⁻¹ (β ∘ s)‖² + (Σ_j ρ_j² w_j²) E ‖A⁻¹ (ρ ∘ s)‖²``  over random signs s.

A few signs give the expectations, and as right-hand sides they share the factorisation that w needs anyway.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from kernelrank.base.arrays import Float

__all__ = ["StreamRounding"]

EPSILON = float(np.finfo(np.float64).eps)

SUMMATION = 4.0
"""The rounding of a batch's statistics in units of ε times their size: sums over items, in blocks."""

LOST = 10.0
"""From so many times the rounding of a single batch on, a refit would know more."""

N_SIGNS = 4


@dataclass(frozen=True)
class StreamRounding:
    """The rounding errors of the statistics of a stream.

    Parameters
    ----------
    gram : ndarray, shape (r,)
        ``ρ²``, the size of rounding in the diagonal of ``Φᵀ L Φ``.
    right : ndarray, shape (r, outputs)
        ``β``, that in ``Φᵀ M N``.

    Examples
    --------
    >>> one, large = np.ones((1, 1)), np.full((1, 1), 1e14)
    >>> rounding = StreamRounding.of(one, one, np.ones(1)).after(large, large, large, large, np.full(1, 1e14))
    >>> rounding.exceeds(StreamRounding.of(one, one, np.ones(1)))
    True
    """

    gram: Float
    right: Float

    @classmethod
    def of(cls, gram: Float, right: Float, energy: Float) -> Self:
        """Return the rounding of one batch with ``Φᵀ L Φ``, ``Φᵀ M N`` and ``‖N‖²``."""
        diagonal = np.maximum(np.diagonal(gram), 0.0)
        size = np.sqrt(diagonal)[:, None] * np.sqrt(np.maximum(energy, 0.0))
        return cls(SUMMATION * EPSILON * diagonal, SUMMATION * EPSILON * np.maximum(size, np.abs(right)))

    def after(self, gram: Float, right: Float, *batch: Float) -> StreamRounding:
        """Return the rounding errors after a batch was added or removed, with the new sums."""
        change = type(self).of(*batch)
        return StreamRounding(
            np.hypot(np.hypot(self.gram, change.gram), EPSILON * np.abs(np.diagonal(gram))),
            np.hypot(np.hypot(self.right, change.right), EPSILON * np.abs(right)),
        )

    def exceeds(self, fresh: StreamRounding) -> bool:
        """Whether a refit, with the rounding errors `fresh`, would be more accurate."""
        return bool(np.any(self.gram > LOST * fresh.gram) or np.any(self.right > LOST * fresh.right))

    def probes(self) -> Float:
        """Return random right-hand sides of the size of the rounding errors, shape (r, signs × (1 + outputs))."""
        signs = np.where(np.random.default_rng(0).random((len(self.gram), N_SIGNS)) < 0.5, -1.0, 1.0)
        sizes = np.column_stack([np.sqrt(self.gram), self.right])
        return (sizes[:, :, None] * signs[:, None, :]).reshape(len(signs), -1)

    def relative_error(self, w: Float, solved: Float) -> float:
        """Return the relative error to expect of the coefficients, that of the worst output.

        Parameters
        ----------
        w : ndarray, shape (r, outputs)
            The coefficients.
        solved : ndarray, shape (r, signs × (1 + outputs))
            ``A⁻¹`` times `probes`.
        """
        squares = np.sum(solved.reshape(len(w), -1, N_SIGNS) ** 2, axis=(0, 2)) / N_SIGNS
        error = np.sqrt(squares[1:] + squares[0] * (self.gram @ w**2))
        size = np.linalg.norm(w, axis=0)
        nothing = np.where(error > 0, np.inf, 0.0)
        return float(np.max(np.divide(error, size, out=nothing, where=size > 0)))
