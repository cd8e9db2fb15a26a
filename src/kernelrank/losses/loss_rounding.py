"""Bounds of the rounding errors of sums in double precision.

A sum of n terms, in whatever order, is off by at most ``sum_error(n)`` times the sum of their absolute values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Rounding", "sum_error"]

UNIT = float(np.finfo(np.float64).eps) / 2.0


def sum_error(terms: float) -> float:
    """Return the largest relative error of a sum of n terms, ``n u / (1 - n u)``.

    u is half the distance from one to the next number.

    Examples
    --------
    >>> f"{sum_error(1000):.2g}"
    '1.1e-13'
    """
    return terms * UNIT / (1.0 - min(terms * UNIT, 0.5))


@dataclass(frozen=True)
class Rounding:
    """Bounds of the errors of a number and of a gradient that comes with it.

    Parameters
    ----------
    value : float
        Of the number.
    gradient : float
        Of the gradient by the scores: the sum of the absolute errors over the items.
    """

    value: float
    gradient: float
