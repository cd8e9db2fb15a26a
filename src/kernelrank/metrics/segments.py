r"""Segments of a sorted array: compiled sweeps that count pairs without visiting them.

They take values and weights in segments (queries, or runs of tied scores) and sum w_i w_j over the pairs of
one segment that satisfy a condition. Every sum has non-negative terms only, so nothing cancels; with whole
weights each is exact below 2⁵³, which one query of 10⁸ items of weight one does not reach.

Where the weights are whole numbers, differences of running sums are exact too, and NumPy does the same without a loop:
several times slower, but with nothing to compile. So NumPy begins, and the loops take over when they pay.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.compiled import CompilingPays, compiled
from kernelrank.metrics.judged_items import FloatArray

__all__ = ["differing_pairs", "sort_segments"]


COMPILED = CompilingPays(at_once=4_000, in_all=200_000)
"""When the loops pay: NumPy takes some 0.3 s for 200,000 items in small segments, and compiling about as long."""

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
    if _few_whole(weight):
        return _sort_by_bits(values, weight, bounds)
    inverted = np.zeros(len(bounds) - 1)
    _sort_runs(values, weight, bounds, _RUN, inverted)
    longest = int(np.diff(bounds).max(initial=0))
    if longest > _RUN:
        _merge_runs(values, weight, bounds, _RUN, inverted, *np.empty((2, longest)))
    return inverted


def _few_whole(weight: FloatArray) -> bool:
    """Whether there are few items, and their weights are whole numbers whose products add up without rounding."""
    return not COMPILED(len(weight)) and bool(np.all(weight == np.floor(weight)) and weight.sum() < 2.0**26)


def _sort_by_bits(values: FloatArray, weight: FloatArray, bounds: NDArray[np.int64]) -> FloatArray:
    """Sort by the binary digits of the ranks, first one first: an inverted pair parts where its ranks first differ.

    Items whose ranks have all earlier digits in common form a group, and a group stands in its first order until its
    items part.
    """
    segment = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    order = np.lexsort((values, segment))
    rank = np.empty(len(values), dtype=np.int64)
    new = np.append(True, (values[order][1:] != values[order][:-1]) | (np.diff(segment) > 0))
    rank[order] = np.cumsum(new) - 1
    rank -= rank[order][bounds[:-1]].repeat(np.diff(bounds))
    final, w = weight[order], weight.copy()
    n_bits = int(rank.max(initial=0)).bit_length()
    group, inverted = segment << n_bits, np.zeros(len(values))
    for bit in range(n_bits - 1, -1, -1):
        starts = np.flatnonzero(np.append(True, np.diff(group) != 0))
        sizes = np.diff(np.append(starts, len(values)))
        high = (rank >> bit) & 1
        before = np.cumsum(np.append(0, high))
        weight_before = np.cumsum(np.append(0.0, high * w))[:-1]
        inverted += w * (1 - high) * (weight_before - weight_before[starts].repeat(sizes))
        n_high = before[starts + sizes] - before[starts]
        ones = before[:-1] - before[starts].repeat(sizes)
        place = np.where(high, (starts + sizes - n_high).repeat(sizes) + ones, np.arange(len(values)) - ones)
        moved = np.empty_like(rank), np.empty_like(group), np.empty_like(w)
        for target, source in zip(moved, (rank, group | (high << bit), w), strict=True):
            target[place] = source
        rank, group, w = moved
    values[:], weight[:] = values[order], final
    return np.add.reduceat(inverted, bounds[:-1])


@compiled
def _sort_runs(
    values: FloatArray, weight: FloatArray, bounds: NDArray[np.int64], run: int, inverted: FloatArray
) -> None:
    """Sort the runs that a segment is cut into by insertion; a step undoes one inverted pair."""
    for s in range(len(inverted)):
        for first in range(bounds[s], bounds[s + 1], run):
            for i in range(first + 1, min(first + run, bounds[s + 1])):
                v, w, j = values[i], weight[i], i
                while j > first and values[j - 1] > v:
                    inverted[s] += weight[j - 1] * w
                    values[j], weight[j] = values[j - 1], weight[j - 1]
                    j -= 1
                values[j], weight[j] = v, w


@compiled
def _merge_runs(
    values: FloatArray,
    weight: FloatArray,
    bounds: NDArray[np.int64],
    run: int,
    inverted: FloatArray,
    left_values: FloatArray,
    left_weight: FloatArray,
) -> None:
    """Merge neighbouring runs; a left item was inverted with the smaller right items taken before it."""
    for s in range(len(inverted)):
        start, stop, width = bounds[s], bounds[s + 1], run
        while width < stop - start:
            for first in range(start, stop - width, 2 * width):
                middle, last = first + width, min(first + 2 * width, stop)
                if values[middle - 1] <= values[middle]:
                    continue
                for i in range(width):
                    left_values[i], left_weight[i] = values[first + i], weight[first + i]
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


def differing_pairs(values: FloatArray, weight: FloatArray, bounds: NDArray[np.int64]) -> FloatArray:
    """Weigh the pairs of each segment whose values differ, in segments where equal values are contiguous.

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
    if _few_whole(weight):
        new = np.append(True, values[1:] != values[:-1])
        new[bounds[:-1]] = True
        starts = np.flatnonzero(new)
        level = np.add.reduceat(weight, starts)
        first = np.searchsorted(starts, bounds)
        before = np.cumsum(np.append(0.0, level))
        pairs = level * (before[:-1] - before[first[:-1]].repeat(np.diff(first)))
        return np.add.reduceat(pairs, first[:-1])
    _weigh_differing(values, weight, bounds, differing)
    return differing


@compiled
def _weigh_differing(values: FloatArray, weight: FloatArray, bounds: NDArray[np.int64], differing: FloatArray) -> None:
    """Fill in what `differing_pairs` returns."""
    for s in range(len(bounds) - 1):
        total, before, level = 0.0, 0.0, 0.0
        for i in range(bounds[s], bounds[s + 1]):
            if i > bounds[s] and values[i] != values[i - 1]:
                before += level
                level = 0.0
            total += weight[i] * before
            level += weight[i]
        differing[s] = total
