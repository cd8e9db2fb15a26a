"""Intervals of a mean by solving for their ends."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.stats import skew, t


def _crossing(excess, start, step):
    """Return where a function that is negative at the start becomes zero, in steps that grow."""
    end = start + step
    while excess(end) < 0:
        start, step = end, 2 * step
        end = start + step
    return brentq(excess, start, end, xtol=1e-14)


def skewness_interval(values, bounds, confidence):
    """Return the means at which Hall's transform of the t-statistic reaches Student's quantiles."""
    n, m, s = len(values), np.mean(values), np.std(values, ddof=1)
    q, ends = t.ppf((1 + confidence) / 2, n - 1), []
    for side in (-1, 1):
        b = (skew(values) + side * 0.5 * np.sqrt(6 / n)) / np.sqrt(n)

        def transform(mean, b=b):
            T = np.sqrt(n) * (m - mean) / s
            return T + b * T**2 / 3 + b**2 * T**3 / 27 + b / 6

        centre = brentq(transform, m - 10 * s, m + 10 * s, xtol=1e-14)
        ends.append(_crossing(lambda x, side=side, of=transform: -side * of(x) - q, centre, side * 0.01 * s))
    return tuple(ends)


def variance_function_interval(values, bounds, confidence, variance=None):
    """Return the means as far from that of the values as Student's quantile allows; the variance follows them."""
    n, m = len(values), np.mean(values)
    s = np.std(values, ddof=1) if variance is None else np.sqrt(variance)
    low, high = bounds
    q, bounded = t.ppf((1 + confidence) / 2, n - 1), np.isfinite(high - low)

    def std(mean):
        return s * np.sqrt((mean - low) * (high - mean) / ((m - low) * (high - m))) if bounded else s

    ends = bounds if bounded else (m - 100 * s, m + 100 * s)
    return tuple(brentq(lambda x: abs(m - x) - q * std(x) / np.sqrt(n), *sorted((m, end)), xtol=1e-14) for end in ends)


def proportion_interval(values, bounds, confidence):
    """Return the same for the largest variance that values with this mean could have, or infinite bounds."""
    if not np.isfinite(bounds[1] - bounds[0]):
        return bounds
    n, m = len(values), np.mean(values)
    return variance_function_interval(values, bounds, confidence, (m - bounds[0]) * (bounds[1] - m) * n / (n - 1))
