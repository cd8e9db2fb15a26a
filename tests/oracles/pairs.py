"""The slow, obvious twin of comparisons and solvers: every pair is written out, every system is solved as it stands."""

from __future__ import annotations

import numpy as np

from kernelrank.testing import Edges


def scored_edges(y, qid=None, *, cost="auto", ties="include", query_weight="pairs", weight=None) -> Edges:
    """Write out every pair of a query, as the definitions of the costs (20), (21), (22) say."""
    y = np.asarray(y, dtype=float)
    m = len(y)
    qid = [0] * m if qid is None else list(qid)
    weight = np.ones(m) if weight is None else np.asarray(weight, dtype=float)
    items = {q: [i for i in range(m) if qid[i] == q] for q in set(qid)}
    ties_out = ties == "exclude" or cost not in ("auto", "magnitude")
    c = {q: _query_weight(query_weight, y[items[q]], weight[items[q]], ties_out) for q in items}
    edges = []
    for h in range(m):
        for j in range(m):
            if qid[h] != qid[j] or h == j or y[h] < y[j] or (y[h] == y[j] and h > j):
                continue
            if y[h] == y[j] and ties_out:
                continue
            magnitude = y[h] - y[j]
            z = 1.0 if cost == "unit" else magnitude
            w2 = c[qid[h]] * weight[h] * weight[j] / (magnitude**2 if cost == "relative" else 1.0)
            edges.append((h, j, z, w2))
    columns = list(zip(*edges, strict=True)) if edges else [(), (), (), ()]
    return Edges(
        m, np.array(columns[0], dtype=int), np.array(columns[1], dtype=int), np.array(columns[2]), np.array(columns[3])
    )


def _query_weight(query_weight, y, weight, ties_out) -> float:
    """c_q: one, or one over the weight of the items, or of the pairs compared (Paper I, 2.4).

    An item of weight k stands for k copies, which with ties included are k(k - 1)/2 pairs among themselves.
    """
    if query_weight == "pairs":
        return 1.0
    if query_weight == "items":
        total = weight.sum()
    else:
        total = sum(
            weight[i] * weight[j] for i in range(len(y)) for j in range(i) if not (ties_out and y[i] == y[j])
        ) + (0.0 if ties_out else sum(w * (w - 1) / 2 for w in weight if w > 1))
    return 1 / total if total else 0.0


def root_features(K):
    """Φ with Φ Φᵀ = K."""
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def fit_weights(Phi, edges: Edges, alpha: float) -> np.ndarray:
    """Minimise Σ w²(z - (Φ_h - Φ_j) w)² + alpha ‖w‖² as one stacked least-squares problem (nothing is squared)."""
    root = np.sqrt(edges.w2)
    rows = np.vstack([root[:, None] * (Phi[edges.h] - Phi[edges.j]), np.sqrt(alpha) * np.eye(Phi.shape[1])])
    right = np.concatenate([root * edges.z, np.zeros(Phi.shape[1])])
    return np.linalg.lstsq(rows, right, rcond=None)[0]


def fit_regression(Phi, y, alpha, weight=None) -> np.ndarray:
    """Minimise Σ w (y - Φ w)² + alpha ‖w‖² as one stacked least-squares problem."""
    root = np.sqrt(np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float))
    rows = np.vstack([root[:, None] * Phi, np.sqrt(alpha) * np.eye(Phi.shape[1])])
    return np.linalg.lstsq(rows, np.concatenate([root * y, np.zeros(Phi.shape[1])]), rcond=None)[0]


def centred(scores, qid=None):
    """Scores less the mean of their query, which ranking does not see."""
    scores = np.array(scores, dtype=float)
    for q in {None} if qid is None else set(qid):
        items = [i for i in range(len(scores)) if qid is None or qid[i] == q]
        scores[items] -= scores[items].mean(axis=0)
    return scores


def tolerance(K, L, summands, alpha, expected) -> float:
    """How far scores may be from those expected: 1e-8 of the largest, or what no arithmetic in double precision avoids.

    Rounding K and L in their last digits moves the solution by ε (1 + ‖K‖‖L‖ / alpha) of itself. Scores that cancel to
    nothing, as between duplicated items, have no size to be measured by: there the rounding of the sums that they are
    made of counts, ε ‖K‖‖|M| |N|‖ / alpha.
    """
    norm_K, norm_L, epsilon = np.linalg.norm(K, 2), np.linalg.norm(L, 2), np.finfo(float).eps
    condition = 1.0 + norm_K * norm_L / alpha
    largest = np.abs(expected).max()
    cancelled = epsilon * norm_K * np.linalg.norm(summands) / alpha
    return float(max(1e-8 * largest, 8 * epsilon * condition * largest, 16 * cancelled))
