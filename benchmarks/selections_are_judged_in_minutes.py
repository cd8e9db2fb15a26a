"""Claim: 72 samples × 7,129 genes: a nested curve takes a minute or two, by every pair ten minutes, stability a minute.

CPU seconds on one thread, for one to twenty features: `selection_curve` with ten folds dealt out ten times (claimed: at
most 90 s), with every pair of both classes held out (claimed: at most 600 s; measured on some pairs, and taken times
the number of all), and `selection_stability` with 100 halves (claimed: at most 60 s).
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from kernelrank.selection import GreedyRankRLS, selection_curve, selection_stability

PAIRS = 40


def seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def main() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([1.0, 0.0], [25, 47])
    X = rng.normal(size=(72, 7129))
    X[:, :5] += y[:, None]
    model = GreedyRankRLS(20)
    GreedyRankRLS(2).fit(X[:, :3], y)
    pairs = np.column_stack([rng.integers(0, 25, PAIRS), rng.integers(25, 72, PAIRS)])
    splits = [(np.delete(np.arange(72), pair), pair) for pair in pairs]
    with threadpool_limits(1):
        print(
            f"ten folds, ten times   {seconds(lambda: selection_curve(model, X, y, random_state=0)):7.1f} CPU s",
            flush=True,
        )
        some = seconds(lambda: selection_curve(model, X, y, cv=splits))
        print(f"1,175 pairs            {some * 1175 / (PAIRS + 1):7.1f} CPU s, from {PAIRS} pairs", flush=True)
        print(f"100 halves             {seconds(lambda: selection_stability(model, X, y, random_state=0)):7.1f} CPU s")


if __name__ == "__main__":
    main()
