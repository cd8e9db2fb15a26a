"""Claim: the clusters found are the best ones on small problems, and cost seconds on large ones.

On 200 random problems of at most 14 items the objective is compared with that of every possible set of labels. On 200
problems of 15 to 60 items it is compared with the best of 50 random restarts of a naive search, which takes the best
move or the best swap until none helps. Kernels are linear and Gaussian, items come with and without clusters, alpha
goes from 2⁻⁸ to 2⁵, and clusters must be equally large, or not. Then: CPU seconds on one thread for 20,000 items
with a basis of 500.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parents[1]))
from kernelrank.estimators import MaxMarginClustering
from tests.oracles.clustering import exhaustive_minimum, naive_search

ALMOST_EQUAL = 1e-8


def problem(rng: np.random.Generator, least: int, most: int, largest_k: int) -> tuple[np.ndarray, int, float, float]:
    """Draw a kernel matrix, a number of clusters, alpha and a balance."""
    m, k = int(rng.integers(least, most + 1)), int(rng.integers(2, largest_k + 1))
    X = rng.normal(size=(m, int(rng.integers(1, 6))))
    if rng.random() < 0.5:
        X += 3 * rng.normal(size=(k, X.shape[1]))[rng.integers(k, size=m)]
    K = linear_kernel(X) if rng.random() < 0.2 else rbf_kernel(X, gamma=2.0 ** rng.integers(-5, 4))
    return (K + K.T) / 2, k, float(2.0 ** rng.integers(-8, 6)), float(rng.choice([0, 0.3, 0.6, 1.0]))


def compare(title: str, n_problems: int, sizes: tuple[int, int, int], *, naive: bool) -> None:
    rng = np.random.default_rng(0)
    better = equal = worse = 0
    ours = theirs = 0.0
    for number in range(n_problems):
        K, k, alpha, balance = problem(rng, *sizes)
        start = time.process_time()
        model = MaxMarginClustering(k, alpha=alpha, kernel="precomputed", balance=balance, random_state=number).fit(K)
        ours += time.process_time() - start
        least = max(1, int(balance * len(K) / k + 1e-9))
        start = time.process_time()
        other = naive_search(K, k, least, alpha, 50, rng) if naive else exhaustive_minimum(K, k, least, alpha)
        theirs += time.process_time() - start
        worse += model.objective_ > other * (1 + ALMOST_EQUAL)
        better += model.objective_ < other * (1 - ALMOST_EQUAL)
        equal += abs(model.objective_ - other) <= other * ALMOST_EQUAL
    print(f"{title:<44} {better:>6} {equal:>6} {worse:>6}   {ours:>8.1f} {theirs:>8.1f}", flush=True)


def large(m: int, basis: int, n_clusters: int, spread: float) -> None:
    X, _ = make_blobs(m, 10, centers=n_clusters, cluster_std=spread, random_state=0)
    start, wall = time.process_time(), time.perf_counter()
    model = MaxMarginClustering(n_clusters, basis=basis, gamma=0.02, random_state=0).fit(X)
    seconds, wall = time.process_time() - start, time.perf_counter() - wall
    print(
        f"{m:>7} {basis:>6} {n_clusters:>9} {spread:>7.1f} {seconds:>8.1f} {wall:>8.1f} {model.objective_:>12.1f}",
        flush=True,
    )


def main() -> None:
    MaxMarginClustering().fit(np.eye(4))
    with threadpool_limits(1):
        print(f"{'200 problems, objectives compared':<44} better  equal  worse     ours s  other s")
        compare("with all labels, two clusters, m ≤ 14", 100, (5, 14, 2), naive=False)
        compare("with all labels, two to four, m ≤ 9", 100, (5, 9, 4), naive=False)
        compare("with 50 restarts of a naive search, m ≤ 60", 200, (15, 60, 4), naive=True)
        print("\n  items  basis  clusters  spread    CPU s  wall-clock s  objective")
        for n_clusters, spread in ((2, 1.0), (2, 4.0), (5, 4.0)):
            large(20_000, 500, n_clusters, spread)


if __name__ == "__main__":
    main()
