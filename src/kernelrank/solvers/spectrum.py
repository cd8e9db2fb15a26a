"""The spectrum of a positive semidefinite matrix, and where it loses digits that Cholesky's factorisation keeps.

Eigenvalues are known to ε times the largest. Where a few items or columns are far larger than the others, as a pair of
nearly equal scores with the relative cost is, that may be all of the others. Cholesky's factorisation rounds each entry
beside its own row and column only, so it keeps the digits of small ones beside large ones.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from kernelrank.arrays import Float
from kernelrank.errors import InvalidInputError

__all__ = ["refuse_negative", "spectrum", "trusted_alpha"]

GRADED = 1e4
"""A diagonal entry so many times the lower quartile stands far above the others."""

SPECTRUM_DIGITS = 1e-9
"""Up to this size of its rounding beside alpha, a spectrum will do."""


def trusted_alpha(A: Float) -> float:
    """Return the alpha from which on a spectrum loses nothing that Cholesky's factorisation keeps; mostly zero.

    Parameters
    ----------
    A : ndarray, shape (s, s)

    Returns
    -------
    float
    """
    diagonal = np.diagonal(A)
    positive = diagonal[diagonal > 0.0]
    if len(positive) == 0 or positive.max() <= GRADED * np.partition(positive, len(positive) // 4)[len(positive) // 4]:
        return 0.0
    return float(np.finfo(np.float64).eps * positive.max() / SPECTRUM_DIGITS)


def spectrum(A: Float, rounding: float) -> tuple[Float, Float]:
    """Return the eigenvalues and eigenvectors of a positive semidefinite matrix, which is overwritten.

    Eigenvalues that rounding made negative become zero; any that are more negative than `rounding` are an error.
    """
    if len(A) == 0:
        return np.zeros(0), np.zeros((0, 0))
    values, vectors = eigh(A, driver="evd", overwrite_a=True, check_finite=False)
    refuse_negative(float(values[0]), float(values[-1]), rounding)
    return np.maximum(values, 0.0), vectors


def refuse_negative(smallest: float, largest: float, rounding: float) -> None:
    """Refuse a matrix whose smallest eigenvalue is more negative than rounding explains."""
    if smallest < -rounding:
        raise InvalidInputError(
            "the kernel matrix is not positive semidefinite: after centring its smallest eigenvalue is "
            f"{smallest:.3g} and its largest {largest:.3g}"
        )
