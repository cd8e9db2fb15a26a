"""Claim: ranking costs what ridge regression costs, in time and in memory, and many outputs cost little more than one.

Run: python benchmarks/ranking_costs_what_ridge_costs.py [--items 1000000] [--kernel-items 4000]

Every time is a whole call of `fit`, with validation, query numbering and, for kernels, the kernel matrix: in wall-clock
seconds on all threads, then in CPU seconds on one.
"""

from __future__ import annotations

import argparse

import numpy as np
from harness import peak_megabytes, report, rlscore_available, time_interleaved
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

from kernelrank.estimators import RankRLS

COLUMNS = 50


def draw(n_items: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((n_items, COLUMNS)), rng.standard_normal(n_items), np.arange(n_items) // 20


def only_data(n_items: int) -> None:
    draw(n_items)


def fit_ranking(n_items: int) -> None:
    X, y, qid = draw(n_items)
    RankRLS().fit(X, y, qid=qid)


def fit_ridge(n_items: int) -> None:
    X, y, _ = draw(n_items)
    Ridge(solver="cholesky").fit(X, y)


def memory(n_items: int) -> None:
    data = 8 * n_items * COLUMNS / 2**20
    before = peak_megabytes(only_data, n_items)
    print(f"peak memory at m = {n_items:,}, where X takes {data:.0f} MB")
    for name, function in (("Ridge", fit_ridge), ("RankRLS", fit_ranking)):
        extra = peak_megabytes(function, n_items) - before
        print(f"  {name:<52}{extra:9.0f} MB beside the data, {extra / data:5.2f} × X")
    print("  claimed: at most 0.5 × X for RankRLS")


def linear(m: int, threads: int | None) -> None:
    X, y, qid = draw(m)
    mixed = np.random.default_rng(1).permutation(qid)
    reference = "Ridge(solver='cholesky').fit"
    runs = {
        reference: lambda: Ridge(solver="cholesky").fit(X, y),
        "RankRLS().fit, queries together": lambda: RankRLS().fit(X, y, qid=qid),
        "RankRLS().fit, queries scattered": lambda: RankRLS().fit(X, y, qid=mixed),
    }
    order = np.argsort(mixed, kind="stable")
    reading = "reading scattered rows, X[order]"
    runs[reading] = lambda: X[order]
    seconds = time_interleaved(runs, 7, threads)
    title = f"linear, m = {m:,}, n = {COLUMNS}, {m // 20:,} queries, {threads or 'all'} thread(s)"
    report(title, seconds, reference, 1.5)
    ratio = seconds["RankRLS().fit, queries scattered"] / (seconds[reference] + seconds[reading])
    print(f"  scattered queries beside Ridge and reading: {ratio:.2f} ×; the claim is about this sum for them")


def gaussian(n_items: int, threads: int | None) -> None:
    rng = np.random.default_rng(0)
    X, y, Y = rng.standard_normal((n_items, 20)), rng.standard_normal(n_items), rng.standard_normal((n_items, 300))
    qid = np.arange(n_items) // 20
    reference = "KernelRidge(kernel='rbf').fit"
    runs = {
        reference: lambda: KernelRidge(kernel="rbf").fit(X, y),
        "RankRLS(kernel='rbf').fit, one query": lambda: RankRLS(kernel="rbf").fit(X, y),
        f"RankRLS(kernel='rbf').fit, {n_items // 20} queries": lambda: RankRLS(kernel="rbf").fit(X, y, qid=qid),
    }
    if rlscore_available():
        from rlscore.learner import GlobalRankRLS

        runs["RLScore GlobalRankRLS"] = lambda: GlobalRankRLS(X, y, regparam=1.0, kernel="GaussianKernel", gamma=0.05)
    title = f"Gaussian kernel, m = {n_items:,}, one alpha, {threads or 'all'} thread(s)"
    report(title, time_interleaved(runs, 3, threads), reference, 1.3)
    outputs = {
        "one output": lambda: RankRLS(kernel="rbf").fit(X, y),
        "300 outputs": lambda: RankRLS(kernel="rbf").fit(X, Y),
    }
    title = f"Gaussian kernel, m = {n_items:,}, outputs, {threads or 'all'} thread(s)"
    report(title, time_interleaved(outputs, 3, threads), "one output", 1.5)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--kernel-items", type=int, default=4_000)
    arguments = parser.parse_args()
    memory(arguments.items)
    for threads in (None, 1):
        for part in (4, 2, 1):
            linear(arguments.items // part, threads)
        gaussian(arguments.kernel_items, threads)
