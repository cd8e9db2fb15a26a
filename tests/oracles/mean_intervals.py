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


def weighted_interval(values, weights, bounds, confidence):
    """Return the hull of the two intervals of a weighted mean, inside the widest one; every value leaves once."""
    n, m, k = len(values), np.average(values, weights=weights), weights.sum() ** 2 / (weights**2).sum()
    rest = np.arange(n)
    without = [np.average(values[rest != i], weights=weights[rest != i]) for i in range(n)]
    s = np.sqrt((n - 1) / n * np.sum((np.array(without) - m) ** 2))
    degrees = max(1.0, (n - 1) * k / n)
    q, (low, high) = t.ppf((1 + confidence) / 2, degrees), bounds
    e, bounded = weights / weights.sum() * (values - m), np.isfinite(high - low)

    def within(std):
        """The means x with |m - x| ≤ q std(x)."""
        ends = bounds if bounded else (m - 1000 * s, m + 1000 * s)
        return [brentq(lambda x: abs(m - x) - q * std(x), *sorted((m, end)), xtol=1e-14) for end in ends]

    spread = (m - low) * (high - m)
    parts = [within(lambda x: s * np.sqrt((x - low) * (high - x) / spread) if bounded else s)]
    widest = within(lambda x: np.sqrt((x - low) * (high - x) / degrees)) if bounded else bounds
    skewed = []
    for side in (-1, 1):
        b = k / n * np.sum(e**3) / np.sum(e**2) ** 1.5 + side * 0.5 * np.sqrt(6) / n

        def excess(T, b=b, side=side):
            return T + b * T**2 / 3 + b**2 * T**3 / 27 + b / 6 + side * q

        skewed.append(m - s * brentq(excess, -1e4, 1e4, xtol=1e-13))
    parts.append(skewed)
    return max(widest[0], min(p[0] for p in parts)), min(widest[1], max(p[1] for p in parts))
