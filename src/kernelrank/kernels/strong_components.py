"""Strong components: the vertices that lie on a cycle with each other."""

from __future__ import annotations

import numpy as np

from kernelrank.base.arrays import Index
from kernelrank.base.compiled import compiled

__all__ = ["strong_components"]


@compiled
def strong_components(bounds: Index, targets: Index) -> Index:
    """Return the strong component of each vertex, numbered so that no edge leads to a higher number [Tar72].

    Time and memory O(vertices + edges).

    Parameters
    ----------
    bounds : ndarray of int64, shape (n_vertices + 1,)
        Where the edges that leave each vertex begin.
    targets : ndarray of int64, shape (n_edges,)
        Where they end.

    Returns
    -------
    ndarray of int64, shape (n_vertices,)
        The numbers of the components.

    Examples
    --------
    The edges are 0 → 1, 1 → 0 and 1 → 2.

    >>> strong_components(np.array([0, 1, 3, 3]), np.array([1, 0, 2]))
    array([1, 1, 0])
    """
    n = len(bounds) - 1
    component = np.full(n, -1, dtype=np.int64)
    found = np.full(n, -1, dtype=np.int64)  # when each vertex was found
    lowest = np.empty(n, dtype=np.int64)  # the earliest open vertex that it is known to reach
    edge = bounds[:-1].copy()  # the next edge to follow
    trail = np.empty(n, dtype=np.int64)
    unassigned = np.empty(n, dtype=np.int64)
    n_unassigned = n_components = time = 0
    for root in range(n):
        if found[root] >= 0:
            continue
        depth = 0
        trail[0] = root
        while depth >= 0:
            v = trail[depth]
            if found[v] < 0:
                found[v] = lowest[v] = time
                time += 1
                unassigned[n_unassigned] = v
                n_unassigned += 1
            if edge[v] < bounds[v + 1]:
                t = targets[edge[v]]
                edge[v] += 1
                if found[t] < 0:
                    depth += 1
                    trail[depth] = t
                elif component[t] < 0:
                    lowest[v] = min(lowest[v], found[t])
                continue
            if lowest[v] == found[v]:
                while component[v] < 0:
                    n_unassigned -= 1
                    component[unassigned[n_unassigned]] = n_components
                n_components += 1
            depth -= 1
            if depth >= 0:
                parent = trail[depth]
                lowest[parent] = min(lowest[parent], lowest[v])
    return component
