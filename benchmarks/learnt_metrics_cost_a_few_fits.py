"""Claim: an update of a metric costs less than 1.5 fits, and a round of k folds less than 1.5 (k + 1) fits.

Run: python benchmarks/learnt_metrics_cost_a_few_fits.py [--rows 100000] [--columns 50] [--basis 1000] [--folds 2]

Printed are CPU seconds, for a Gaussian and a product Laplacian kernel: of a plain `RankRLS` fit; of one update (mean
squares of the gradient at all items); and of a round, in which a candidate is trained and scored without each fold, by
the metric of the fold, and all metrics are made anew. Also printed: a fit with the product Laplacian kernel beside the
Gaussian one (claim: 3 times), and ``kernel="auto"`` beside the sum of its candidates, each searched alone, for 400
items (claim: 1.2 times).
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import kernelrank as kr
from kernelrank.model_selection.metric_search import metric_of_gradients


def timed(work: Any) -> tuple[Any, float]:
    """Return what some work returns, and its CPU seconds."""
    start = time.process_time()
    return work(), time.process_time() - start


def compare(X: np.ndarray, y: np.ndarray, kernel: str, basis: int, folds: int) -> float:
    """Print the times of a kernel, and return that of a plain fit."""
    gamma = 0.5 / X.shape[1]
    plain = kr.RankRLS(len(y), kernel=kernel, gamma=gamma, metric="variance", basis=basis, random_state=0)
    model, fit = timed(lambda: plain.fit(X, y))
    search = kr.MetricRankRLSCV([len(y)], cv=folds, basis=basis, search_items=None, random_state=0)
    X = search._check_items(X, reset=True)
    graphs, _ = search._compare(X, y, None, None)
    rounds = search._rounds_of(X, y, None, graphs, folds, search._basis_items(len(y)))
    features, ones, dual = rounds._features(model.kernel_), np.ones(len(y)), model.dual_coef_.reshape(-1, 1)
    _, update = timed(lambda: metric_of_gradients(model.kernel_, features, dual, ones, rounds.variances))
    setting, metrics = (
        {"kernel": kernel, "gamma": gamma, "round": 1},
        [rounds.standard * (1 + u) for u in range(folds + 1)],
    )
    _, whole = timed(lambda: rounds._metrics(rounds._try(setting, metrics), metrics))
    print(
        f"{kernel:10} {len(y):,} × {X.shape[1]}, basis {basis}: fit {fit:.1f} s, update {update / fit:.2f} fits, "
        f"round of {folds} folds {whole / fit / (folds + 1):.2f} × {folds + 1} fits",
        flush=True,
    )
    return fit


def auto(random: np.random.Generator) -> None:
    """Print what choosing costs beside its candidates."""
    X = random.standard_normal((400, 10))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
    for cv in ("auto", 5):
        best, alone = np.inf, np.inf
        for _ in range(3):
            model, seconds = timed(lambda cv=cv: kr.RankRLSCV(kernel="auto", cv=cv).fit(X, y))
            best = min(best, seconds)
            settings = model._settings(X)
            searches = [kr.RankRLSCV(metric="variance", cv=cv, **one) for one in settings]
            alone = min(alone, timed(lambda searches=searches: [one.fit(X, y) for one in searches])[1])
        print(f"auto, 400 items, cv={cv}: {best:.2f} s, {best / alone:.2f} × the sum of its candidates", flush=True)


def main() -> None:
    """Time all of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("rows", 100_000), ("columns", 50), ("basis", 1000), ("folds", 2)):
        parser.add_argument(f"--{name}", type=int, default=value)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    random = np.random.default_rng(0)
    auto(random)
    X = random.standard_normal((arguments.rows, arguments.columns))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
    kr.MetricRankRLSCV([1.0], basis=50, cv=2, rounds=1).fit(X[:300], y[:300])  # what is compiled
    seconds = [compare(X, y, kernel, arguments.basis, arguments.folds) for kernel in ("rbf", "laplacian")]
    print(f"product Laplacian beside Gaussian: {seconds[1] / seconds[0]:.2f} ×")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
