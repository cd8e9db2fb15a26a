r"""Cycles: the walks inside strong components, and whether their weights have a sum.

A graph has a cycle where a strong component s has edges A_ss inside, and the spectral radius of A is the largest of
those of its A_ss. Where it is below one, (I - A_ss)⁻¹ = I + A_ss + A_ss² + … holds the weights of the walks that stay
inside. Whether it is can be told from the inverse:

    If no weight is negative, the radius is below one if and only if x = (I - A_ss)⁻¹ 1 is positive. For if it is below,
    x = 1 + A_ss 1 + … ≥ 1. And if x is positive, A_ss x = x - 1 < x, so that the radius is below one by the bound of
    Collatz and Wielandt [BP94].

If a weight in A_ss is negative, its eigenvalues decide. Radii that cannot be told from one in double precision count as
one: then the weights of closed walks, the diagonal of the inverse, are as large as rounding allows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Float, Index
from kernelrank.errors import InvalidInputError
from kernelrank.kernels.packed_graphs import PackedGraphs

__all__ = ["invert_cycles"]

EPSILON = float(np.finfo(np.float64).eps)


def invert_cycles(graphs: PackedGraphs, component: Index, order: Index) -> tuple[Index, Float]:
    """Return (I - A_ss)⁻¹ for each strong component with a cycle.

    Time O(k³) for a component of k vertices and O(vertices + edges), memory O(k²). Components of one size are inverted
    together.

    Parameters
    ----------
    graphs : PackedGraphs
    component : ndarray of int64, shape (n_vertices,)
        The strong component of each vertex.
    order : ndarray of int64, shape (n_vertices,)
        The vertices in the order of their components.

    Returns
    -------
    starts : ndarray of int64, shape (n_components,)
        Where the inverse of each component begins; -1 if it has no cycle.
    inverses : ndarray of float64
        Row by row; the vertices of a component are in the given order.

    Raises
    ------
    InvalidInputError
        When a spectral radius is one or more; the message names the first such graph.
    """
    sizes = np.bincount(component)
    starts = np.full(len(sizes), -1, dtype=np.int64)
    sources = np.repeat(np.arange(len(component)), np.diff(graphs.edge_bounds))
    inside = np.flatnonzero(component[sources] == component[graphs.targets])
    owners = component[sources[inside]]
    cyclic = np.unique(owners)
    ends = np.cumsum(sizes[cyclic] ** 2)
    starts[cyclic] = ends - sizes[cyclic] ** 2
    place = np.empty(len(component), dtype=np.int64)  # of a vertex in its component
    place[order] = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    blocks = np.zeros(ends[-1] if len(ends) else 0)
    cells = starts[owners] + place[sources[inside]] * sizes[owners] + place[graphs.targets[inside]]
    blocks[cells] = graphs.weights[inside]
    diverging = []
    for k in np.unique(sizes[cyclic]):
        alike = cyclic[sizes[cyclic] == k]
        cells = starts[alike, None] + np.arange(k * k)
        inverses, converges = _inverses(blocks[cells].reshape(-1, k, k))
        blocks[cells] = inverses.reshape(-1, k * k)
        diverging.extend(alike[~converges])
    if diverging:
        vertex = int(np.argmax(component == min(diverging)))
        raise InvalidInputError(
            f"{graphs.name_of(vertex)}: the spectral radius of its weights is not below 1, so the sum over "
            "walks does not converge: use smaller weights on its cycles"
        )
    return starts, blocks


def _inverses(A: Float) -> tuple[Float, NDArray[np.bool_]]:
    """Return (I - A)⁻¹ for each block, and whether its spectral radius is below one."""
    k = A.shape[1]
    B = np.eye(k) - A
    try:
        inverses = np.asarray(np.linalg.inv(B), dtype=np.float64)
    except np.linalg.LinAlgError:
        # One or more of them are singular: the others are inverted by themselves.
        inverses = np.stack([_inverse(block) for block in B])
    signed = (A < 0).any(axis=(1, 2))
    converges = (inverses.sum(axis=2) > 0).all(axis=1)
    for number in np.flatnonzero(signed):
        converges[number] = np.abs(np.linalg.eigvals(A[number])).max() < 1
    closed = np.abs(inverses.diagonal(axis1=1, axis2=2))
    return inverses, converges & (closed < 1 / (4 * k * EPSILON)).all(axis=1)


def _inverse(block: Float) -> Float:
    try:
        return np.asarray(np.linalg.inv(block), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.full_like(block, np.nan)
