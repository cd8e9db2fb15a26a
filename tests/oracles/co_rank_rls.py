"""Co-RankRLS as its objective says: one dense least-squares problem over all pairs and all views."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tests.oracles.pairs import root_features, scored_edges


@dataclass(frozen=True)
class OracleView:
    """Kernels of scored, unscored and new items with the basis, and of the basis with itself."""

    scored: np.ndarray
    unscored: np.ndarray
    new: np.ndarray
    basis: np.ndarray

    @classmethod
    def of(cls, kernel, scored, unscored, new, basis_items):
        return cls(*(kernel(items, basis_items) for items in (scored, unscored, new, basis_items)))


def all_pairs(qid, query_weight):
    """Every pair inside a query, and its weight."""
    edges = scored_edges(np.zeros(len(qid)), qid, query_weight=query_weight)
    return edges.h, edges.j, edges.w2


def fit_predict(views, y, qid, qid_unscored, alpha, nu, *, query_weight="pairs", cost="magnitude", ties="include"):
    """Minimise the objective (17) literally, every pair and every two views a row; return the new scores (t, M)."""
    scored = scored_edges(y, qid, cost=cost, ties=ties, query_weight=query_weight)
    first, second, weight = all_pairs(qid_unscored, query_weight)
    starts = np.cumsum([0, *(len(view.basis) for view in views)])
    parts = [slice(a, b) for a, b in pairwise(starts)]
    rows, right = [], []

    def put(block, part, target):
        wide = np.zeros((len(block), starts[-1]))
        wide[:, part] = block
        rows.append(wide)
        right.append(target)

    for view, part in zip(views, parts, strict=True):
        root = np.sqrt(scored.w2)
        put(root[:, None] * (view.scored[scored.h] - view.scored[scored.j]), part, root * scored.z)
        put(np.sqrt(alpha) * root_features(view.basis).T, part, np.zeros(len(view.basis)))
    for v, one in enumerate(views):
        for u, other in enumerate(views):
            if u == v:
                continue
            root = np.sqrt(nu * weight)[:, None]
            wide = np.zeros((len(first), starts[-1]))
            wide[:, parts[v]] += root * (one.unscored[first] - one.unscored[second])
            wide[:, parts[u]] -= root * (other.unscored[first] - other.unscored[second])
            rows.append(wide)
            right.append(np.zeros(len(first)))
    b = np.linalg.lstsq(np.vstack(rows), np.concatenate(right), rcond=None)[0]
    return np.column_stack([view.new @ b[part] for view, part in zip(views, parts, strict=True)])


def disagreement(views, scores, qid_unscored, query_weight="pairs"):
    """The mean over pairs of views and of unscored items, in loops; `scores` (l, M) are those of the unscored items."""
    first, second, weight = all_pairs(qid_unscored, query_weight)
    total, count = 0.0, 0.0
    for v in range(len(views)):
        for u in range(v):
            for i, j, w in zip(first, second, weight, strict=True):
                gap = (scores[i, v] - scores[j, v]) - (scores[i, u] - scores[j, u])
                total, count = total + w * gap**2, count + w
    return total / count
