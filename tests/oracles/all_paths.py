"""The all-paths graph kernel as it is written: dense matrices, one pair of labels after the other."""

from __future__ import annotations

import numpy as np

from kernelrank.kernels import LabelledGraph


def adjacency(graph: LabelledGraph) -> np.ndarray:
    A = np.zeros((graph.n_vertices, graph.n_vertices))
    for source, target, weight in zip(graph.sources, graph.targets, graph.weights, strict=True):
        A[source, target] += weight
    return A


def spectral_radius(A: np.ndarray) -> float:
    return float(np.abs(np.linalg.eigvals(A)).max(initial=0.0))


def reachable(A: np.ndarray) -> np.ndarray:
    """Whether a walk of one step or more leads from one vertex to another, by Warshall's rule: nothing is rounded."""
    reached = A != 0
    for middle in range(len(A)):
        reached |= reached[:, [middle]] & reached[[middle], :]
    return reached


def walk_weights(A: np.ndarray) -> np.ndarray:
    """``W = (I - A)⁻¹ - I``, where rounding may not put what no walk brings."""
    W = np.linalg.inv(np.eye(len(A)) - A) - np.eye(len(A))
    return np.where(reachable(A), W, 0.0)


def bounded_walk_weights(A: np.ndarray, shortest: int, longest: int) -> np.ndarray:
    """``A^shortest + … + A^longest``, power by power."""
    W = np.zeros_like(A)
    for length in range(shortest, longest + 1):
        W += np.linalg.matrix_power(A, length)
    return W


def connections(graph: LabelledGraph, combine: str, W: np.ndarray | None = None) -> dict[tuple[str, str], float]:
    """``G_ab = Σ_{k,l} L_ak W_kl L_bl``, or the maximum over k and l, where it is not zero."""
    W = walk_weights(adjacency(graph)) if W is None else W
    labels = sorted({label for of_vertex in graph.labels for label in of_vertex})
    L = {a: np.array([float(a in of_vertex) for of_vertex in graph.labels]) for a in labels}
    G = {}
    for a in labels:
        for b in labels:
            terms = L[a][:, None] * W * L[b][None, :]
            value = terms.sum() if combine == "sum" else max(0.0, terms.max())
            if value != 0:
                G[a, b] = float(value)
    return G
