"""Clusters found the slow way: every set of labels by retraining, or a search that recomputes what labels cost."""

from __future__ import annotations

import itertools

import numpy as np


def objective(K, labels, n_clusters, alpha):
    """What a kernel RLS leaves of labels: it is trained, and its errors and norms are added up."""
    Y = np.eye(n_clusters)[labels]
    if n_clusters == 2:
        Y = Y[:, :1] - Y[:, 1:]
    A = np.linalg.solve(K + alpha * np.eye(len(K)), Y)
    return float(np.sum((Y - K @ A) ** 2) + alpha * np.sum(A * (K @ A)))


def all_labels(m, n_clusters, least):
    """Every way to label m items with clusters of at least so many, the first item in cluster 0."""
    labels = np.array(list(itertools.product(range(n_clusters), repeat=m - 1)))
    labels = np.column_stack([np.zeros(len(labels), dtype=int), labels])
    sizes = np.stack([(labels == c).sum(axis=1) for c in range(n_clusters)])
    return labels[(sizes >= least).all(axis=0)]


def exhaustive_minimum(K, n_clusters, least, alpha):
    """The smallest objective over all labels."""
    Q = alpha * np.linalg.inv(K + alpha * np.eye(len(K)))
    labels = all_labels(len(K), n_clusters, least)
    if n_clusters == 2:
        Y = 1.0 - 2.0 * labels
        return float(np.einsum("ij,ij->i", Y @ Q, Y).min())
    columns = [(labels == c).astype(float) for c in range(n_clusters)]
    return float(sum(np.einsum("ij,ij->i", Y @ Q, Y) for Y in columns).min())


def naive_search(K, n_clusters, least, alpha, restarts, rng):
    """The best of several searches from random labels, each by the best move or swap, until none helps."""
    Q = alpha * np.linalg.inv(K + alpha * np.eye(len(K)))
    best = np.inf
    for _ in range(restarts):
        labels = rng.permutation(len(K)) % n_clusters
        while _improve(Q, labels, n_clusters, least):
            pass
        best = min(best, objective(K, labels, n_clusters, alpha))
    return best


def _improve(Q, labels, n_clusters, least):
    """Make the best move, or where none helps the best swap; tell whether there was one."""
    m = len(Q)
    Y = np.eye(n_clusters)[labels]
    F = Q @ Y
    items = np.arange(m)
    moves = 2 * (np.diagonal(Q)[:, None] - F[items, labels][:, None] + F)
    moves[items, labels] = 0.0
    swaps = moves[:, labels] + moves[:, labels].T - 4 * Q
    swaps[labels[:, None] == labels] = 0.0
    moves[(np.bincount(labels, minlength=n_clusters) <= least)[labels]] = 0.0
    if moves.min() < -1e-10:
        item, cluster = np.unravel_index(np.argmin(moves), moves.shape)
        labels[item] = cluster
        return True
    if swaps.min() < -1e-10:
        i, j = np.unravel_index(np.argmin(swaps), swaps.shape)
        labels[i], labels[j] = labels[j], labels[i]
        return True
    return False
