"""The moments of a query in exact arithmetic: every floating-point number is a fraction."""

from __future__ import annotations

from fractions import Fraction

import numpy as np


def exact_moments(values, weight) -> np.ndarray:
    """Return ``Σ w_i (z_i - z̄)(z_i - z̄)ᵀ`` of rows z, rounded at the very end."""
    w = [Fraction(float(one)) for one in weight]
    rows = [[Fraction(float(value)) for value in row] for row in values]
    total, width = sum(w), len(values[0])
    if total == 0:
        return np.zeros((width, width))
    mean = [sum(a * row[j] for a, row in zip(w, rows, strict=True)) / total for j in range(width)]
    centred = [[value - middle for value, middle in zip(row, mean, strict=True)] for row in rows]
    products = [
        [float(sum(a * row[j] * row[k] for a, row in zip(w, centred, strict=True))) for k in range(width)]
        for j in range(width)
    ]
    return np.array(products)
