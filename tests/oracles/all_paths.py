"""The all-paths graph kernel as it is written: dense matrices, one pair of labels after the other."""

from __future__ import annotations

import numpy as np

from kernelrank.kernels import LabelledGraph


def dense_walks(graph: LabelledGraph) -> np.ndarray:
    """``W = (I - A)⁻¹ - I``."""
    A = np.zeros((graph.n_vertices, graph.n_vertices))
    for source, target, weight in zip(graph.sources, graph.targets, graph.weights, strict=True):
        A[source, target] += weight
    return np.linalg.inv(np.eye(len(A)) - A) - np.eye(len(A))


def is_reachable(graph: LabelledGraph) -> np.ndarray:
    """Whether a walk leads from one vertex to another, in whole numbers, so that nothing is rounded."""
    edges = {(int(s), int(t)) for s, t, w in zip(graph.sources, graph.targets, graph.weights, strict=True) if w != 0}
    reached = set(edges)
    while True:
        longer = {(s, t) for s, middle in reached for start, t in edges if middle == start} - reached
        if not longer:
            break
        reached |= longer
    answer = np.zeros((graph.n_vertices, graph.n_vertices), dtype=bool)
    for s, t in reached:
        answer[s, t] = True
    return answer


def connections(graph: LabelledGraph, combine: str) -> dict[tuple[str, str], float]:
    """``G_ab = Σ_{k,l} L_ak W_kl L_bl``, or the maximum over k and l, where it is not zero."""
    W = np.where(is_reachable(graph), dense_walks(graph), 0.0)
    labels = sorted({label for of_vertex in graph.labels for label in of_vertex})
    G = {}
    for a in labels:
        for b in labels:
            of_a = np.array([a in of_vertex for of_vertex in graph.labels], dtype=float)
            of_b = np.array([b in of_vertex for of_vertex in graph.labels], dtype=float)
            terms = of_a[:, None] * W * of_b[None, :]
            value = terms.sum() if combine == "sum" else max(0.0, terms.max())
            if value != 0:
                G[a, b] = value
    return G


def vector(graph: LabelledGraph, combine: str, pairs: list[tuple[str, str]]) -> np.ndarray:
    """The entries of G for some pairs of labels."""
    G = connections(graph, combine)
    return np.array([G.get(pair, 0.0) for pair in pairs])
