"""One set of objects: dyads (a, b) of players, and how f(a, b) and f(b, a) are related.

A relation that is symmetric, ``f(a, b) = f(b, a)``, or reciprocal, ``f(a, b) = -f(b, a)``, has the kernel
``½ (K_ac K_bd ± K_ad K_bc)``, the projection of ``K ⊗ K`` on (skew-)symmetric functions. It commutes with ``K ⊗ K``, so
the scores ``Y_± = (Y ± Yᵀ)/2`` have the solution of the plain problem, and ``‖f‖²`` is that of the plain problem too.
A reciprocal f is zero at (a, a): a score of an object against itself is zero or unknown, and counts for nothing.
"""

from __future__ import annotations

import numpy as np

from kernelrank.base.arrays import Float, Index
from kernelrank.errors import InvalidInputError

__all__ = ["check_relation", "refuse_self_dyads", "symmetrised"]

DIGITS = 1e-8
"""A matrix is (skew-)symmetric if it differs from its transpose by less than this share of its largest score."""


def symmetrised(values: Float, sign: int) -> Float:
    """Return ``(V ± Vᵀ)/2`` of a square matrix, or of one for each output; V itself if the sign is zero.

    Examples
    --------
    >>> symmetrised(np.array([[1.0, 4.0], [2.0, 0.0]]), -1)
    array([[ 0.,  1.],
           [-1.,  0.]])
    """
    if sign == 0:
        return values
    return np.asarray(0.5 * (values + sign * values.swapaxes(0, 1)))


def check_relation(Y: Float, sign: int) -> Float:
    """Return scores that keep to a relation exactly, or name the first cell that does not.

    Where both (a, b) and (b, a) are known, they must be equal or opposite up to rounding. One alone stays alone.

    Parameters
    ----------
    Y : ndarray, shape (m, m, outputs)
    sign : {1, -1, 0}
        Symmetric, reciprocal, or nothing that is known.

    Returns
    -------
    ndarray, shape (m, m, outputs)
    """
    if sign == 0:
        return Y
    mirrored = sign * Y.swapaxes(0, 1)
    scale = float(np.nanmax(np.abs(Y), initial=0.0))
    wrong = np.abs(Y - mirrored) > DIGITS * scale
    if wrong.any():
        a, b, output = (int(number) for number in np.argwhere(wrong)[0])
        if a == b:
            raise InvalidInputError(
                f"Y is not reciprocal: Y[{a}, {a}] is {Y[a, a, output]:g}, but relation='reciprocal' means that an "
                "object has the score 0 against itself. Set it to 0 or NaN, or use relation='any'"
            )
        word, rule = ("symmetric", "Y[b, a] = Y[a, b]") if sign == 1 else ("reciprocal", "Y[b, a] = -Y[a, b]")
        raise InvalidInputError(
            f"Y is not {word}: Y[{a}, {b}] is {Y[a, b, output]:g} and Y[{b}, {a}] is {Y[b, a, output]:g}, but "
            f"relation={word!r} means {rule}. Make Y so, or use relation='any'"
        )
    return np.where(np.isnan(mirrored), Y, 0.5 * (Y + mirrored))


def refuse_self_dyads(rows: Index, columns: Index, y: Float) -> None:
    """Raise an error for a score other than zero of an object against itself, where the relation is reciprocal."""
    wrong = (rows == columns) & (y != 0.0).any(axis=1)
    if wrong.any():
        first = int(np.argmax(wrong))
        raise InvalidInputError(
            f"dyad {first} is object {int(rows[first])} against itself with the score {y[first].max():g}: in a "
            "reciprocal relation f(a, a) = 0"
        )
