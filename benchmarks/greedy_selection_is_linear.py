"""Claim: greedy selection takes time linear in items, features and steps, and three arrays of the size of X at most.

The memory beyond X comes first, in arrays of its size. Then the growth: CPU seconds when the items, the features or the
steps double, over twice those before; one is linear. Then the limits: leave-query-out at 100,000 × 500 in 5,000
queries, leave-pair-out on halves of 72 × 7,129, and leave-one-out at 1,000 × 500 and 5,000 × 2,000, beside RLScore's
`GreedyRLS` where it is installed. Last, beside scikit-learn's `SequentialFeatureSelector` with five folds, which trains
again for each feature and fold. All is timed on one thread, in turns, and the best of several turns counts.

Measured: twice the items took 1.10 (leave-query-out) and 1.31 (leave-one-out) of twice the time, features 1.04 and
1.08, steps 0.87 and 0.87. So leave-one-out grows a little faster than linearly with the items at these sizes.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from harness import report, rlscore_available, run_alone, time_interleaved
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.linear_model import Ridge
from threadpoolctl import threadpool_limits

from kernelrank.selection import GreedyRankRLS, GreedyRLS

QUERY = 20
"""How many items a query has."""


def make(m: int, n: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((m, n))
    return X, X[:, :20] @ rng.standard_normal(20) + rng.standard_normal(m), np.arange(m) // QUERY


def by_queries(m: int, n: int, k: int) -> Callable[[], Any]:
    X, y, qid = make(m, n)
    return lambda: GreedyRankRLS(k).fit(X, y, qid=qid)


def by_items(m: int, n: int, k: int) -> Callable[[], Any]:
    X, y, _ = make(m, n)
    return lambda: GreedyRLS(k).fit(X, y)


def growth(name: str, fit: Callable[[int, int, int], Callable[[], Any]], m: int, n: int, k: int) -> None:
    sizes = {"": (m, n, k), "items": (2 * m, n, k), "features": (m, 2 * n, k), "steps": (m, n, 2 * k)}
    best = time_interleaved({what: fit(*size) for what, size in sizes.items()}, repeats=5, threads=1)
    print(f"{name:<18}{m:>8}{n:>7}{k:>5}{best['']:>9.3f}", end="")
    for what in ("items", "features", "steps"):
        print(f"{best[what] / (2 * best['']):>10.2f}", end="")
    print()


def largest() -> None:
    X, y, qid = make(100_000, 500)
    GreedyRankRLS(1).fit(X[:2_000], y[:2_000], qid=qid[:2_000])
    start = time.process_time()
    GreedyRankRLS(20).fit(X, y, qid=qid)
    seconds = time.process_time() - start
    print(f"\n100,000 × 500 in 5,000 queries, 20 features, leave-query-out: {seconds:.1f} s, at most 60")


def halves() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((72, 7_129)), (np.arange(72) < 25).astype(float)
    GreedyRankRLS(1).fit(X, y)
    start = time.process_time()
    for _ in range(10):
        half = rng.permutation(72)[:36]
        GreedyRankRLS(20).fit(X[half], y[half])
    seconds = 10 * (time.process_time() - start)
    print(f"100 halves of 72 × 7,129, 20 features, leave-pair-out: {seconds:.1f} s (ten times ten), at most 60")


def against(m: int, n: int, k: int, *, others: bool) -> None:
    X, y, _ = make(m, n)
    runs: dict[str, Callable[[], Any]] = {"GreedyRLS": lambda: GreedyRLS(k).fit(X, y)}
    if others:
        runs["SequentialFeatureSelector(Ridge), 5 folds"] = lambda: SequentialFeatureSelector(
            Ridge(fit_intercept=False), n_features_to_select=k, cv=5, scoring="neg_mean_squared_error"
        ).fit(X, y)
    if rlscore_available():
        from rlscore.learner import GreedyRLS as RLScore

        runs["RLScore GreedyRLS"] = lambda: RLScore(X.copy(), y.copy(), subsetsize=k, regparam=1.0)
    report(f"{m:,} × {n:,}, {k} features", time_interleaved(runs, repeats=3, threads=1), "GreedyRLS")


def peak(criterion: str, m: int, n: int, floating: bool, dtype: str) -> float:
    """Return the memory beyond X, in arrays of the size of X in double precision."""
    X, y, qid = make(m, n)
    GreedyRankRLS(1, criterion=criterion, floating=floating, dtype=dtype).fit(X[:100], y[:100], qid=qid[:100])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    GreedyRankRLS(3, criterion=criterion, floating=floating, dtype=dtype).fit(X, y, qid=qid)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / X.nbytes


def main() -> None:
    print("memory beyond X, in arrays of its size (20,000 × 1,000)")
    for floating in (False, True):
        for dtype in ("float64", "float32"):
            arrays = run_alone(peak, "leave_query_out", 20_000, 1_000, floating, dtype)[0]
            print(f"  floating={floating!s:<6} {dtype}  {arrays:5.2f}")
    print("\n                   items features steps        s    twice the items, features, steps: over twice the time")
    growth("leave-query-out", by_queries, 10_000, 500, 20)
    growth("leave-one-out", by_items, 8_000, 800, 20)
    with threadpool_limits(1):
        largest()
        halves()
    against(1_000, 500, 20, others=False)
    against(5_000, 2_000, 20, others=False)
    against(500, 40, 5, others=True)


if __name__ == "__main__":
    sys.exit(main())
