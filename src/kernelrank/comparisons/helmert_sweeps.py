r"""Helmert sweeps: each item against the items after it, from running sums.

Items stand in an order, cut into queries, and neighbours form groups. Row by row, a sweep compares an item of a group
with the rest of its group, and a whole group with all items after it, always by weighted means:

* ``inside_i (v_i - mean of the rest of the group)``, in the place of item i, for all items of a group but the last;
* ``between_g (mean of the group - mean of the later items)``, in the place of the last item of the group.

These are the Helmert vectors. They are orthogonal in the coordinates scaled by √w, for any weights w.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Float, Index
from kernelrank.base.compiled import compiled

__all__ = ["GroupWeights", "HelmertRows"]

FIRST, LAST, END = 1, 2, 4
"""An item is the first of its group, the last of its group, the last of its query."""


@dataclass(frozen=True)
class GroupWeights:
    """Groups of neighbouring items inside queries, and the weights around them. All arrays are in the given order.

    Parameters
    ----------
    weight : ndarray, shape (m,)
        Item weights.
    group : ndarray of int64, shape (m,)
        The number of each item's group, ascending; a group lies in one query.
    rest, whole, later : ndarray, shape (m,)
        The weights of the rest of an item's group, of its group, and of the items of its query after the group.
    earlier : ndarray, shape (m,)
        The sum of ``edge w`` over the groups before that of the item.
    end : ndarray of int64, shape (m,)
        The place of the last item of each item's group.
    place : ndarray of int8, shape (m,)
        `FIRST`, `LAST` and `END`, added.

    Examples
    --------
    >>> weights = GroupWeights.of(np.ones(4), np.array([0, 0, 1, 2]), np.array([0, 4]), np.array([1.0, 1.0, 0.0, 1.0]))
    >>> weights.later, weights.earlier
    (array([2., 2., 1., 0.]), array([0., 0., 2., 2.]))
    """

    weight: Float
    group: Index
    rest: Float
    whole: Float
    later: Float
    earlier: Float
    end: Index
    place: NDArray[np.int8]

    @classmethod
    def of(cls, weight: Float, group: Index, bounds: Index, edge: Float) -> GroupWeights:
        """Sum the weights around each item, query by query: O(m) time and memory.

        Parameters
        ----------
        weight : ndarray, shape (m,)
        group : ndarray of int64, shape (m,)
        bounds : ndarray of int64, shape (n_queries + 1,)
            Where each query begins.
        edge : ndarray, shape (m,)
            What `earlier` multiplies the weights by.
        """
        m = len(weight)
        place = np.zeros(m, dtype=np.int8)
        new = np.flatnonzero(np.diff(group, prepend=-1))
        place[new] += FIRST
        place[np.append(new, m)[1:] - 1] += LAST
        place[bounds[1:][np.diff(bounds) > 0] - 1] += END
        rest, whole, later, earlier = np.empty((4, m))
        end = np.empty(m, dtype=np.int64)
        _sum_around(weight, edge, place, bounds, rest, whole, later, earlier, end)
        return cls(weight, group, rest, whole, later, earlier, end, place)


class HelmertRows:
    """The root ``C`` of a Laplacian whose eigenvectors are the Helmert vectors, applied by sweeps.

    Parameters
    ----------
    groups : GroupWeights
    inside, between : ndarray, shape (m,)
        The eigenvalues for contrasts inside each item's group, and for its group against the later items.

    Notes
    -----
    O(m k) time for k columns.

    Examples
    --------
    >>> groups = GroupWeights.of(np.ones(2), np.array([0, 1]), np.array([0, 2]), np.ones(2))
    >>> HelmertRows(groups, np.zeros(2), np.full(2, 2.0)).centre(np.array([[3.0], [1.0]])).ravel()
    array([2., 0.])
    """

    def __init__(self, groups: GroupWeights, inside: Float, between: Float) -> None:
        w, rest, whole, later = groups.weight, groups.rest, groups.whole, groups.later
        self.groups = groups
        # v_i - mean, scaled to a unit vector, and by the root of its eigenvalue
        self._scale = np.where(
            groups.place & LAST,
            np.sqrt(between * whole * later * _inverse(whole + later)),
            np.sqrt(inside * w * rest * _inverse(w + rest)),
        )
        self._inverses = np.stack([_inverse(rest), _inverse(whole), _inverse(later)])

    def centre(self, V: Float) -> Float:
        """Return ``C V`` for V (m, k), C-contiguous."""
        out = np.zeros((len(V) + 1, V.shape[1]))
        self.sweep(V, 0, np.zeros((3, V.shape[1])), out)
        return out[:-1]

    def sweep(self, V: Float, start: int, carried: Float, out: Float) -> None:
        """Write the rows of the items from `start` on, V (n, k), into `out` (n + 1, k); go from the last block back.

        The last row of `out` is that of a group which began in the block before; `carried` (3, k) is what
        blocks hand on, zero for the first one.
        """
        groups, part = self.groups, slice(start, start + len(V))
        _rows(V, groups.weight[part], self._scale, self._inverses, groups.place, groups.end, start, carried, out)

    def transpose(self, U: Float) -> Float:
        """Return ``Cᵀ U`` for U (m, k), C-contiguous."""
        out, groups = np.empty_like(U), self.groups
        _transposed(U, groups.weight, self._scale, self._inverses, groups.place, groups.end, out)
        return out


def _inverse(values: Float) -> Float:
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


@compiled
def _sum_around(
    weight: Float,
    edge: Float,
    place: NDArray[np.int8],
    bounds: Index,
    rest: Float,
    whole: Float,
    later: Float,
    earlier: Float,
    end: Index,
) -> None:
    """Fill the arrays of `GroupWeights`."""
    for q in range(len(bounds) - 1):
        after = group = 0.0
        last = 0
        for i in range(bounds[q + 1] - 1, bounds[q] - 1, -1):
            if place[i] & 2:
                after += group
                group = 0.0
                last = i
            rest[i], later[i], end[i] = group, after, last
            group += weight[i]
        before = inside = 0.0
        for i in range(bounds[q], bounds[q + 1]):
            if place[i] & 1:
                before += inside
                inside = 0.0
                group = rest[i] + weight[i]
            earlier[i], whole[i] = before, group
            inside += edge[i] * weight[i]


@compiled
def _rows(
    V: Float,
    weight: Float,
    scale: Float,
    inverses: Float,
    place: NDArray[np.int8],
    end: Index,
    start: int,
    carried: Float,
    out: Float,
) -> None:
    """Write the rows of a block, last item first. Values count from the last item of their query."""
    n, k = V.shape
    origin, group, later = carried[0], carried[1], carried[2]
    out[n] = 0.0
    for local in range(n - 1, -1, -1):
        i = start + local
        if place[i] & 4:
            for j in range(k):
                origin[j] = V[local, j]
                group[j] = 0.0
                later[j] = 0.0
        w = weight[local]
        if place[i] & 2:
            for j in range(k):
                later[j] += group[j]
                group[j] = w * (V[local, j] - origin[j])
        else:
            a, mean = scale[i], inverses[0, i]
            for j in range(k):
                value = V[local, j] - origin[j]
                out[local, j] = a * (value - mean * group[j])
                group[j] += w * value
        if place[i] & 1:
            slot = min(end[i] - start, n)
            b, own, other = scale[end[i]], inverses[1, i], inverses[2, i]
            for j in range(k):
                out[slot, j] = b * (own * group[j] - other * later[j])
        elif place[i] & 2:
            out[local] = 0.0  # written when the group is complete, or in a later block


@compiled
def _transposed(
    U: Float, weight: Float, scale: Float, inverses: Float, place: NDArray[np.int8], end: Index, out: Float
) -> None:
    """Multiply by the transposed rows, first item first."""
    m, k = U.shape
    earlier, inside = np.zeros(k), np.zeros(k)
    first = True
    for i in range(m):
        if first:
            earlier[:] = 0.0
        if place[i] & 1:
            inside[:] = 0.0
        e, w = end[i], weight[i]
        own = scale[e] * inverses[1, i]
        for j in range(k):
            out[i, j] = w * (own * U[e, j] - earlier[j] - inside[j])
        if place[i] & 2:
            b = scale[i] * inverses[2, i]
            for j in range(k):
                earlier[j] += b * U[i, j]
        else:
            a, mean = scale[i], scale[i] * inverses[0, i]
            for j in range(k):
                out[i, j] += a * U[i, j]
                inside[j] += mean * U[i, j]
        first = (place[i] & 4) != 0
