r"""Segments of a sorted array: compiled sweeps that count pairs without visiting them.

They take values and weights in segments (queries, or runs of tied scores) and sum w_i w_j over the pairs of
one segment that satisfy a condition. Every sum has non-negative terms only, so nothing cancels; with whole
weights each is exact below 2⁵³, which one query of 10⁸ items of weight one does not reach.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernelrank.compiled import compiled
from kernelrank.metrics.judged_items import FloatArray

__all__ = ["differing_pairs", "sort_segments"]


_RUN = 16  # items that insertion sorts faster than merging


def sort_segments(values: FloatArray, weight: FloatArray, bounds: NDArray[np.int64]) -> FloatArray:
    """Sort each segment in place, ascending, weights along, and weigh the inverted pairs that this undoes.

    An inverted pair is i before j with values[i] > values[j].

    Time O(m log n) for segments of n items, memory O(n).

    Parameters
    ----------
    values, weight : ndarray of float64, shape (m,)
        Both are overwritten.
    bounds : ndarray of int64, shape (n_segments + 1,)
        Where the segments begin, closed by m.

    Returns
    -------
    ndarray of float64, shape (n_segments,)
        The sum of w_i w_j over the inverted pairs of each segment.

    Examples
    --------
    >>> values, weight = np.array([3.0, 1.0, 2.0]), np.ones(3)
    >>> sort_segments(values, weight, np.array([0, 3])), values
    (array([2.]), array([1., 2., 3.]))
    """
    inverted = _sort_runs(values, weight, bounds, _RUN)
    if np.diff(bounds).max() > _RUN:
        inverted += _merge_runs(values, weight, bounds, _RUN)
    return inverted


@compiled
def _sort_runs(values: FloatArray, weight: FloatArray, bounds: NDArray[np.int64], run: int) -> FloatArray:
    """Sort the runs that a segment is cut into by insertion; a step undoes one inverted pair."""
    inverted = np.zeros(len(bounds) - 1)
    for s in range(len(inverted)):
        for first in range(bounds[s], bounds[s + 1], run):
            for i in range(first + 1, min(first + run, bounds[s + 1])):
                v, w, j = values[i], weight[i], i
                while j > first and values[j - 1] > v:
                    inverted[s] += weight[j - 1] * w
                    values[j], weight[j] = values[j - 1], weight[j - 1]
                    j -= 1
                values[j], weight[j] = v, w
    return inverted


@compiled
def _merge_runs(values: FloatArray, weight: FloatArray, bounds: NDArray[np.int64], run: int) -> FloatArray:
    """Merge neighbouring runs; a left item was inverted with the smaller right items taken before it."""
    inverted = np.zeros(len(bounds) - 1)
    longest = np.max(bounds[1:] - bounds[:-1])
    left_values, left_weight = np.empty(longest), np.empty(longest)
    for s in range(len(inverted)):
        start, stop, width = bounds[s], bounds[s + 1], run
        while width < stop - start:
            for first in range(start, stop - width, 2 * width):
                middle, last = first + width, min(first + 2 * width, stop)
                if values[middle - 1] <= values[middle]:
                    continue
                left_values[:width] = values[first:middle]
                left_weight[:width] = weight[first:middle]
                i, j, target, smaller = 0, middle, first, 0.0
                while i < width:  # after that, what is left of the right run stands where it belongs
                    if j < last and values[j] < left_values[i]:
                        smaller += weight[j]
                        values[target], weight[target] = values[j], weight[j]
                        j += 1
                    else:
                        inverted[s] += left_weight[i] * smaller
                        values[target], weight[target] = left_values[i], left_weight[i]
                        i += 1
                    target += 1
            width *= 2
    return inverted


@compiled
def differing_pairs(values: FloatArray, weight: FloatArray, bounds: NDArray[np.int64]) -> FloatArray:
    """Weigh the pairs of each segment whose values differ, in segments where equal values stand together.

    Time O(m), memory O(n_segments).

    Parameters
    ----------
    values, weight : ndarray of float64, shape (m,)
        Sorted within each segment.
    bounds : ndarray of int64, shape (n_segments + 1,)
        Where the segments begin, closed by m.

    Returns
    -------
    ndarray of float64, shape (n_segments,)
        The sum of w_i w_j over the pairs with different values.

    Examples
    --------
    >>> differing_pairs(np.array([1.0, 1.0, 2.0]), np.ones(3), np.array([0, 3]))
    array([2.])
    """
    differing = np.zeros(len(bounds) - 1)
    for s in range(len(bounds) - 1):
        total, before, level = 0.0, 0.0, 0.0
        for i in range(bounds[s], bounds[s + 1]):
            if i > bounds[s] and values[i] != values[i - 1]:
                before += level
                level = 0.0
            total += weight[i] * before
            level += weight[i]
        differing[s] = total
    return differing
